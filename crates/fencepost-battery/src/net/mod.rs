//! The net: checked runs for as long as it is given. None may be anything but clean.
//!
//! Every program in the sizes of users runs on every design that accepts it ([`whole`]); between them random programs run whose machines,
//! programs and designs are drawn so that lines, queues and counters collide ([`shape`]), and runs of any program with some parameters off
//! their defaults (`off_default`). What a run decided is counted ([`decisions`]), and alternatives that brought rare decisions about are
//! drawn more often.

pub mod decisions;
mod off_default;
pub mod shape;
pub mod whole;

use super::command::{Command, Outcome};
use super::commands::on_design;
use decisions::Coverage;
use fencepost_designs::{DesignInfo, all as designs};
use fencepost_kernel::{Stream, fault};
use fencepost_run::config::Resolved;
use fencepost_run::config::machine::MachineConfig;
use fencepost_run::config::presets::{Kind, names};
use fencepost_run::request::Request;
use shape::{Choice, OF_DESIGNS, RESPECTS, SLOW, Settings, Steering, cores};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Random runs between two in the sizes of users.
const BETWEEN: u64 = 12;
/// Of so many random runs one has parameters off their defaults.
const OFF_DEFAULT: u64 = 4;
/// Threads and operations of random runs.
const THREADS: [u32; 4] = [2, 3, 4, 8];
const OPS: [u32; 4] = [6, 12, 30, 60];

/// How long the net runs, and what it is drawn from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The time after which no run is started.
    pub time: Option<Duration>,
    /// Random runs at most; a fixed number, one at a time, makes the net the same on every host.
    pub runs: u64,
    /// Whether programs run in the sizes of users.
    pub whole: bool,
    /// Runs of this design alone, by its place in the registry.
    pub design: Option<usize>,
    /// What everything is drawn from.
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Whether the first run that is not clean ends it.
    pub until_wrong: bool,
}

/// What the net found.
#[derive(Clone, Debug, Default)]
pub struct Caught {
    /// Random runs, and runs in the sizes of users.
    pub runs: [u64; 2],
    /// Runs in the sizes of users that were left when the time was over.
    pub left: u64,
    /// Of how many crash points of a run fewer were examined than there are.
    pub capped: Vec<String>,
    /// Random runs that were not possible as drawn.
    pub refused: u64,
    /// Runs that are not clean: the command, and what it says.
    pub wrong: Vec<String>,
    /// What the runs decided.
    pub coverage: Coverage,
}
impl Caught {
    fn join(&mut self, other: Caught) {
        (0..2).for_each(|i| self.runs[i] += other.runs[i]);
        self.refused += other.refused;
        self.capped.extend(other.capped);
        self.wrong.extend(other.wrong);
        self.coverage.join(&other.coverage);
    }
    /// Adds a run; whether it decided what is rare.
    fn add(&mut self, command: &Command, kind: usize) -> bool {
        let ((outcome, examined), decided) = fault::counted(|| command.examined());
        let news = self.coverage.add(&decided);
        let violated = matches!(outcome, Outcome::Violated(_));
        let expected = violated && examined.is_some_and(|e| e.expected);
        match outcome {
            Outcome::Refused(_) if kind == 0 => self.refused += 1,
            _ if outcome == Outcome::Clean || expected => {
                self.runs[kind] += 1;
                let short = examined.filter(|e| kind == 1 && e.points < e.points_total);
                let line = short.map(|e| format!("{command}: {} of {} crash points", e.points, e.points_total));
                self.capped.extend(line);
            }
            wrong => self.wrong.push(format!("{command}\n        {wrong}")),
        }
        news
    }
}
impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [sides, taken, lines, reached] = self.coverage.counts();
        for run in &self.capped {
            writeln!(f, "capped  {run}")?;
        }
        for never in self.coverage.never() {
            writeln!(f, "{never}")?;
        }
        for wrong in &self.wrong {
            writeln!(f, "WRONG   {wrong}")?;
        }
        let [random, whole] = self.runs;
        write!(
            f,
            "{random} random runs ({} not possible as drawn), {whole} in the sizes of users ({} capped, {} left): {} wrong; \
             {taken} of {sides} sides of decisions taken, {reached} of {lines} planted lines reached",
            self.refused,
            self.capped.len(),
            self.left,
            self.wrong.len()
        )
    }
}

