//! Reproduces a paper: runs its experiments, measures its claims, scores them, writes scoreboard and report.

use crate::claims;
use crate::config::machine::MachineConfig;
use crate::cost;
use crate::error::LabError;
use crate::experiment::engine::{Engine, Step};
use crate::experiment::implied::{self, ImpliedRow};
use crate::experiment::rule::Rules;
use crate::experiment::runs::{Cell, Known, Plan, Runs, plan};
use crate::experiment::score::{Evidence, Row, score, tally, to_csv};
use crate::experiment::spec::{self, Experiment, Scale};
use crate::report::{self, Report};
use crate::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Add as _;

/// What to reproduce, and how.
pub struct Options<'a> {
    /// Paper word.
    pub paper: &'a str,
    /// How much work.
    pub scale: Scale,
    /// Seed of every run.
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Folder of results.
    pub store: &'a Store,
}

/// A finished reproduction.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// Paper word.
    pub paper: String,
    /// Scale word.
    pub scale: String,
    /// Seed of every run.
    pub seed: u64,
    /// Folder of results.
    pub folder: String,
    /// Runs executed by this call.
    pub ran: usize,
    /// Runs that an earlier call had finished.
    pub resumed: usize,
    /// Programs of the paper that no room has built yet.
    pub missing_programs: Vec<String>,
    /// Designs of the paper that no room has built yet.
    pub missing_designs: Vec<String>,
    /// Diagnostic: work between persists.
    pub implied: Vec<ImpliedRow>,
    /// Scoreboard.
    pub rows: Vec<Row>,
    /// Rows by verdict.
    pub counts: BTreeMap<&'static str, usize>,
    /// Violations that must not be, and convictions that had to be and are missing.
    pub unexpected: Vec<String>,
}

