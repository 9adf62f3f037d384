//! `families`: which family of designs wins where, and why: a page made of a sweep of every design with every paper's programs on that
//! paper's machine. A family is what one paper proposes and compares.

use crate::sources::{root, write_pages};
use fencepost_run::config::find_design;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use fencepost_run::{LabError, input};
use fencepost_sweep::engine::{Engine, default_bound};
use fencepost_sweep::grid::{Node, Plan};
use fencepost_sweep::sweep::{Ended, find_in, sweep};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

const GRID: &str = "xtask/families.toml";
const PAGE: &str = "docs/families.md";
/// What every time is divided by.
const BASELINE: &str = "volatile";
/// Causes shown of a difference or a breakdown.
const SHOWN: usize = 3;

/// Runs what of the grid is not in `folder` yet, and writes the page.
pub(crate) fn command(folder: &str) -> ExitCode {
    match made(Path::new(folder)) {
        Ok(text) => write_pages(vec![(PAGE.into(), text)]),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(e.exit_code())
        }
    }
}

fn plan() -> Result<Plan, LabError> {
    let text = input::read(&root().join(GRID), input::CONFIGURATION)?;
    Ok(Plan::read(&Node::from_toml(GRID, &text)?, u64::MAX)?)
}

fn made(folder: &Path) -> Result<String, LabError> {
    let (plan, store) = (plan()?, Store::open(folder)?);
    let engine = Engine {
        store: Some(&store),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        memory: default_bound(),
        stop: Default::default(),
    };
    let swept = sweep(&plan, &engine, &|_, _| {})?;
    let mut places: BTreeMap<(String, String), Vec<RunResult>> = BTreeMap::new();
    for ended in &swept.cells {
        match ended {
            Ended::Run { key, .. } => {
                let gone = || LabError::Internal(format!("the run {key} is gone"));
                let r = find_in(&store, key).ok_or_else(gone)?;
                places
                    .entry((r.machine.clone(), r.program.clone()))
                    .or_default()
                    .push(r);
            }
            Ended::Failed(why) => return Err(LabError::Internal(why.message.clone())),
            Ended::Open => return Err(LabError::Internal("the sweep was stopped".into())),
        }
    }
    page(&places)
}

/// The family of a design; none of baselines.
fn family(design: &str) -> Result<Option<&'static str>, LabError> {
    let paper = find_design(design)?.paper.short;
    Ok((paper != "-").then_some(paper))
}

/// Whether the design keeps its promise there.
fn keeps(r: &RunResult) -> bool {
    r.warning.is_none()
}

/// One program on one machine.
struct Place<'a> {
    program: &'a str,
    baseline: &'a RunResult,
    /// The fastest of each family that keeps its promise.
    best: BTreeMap<&'static str, &'a RunResult>,
    all: &'a [RunResult],
}
impl<'a> Place<'a> {
    fn of(program: &'a str, runs: &'a [RunResult]) -> Result<Place<'a>, LabError> {
        let missing = || LabError::Internal(format!("{program} lacks {BASELINE}"));
        let baseline = runs.iter().find(|r| r.design == BASELINE).ok_or_else(missing)?;
        let mut best: BTreeMap<&'static str, &RunResult> = BTreeMap::new();
        for r in runs.iter().filter(|r| keeps(r)) {
            if let Some(family) = family(&r.design)? {
                let fastest = best.entry(family).or_insert(r);
                if r.time_ps < fastest.time_ps {
                    *fastest = r;
                }
            }
        }
        Ok(Place {
            program,
            baseline,
            best,
            all: runs,
        })
    }
    fn over(&self, r: &RunResult) -> f64 {
        r.time_ps as f64 / self.baseline.time_ps as f64
    }
    /// Families, the fastest first.
    fn ranked(&self) -> Vec<(&'static str, &'a RunResult)> {
        let mut all: Vec<_> = self.best.iter().map(|(f, r)| (*f, *r)).collect();
        all.sort_by_key(|(_, r)| r.time_ps);
        all
    }
}

/// Nanoseconds of a thread and operation by what they went into; they add up to the operation's time.
fn breakdown(r: &RunResult) -> BTreeMap<&str, f64> {
    let per = |ps: u64| ps as f64 / 1e3 / r.ops.max(1) as f64;
    let stalls = r.stalls.iter().map(|(cause, ps)| (cause.as_str(), per(*ps)));
    stalls.chain([("busy", per(r.busy_ps))]).collect()
}

