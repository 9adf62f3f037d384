//! Power that fails again while a design's hardware recovers.
//!
//! A second failure can come at any moment of recovery. It finds the earlier [stages](super::Recovery) and any of the writes of the running
//! one, and recovery begins again on what it finds; so does a third.

use super::design::Design;
use super::recovery::{Recovery, Repair};
use fencepost_kernel::units::LOG_BASE;
use fencepost_kernel::{Image, LineAddr, rng};
use std::collections::{BTreeSet, HashSet};

/// Memory after a design's hardware has recovered it undisturbed.
pub fn recovered(design: &dyn Design, image: &Image) -> Image {
    let mut image = image.clone();
    design.recover(&mut Recovery::new(&mut image));
    image
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

/// Lets power fail again wherever hardware recovery of `image` writes. Answers with what undisturbed recovery leaves, and then every other
/// memory that disturbed recovery leaves to software, each once.
pub fn disturbed(design: &dyn Design, image: &Image, again: Again) -> (Vec<Outcome>, Disturbed) {
    let mut search = Search {
        design,
        again,
        base: image,
        touched: BTreeSet::new(),
        known: HashSet::new(),
        outcomes: Vec::new(),
        seen: Disturbed::default(),
    };
    search.run(image, 0, "");
    (search.outcomes, search.seen)
}

struct Search<'a> {
    design: &'a dyn Design,
    again: Again,
    base: &'a Image,
    /// Lines that any recovery wrote.
    touched: BTreeSet<LineAddr>,
    known: HashSet<u64>,
    outcomes: Vec<Outcome>,
    seen: Disturbed,
}

impl Search<'_> {
    fn run(&mut self, image: &Image, depth: u32, trail: &str) {
        let mut after = image.clone();
        let mut recovery = Recovery::new(&mut after);
        self.design.recover(&mut recovery);
        let stages = std::mem::take(&mut recovery.stages);
        self.touched.extend(stages.iter().flatten().map(|w| w.0));
        self.note(after, trail);
        if depth == self.again.depth || stages.iter().all(Vec::is_empty) {
            return;
        }
        self.seen.recoveries += 1;
        let mut before = image.clone();
        for (number, stage) in (1..).zip(&stages) {
            for cut in cuts(stage.len(), depth) {
                self.cut(
                    &before,
                    stage,
                    &cut,
                    depth,
                    &format!("{trail}{}", told(number, &cut, stage.len())),
                );
            }
            stage.iter().for_each(|(line, data)| before.set_line(*line, data));
        }
    }
    /// Power fails when these writes of a stage are durable.
    fn cut(&mut self, before: &Image, stage: &[Repair], durable: &[bool], depth: u32, trail: &str) {
        if self.seen.states >= self.again.states {
            self.seen.bounded = true;
            return;
        }
        let mut state = before.clone();
        let kept = stage.iter().zip(durable).filter(|w| *w.1);
        kept.for_each(|((line, data), _)| state.set_line(*line, data));
        if !self.known.insert(self.digest(&state)) {
            return;
        }
        self.seen.states += 1;
        self.seen.reordered += u64::from(durable.windows(2).any(|w| w[1] && !w[0]));
        self.run(&state, depth + 1, trail);
    }
    /// What tells a state from others: every state differs from the first memory in lines that recovery writes only.
    fn digest(&self, image: &Image) -> u64 {
        let differs = |l: &&LineAddr| image.line_words(**l) != self.base.line_words(**l);
        self.touched.iter().filter(differs).fold(1, |digest, line| {
            let words = image.line_words(*line);
            words.iter().fold(rng::mix(digest ^ line.0), |d, w| rng::mix(d ^ *w))
        })
    }
    /// Keeps a result, unless software sees it as one that is kept already. The region that machines keep for logs is the hardware's.
    fn note(&mut self, image: Image, trail: &str) {
        let software = || self.touched.iter().filter(|l| **l < LOG_BASE.line());
        let same = |o: &Outcome| software().all(|l| o.image.line_words(*l) == image.line_words(*l));
        if !self.outcomes.iter().any(same) {
            let how = (!trail.is_empty()).then(|| format!("power failed again in the hardware's recovery{trail}"));
            self.outcomes.push(Outcome { image, how });
        }
    }
}

fn told(stage: usize, durable: &[bool], of: usize) -> String {
    let kept: Vec<String> = (1..).zip(durable).filter(|d| *d.1).map(|d| d.0.to_string()).collect();
    let kept = if kept.is_empty() {
        "none".into()
    } else {
        kept.join(", ")
    };
    format!(", in stage {stage} of its writes with {kept} of {of} durable")
}

/// Writes up to which every combination is looked at.
const ALL: usize = 6;
/// Combinations drawn beyond that.
const DRAWN: u64 = 16;

/// Which writes of a stage of `n` are durable when power fails: all combinations of few; of many the first ones, all but one, one
/// alone, and some drawn. Fewer the deeper.
fn cuts(n: usize, depth: u32) -> Vec<Vec<bool>> {
    if n <= ALL >> depth.min(1) {
        return (0..1u32 << n)
            .map(|set| (0..n).map(|i| set >> i & 1 == 1).collect())
            .collect();
    }
    let stride = if depth == 0 { 1 } else { n.div_ceil(4) };
    let some = || (0..n).step_by(stride);
    let prefixes = (0..=n).step_by(stride).map(|end| (0..n).map(|i| i < end).collect());
    let but_one = some().map(|but| (0..n).map(|i| i != but).collect());
    let alone = some().map(|one| (0..n).map(|i| i == one).collect());
    let drawn = (0..DRAWN >> (2 * depth).min(5)).map(|draw| {
        (0..n as u64)
            .map(|i| rng::hash(&[draw, n as u64, i]) & 1 == 1)
            .collect()
    });
    prefixes.chain(but_one).chain(alone).chain(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Addr, LineData};

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
