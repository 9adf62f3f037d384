//! One program on one design with several seeds: means, and how well they are known.

use crate::experiment::engine::{Step, simulate};
use crate::experiment::interval::Interval;
use crate::experiment::runs::{Cell, Job, seed_label};
use fencepost_run::LabError;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;

/// Runs that differ in their seed only.
#[derive(Clone, Debug, Serialize)]
pub struct Repeated {
    /// Seeds, in the order of the runs.
    pub seeds: Vec<u64>,
    /// Picoseconds of the measured part.
    pub time_ps: Interval,
    /// Operations per simulated second, all threads.
    pub ops_per_s: Interval,
    /// Instructions per cycle and core.
    pub ipc: Interval,
    /// Lines written to persistent memory.
    pub pm_writes: Interval,
    /// Picoseconds in which threads could not commit, by cause, summed over threads; 0 where a seed had none of a cause.
    pub stalls: BTreeMap<String, Interval>,
    /// The runs.
    pub runs: Vec<RunResult>,
}

/// Runs a request with `seeds` seeds, from its own. With a store, finished runs are kept and not repeated.
///
/// # Errors
/// What is wrong with the request; of the folder.
pub fn repeated(
    base: &Request,
    seeds: u64,
    jobs: usize,
    store: Option<&Store>,
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Repeated, LabError> {
    let seeds: Vec<u64> = (0..seeds.max(1)).map(|n| base.seed.wrapping_add(n)).collect();
    let job = |seed: &u64| Job {
        cell: Cell {
            tag: "run".into(),
            program: base.program.clone(),
            point: base.design.clone(),
            media: base.media.clone().unwrap_or_default(),
            choice: seed_label(*seed),
        },
        request: Request {
            seed: *seed,
            ..base.clone()
        },
    };
    let list: Vec<Job> = seeds.iter().map(job).collect();
    let done = simulate(&list, jobs, store, progress)?;
    let runs = list.iter().filter_map(|j| done.by_cell.get(&j.cell).cloned());
    Repeated::of(seeds, runs.map(RunResult::without_host).collect())
}

impl Repeated {
    fn of(seeds: Vec<u64>, runs: Vec<RunResult>) -> Result<Repeated, LabError> {
        let mean = |of: &dyn Fn(&RunResult) -> f64| {
            let values: Vec<f64> = runs.iter().map(of).collect();
            Interval::of(&values).ok_or_else(|| LabError::Internal("no run finished".into()))
        };
        let mut stalls = BTreeMap::new();
        for cause in runs.iter().flat_map(|r| r.stalls.keys()) {
            let of = |r: &RunResult| r.stalls.get(cause).copied().unwrap_or(0) as f64;
            stalls.insert(cause.clone(), mean(&of)?);
        }
        Ok(Repeated {
            seeds,
            time_ps: mean(&|r| r.time_ps as f64)?,
            ops_per_s: mean(&|r| r.ops_per_s)?,
            ipc: mean(&|r| r.ipc)?,
            pm_writes: mean(&|r| r.pm_writes as f64)?,
            stalls,
            runs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and interval over seeds are those of the runs one by one; an undone seed would show.
    #[test]
    fn means_are_those_of_single_runs() {
        let base = Request {
            program: "cq".into(),
            design: "so".into(),
            machine: "dpo".into(),
            threads: Some(2),
            ops: 40,
            warmup: 5,
            seed: 7,
            ..Request::default()
        };
        let all = repeated(&base, 3, 2, None, &|_, _| ()).unwrap();
        assert_eq!(all.seeds, [7, 8, 9]);
        let single = |seed| {
            let request = Request { seed, ..base.clone() };
            let (_, resolved) = fencepost_run::run::identified(&request).unwrap();
            fencepost_run::run::run_resolved(&resolved).unwrap().without_host()
        };
        let runs: Vec<RunResult> = [7, 8, 9].map(single).to_vec();
        assert_eq!(all.runs, runs);
        let mean = runs.iter().map(|r| r.time_ps as f64).sum::<f64>() / 3.0;
        assert!((all.time_ps.mean - mean).abs() < 1.0 && all.time_ps.half.is_finite());
    }
}
