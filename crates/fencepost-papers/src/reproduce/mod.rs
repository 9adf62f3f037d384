//! Reproduces a paper: runs its experiments, measures its claims, scores them, writes scoreboard and report.

mod evidence;
pub mod grid;
pub mod infer;
mod options;
pub mod papers;
pub mod rules;
mod seeds;
mod under_readings;

pub use options::Options;
pub(crate) use under_readings::{plan_registered, runs_of};

use crate::experiment::best::{self, Best};
use crate::experiment::claims::{self, Claim};
use crate::experiment::diagnostics::{self, DiagnosticRow};
use crate::experiment::engine::{Step, simulate};
use crate::experiment::figures;
use crate::experiment::implied::{self, ImpliedRow};
use crate::experiment::kinds::Kind;
use crate::experiment::readings::{Choice, Readings, Spread};
use crate::experiment::rule::Rule;
use crate::experiment::runs::{Cell, Job, Runs};
use crate::experiment::score::{Evidence, Found, Row, Score, score};
use crate::experiment::scoreboard::{tally_by_kind, to_csv};
use crate::experiment::spec::{self, Experiment};
use crate::report::{self, BestRuns, Report};
use fencepost_run::LabError;
use fencepost_run::config::machine::MachineConfig;
use fencepost_run::kept::hex;
use fencepost_run::request::Request;
use fencepost_run::store::Of;
use serde::Serialize;
use std::collections::BTreeMap;

/// A finished reproduction.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// Paper.
    pub paper: String,
    /// Scale.
    pub scale: String,
    /// Seed of every run; the first, where there are several.
    pub seed: u64,
    /// Seeds.
    pub seeds: u64,
    /// Folder of results.
    pub folder: String,
    /// Runs executed by this call.
    pub ran: usize,
    /// Runs that an earlier call had finished.
    pub resumed: usize,
    /// Readings taken instead of the primaries.
    pub asked: Vec<String>,
    /// Programs of the paper that are not yet built.
    pub missing_programs: Vec<String>,
    /// Designs of the paper that are not yet built.
    pub missing_designs: Vec<String>,
    /// Diagnostic: work between persists.
    pub implied: Vec<ImpliedRow>,
    /// Diagnostic: other figures that the paper's numbers imply.
    pub diagnostics: Vec<DiagnosticRow>,
    /// Scoreboard.
    pub rows: Vec<Row>,
    /// The claims of the headline experiments under the readings, by claim; empty where only one choice ran.
    pub under_readings: BTreeMap<String, Spread>,
    /// Rows by kind and verdict.
    pub counts: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    /// Violations that must not be, and convictions that had to be and are missing.
    pub unexpected: Vec<String>,
}