/// Where `slower` loses its time against `faster`, the most first.
fn why(faster: &RunResult, slower: &RunResult) -> String {
    let (a, b) = (breakdown(faster), breakdown(slower));
    let causes: BTreeSet<&str> = a.keys().chain(b.keys()).copied().collect();
    let at = |m: &BTreeMap<&str, f64>, c: &str| m.get(c).copied().unwrap_or(0.0);
    let mut by: Vec<(&str, f64)> = causes.into_iter().map(|c| (c, at(&b, c) - at(&a, c))).collect();
    by.sort_by(|x, y| y.1.abs().total_cmp(&x.1.abs()));
    let part = |(cause, ns): &(&str, f64)| format!("`{cause}` {ns:+.0} ns");
    let parts: Vec<String> = by.iter().filter(|c| c.1.abs() >= 0.5).take(SHOWN).map(part).collect();
    parts.join(", ")
}

fn page(places: &BTreeMap<(String, String), Vec<RunResult>>) -> Result<String, LabError> {
    let mut machines: BTreeMap<&str, Vec<Place<'_>>> = BTreeMap::new();
    for ((machine, program), runs) in places {
        machines.entry(machine).or_default().push(Place::of(program, runs)?);
    }
    let mut t = String::from(HEAD);
    wins(&mut t, &machines);
    for (machine, places) in &machines {
        let _ = write!(t, "\n## On the machine of `{machine}`\n\n");
        programs(&mut t, places);
        designs(&mut t, places)?;
    }
    Ok(t)
}

const HEAD: &str = "<!-- generated by `cargo run --profile quick -p xtask -- families`; do not edit -->

# Which family of designs wins where, and why

Every design runs the programs of each paper on that paper's machine and medium (`xtask/families.toml`: 4 threads, 200 operations after 50 of
warm-up, seed 1). A family is what one paper proposes and compares; of a family, the fastest design counts that keeps its promise on that
medium (`fencepost matrix` checks these pairs by crashes). Times are multiples of `volatile`, which runs neither log nor barrier. What a
thread's time went into adds up to it, so a difference between two designs is divided among causes exactly; the causes are those of
[statistics](stats.md). Runs are short and data small beside those of the reproductions: the page compares designs with one another, not
with figures of papers.

Two differences are of promise and of hardware, not of mechanism. `kiln` and `loc-kiln` have a non-volatile last-level cache, which the others
lack. Designs that log in hardware make each transaction atomic and all of them durable at the end of the run, as delegated ordering does;
where a fence waits for the medium, each operation is durable when it ends (`--ack every` asks that of all).

## Wins

";

/// How often each family is the fastest.
fn wins(t: &mut String, machines: &BTreeMap<&str, Vec<Place<'_>>>) {
    let families: BTreeSet<&str> = machines
        .values()
        .flatten()
        .flat_map(|p| p.best.keys().copied())
        .collect();
    let _ = writeln!(
        t,
        "| machine | programs | {} |",
        Vec::from_iter(families.clone()).join(" | ")
    );
    let _ = writeln!(t, "| --- | --- |{}", " --- |".repeat(families.len()));
    for (machine, places) in machines {
        let count = |f: &str| {
            places
                .iter()
                .filter(|p| p.ranked().first().is_some_and(|w| w.0 == f))
                .count()
        };
        let cells: Vec<String> = families.iter().map(|f| count(f).to_string()).collect();
        let _ = writeln!(t, "| {machine} | {} | {} |", places.len(), cells.join(" | "));
    }
}

