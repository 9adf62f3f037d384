//! Power that fails again while a design's hardware recovers.
//!
//! A second failure can come at any moment of recovery. It finds the earlier [stages](super::Recovery) and any of the writes of the running
//! one, and recovery begins again on what it finds; so does a third.

use super::cuts::{Cut, cuts, spread};
use super::design::Design;
use super::recovery::{Recovery, Repair};
use fencepost_kernel::units::LOG_BASE;
use fencepost_kernel::{Image, LineAddr, LineData, rng};
use std::collections::HashSet;

/// Memory after a design's hardware has recovered it undisturbed, with the lines that it wrote; `None` if it wrote nothing.
pub fn recovered(design: &dyn Design, image: &Image) -> Option<(Image, Vec<LineAddr>)> {
    let mut recovery = Recovery::of_copy(image);
    design.recover(&mut recovery);
    let lines = recovery.before.iter().map(|(line, _)| *line).collect();
    Some((recovery.copy()?, lines))
}

/// How often power fails again, and how much of that is looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// Failures during recovery, one after the other.
    pub depth: u32,
    /// States that they may leave.
    pub states: u64,
}
impl Default for Again {
    /// Recovery is cut short, and so is the recovery of that.
    fn default() -> Again {
        Again { depth: 2, states: 256 }
    }
}

/// What was looked at.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Disturbed {
    /// Recoveries that were cut short.
    pub recoveries: u64,
    /// Different states that this left.
    pub states: u64,
    /// Of them, those in which a later write of a stage was durable and an earlier one was not.
    pub reordered: u64,
    /// Whether states were left out.
    pub bounded: bool,
}

impl Disturbed {
    /// Adds what was looked at elsewhere.
    pub fn add(&mut self, other: &Disturbed) {
        self.recoveries += other.recoveries;
        self.states += other.states;
        self.reordered += other.reordered;
        self.bounded |= other.bounded;
    }
}

/// A memory that recovery leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its bytes.
    pub image: Image,
    /// How recovery was disturbed; nothing if it was not.
    pub how: Option<String>,
}

/// Lets power fail again wherever hardware recovery of `image` writes. Returns what undisturbed recovery leaves, and then every other
/// memory that disturbed recovery leaves to software, each once. Every failure during the first recovery is looked at before the recovery
/// from one is disturbed; where that are more states than asked for, half of them, spread over all.
pub fn disturbed(design: &dyn Design, image: &Image, again: Again) -> (Vec<Outcome>, Disturbed) {
    let mut search = Search {
        design,
        again,
        memory: image.clone(),
        differs: Differs::default(),
        known: HashSet::new(),
        left: HashSet::new(),
        outcomes: Vec::new(),
        seen: Disturbed::default(),
    };
    search.run();
    (search.outcomes, search.seen)
}

struct Search<'a> {
    design: &'a dyn Design,
    again: Again,
    /// Memory as a failure left it. What recovery writes into it is taken back, so that no state costs a copy of all.
    memory: Image,
    /// What tells it from the first memory.
    differs: Differs,
    /// What told the states so far from it.
    known: HashSet<Differs>,
    /// What told the outcomes so far from it, as software sees them.
    left: HashSet<u64>,
    outcomes: Vec<Outcome>,
    seen: Disturbed,
}

/// What tells a memory from the one that the search began with, whatever the order of the writes: a digest of the lines that differ. The
/// region that machines keep for logs is the hardware's.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Differs {
    software: u64,
    hardware: u64,
}

impl Differs {
    /// A line is written over.
    fn write(&mut self, line: LineAddr, [before, after]: [&LineData; 2]) {
        if before.words == after.words {
            return;
        }
        let seed = rng::mix(line.0);
        let digest = |data: &LineData| data.words.iter().fold(seed, |d, w| rng::mix(d ^ *w));
        let side = if line < LOG_BASE.line() {
            &mut self.software
        } else {
            &mut self.hardware
        };
        // What was written and is written over again cancels out.
        *side ^= digest(before) ^ digest(after);
    }
}