/// What all workers share.
struct Shared {
    next: u64,
    whole: std::vec::IntoIter<Command>,
    steering: Steering,
}

/// The designs that [`Budget::design`] names, by their places.
pub fn design_names() -> impl Iterator<Item = &'static str> {
    designs().iter().map(|d| d.name)
}

/// Runs it.
pub fn cast(budget: Budget) -> Caught {
    let mut whole = if budget.whole { whole::runs() } else { Vec::new() };
    let wanted = budget.design.map(|d| designs()[d].name);
    whole.retain(|c| wanted.is_none_or(|name| matches!(c, Command::Run(info, _) if info.name == name)));
    let turn = budget.seed as usize % whole.len().max(1);
    whole.rotate_left(turn);
    let shared = Mutex::new(Shared {
        next: 0,
        whole: whole.into_iter(),
        steering: Steering::default(),
    });
    let begun = Instant::now();
    let stop = AtomicBool::new(false);
    let over = || stop.load(Ordering::Relaxed) || budget.time.is_some_and(|t| begun.elapsed() > t);
    let faults = fault::current();
    let work = || {
        let _planted = faults.enter();
        let mut caught = Caught::default();
        while !over() {
            let Some((choice, command, kind)) = next(&shared, budget) else {
                break;
            };
            let Some(command) = command else {
                caught.refused += 1;
                continue;
            };
            let news = caught.add(&command, kind);
            stop.fetch_or(budget.until_wrong && !caught.wrong.is_empty(), Ordering::Relaxed);
            if let Some(choice) = choice {
                shared.lock().expect("no panic").steering.learn(&choice, news);
            }
        }
        caught
    };
    let mut all = Caught::default();
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..budget.jobs.max(1)).map(|_| s.spawn(work)).collect();
        for t in threads {
            all.join(t.join().expect("panics are caught within a run"));
        }
    });
    all.left = shared.into_inner().expect("no panic").whole.count() as u64;
    all
}

/// The next run; the choice that a random one is made of, and which kind it is.
fn next(shared: &Mutex<Shared>, budget: Budget) -> Option<(Option<Choice>, Option<Command>, usize)> {
    let mut shared = shared.lock().expect("no panic");
    let number = shared.next;
    shared.next += 1;
    if number % (BETWEEN + 1) == BETWEEN
        && let Some(command) = shared.whole.next()
    {
        return Some((None, Some(command), 1));
    }
    let random = number - number / (BETWEEN + 1);
    if random >= budget.runs {
        return shared.whole.next().map(|c| (None, Some(c), 1));
    }
    let mut dice = Stream::new(budget.seed, &format!("net {number}"));
    // Every design takes its turn.
    let design = budget.design.unwrap_or(number as usize % designs().len());
    if dice.chance(1, OFF_DEFAULT) {
        drop(shared);
        return Some((None, off_default::drawn(design, &mut dice), 0));
    }
    let choice = shared.steering.draw(&mut dice);
    drop(shared);
    let command = drawn(&choice, design, &mut dice);
    Some((Some(choice), command, 0))
}