/// Runs what is not finished, scores every claim of the paper, and writes `scoreboard.csv` and `report.html`.
pub fn reproduce(
    o: &Options<'_>,
    total: &dyn Fn(usize),
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Reproduction, LabError> {
    let experiment: Experiment = spec::read(o.paper, "experiment.toml")?;
    let rules: Rules = spec::read(o.paper, "expected.toml")?;
    let claims = claims::of_paper(o.paper)?;
    let plan = planned(&experiment, o)?;
    total(plan.jobs.len());
    let engine = Engine {
        store: Some(o.store),
        jobs: o.jobs,
        key: &crate::run::key,
        run: &|job| crate::run::run(&job.request),
        progress,
    };
    let done = engine.execute(&plan.jobs)?;
    let (ran, resumed) = (done.ran, done.resumed);
    let runs = collect(&experiment, &plan, done.by_cell);
    let machine = MachineConfig::load(&experiment.machine, None)?;
    let values = machine.values();
    let checks = crate::semantics::checks();
    let evidence = Evidence {
        runs: &runs,
        checks: &checks,
        cost_bits: &|design, item| cost_bits(design, item, &experiment.machine),
        parameter: &|path| parameter(&machine, &values, path),
    };
    let rows = score(&claims, &rules, &evidence);
    let implied = experiment
        .implied_from
        .as_ref()
        .map_or_else(Vec::new, |s| implied::rows(&experiment, &runs, s));
    o.store.write("scoreboard.csv", &to_csv(&rows))?;
    let (scale, seed) = (o.scale.word(), o.seed);
    let page = report::render(&Report {
        experiment: &experiment,
        scale,
        seed,
        runs: &runs,
        plan: &plan,
        rows: &rows,
        implied: &implied,
    })?;
    o.store.write("report.html", page.as_bytes())?;
    Ok(Reproduction {
        paper: o.paper.into(),
        scale: scale.into(),
        seed,
        folder: o.store.root().to_string_lossy().into_owned(),
        ran,
        resumed,
        missing_programs: plan.missing_programs.into_iter().collect(),
        missing_designs: plan.missing_designs.into_iter().collect(),
        implied,
        counts: tally(&rows).into_iter().map(|(v, n)| (v.word(), n)).collect(),
        rows,
        unexpected: unexpected(&experiment, &runs),
    })
}

fn planned(e: &Experiment, o: &Options<'_>) -> Result<Plan, LabError> {
    let programs: Vec<&str> = fencepost_programs::programs().iter().map(|p| p.word).collect();
    let designs: Vec<&str> = fencepost_designs::all().iter().map(|d| d.name).collect();
    Ok(plan(
        e,
        o.scale,
        o.seed,
        &Known {
            programs: &programs,
            designs: &designs,
        },
    )?)
}

fn collect(e: &Experiment, plan: &Plan, by_cell: BTreeMap<Cell, crate::result::RunResult>) -> Runs {
    let mut programs: Vec<String> = Vec::new();
    for p in e.matrix.iter().flat_map(|m| &m.programs) {
        if !programs.contains(p) {
            programs.push(p.clone());
        }
    }
    Runs {
        by_cell,
        programs,
        missing_programs: plan.missing_programs.clone(),
        missing_designs: plan.missing_designs.clone(),
    }
}

/// What a claim about storage is scored on: the paper's own formula where the design states one.
fn cost_bits(design: &str, item: &str, machine: &str) -> Option<cost::CostLine> {
    let bills = cost::cost(Some(design), machine, &[]).ok()?;
    let mut items = bills.into_iter().flat_map(|b| b.items);
    if item != "total" {
        return items.find(|i| i.what == item);
    }
    let counted: Vec<cost::CostLine> = items.filter(|i| i.paper_bits.is_some()).collect();
    Some(cost::CostLine {
        what: "everything that the paper books".into(),
        bits: counted.iter().map(|i| i.bits).sum(),
        paper_bits: Some(counted.iter().filter_map(|i| i.paper_bits).sum()),
        note: counted.iter().map(|i| i.what.as_str()).collect::<Vec<_>>().join(" + "),
    })
}

fn parameter(machine: &MachineConfig, values: &[(String, Vec<(&'static str, String)>)], path: &str) -> Option<String> {
    match path {
        "memory.dram" => return Some(machine.dram.clone()),
        "memory.pm" => return Some(machine.media.clone()),
        "pm.media.read_latency" => {
            let m = &machine.spec.pm.media;
            return Some(m.t_rcd.max(m.read_pulse).add(m.t_cl).add(m.t_burst).to_string());
        }
        "pm.media.hit_latency" => {
            let m = &machine.spec.pm.media;
            return Some(m.t_cl.add(m.t_burst).to_string());
        }
        "pm.media.write_latency" => {
            let m = &machine.spec.pm.media;
            return Some(m.t_cwl.add(m.t_burst).add(m.write_pulse).to_string());
        }
        _ => {}
    }
    let (section, key) = path.rsplit_once('.')?;
    if let Some(design) = section.strip_prefix("design.") {
        let fields = (fencepost_designs::find(design)?.params)();
        return fields.into_iter().find(|f| f.name == key).map(|f| f.default);
    }
    let section = values.iter().find(|s| s.0 == section)?;
    section.1.iter().find(|v| v.0 == key).map(|v| v.1.clone())
}

/// Violations of designs that keep their promise, and designs that had to be convicted and were not.
fn unexpected(e: &Experiment, runs: &Runs) -> Vec<String> {
    let mut out = Vec::new();
    let mut convicted: BTreeMap<&String, bool> = BTreeMap::new();
    for (cell, r) in &runs.by_cell {
        let Some(check) = &r.check else { continue };
        let must_fail = e.points.get(&cell.point).is_some_and(|p| p.must_fail);
        if must_fail {
            *convicted.entry(&cell.point).or_default() |= check.violated();
        } else if !check.as_expected() {
            let why = check.witnesses.first().map_or("", |w| w.why.as_str());
            out.push(format!(
                "{} {} {} {}: {why}",
                cell.tag, cell.program, cell.point, cell.media
            ));
        }
    }
    out.extend(
        convicted
            .iter()
            .filter(|c| !c.1)
            .map(|c| format!("{} is not crash-consistent and was not convicted", c.0)),
    );
    out
}
