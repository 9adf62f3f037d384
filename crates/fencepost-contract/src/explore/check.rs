//! From a program to a verdict: record, apply the contract, explore; for several schedules.

use super::explorer::{Explorer, Replayed};
use super::record::{Granularity, RecordError, Recording, Schedule, record_program};
use super::replay::{ReplayError, ReplayId};
use super::report::{Budget, Report, Verdict};
use super::search::{ExploreError, Subject};
use super::{Oracle, steps};
use crate::contracts::Contract;
use crate::graph::CrashSpace;
use fencepost_kernel::{Dialect, Program};
use std::time::{Duration, Instant};

/// What to check a program against, and how thoroughly.
#[derive(Clone, Debug)]
pub struct CrashCheck {
    /// The contract.
    pub contract: Contract,
    /// Number of thread schedules to record. One is enough for a single thread.
    pub schedules: u64,
    /// Where threads may be switched.
    pub granularity: Granularity,
    /// Seed of the first schedule; the others follow from it.
    pub seed: u64,
    /// For all schedules together.
    pub budget: Budget,
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
    /// One schedule, switches at locks, no budget, no prefix.
    pub fn new(contract: impl Into<Contract>) -> CrashCheck {
        CrashCheck {
            contract: contract.into(),
            schedules: 1,
            granularity: Granularity::Lock,
            seed: 0,
            budget: Budget::Unlimited,
            prefix: String::new(),
        }
    }
    fn schedule(&self, number: u64) -> Schedule {
        Schedule {
            seed: self.seed.wrapping_add(number),
            granularity: self.granularity,
        }
    }
    /// What is left for schedule `number`, fairly divided.
    fn share(&self, number: u64, spent: u64, begun: Instant) -> Budget {
        let left = self.schedules.saturating_sub(number).max(1);
        match self.budget {
            Budget::Unlimited => Budget::Unlimited,
            Budget::States(n) => Budget::States(n.saturating_sub(spent) / left),
            Budget::Time(t) => {
                Budget::Time(t.saturating_sub(begun.elapsed()) / u32::try_from(left).unwrap_or(u32::MAX))
            }
        }
    }
    /// Records every schedule with `record` and explores it with `judge`, until a violation is found.
    ///
    /// `judge` is given the explorer of one recording and calls [`Explorer::explore`] with its recovery.
    pub fn each(
        &self,
        mut record: impl FnMut(Schedule) -> Result<Recording, RecordError>,
        mut judge: impl FnMut(&Explorer<'_>, &Recording) -> Result<Report, ExploreError>,
    ) -> Result<Report, CheckError> {
        let (mut joined, begun): (Option<Report>, _) = (None, Instant::now());
        for number in 0..self.schedules.max(1) {
            let recording = record(self.schedule(number))?;
            let space = self.contract.space(&recording.trace, &recording.initial);
            let spent = joined.as_ref().map_or(0, |r| r.recoveries);
            let prefix = format!("{}@{number}", self.prefix);
            let explorer = Explorer::new(&space)
                .budget(self.share(number, spent, begun))
                .prefix(prefix);
            let report = judge(&explorer, &recording)?;
            match &mut joined {
                Some(joined) => joined.join(report),
                None => joined = Some(report),
            }
            if joined.as_ref().is_some_and(|r| r.verdict == Verdict::Violated) {
                break;
            }
        }
        Ok(joined.unwrap_or_else(Report::new))
    }
    /// Checks a program with its own recovery and oracle.
    pub fn program<P: Program>(&self, program: &P, run: ProgramRun) -> Result<Report, CheckError> {
        self.each(
            |schedule| record_program(program, run.dialect, run.threads, run.ops, run.ack_every, schedule),
            |explorer, recording| {
                let oracle = Oracle::new(program, &recording.trace.ops);
                explorer.explore(&mut steps(&oracle))
            },
        )
    }
    /// Runs recovery again on the crash state that a witness of [`CrashCheck::program`] names. The check must be
    /// the same as the one that found it.
    pub fn replay_program<P: Program>(&self, program: &P, run: ProgramRun, id: &str) -> Result<Replayed, CheckError> {
        let schedule = self.schedule(schedule_of(id)?);
        let recording = record_program(program, run.dialect, run.threads, run.ops, run.ack_every, schedule)?;
        let space = self.contract.space(&recording.trace, &recording.initial);
        let oracle = Oracle::new(program, &recording.trace.ops);
        Ok(Explorer::new(&space).replay(&mut steps(&oracle), id)?)
    }
    /// The same for other recoveries.
    pub fn replay(
        &self,
        mut record: impl FnMut(Schedule) -> Result<Recording, RecordError>,
        subject: &mut impl Subject,
        id: &str,
    ) -> Result<Replayed, CheckError> {
        let recording = record(self.schedule(schedule_of(id)?))?;
        let space: CrashSpace = self.contract.space(&recording.trace, &recording.initial);
        Ok(Explorer::new(&space).replay(subject, id)?)
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
