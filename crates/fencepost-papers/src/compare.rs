//! Several programs on several designs, side by side.

use crate::experiment::engine::{Engine, Step};
use crate::experiment::figures;
use crate::experiment::measured::{aggregate, ratios};
use crate::experiment::rule::Over;
use crate::experiment::runs::{Cell, Job, Runs};
use crate::experiment::spec::{self, Experiment};
use fencepost_run::LabError;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;

const TAG: &str = "compare";

/// Runs and their slowdowns over a baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Design that everything is relative to.
    pub baseline: String,
    /// Execution time over the baseline's, by program and design.
    pub slowdown: BTreeMap<String, BTreeMap<String, f64>>,
    /// Geometric mean over programs, by design.
    pub geomean: BTreeMap<String, f64>,
    /// Every run.
    pub runs: Vec<RunResult>,
}

/// Papers with this machine whose main figure is relative to one design, with that design.
pub fn baselines_of_papers(machine: &str) -> Vec<(&'static str, String)> {
    let of = |paper: &'static str| {
        let e: Experiment = spec::read(paper, "experiment.toml").ok()?;
        let figure = figures::of_paper(paper).ok()?.into_iter().next()?;
        // A bar is a time over a baseline's, or the other way round for throughput.
        let one = |points: Vec<&String>| {
            let first = points.first().copied()?;
            (points.iter().all(|p| *p == first)).then(|| e.points.get(first).map(|p| p.design.clone()))?
        };
        let below = one(figure.bar.iter().map(|b| &b.base).collect());
        let design = below.or_else(|| one(figure.bar.iter().map(|b| &b.point).collect()))?;
        (e.machine == machine).then_some((paper, design))
    };
    spec::names().into_iter().filter_map(of).collect()
}

/// Runs every program on the baseline and every design. With a store, finished runs are kept and not repeated.
pub fn compare(
    base: &Request,
    programs: &[String],
    designs: &[String],
    baseline: &str,
    jobs: usize,
    store: Option<&Store>,
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Comparison, LabError> {
    let mut points = vec![baseline.to_owned()];
    points.extend(designs.iter().filter(|d| *d != baseline).cloned());
    let media = base.media.clone().unwrap_or_default();
    let job = |program: &String, design: &String| Job {
        cell: Cell {
            tag: TAG.into(),
            program: program.clone(),
            point: design.clone(),
            media: media.clone(),
            choice: String::new(),
        },
        request: Request {
            program: program.clone(),
            design: design.clone(),
            ..base.clone()
        },
    };
    let list: Vec<Job> = programs
        .iter()
        .flat_map(|p| points.iter().map(move |d| (p, d)))
        .map(|(p, d)| job(p, d))
        .collect();
    let done = Engine {
        store,
        jobs,
        resolve: &|job| fencepost_run::run::identified(&job.request),
        run: &fencepost_run::run::run_resolved,
        progress,
    }
    .execute(&list)?;
    let runs = Runs {
        by_cell: done.by_cell,
        programs: programs.to_vec(),
        ..Runs::default()
    };
    let mut out = Comparison {
        baseline: baseline.into(),
        slowdown: BTreeMap::new(),
        geomean: BTreeMap::new(),
        runs: Vec::new(),
    };
    for design in &points {
        let values = ratios(&runs, TAG, [design, &points[0]], &media);
        if let Some(mean) = aggregate(Over::Geomean, &values) {
            out.geomean.insert(design.clone(), mean);
        }
        for (program, value) in values {
            out.slowdown.entry(program).or_default().insert(design.clone(), value);
        }
    }
    // What a run cost on the host is no part of a comparison: it would differ where runs were found finished.
    let result = |j: &Job| {
        Some(RunResult {
            host: None,
            ..runs.by_cell.get(&j.cell)?.clone()
        })
    };
    out.runs = list.iter().filter_map(result).collect();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_papers_baselines_are_named() {
        assert_eq!(baselines_of_papers("dpo"), [("dpo", "volatile-logged".to_owned())]);
        assert_eq!(baselines_of_papers("no-such-machine"), []);
    }
}