/// What failures left.
#[derive(Clone, Debug, Default)]
struct State {
    /// What became durable of recoveries, in order.
    durable: Vec<Repair>,
    /// The failures: stage from 1 on, its writes, and which of them were durable.
    failures: Vec<(usize, usize, Cut)>,
}

impl Search<'_> {
    fn run(&mut self) {
        let first = State::default();
        self.recover(&first);
        let mut level = vec![first];
        for depth in 0..self.again.depth {
            let left = self.again.states - self.seen.states;
            let last = depth + 1 == self.again.depth;
            let mut share = if last { left } else { left.div_ceil(2) };
            let mut next = Vec::new();
            for (done, at) in spread(level.len()).enumerate() {
                let before = self.seen.states;
                self.disturb(
                    &level[at],
                    depth,
                    share.div_ceil((level.len() - done) as u64),
                    &mut next,
                );
                share -= self.seen.states - before;
            }
            level = next;
        }
    }
    /// Hardware recovers the memory that failures left: the writes of its stages. They are taken back.
    fn recover(&mut self, state: &State) -> Vec<Vec<Repair>> {
        let mut recovery = Recovery::new(&mut self.memory);
        self.design.recover(&mut recovery);
        let (stages, before) = (recovery.stages, recovery.before);
        let mut left = self.differs;
        for ((line, after), (_, before)) in stages.iter().flatten().zip(&before) {
            left.write(*line, [before, after]);
        }
        self.note(state, left.software);
        restore(&mut self.memory, before);
        stages
    }
    /// Lets power fail during the recovery from a state, until that has left so many new ones.
    fn disturb(&mut self, state: &State, depth: u32, most: u64, next: &mut Vec<State>) {
        let (differs, before) = (self.differs, self.write(state.durable.iter()));
        let stages = self.recover(state);
        let all: Vec<(usize, Cut)> = (stages.iter().enumerate())
            .filter(|(_, stage)| !stage.is_empty())
            .flat_map(|(n, stage)| cuts(stage.len(), depth).into_iter().map(move |cut| (n, cut)))
            .collect();
        self.seen.recoveries += u64::from(!all.is_empty());
        let end = self.seen.states + most;
        for (number, cut) in spread(all.len()).map(|at| all[at]) {
            if self.seen.states >= end {
                self.seen.bounded = true;
                break;
            }
            self.fail(state, (&stages, number, cut), next);
        }
        restore(&mut self.memory, before);
        self.differs = differs;
    }
    /// Power fails in a stage, when these of its writes are durable.
    fn fail(&mut self, state: &State, (stages, number, cut): (&[Vec<Repair>], usize, Cut), next: &mut Vec<State>) {
        let (earlier, stage) = (&stages[..number], &stages[number]);
        let n = stage.len();
        let kept = (0..n).filter(|i| cut.keeps(*i, n)).map(|i| &stage[i]);
        let durable = earlier.iter().flatten().chain(kept);
        let (differs, before) = (self.differs, self.write(durable.clone()));
        if self.known.insert(self.differs) {
            self.seen.states += 1;
            self.seen.reordered += u64::from(cut.reorders(n));
            let mut left = state.clone();
            left.durable.extend(durable.copied());
            left.failures.push((number + 1, n, cut));
            self.recover(&left);
            next.push(left);
        }
        restore(&mut self.memory, before);
        self.differs = differs;
    }
    /// Writes lines; what they held before.
    fn write<'w>(&mut self, writes: impl Iterator<Item = &'w Repair>) -> Vec<Repair> {
        let mut before = Vec::new();
        for (line, data) in writes {
            let old = self.memory.line(*line);
            self.differs.write(*line, [&old, data]);
            before.push((*line, old));
            self.memory.set_line(*line, data);
        }
        before
    }
    /// Keeps what recovery left, unless software sees it as one that is kept already.
    fn note(&mut self, state: &State, software: u64) {
        if self.left.insert(software) {
            let image = self.memory.clone();
            self.outcomes.push(Outcome {
                image,
                how: state.told(),
            });
        }
    }
}

/// Takes writes back, the last one first.
fn restore(memory: &mut Image, before: Vec<Repair>) {
    let writes = before.iter().rev();
    writes.for_each(|(line, data)| memory.set_line(*line, data));
}