/// Runs what is not finished, scores every claim of the paper, and writes `scoreboard.csv`, `figures.csv` and `report.html`.
pub fn reproduce(
    o: &Options<'_>,
    total: &dyn Fn(usize),
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Reproduction, LabError> {
    let written: Experiment = spec::experiment(o.paper)?;
    let readings = Readings::of_paper(o.paper, &written)?;
    let claims = claims::of_paper(o.paper)?;
    let (mut choices, best) = asked_for(&readings, o)?;
    let experiment = choices[0].apply(&written, &readings);
    let plans = under_readings::plans(&written, &readings, &choices, o)?;
    reserve(o)?;
    let mut jobs: Vec<Job> = plans.iter().flat_map(|p| p.jobs.iter().cloned()).collect();
    jobs.extend(seeds::jobs(&experiment, o)?);
    total(jobs.len());
    let mut done = simulate(&jobs, o.jobs, Some(o.store), progress)?;
    let other_seeds = seeds::taken_out(&experiment, o, &mut done);
    let (ran, resumed) = (done.ran, done.resumed);
    let mut by_choice = under_readings::by_choice(&experiment, &plans, &choices, done.by_cell);
    let best = best.map(|best| {
        choices.pop();
        BestRuns::of(best, by_choice.pop().unwrap_or_default(), &claims)
    });
    under_readings::no_reading_is_dead(&choices, &by_choice)?;
    let runs = &by_choice[0];
    let (mut rows, found): (Vec<Row>, Vec<_>) = scored(&experiment, &claims, runs, o.jobs)?.into_iter().unzip();
    seeds::enter(&mut rows, &claims, (runs, &other_seeds));
    let claimed: Vec<_> = claims.iter().zip(found).collect();
    let under_readings = under_readings::of_claims(&readings, &claimed, &choices, &by_choice);
    for row in &mut rows {
        if let Some(spread) = under_readings.get(&row.id) {
            let decider = spread.decided_by.as_deref().and_then(|d| readings.input(d));
            row.enter(spread, decider.is_some_and(|i| i.seen));
        }
    }
    let implied = experiment
        .implied_from
        .as_ref()
        .map_or_else(Vec::new, |s| implied::rows(&experiment, runs, s));
    let diagnostics = diagnostics::rows(&experiment, runs);
    o.store.write("scoreboard.csv", &to_csv(&rows))?;
    let report = Report {
        experiment: &experiment,
        scale: o.scale.name(),
        seed: o.seed,
        asked: o.asked,
        runs,
        choices: &by_choice,
        plan: &plans[0],
        rows: &rows,
        implied: &implied,
        diagnostics: &diagnostics,
        claims: &claims,
        figures: &figures::of_paper(o.paper)?,
        readings: &readings,
        under_readings: &under_readings,
        best: best.as_ref(),
    };
    o.store.write("figures.csv", &report::figures_table(&report))?;
    o.store.write("report.html", report::render(&report)?.as_bytes())?;
    Ok(Reproduction {
        paper: written.paper,
        scale: o.scale.name().into(),
        seed: o.seed,
        seeds: o.seeds,
        folder: o.store.root().to_string_lossy().into_owned(),
        ran,
        resumed,
        asked: o.asked.to_vec(),
        missing_programs: plans[0].missing_programs.iter().cloned().collect(),
        missing_designs: plans[0].missing_designs.iter().cloned().collect(),
        implied,
        diagnostics,
        counts: counts(&rows),
        unexpected: unexpected(&experiment, runs, &rows),
        rows,
        under_readings,
    })
}

/// Every run that [`reproduce`] needs, for those who run them elsewhere and keep them in its folder first.
///
/// # Errors
/// As [`reproduce`], of what is asked for.
pub fn planned(o: &Options<'_>) -> Result<Vec<Request>, LabError> {
    let written = spec::experiment(o.paper)?;
    let readings = Readings::of_paper(o.paper, &written)?;
    let choices = asked_for(&readings, o)?.0;
    let plans = under_readings::plans(&written, &readings, &choices, o)?;
    Ok(plans.into_iter().flat_map(|p| p.jobs).map(|j| j.request).collect())
}

/// The choices to run, and the best joint reading, which then is the last of them. It stands beside the primaries only: where other
/// readings are asked for instead of those, it says nothing.
fn asked_for(readings: &Readings, o: &Options<'_>) -> Result<(Vec<Choice>, Option<Best>), LabError> {
    let mut choices = under_readings::choices(readings, o)?;
    let best = best::of_paper(o.paper)?.filter(|_| o.asked.is_empty());
    if let Some(best) = &best {
        choices.push(best.choice(readings)?);
    }
    Ok((choices, best))
}

/// Takes the folder's documents. What was found with other readings besides takes the place of what was found without.
fn reserve(o: &Options<'_>) -> Result<(), LabError> {
    let mut texts = String::new();
    for file in ["experiment.toml", "claims.toml", "readings.toml", best::FILE] {
        texts += &spec::text(o.paper, file)?.unwrap_or_default().1;
    }
    let of = |readings: bool| Of {
        what: format!(
            "reproduce {} --scale {} --seed {}{}{}",
            o.paper,
            o.scale.name(),
            o.seed,
            o.asked.iter().map(|a| format!(" --reading {a}")).collect::<String>(),
            if readings { " --readings" } else { "" }
        ),
        digest: hex(format!("{texts} {} {} {:?} {readings}", o.scale.name(), o.seed, o.asked).as_bytes()),
    };
    let includes = o.readings.then(|| of(false).digest);
    for document in ["scoreboard.csv", "figures.csv", "report.html"] {
        o.store.reserve(document, &of(o.readings), includes.as_deref())?;
    }
    Ok(())
}

/// Every claim of the paper, scored on the runs of one choice, and what was measured of it there. Tests run so many at a time; what is
/// measured on this CPU comes after them, alone.
fn scored(e: &Experiment, claims: &[Claim], runs: &Runs, jobs: usize) -> Result<Vec<(Row, Option<Found>)>, LabError> {
    let machine = MachineConfig::load(&e.machine, None)?;
    let values = machine.values();
    let named = claims.iter().filter_map(|c| match &c.by {
        Rule::Check { test } => Some(test.as_str()),
        _ => None,
    });
    let tests = papers::statements().tested(&named.collect(), runs, jobs);
    let evidence = Evidence {
        runs,
        tests: &tests,
        cost_bits: &|design, item| evidence::cost_bits(design, item, &e.machine),
        parameter: &|path| evidence::parameter(&machine, &values, path),
    };
    Ok(score(claims, &evidence))
}

fn counts(rows: &[Row]) -> BTreeMap<&'static str, BTreeMap<&'static str, usize>> {
    let by_verdict = |t: [(Score, usize); 5]| t.into_iter().map(|(v, n)| (v.name(), n)).collect();
    tally_by_kind(rows)
        .into_iter()
        .map(|(k, t)| (k.name(), by_verdict(t)))
        .collect()
}

/// Violations of designs that keep their promise, designs that had to be convicted and were not, and rules that the mechanism
/// itself breaks.
fn unexpected(e: &Experiment, runs: &Runs, rows: &[Row]) -> Vec<String> {
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
    let broken = (rows.iter()).filter(|r| r.kind == Kind::Rule && r.verdict == Score::Miss);
    out.extend(broken.map(|r| format!("the rule of {} is broken: {}", r.id, r.note)));
    out
}
