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
    /// At most so many recoveries, those of the search for the smallest witness included; results are the same on every
    /// machine.
    States(u64),
    /// About so much time.
    Time(Duration),
}

/// The verdict on a program under a contract, of the executions that were recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every crash state of the executions that were recorded was covered, and recovery survives all of them. For
    /// several threads that says nothing of other interleavings: then [`Report::complete`] is false.
    Clean,
    /// Recovery fails in a crash state that the contract allows.
    Violated,
    /// No failure found, but not every crash state was covered.
    Bounded,
    /// The budget was spent before recovery was run even once.
    NothingExplored,
}
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Clean => "clean",
            Verdict::Violated => "violated",
            Verdict::Bounded => "bounded",
            Verdict::NothingExplored => "nothing explored",
        })
    }
}

/// What letting power fail during recovery looked at.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct AgainReport {
    /// Recoveries in which power was let fail: one of every way in which recovery ran and stored something.
    pub recoveries: u64,
    /// Crash states in the middle of them, each followed by a second recovery (runs that merged counted as covered).
    pub states: u128,
    /// Whether all of those recoveries were interrupted everywhere.
    pub complete: bool,
    /// Whether recovery flushes or fences. One that does not is taken to store durably and in order.
    pub fenced: bool,
}

impl AgainReport {
    /// This and what another execution showed.
    pub fn join(self, other: AgainReport) -> AgainReport {
        AgainReport {
            recoveries: self.recoveries + other.recoveries,
            states: self.states.saturating_add(other.states),
            complete: self.complete && other.complete,
            fenced: self.fenced || other.fenced,
        }
    }
}
impl fmt::Display for AgainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.recoveries == 0 {
            return f.write_str("power failing again: no recovery stored anything");
        }
        let all = if self.complete { "" } else { ", not all of them" };
        let order = if self.fenced {
            ""
        } else {
            " (no flush or fence in it: taken to store durably and in order)"
        };
        write!(
            f,
            "power failing again: {} recoveries interrupted{all}, {} states{order}",
            self.recoveries, self.states
        )
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
    /// Whether every crash state of the program was covered: those of its only execution. Never of several threads, of
    /// which only some interleavings are recorded.
    pub complete: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// When not complete: every state in which at most this many cache lines deviate from "all durable" or from
    /// "nothing durable" was covered. `None` if not even those two were.
    pub lines_deviating: Option<u32>,
    /// Number of thread schedules looked at.
    pub schedules: u64,
    /// Threads of the program.
    pub threads: u32,
    /// Distinct executions among them.
    pub executions: u64,
    /// Power failures during recovery, if they were tried.
    pub again: Option<AgainReport>,
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
            threads: 1,
            executions: 1,
            again: None,
            witness: None,
        }
    }
    /// Of a check that ended before its first exploration.
    pub(super) fn nothing() -> Report {
        Report {
            states_total: None,
            verdict: Verdict::NothingExplored,
            schedules: 0,
            executions: 0,
            ..Report::new()
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
        self.executions += other.executions;
        self.again = match (self.again, other.again) {
            (Some(a), Some(b)) => Some(a.join(b)),
            (a, b) => a.or(b),
        };
        self.verdict = match (self.verdict, other.verdict) {
            (Verdict::Violated, _) | (_, Verdict::Violated) => Verdict::Violated,
            (Verdict::Clean, Verdict::Clean) => Verdict::Clean,
            (Verdict::NothingExplored, Verdict::NothingExplored) => Verdict::NothingExplored,
            _ => Verdict::Bounded,
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
        let complete = match (self.complete, self.threads) {
            (true, _) => "yes",
            (false, 1) => "no",
            (false, _) => "no (several threads: other interleavings were not recorded)",
        };
        writeln!(f, "; complete: {complete}")?;
        if let Some(t) = self.lines_deviating.filter(|_| !self.complete) {
            writeln!(
                f,
                "covered: every deviation of at most {t} lines from all durable and from nothing durable"
            )?;
        }
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        if let Some(again) = self.again {
            writeln!(f, "{again}")?;
        }
        writeln!(
            f,
            "{} crash point{}, {} recoveries, {} steps, {} merges, {} schedule{}, {} distinct",
            self.crash_points,
            plural(self.crash_points),
            self.recoveries,
            self.steps,
            self.merges,
            self.schedules,
            plural(self.schedules),
            self.executions
        )?;
        match &self.witness {
            Some(witness) => write!(f, "{witness}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(verdict: Verdict) -> Report {
        Report {
            verdict,
            ..Report::new()
        }
    }

    /// One violation makes all of it violated; clean is only what is clean in every schedule.
    #[test]
    fn verdicts_of_schedules_are_joined() {
        use Verdict::{Bounded, Clean, NothingExplored, Violated};
        let joined = |a, b| {
            let mut report = of(a);
            report.join(of(b));
            report.verdict
        };
        for other in [Clean, Violated, Bounded, NothingExplored] {
            assert_eq!([joined(Violated, other), joined(other, Violated)], [Violated; 2]);
        }
        assert_eq!(joined(Clean, Clean), Clean);
        assert_eq!(joined(NothingExplored, NothingExplored), NothingExplored);
        for [a, b] in [[Clean, Bounded], [Clean, NothingExplored], [Bounded, NothingExplored]] {
            assert_eq!([joined(a, b), joined(b, a)], [Bounded; 2]);
        }
    }
    /// How many states there are is known only if it is known of each schedule, and nobody knows it of what was never explored.
    #[test]
    fn what_was_never_explored_has_an_unknown_number_of_states() {
        let known = |total| Report {
            states_total: total,
            ..Report::new()
        };
        let joined = |a: Option<u128>, b: Report| {
            let mut report = known(a);
            report.join(b);
            report.states_total
        };
        assert_eq!(joined(Some(3), known(Some(4))), Some(7));
        assert_eq!(joined(Some(3), known(None)), None);
        assert_eq!(joined(Some(3), Report::nothing()), None);
    }
}
