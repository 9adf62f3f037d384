//! Several seeds: the runs of each, and what the claims are over all.

use super::Options;
use super::papers;
use super::under_readings::{plan_registered, runs_of};
use crate::experiment::claims::Claim;
use crate::experiment::engine::Finished;
use crate::experiment::interval::enter_seeds;
use crate::experiment::kinds::Kind;
use crate::experiment::rule::Rule;
use crate::experiment::runs::{Cell, Job, Runs, seed_label};
use crate::experiment::score::{Found, Row, outcome};
use crate::experiment::spec::Experiment;
use fencepost_run::LabError;
use std::collections::BTreeMap;

/// The runs of the seeds after the first; checked runs count once.
pub(super) fn jobs(e: &Experiment, o: &Options<'_>) -> Result<Vec<Job>, LabError> {
    let mut timed = e.clone();
    timed.matrix.retain(|m| !m.check);
    let mut jobs = Vec::new();
    for seed in o.seed + 1..o.seed + o.seeds {
        let mut plan = plan_registered(&timed, o.scale, seed)?;
        plan.jobs.iter_mut().for_each(|j| j.cell.choice = seed_label(seed));
        jobs.append(&mut plan.jobs);
    }
    Ok(jobs)
}

/// Takes the runs of the further seeds out of what has finished, seed by seed.
pub(super) fn taken_out(e: &Experiment, o: &Options<'_>, done: &mut Finished) -> Vec<Runs> {
    let of_seed = |seed: u64, done: &mut Finished| {
        let label = seed_label(seed);
        let all = std::mem::take(&mut done.by_cell);
        let (mine, others): (BTreeMap<_, _>, _) = all.into_iter().partition(|(c, _)| c.choice == label);
        done.by_cell = others;
        let found = mine.into_iter().map(|(c, r)| {
            let cell = Cell {
                choice: String::new(),
                ..c
            };
            (cell, r)
        });
        Runs {
            by_cell: found.collect(),
            ..runs_of(e)
        }
    };
    (o.seed + 1..o.seed + o.seeds).map(|s| of_seed(s, done)).collect()
}

/// Enters the means over seeds into the measured rows; rows and claims are in one order.
pub(super) fn enter(rows: &mut [Row], claims: &[Claim], (first, others): (&Runs, &[Runs])) {
    if others.is_empty() {
        return;
    }
    let statements = papers::statements();
    for (row, claim) in rows.iter_mut().zip(claims) {
        let of = |runs: &Runs| match &claim.by {
            Rule::Check { test } => {
                let met = statements.find(test)?.test(runs).is_ok();
                Some(Found { value: None, met })
            }
            _ => outcome(claim, runs),
        };
        let varies = matches!(claim.rests_on, Kind::Measured | Kind::Calibrated);
        let runs = std::iter::once(first).chain(others).filter(|_| varies);
        if let Some(found) = runs.map(of).collect::<Option<Vec<_>>>() {
            enter_seeds(row, claim, &found);
        }
    }
}