impl State {
    /// The failures in words; nothing if there was none.
    fn told(&self) -> Option<String> {
        let told = self.failures.iter().map(|(stage, n, cut)| {
            let kept = (0..*n).filter(|i| cut.keeps(*i, *n)).map(|i| (i + 1).to_string());
            let kept = match kept.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "none".into(),
                some => some,
            };
            format!(", in stage {stage} of its writes with {kept} of {n} durable")
        });
        let told: String = told.collect();
        (!told.is_empty()).then(|| format!("power failed again in the hardware's recovery{told}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Addr;

    fn line(n: u64) -> LineAddr {
        LineAddr(Addr::pm(4096).line().0 + n)
    }
    fn log() -> LineAddr {
        LOG_BASE.line()
    }
    fn all(word: u64) -> LineData {
        LineData {
            words: [word; 8],
            by: [None; 8],
        }
    }
    /// Copies the log's word to `homes` lines, then empties the log: in that order, or not.
    #[derive(Debug)]
    struct Copies {
        homes: u64,
        ordered: bool,
    }
    impl Design for Copies {
        fn recover(&self, memory: &mut Recovery<'_>) {
            let word = memory.image().line_words(log())[0];
            if word == 0 {
                return;
            }
            (0..self.homes).for_each(|n| memory.write(line(n), all(word)));
            if self.ordered {
                memory.barrier();
            }
            memory.write(log(), all(0));
        }
    }
    fn crashed() -> Image {
        let mut image = Image::default();
        image.set_line(log(), &all(7));
        image
    }
    fn run(homes: u64, ordered: bool, depth: u32) -> (Vec<Outcome>, Disturbed) {
        let again = Again {
            depth,
            states: u64::MAX,
        };
        disturbed(&Copies { homes, ordered }, &crashed(), again)
    }

    #[test]
    fn a_recovery_in_the_right_order_leaves_one_memory_however_often_it_is_cut_short() {
        for depth in 0..4 {
            for homes in [1, 3, 20] {
                let (outcomes, seen) = run(homes, true, depth);
                assert_eq!(outcomes.len(), 1);
                assert_eq!(outcomes[0].how, None);
                assert!((0..homes).all(|n| outcomes[0].image.line_words(line(n)) == [7; 8]));
                assert_eq!(seen.states > 0, depth > 0);
            }
        }
        // Three homes: eight combinations, then the log's line is emptied or not; the full set of homes comes up twice.
        assert_eq!(run(3, true, 1).1.states, 8 + 1);
        assert_eq!(run(3, true, 1).1.reordered, 8 - 4);
    }
    /// The log may be empty while some of its copies are missing: one memory for each set of homes that was not complete.
    #[test]
    fn a_log_that_is_emptied_too_early_loses_every_combination_of_its_copies() {
        let (outcomes, seen) = run(3, false, 1);
        assert_eq!(outcomes.len(), 8);
        assert_eq!((seen.states, seen.bounded), (16, false));
        let lost = outcomes
            .iter()
            .find(|o| o.image.line_words(line(0)) == [0; 8])
            .expect("a state without the first home");
        assert!(lost.how.as_ref().is_some_and(|how| how.contains("stage 1")), "{lost:?}");
        // Of many writes, at least each alone and each but one.
        assert!(run(20, false, 1).0.len() > 20);
    }
    #[test]
    fn a_bound_on_states_is_kept_and_said() {
        let again = Again { depth: 2, states: 5 };
        let (_, seen) = disturbed(
            &Copies {
                homes: 9,
                ordered: true,
            },
            &crashed(),
            again,
        );
        assert_eq!((seen.states, seen.bounded), (5, true));
    }
    #[test]
    fn a_machine_without_recovery_writes_nothing() {
        #[derive(Debug)]
        struct Nothing;
        impl Design for Nothing {}
        let (outcomes, seen) = disturbed(&Nothing, &crashed(), Again::default());
        assert_eq!((outcomes.len(), seen), (1, Disturbed::default()));
    }
}
