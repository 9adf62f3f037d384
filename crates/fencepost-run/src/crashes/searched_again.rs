//! The explorer against itself: what one search says of a run's writes in flight, searched again in other ways.

use crate::error::LabError;
use fencepost_contract::explore::{AnyOracle, Explorer, Report, Subject, Verdict};
use fencepost_machine::RunReport;

/// Of so many checked runs, chosen by their persist logs, one is searched again.
const ONE_IN: u64 = 50;
/// Sets of writes in flight, of all failure points together, beyond which they are not enumerated.
const ENUMERATED: u64 = 4_096;

/// Whether this run is one of those that are searched again.
pub(super) fn is_due(report: &RunReport) -> bool {
    report.log.digest().is_multiple_of(ONE_IN)
}

/// Searches again without merging, in another order, and state by state on images: whatever two of them complete, they say the same of.
///
/// # Errors
/// They do not: a defect of ours.
pub(super) fn search_again(
    explorer: &Explorer<'_>,
    oracle: &dyn AnyOracle,
    recovery: &mut dyn Subject,
    found: &Report,
) -> Result<(), LabError> {
    let Some(said) = Said::of(found) else { return Ok(()) };
    let searches = [
        ("without merging", explorer.clone().merge(false)),
        ("from the oldest values", explorer.clone().oldest_first(true)),
    ];
    for (how, search) in searches {
        let again = search.explore(recovery);
        let again = again.map_err(|e| LabError::Internal(e.to_string()))?;
        said.must_equal(Said::of(&again), how)?;
    }
    said.must_equal(enumerated(explorer, oracle), "state by state")
}

/// What a search says that it has completed: how many crash states there are, or at which failure point one breaks first.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Said {
    /// No number where it took too long to count them: a search says then how often it ran recovery at least, and each runs it another number
    /// of times.
    Clean {
        states: Option<u128>,
    },
    Broken {
        point: usize,
    },
}
impl Said {
    fn of(report: &Report) -> Option<Said> {
        let states = report.states_total.map(|_| report.states_covered);
        match (report.verdict, &report.witness) {
            (Verdict::Clean, _) => Some(Said::Clean { states }),
            // A recovery that fails when power fails again is nothing that every search tries.
            (Verdict::Violated, Some(w)) if w.second.is_none() => Some(Said::Broken { point: w.point }),
            _ => None,
        }
    }
    fn must_equal(self, other: Option<Said>, how: &str) -> Result<(), LabError> {
        let agrees = |other| match (self, other) {
            (Said::Clean { states: one }, Said::Clean { states: other }) => one.zip(other).is_none_or(|(a, b)| a == b),
            _ => self == other,
        };
        match other {
            Some(other) if !agrees(other) => Err(LabError::Internal(format!(
                "the explorer against itself: of the writes in flight it says {self:?}, and {how} {other:?}"
            ))),
            _ => Ok(()),
        }
    }
}

fn enumerated(explorer: &Explorer<'_>, oracle: &dyn AnyOracle) -> Option<Said> {
    let points = explorer.enumerate(oracle, ENUMERATED)?;
    let broken = points.iter().position(|p| p.fewest.is_some());
    let states = Some(points.iter().map(|p| p.states).sum());
    Some(broken.map_or(Said::Clean { states }, |point| Said::Broken { point }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_agree_on_what_both_counted() {
        let clean = |states| Said::Clean { states };
        let agree = |a: Said, b| a.must_equal(b, "again").is_ok();
        assert!(agree(clean(Some(7)), Some(clean(Some(7)))) && agree(clean(Some(7)), None));
        assert!(!agree(clean(Some(7)), Some(clean(Some(8)))));
        assert!(agree(clean(None), Some(clean(Some(8)))) && agree(clean(Some(7)), Some(clean(None))));
        let broken = |point| Said::Broken { point };
        assert!(agree(broken(3), Some(broken(3))) && !agree(broken(3), Some(broken(4))));
        assert!(!agree(clean(None), Some(broken(3))) && !agree(broken(3), Some(clean(None))));
    }
}