/// A random run of this choice on a design, if there is one.
fn drawn(choice: &[usize], d: usize, dice: &mut Stream) -> Option<Command> {
    let Command::Run(info, mut request) = on_design(d, "random", dice.below(60) as usize, true)? else {
        return None;
    };
    if dice.chance(1, 6) {
        with_second_level(info, &mut request);
    }
    let l2 = MachineConfig::load(&request.machine, None).is_ok_and(|m| m.spec.l2.is_some());
    let threads = THREADS[dice.below(THREADS.len() as u64) as usize];
    request.sets = cores(threads, dice);
    let respects = RESPECTS.iter().zip(choice);
    respects.for_each(|((_, list), at)| request.sets.extend(list[*at].iter().map(|s| (*s).to_owned())));
    if l2 {
        request.sets.extend(["l2.size=256B", "l2.ways=4"].map(str::to_owned));
    }
    let own = of_design(info, choice[RESPECTS.len()], dice);
    if dice.chance(1, 2) {
        let name = |s: &str| s.split('=').next().map(str::to_owned);
        let slow = known(info, SLOW[dice.below(SLOW.len() as u64) as usize]);
        let slow = slow.filter(|s| own.iter().all(|o| name(o) != name(s)));
        request.sets.extend(slow);
    }
    request.sets.extend(own);
    request.seed = 1 + dice.below(1 << 40);
    request.threads = Some(threads);
    request.ops = OPS[dice.below(OPS.len() as u64) as usize];
    request.ack_every = dice.chance(1, 4);
    Some(Command::Run(info, request))
}

/// A machine whose cores have a second level, with a medium on which the design keeps its promise there.
fn with_second_level(info: &'static DesignInfo, request: &mut Request) {
    let machine = names(Kind::Machine)
        .into_iter()
        .find(|m| MachineConfig::load(m, None).is_ok_and(|m| m.spec.l2.is_some()));
    let Some(machine) = machine else { return };
    let media = names(Kind::Media).into_iter().map(Some).chain([None]);
    let sound = media.into_iter().find_map(|media| {
        let mut on = request.clone();
        (on.machine, on.media) = (machine.to_owned(), media.map(str::to_owned));
        Resolved::with_design(&on, info).is_ok_and(|r| r.sound()).then_some(on)
    });
    if let Some(sound) = sound {
        *request = sound;
    }
}

/// Settings of a list that a design has parameters for.
fn known(info: &DesignInfo, list: Settings) -> impl Iterator<Item = String> {
    let fields = (info.params)();
    let known = move |s: &&&str| fields.iter().any(|f| s.split('=').next() == Some(f.name));
    list.iter().filter(known).map(|s| format!("design.{s}"))
}

/// Settings of a design: those of the list that it has parameters for, its smallest sizes, one of its variants, both, or none.
fn of_design(info: &DesignInfo, at: usize, dice: &mut Stream) -> Vec<String> {
    let text = |(name, value): &(&str, &str)| format!("design.{name}={value}");
    let variant = match info.variants {
        [] => &[][..],
        all => all[dice.below(all.len() as u64) as usize],
    };
    let own = |name: &str| variant.iter().any(|v| v.0 == name);
    match (OF_DESIGNS.get(at), at.saturating_sub(OF_DESIGNS.len())) {
        (Some(list), _) => known(info, list).collect(),
        (None, 0) => info.smallest.iter().map(text).collect(),
        (None, 1) => variant.iter().map(text).collect(),
        (None, 2) => {
            let smallest = info.smallest.iter().filter(|s| !own(s.0));
            smallest.chain(variant).map(text).collect()
        }
        (None, _) => Vec::new(),
    }
}

/// Every alternative is one that the machine, the program and some design take.
#[test]
fn every_alternative_is_possible() {
    let base = Steering::default().draw(&mut Stream::new(1, "alternatives"));
    for respect in 0..base.len() {
        let many = RESPECTS
            .get(respect)
            .map_or(OF_DESIGNS.len() + shape::BEYOND, |r| r.1.len());
        for at in 0..many {
            let mut choice = vec![0; base.len()];
            choice[respect] = at;
            let possible = (0..designs().len()).any(|d| {
                let command = drawn(&choice, d, &mut Stream::new(d as u64, "one"));
                command.is_some_and(|c| !matches!(c.outcome(), Outcome::Refused(_)))
            });
            assert!(possible, "alternative {at} of respect {respect}");
        }
    }
}
