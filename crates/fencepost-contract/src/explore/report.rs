//! What an exploration says.

use super::witness::Witness;
use std::fmt;
use std::time::Duration;

/// How much an exploration may cost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Budget {
    /// Everything is explored, however long it takes.
    #[default]
    Unlimited,
    /// At most so many recoveries; results are the same on every machine. (The search for the smallest witness,
    /// after a violation is found, has a bound of its own.)
    States(u64),
    /// About so much time.
    Time(Duration),
}

/// The verdict on a program under a contract.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every crash state was covered and recovery survives all of them.
    Clean,
    /// Recovery fails in a crash state that the contract allows.
    Violated,
    /// No failure found, but not every crash state was covered.
    Bounded,
}
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Clean => "clean",
            Verdict::Violated => "violated",
            Verdict::Bounded => "bounded",
        })
    }
}

/// What an exploration did and found.
///
/// A *crash state* is a failure point together with a set of durable stores that the contract allows there. A
/// *recovery* is one run of recovery begun, cut short by a merge or not.
#[derive(Clone, Debug)]
pub struct Report {
    /// Failure points of the execution that were explored (all of them, unless a violation ended the search).
    pub crash_points: u64,
    /// Runs of recovery begun.
    pub recoveries: u64,
    /// Steps of recovery run (plain recoveries: runs and marks passed).
    pub steps: u64,
    /// Continuations that were merged with an equal one.
    pub merges: u64,
    /// Crash states known to be survived, plus one if a violation was found. Never more than was covered.
    pub states_covered: u128,
    /// Crash states in total, where they can be counted with reasonable effort.
    pub states_total: Option<u128>,
    /// Whether every crash state was covered.
    pub complete: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// When not complete: every state in which at most this many cache lines deviate from "all durable" or from
    /// "nothing durable" was covered. `None` if not even those two were.
    pub lines_deviating: Option<u32>,
    /// Number of thread schedules looked at.
    pub schedules: u64,
    /// The crash state that recovery does not survive.
    pub witness: Option<Witness>,
}
impl Report {
    pub(super) fn new() -> Report {
        Report {
            crash_points: 0,
            recoveries: 0,
            steps: 0,
            merges: 0,
            states_covered: 0,
            states_total: Some(0),
            complete: false,
            verdict: Verdict::Bounded,
            lines_deviating: None,
            schedules: 1,
            witness: None,
        }
    }
    /// Adds the report of another schedule of the same program. The first witness stays.
    pub fn join(&mut self, other: Report) {
        self.crash_points += other.crash_points;
        self.recoveries += other.recoveries;
        self.steps += other.steps;
        self.merges += other.merges;
        self.states_covered = self.states_covered.saturating_add(other.states_covered);
        self.states_total = self
            .states_total
            .zip(other.states_total)
            .and_then(|(a, b)| a.checked_add(b));
        self.lines_deviating = match (self.complete, other.complete) {
            (true, _) => other.lines_deviating,
            (_, true) => self.lines_deviating,
            _ => self.lines_deviating.min(other.lines_deviating),
        };
        self.complete &= other.complete;
        self.schedules += other.schedules;
        self.verdict = match (self.verdict, other.verdict) {
            (Verdict::Violated, _) | (_, Verdict::Violated) => Verdict::Violated,
            (Verdict::Bounded, _) | (_, Verdict::Bounded) => Verdict::Bounded,
            _ => Verdict::Clean,
        };
        self.witness = self.witness.take().or(other.witness);
    }
}
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "verdict: {}", self.verdict)?;
        write!(f, "crash states: {} covered of ", self.states_covered)?;
        match self.states_total {
            Some(total) => write!(f, "{total}")?,
            None => write!(f, "an unknown number")?,
        }
        writeln!(f, "; complete: {}", if self.complete { "yes" } else { "no" })?;
        if let Some(t) = self.lines_deviating.filter(|_| !self.complete) {
            writeln!(
                f,
                "covered: every deviation of at most {t} lines from all durable and from nothing durable"
            )?;
        }
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        writeln!(
            f,
            "{} crash point{}, {} recoveries, {} steps, {} merges, {} schedule{}",
            self.crash_points,
            plural(self.crash_points),
            self.recoveries,
            self.steps,
            self.merges,
            self.schedules,
            plural(self.schedules)
        )?;
        match &self.witness {
            Some(witness) => write!(f, "{witness}"),
            None => Ok(()),
        }
    }
}
