//! From a program to a verdict: record, apply the contract, explore; for several schedules.

use super::crash_report::{Budget, Report, Verdict};
use super::explorer::{Explorer, Replayed};
use super::record::{Granularity, Order, RecordError, Recording, Schedule, record_program};
use super::replay_id::{ReplayError, ReplayId};
use super::search::{ExploreError, Subject};
use super::{Oracle, steps};
use crate::contracts::Contract;
use crate::graph::{CrashSpace, Extent};
use fencepost_kernel::{Dialect, Program};
use rustc_hash::FxHashSet;
use std::time::{Duration, Instant};

/// Schedules of a program with several threads, unless another number is asked for.
pub const SCHEDULES: u64 = 8;
/// Nodes up to which an execution counts as small: merges are doubted by default.
const SMALL: u32 = 20_000;
/// Merges of a small execution that are doubted by default.
const DOUBTED: u64 = 256;

/// What to check a program against, and how thoroughly.
#[derive(Clone, Debug)]
pub struct CrashCheck {
    /// The contract.
    pub contract: Contract,
    /// Number of thread schedules to record; `None`: [`SCHEDULES`] for several threads, else one. Of several threads, every
    /// second one is recorded with store buffers.
    pub schedules: Option<u64>,
    /// Where threads may be switched (with store buffers: everywhere).
    pub granularity: Granularity,
    /// Seed of the first schedule; the others follow from it.
    pub seed: u64,
    /// For all schedules together: recording, exploring and shrinking.
    pub budget: Budget,
    /// Runs one in so many merged continuations nevertheless ([`Explorer::doubt_one_merge_in`]). `None`: the first few
    /// hundred merges of small executions.
    pub doubt: Option<u64>,
    /// Whether power also fails while recovery runs ([`Explorer::power_fails_again`]).
    pub power_fails_again: bool,
    /// What replay ids begin with; an `@` and the number of the schedule follow.
    pub prefix: String,
}

/// How a program of the kernel's kind is run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProgramRun {
    /// How the program's intents become instructions.
    pub dialect: Dialect,
    /// Software threads.
    pub threads: u32,
    /// Operations of each thread.
    pub ops: u32,
    /// Whether every operation is made durable and acknowledged.
    pub ack_every: bool,
}