/// The best of each family with each program, and what the next best family loses.
fn programs(t: &mut String, places: &[Place<'_>]) {
    let families: BTreeSet<&str> = places.iter().flat_map(|p| p.best.keys().copied()).collect();
    let names = Vec::from_iter(families.clone()).join(" | ");
    let _ = writeln!(
        t,
        "| program | {names} | what the second loses an operation and thread |"
    );
    let _ = writeln!(t, "| --- |{} --- |", " --- |".repeat(families.len()));
    for p in places {
        let ranked = p.ranked();
        let cell = |f: &&str| match p.best.get(f) {
            None => "-".to_owned(),
            Some(r) if ranked[0].0 == *f => format!("**{:.2}** `{}`", p.over(r), r.design),
            Some(r) => format!("{:.2} `{}`", p.over(r), r.design),
        };
        let cells: Vec<String> = families.iter().map(cell).collect();
        let lost = match ranked[..] {
            [(_, first), (_, second), ..] => format!("`{}`: {}", second.design, why(first, second)),
            _ => String::new(),
        };
        let _ = writeln!(t, "| {} | {} | {lost} |", p.program, cells.join(" | "));
    }
}

/// Every design over all programs of a machine: time, instructions, writes, and what its threads' time goes into beyond the baseline's.
fn designs(t: &mut String, places: &[Place<'_>]) -> Result<(), LabError> {
    let mut rows = Vec::new();
    let names: BTreeSet<&str> = places.iter().flat_map(|p| p.all).map(|r| r.design.as_str()).collect();
    for name in names {
        let runs: Vec<(&Place<'_>, &RunResult)> = places
            .iter()
            .flat_map(|p| p.all.iter().filter(|r| r.design == name).map(move |r| (p, r)))
            .collect();
        let mean = |get: &dyn Fn(&RunResult) -> u64| {
            let ratio = |(p, r): &(&Place<'_>, &RunResult)| (get(r).max(1) as f64 / get(p.baseline).max(1) as f64).ln();
            (runs.iter().map(ratio).sum::<f64>() / runs.len() as f64).exp()
        };
        let writes: u64 = runs.iter().map(|(_, r)| r.pm_writes).sum();
        let ops: u64 = runs.iter().map(|(_, r)| r.ops).sum();
        let kept = runs.iter().filter(|(_, r)| keeps(r)).count();
        rows.push((
            mean(&|r| r.time_ps),
            format!(
                "| `{name}` | {} | {:.2} | {:.2} | {:.1} | {kept} of {} | {} |",
                family(name)?.unwrap_or("-"),
                mean(&|r| r.time_ps),
                mean(&|r| r.instructions),
                writes as f64 / ops.max(1) as f64,
                runs.len(),
                goes_into(&runs)
            ),
        ));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    t.push_str("\nAll designs, geometric means over these programs:\n\n");
    t.push_str("| design | family | time | instructions | lines written an operation | promise kept | more than the baseline, of the threads' time |\n");
    t.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    rows.iter().for_each(|(_, row)| {
        let _ = writeln!(t, "{row}");
    });
    Ok(())
}

/// The causes to which a design loses most beyond the baseline, as shares of its threads' time, programs weighing alike.
fn goes_into(runs: &[(&Place<'_>, &RunResult)]) -> String {
    let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
    for (p, r) in runs {
        let (own, base) = (breakdown(r), breakdown(p.baseline));
        let all: f64 = own.values().sum();
        for (cause, ns) in &own {
            let more = ns - base.get(cause).copied().unwrap_or(0.0);
            *shares.entry(cause).or_default() += more.max(0.0) / all / runs.len() as f64;
        }
    }
    let mut shares: Vec<_> = shares.into_iter().filter(|s| s.1 >= 0.01).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = shares
        .iter()
        .take(SHOWN)
        .map(|(c, s)| format!("`{c}` {:.0} %", s * 100.0))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every design that runs programs of its own and promises something, and the programs of every paper on its machine.
    #[test]
    fn the_grid_has_every_design_and_every_paper() {
        let plan = plan().unwrap_or_else(|e| panic!("{e}"));
        let mut cells: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        for i in 0..plan.len() {
            let r = plan.cell(i).unwrap_or_else(|e| panic!("{e}")).request;
            cells.entry(r.machine).or_default().insert((r.program, r.design));
        }
        for (machine, cells) in &cells {
            let designs: BTreeSet<&str> = cells.iter().map(|c| c.1.as_str()).collect();
            let programs: BTreeSet<&str> = cells.iter().map(|c| c.0.as_str()).collect();
            assert_eq!(cells.len(), designs.len() * programs.len(), "{machine}");
            for d in fencepost_run::listing::entries("designs").unwrap_or_default() {
                let remote = d.name.starts_with("net-");
                let ideal = d.name == "x86-ideal";
                assert_eq!(
                    designs.contains(d.name.as_str()),
                    !remote && !ideal,
                    "{machine}: {}",
                    d.name
                );
            }
        }
        assert_eq!(Vec::from_iter(cells.keys()), ["broi", "dpo", "fgc", "loc", "themis"]);
    }
}
