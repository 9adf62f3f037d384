//! Several programs on several designs, side by side.

use crate::experiment::engine::{Step, simulate};
use crate::experiment::figures;
use crate::experiment::interval::Interval;
use crate::experiment::measured::{aggregate, ratios};
use crate::experiment::rule::Over;
use crate::experiment::runs::{Cell, Job, Runs, seed_label};
use crate::experiment::spec::{self, Experiment};
use fencepost_run::LabError;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;

const TAG: &str = "compare";

/// What is compared.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// What all runs have in common; its seed is the first.
    pub base: &'a Request,
    /// Programs.
    pub programs: &'a [String],
    /// Designs; the baseline may be among them.
    pub designs: &'a [String],
    /// Design that times are relative to.
    pub baseline: &'a str,
    /// Seeds, from that of `base`; at least one.
    pub seeds: u64,
}

/// Runs and their slowdowns over a baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Design that everything is relative to.
    pub baseline: String,
    /// Execution time over the baseline's, by program and design; with several seeds the mean over them.
    pub slowdown: BTreeMap<String, BTreeMap<String, f64>>,
    /// Half of the 95 % interval of each slowdown over the seeds; empty with one seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub spread: BTreeMap<String, BTreeMap<String, f64>>,
    /// Geometric mean over programs, by design; with several seeds the mean over them.
    pub geomean: BTreeMap<String, f64>,
    /// Half of the 95 % interval of each geometric mean over the seeds; empty with one seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub geomean_spread: BTreeMap<String, f64>,
    /// Every run, seed by seed.
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
    asked: &Asked<'_>,
    jobs: usize,
    store: Option<&Store>,
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Comparison, LabError> {
    let mut points = vec![asked.baseline.to_owned()];
    points.extend(asked.designs.iter().filter(|d| *d != asked.baseline).cloned());
    let media = asked.base.media.clone().unwrap_or_default();
    let list = plan(asked, &points, &media);
    let done = simulate(&list, jobs, store, progress)?;
    let result = |j: &Job| done.by_cell.get(&j.cell).cloned();
    let mut out = Comparison {
        baseline: asked.baseline.into(),
        slowdown: BTreeMap::new(),
        spread: BTreeMap::new(),
        geomean: BTreeMap::new(),
        geomean_spread: BTreeMap::new(),
        // What a run cost on the host is no part of a comparison: it would differ where runs were found finished.
        runs: list.iter().filter_map(result).map(RunResult::without_host).collect(),
    };
    let by_seed = by_seed(done.by_cell, asked);
    for design in &points {
        out.enter(design, &by_seed, (&points[0], &media));
    }
    Ok(out)
}

/// The runs, seed by seed.
fn plan(asked: &Asked<'_>, points: &[String], media: &str) -> Vec<Job> {
    let job = |seed: u64, program: &String, design: &String| Job {
        cell: Cell {
            tag: TAG.into(),
            program: program.clone(),
            point: design.clone(),
            media: media.into(),
            choice: seed_label(seed),
        },
        request: Request {
            program: program.clone(),
            design: design.clone(),
            seed,
            ..asked.base.clone()
        },
    };
    let programs = |seed: u64| asked.programs.iter().map(move |p| (seed, p));
    (seeds(asked).flat_map(programs))
        .flat_map(|(seed, p)| points.iter().map(move |d| (seed, p, d)))
        .map(|(seed, p, d)| job(seed, p, d))
        .collect()
}

fn seeds(asked: &Asked<'_>) -> impl Iterator<Item = u64> {
    (0..asked.seeds).map(|n| asked.base.seed.wrapping_add(n))
}

fn by_seed(by_cell: BTreeMap<Cell, RunResult>, asked: &Asked<'_>) -> Vec<Runs> {
    let mut of: BTreeMap<String, BTreeMap<Cell, RunResult>> = BTreeMap::new();
    for (mut cell, result) in by_cell {
        let label = std::mem::take(&mut cell.choice);
        of.entry(label).or_default().insert(cell, result);
    }
    let of_seed = |seed: u64| Runs {
        by_cell: of.remove(&seed_label(seed)).unwrap_or_default(),
        programs: asked.programs.to_vec(),
        ..Runs::default()
    };
    seeds(asked).map(of_seed).collect()
}

impl Comparison {
    /// Of finished runs of one seed, which are of one machine and one medium.
    pub fn of_runs(baseline: &str, runs: Vec<RunResult>) -> Comparison {
        let mut designs: Vec<String> = Vec::new();
        let mut of = Runs::default();
        for r in &runs {
            let cell = Cell {
                tag: TAG.into(),
                program: r.program.clone(),
                point: r.design.clone(),
                media: String::new(),
                choice: String::new(),
            };
            for (name, list) in [(&r.design, &mut designs), (&r.program, &mut of.programs)] {
                if !list.contains(name) {
                    list.push(name.clone());
                }
            }
            of.by_cell.insert(cell, r.clone());
        }
        let mut out = Comparison {
            baseline: baseline.into(),
            slowdown: BTreeMap::new(),
            spread: BTreeMap::new(),
            geomean: BTreeMap::new(),
            geomean_spread: BTreeMap::new(),
            runs: runs.into_iter().map(RunResult::without_host).collect(),
        };
        let of = [of];
        for design in &designs {
            out.enter(design, &of, (&out.baseline.clone(), ""));
        }
        out
    }
    /// Enters what a design takes relative to the baseline, over all seeds.
    fn enter(&mut self, design: &String, by_seed: &[Runs], (baseline, media): (&String, &str)) {
        let ratios: Vec<_> = (by_seed.iter())
            .map(|runs| ratios(runs, TAG, [design, baseline], media))
            .collect();
        let means: Vec<f64> = ratios.iter().filter_map(|r| aggregate(Over::Geomean, r)).collect();
        if let Some(i) = Interval::of(&means) {
            self.geomean.insert(design.clone(), i.mean);
            if means.len() > 1 {
                self.geomean_spread.insert(design.clone(), i.half);
            }
        }
        let mut by_program: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (program, value) in ratios.into_iter().flatten() {
            by_program.entry(program).or_default().push(value);
        }
        for (program, values) in by_program {
            let Some(i) = Interval::of(&values) else { continue };
            if values.len() > 1 {
                let spread = self.spread.entry(program.clone()).or_default();
                spread.insert(design.clone(), i.half);
            }
            let slowdown = self.slowdown.entry(program).or_default();
            slowdown.insert(design.clone(), i.mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_papers_baselines_are_named() {
        assert_eq!(baselines_of_papers("dpo"), [("dpo", "volatile-logged".to_owned())]);
        assert_eq!(baselines_of_papers("no-such-machine"), []);
    }
    #[test]
    fn slowdowns_of_finished_runs_in_closed_form() {
        let run = |program: &str, design: &str, time| RunResult {
            program: program.into(),
            design: design.into(),
            ..crate::experiment::made_up(time)
        };
        let of = |program: &str, so| [run(program, "v", 100), run(program, "so", so)];
        let c = Comparison::of_runs("v", [of("a", 200), of("b", 800)].concat());
        assert!((c.slowdown["a"]["so"] - 2.0).abs() < 1e-9 && (c.slowdown["b"]["so"] - 8.0).abs() < 1e-9);
        assert!((c.geomean["so"] - 4.0).abs() < 1e-9 && (c.geomean["v"] - 1.0).abs() < 1e-9);
        assert!(c.spread.is_empty() && c.geomean_spread.is_empty() && c.runs.len() == 4);
    }
}