/// Why a check gave no verdict.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The execution could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The exploration could not be trusted or carried out.
    #[error(transparent)]
    Explore(#[from] ExploreError),
    /// The replay id cannot be used.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl CrashCheck {
    /// Switches at locks, no budget, no prefix; several schedules for several threads.
    pub fn new(contract: impl Into<Contract>) -> CrashCheck {
        CrashCheck {
            contract: contract.into(),
            schedules: None,
            granularity: Granularity::Lock,
            seed: 0,
            budget: Budget::Unlimited,
            doubt: None,
            power_fails_again: true,
            prefix: String::new(),
        }
    }
    /// The schedule with this number: odd ones have store buffers.
    fn schedule(&self, number: u64, until: Option<Instant>) -> Schedule {
        let (order, granularity) = match number % 2 {
            1 => (Order::StoreBuffers, Granularity::Access),
            _ => (Order::Sequential, self.granularity),
        };
        Schedule {
            seed: self.seed.wrapping_add(number),
            granularity,
            order,
            until,
        }
    }
    /// What is left for the next of `left` schedules, fairly divided.
    fn share(&self, left: u64, spent: u64, begun: Instant) -> Budget {
        let left = left.max(1);
        match self.budget {
            Budget::Unlimited => Budget::Unlimited,
            Budget::States(n) => Budget::States(n.saturating_sub(spent).div_ceil(left)),
            Budget::Time(t) => {
                Budget::Time(t.saturating_sub(begun.elapsed()) / u32::try_from(left).unwrap_or(u32::MAX))
            }
        }
    }
    /// The explorer of one recording, as this check wants it.
    fn explorer<'s>(&self, space: &'s CrashSpace) -> Explorer<'s> {
        let mut explorer = Explorer::new(space);
        explorer = match self.doubt {
            Some(n) => explorer.doubt_one_merge_in(n),
            None if explorer.nodes() <= SMALL => explorer.doubt_first_merges(DOUBTED),
            None => explorer,
        };
        match self.power_fails_again {
            true => explorer.power_fails_again(self.contract),
            false => explorer,
        }
    }
    /// Records every schedule with `record` and explores it with `judge`, until a violation is found. Schedules that give
    /// an execution seen before are not explored again.
    ///
    /// `judge` is given the explorer of one recording, which it may adjust ([`Explorer::endless_after`],
    /// [`Explorer::doubt_one_merge_in`], ..), and calls [`Explorer::explore`] with its recovery.
    pub fn each(
        &self,
        mut record: impl FnMut(Schedule) -> Result<Recording, RecordError>,
        mut judge: impl FnMut(Explorer<'_>, &Recording) -> Result<Report, ExploreError>,
    ) -> Result<Report, CheckError> {
        self.each_recording(&mut record, &mut judge)
    }
    fn each_recording(
        &self,
        record: &mut dyn FnMut(Schedule) -> Result<Recording, RecordError>,
        judge: &mut dyn FnMut(Explorer<'_>, &Recording) -> Result<Report, ExploreError>,
    ) -> Result<Report, CheckError> {
        let begun = Instant::now();
        let until = match self.budget {
            Budget::Time(t) => Some(begun + t),
            Budget::Unlimited | Budget::States(_) => None,
        };
        let mut joined: Option<Report> = None;
        let (mut seen, mut schedules, mut threads, mut cut_short) = (FxHashSet::default(), 1, 1, false);
        let mut number = 0;
        while number < schedules {
            let recording = match record(self.schedule(number, until)) {
                Err(RecordError::OutOfTime) => {
                    cut_short = true;
                    break;
                }
                recording => recording?,
            };
            if number == 0 {
                threads = recording.trace.threads;
                let default = if threads > 1 { SCHEDULES } else { 1 };
                schedules = self.schedules.unwrap_or(default).max(1);
            }
            let space = self.contract.space_until(&recording.trace, &recording.initial, until);
            let Some(space) = space else {
                cut_short = true;
                break;
            };
            let explorer = self.explorer(&space);
            number += 1;
            if !seen.insert(explorer.digest()) {
                joined.iter_mut().for_each(|j| j.schedules += 1);
                continue;
            }
            let spent = joined.as_ref().map_or(0, |r| r.recoveries);
            let explorer = explorer
                .budget(self.share(schedules - number + 1, spent, begun))
                .until(until)
                .prefix(format!("{}@{}", self.prefix, number - 1));
            let report = judge(explorer, &recording)?;
            match &mut joined {
                Some(joined) => joined.join(report),
                None => joined = Some(report),
            }
            if joined.as_ref().is_some_and(|r| r.verdict == Verdict::Violated) {
                break;
            }
        }
        let mut report = joined.unwrap_or_else(Report::nothing);
        report.threads = threads;
        report.complete &= threads == 1;
        if cut_short && report.verdict == Verdict::Clean {
            report.verdict = Verdict::Bounded;
        }
        Ok(report)
    }
    /// Checks a program with its own recovery and oracle.
    pub fn program<P: Program>(&self, program: &P, run: ProgramRun) -> Result<Report, CheckError> {
        self.each(
            |schedule| record_program(program, run.dialect, run.threads, run.ops, run.ack_every, schedule),
            |explorer, recording| {
                let oracle = Oracle::new(program, &recording.trace.ops);
                let memory = Extent::of_layout(program.footprint());
                let explorer = explorer.memory(memory);
                let explorer = explorer.recoveries_take(oracle.usual_of(&recording.initial, run.threads as usize));
                explorer.explore(&mut steps(&oracle))
            },
        )
    }
    /// Runs recovery again on the crash state that a witness of [`CrashCheck::program`] names. The check must be
    /// the same as the one that found it.
    pub fn replay_program<P: Program>(&self, program: &P, run: ProgramRun, id: &str) -> Result<Replayed, CheckError> {
        let schedule = self.schedule(schedule_of(id)?, None);
        let recording = record_program(program, run.dialect, run.threads, run.ops, run.ack_every, schedule)?;
        let oracle = Oracle::new(program, &recording.trace.ops);
        let memory = Extent::of_layout(program.footprint());
        let takes = oracle.usual_of(&recording.initial, run.threads as usize);
        self.replay_recorded(&recording, Some((memory, takes)), &mut steps(&oracle), id)
    }
    /// The same for other recoveries.
    pub fn replay(
        &self,
        mut record: impl FnMut(Schedule) -> Result<Recording, RecordError>,
        subject: &mut dyn Subject,
        id: &str,
    ) -> Result<Replayed, CheckError> {
        let recording = record(self.schedule(schedule_of(id)?, None))?;
        self.replay_recorded(&recording, None, subject, id)
    }
    fn replay_recorded(
        &self,
        recording: &Recording,
        memory: Option<(Extent, u64)>,
        subject: &mut dyn Subject,
        id: &str,
    ) -> Result<Replayed, CheckError> {
        let space: CrashSpace = self.contract.space(&recording.trace, &recording.initial);
        let explorer = self.explorer(&space);
        let explorer = match memory {
            Some((memory, takes)) => explorer.memory(memory).recoveries_take(takes),
            None => explorer,
        };
        Ok(explorer.replay(subject, id)?)
    }
}

/// The number of the schedule that an id of [`CrashCheck`] belongs to.
fn schedule_of(id: &str) -> Result<u64, ReplayError> {
    let (prefix, _) = ReplayId::decode(id)?;
    let number = prefix.rsplit_once('@').and_then(|(_, n)| n.parse().ok());
    number.ok_or_else(|| ReplayError::NoState(id.to_owned()))
}

/// Parses a budget as users write it: a number of states, or a time such as `30s`, `500ms`, `2m`.
impl std::str::FromStr for Budget {
    type Err = BadBudget;
    fn from_str(text: &str) -> Result<Budget, BadBudget> {
        let bad = || BadBudget(text.to_owned());
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = text[..digits].parse().map_err(|_| bad())?;
        match text[digits..].trim() {
            "" => Ok(Budget::States(number)),
            "ms" => Ok(Budget::Time(Duration::from_millis(number))),
            "s" => Ok(Budget::Time(Duration::from_secs(number))),
            "m" | "min" => Ok(Budget::Time(Duration::from_secs(number.saturating_mul(60)))),
            "h" => Ok(Budget::Time(Duration::from_secs(number.saturating_mul(3600)))),
            _ => Err(bad()),
        }
    }
}
/// Not a budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no budget: give a number of recoveries (`20000`) or a time (`500ms`, `30s`, `2m`, `1h`)")]
pub struct BadBudget(String);
