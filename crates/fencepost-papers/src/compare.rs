//! Several programs on several designs, side by side.

use crate::experiment::engine::{Engine, Step};
use crate::experiment::measured::{aggregate, ratios};
use crate::experiment::rule::Over;
use crate::experiment::runs::{Cell, Job, Runs};
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
    out.runs = list.iter().filter_map(|j| runs.by_cell.get(&j.cell).cloned()).collect();
    Ok(out)
}
