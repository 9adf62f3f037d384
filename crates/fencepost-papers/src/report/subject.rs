//! What a page is made from.

use crate::experiment::best::Best;
use crate::experiment::claims::Claim;
use crate::experiment::diagnostics::DiagnosticRow;
use crate::experiment::figures::Figure;
use crate::experiment::implied::ImpliedRow;
use crate::experiment::readings::{Readings, Spread};
use crate::experiment::runs::{Plan, Runs};
use crate::experiment::score::{Found, Row, outcome};
use crate::experiment::spec::Experiment;
use std::collections::BTreeMap;

/// What a report is made from.
pub struct Report<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Scale.
    pub scale: &'a str,
    /// Seed of every run.
    pub seed: u64,
    /// Finished runs under the first choice of readings.
    pub runs: &'a Runs,
    /// Finished runs under every choice, the first included.
    pub choices: &'a [Runs],
    /// What was planned.
    pub plan: &'a Plan,
    /// Scoreboard.
    pub rows: &'a [Row],
    /// Diagnostic: work between persists.
    pub implied: &'a [ImpliedRow],
    /// Diagnostic: other figures that the paper's numbers imply.
    pub diagnostics: &'a [DiagnosticRow],
    /// Readings taken instead of the primaries.
    pub asked: &'a [String],
    /// The paper's claims.
    pub claims: &'a [Claim],
    /// Its figures.
    pub figures: &'a [Figure],
    /// Its open inputs.
    pub readings: &'a Readings,
    /// The claims of the headline under the readings.
    pub under_readings: &'a BTreeMap<String, Spread>,
    /// The best joint reading, where one was inferred.
    pub best: Option<&'a BestRuns>,
}

/// The best joint reading, run again.
pub struct BestRuns {
    /// What it is, and from which search.
    pub best: Best,
    /// Finished runs of the headline under it.
    pub runs: Runs,
    /// The claims about them.
    pub found: BTreeMap<String, Found>,
}
impl BestRuns {
    /// Measures the claims on these runs.
    pub fn of(best: Best, runs: Runs, claims: &[Claim]) -> BestRuns {
        let found = |c: &Claim| Some((c.id.clone(), outcome(c, &runs)?));
        BestRuns {
            found: claims
                .iter()
                .filter(|c| c.by.tag().is_some())
                .filter_map(found)
                .collect(),
            best,
            runs,
        }
    }
}
