//! The page of a reproduction: the answer first (the paper's main figure beside ours, headlines, what decides), then the claim
//! map, stalls, distances, inputs, scoreboard and runs. One file, no network.

mod answer;
mod behind;
#[cfg(test)]
mod browser_tests;
pub mod comparison;
mod figures;
mod histograms;
mod holds;
mod stalls;
mod subject;

use crate::experiment::claims::Claim;
use crate::experiment::diagnostics::DiagnosticRow;
use crate::experiment::implied::ImpliedRow;
use crate::experiment::score::Row;
use fencepost_pages::Page;
use fencepost_run::{LabError, short};
use serde::Serialize;
use std::collections::BTreeSet;
pub use subject::{BestRuns, Report};

const TEMPLATE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");
const SCRIPTS: [&str; 4] = [
    include_str!("figures.js"),
    include_str!("claims.js"),
    include_str!("stall_bar.js"),
    include_str!("stalls.js"),
];

/// What the template is filled with: the words and the tables.
#[derive(Serialize)]
struct Words<'a> {
    paper: &'a str,
    about: &'a str,
    machine: &'a str,
    scale: &'a str,
    seed: u64,
    version: &'static str,
    asked: &'a [String],
    answer: answer::Answer,
    command: String,
    ranged: bool,
    rows: Vec<RowLine<'a>>,
    inputs: &'a [crate::experiment::readings::Input],
    implied: &'a [ImpliedRow],
    diagnostics: &'a [DiagnosticRow],
    runs: Vec<RunLine<'a>>,
    distances: bool,
    missing_programs: &'a BTreeSet<String>,
    missing_designs: &'a BTreeSet<String>,
}

/// A row of the scoreboard with the claim's own words.
#[derive(Serialize)]
struct RowLine<'a> {
    sentence: &'a str,
    section: &'a str,
    #[serde(flatten)]
    row: &'a Row,
}

#[derive(Serialize)]
struct RunLine<'a> {
    tag: &'a str,
    program: &'a str,
    point: &'a str,
    media: &'a str,
    time_us: String,
    pm_writes: u64,
    durable_events: u64,
    check: String,
    bad: bool,
    digest: &'a str,
    config: String,
}

/// What the page's scripts draw.
#[derive(Serialize)]
struct Numbers<'a> {
    paper: &'a str,
    figures: Vec<figures::Drawn>,
    behind: behind::Behind,
    groups: [(&'static str, &'static [&'static str]); 8],
    stalls: Vec<stalls::Bar>,
    distances: Vec<histograms::Distances>,
}

/// Renders the page.
///
/// # Errors
/// The template does not fit, which is a defect.
pub fn render(r: &Report<'_>) -> Result<String, LabError> {
    let mut env = minijinja::Environment::new();
    env.add_template("report.html", TEMPLATE).map_err(internal)?;
    let numbers = Numbers {
        paper: &r.experiment.paper,
        figures: figures::drawn(r),
        behind: behind::behind(r),
        groups: stalls::GROUPS,
        stalls: stalls::bars(r),
        distances: histograms::distances(r),
    };
    let words = Words {
        paper: &r.experiment.paper,
        about: &r.experiment.about,
        machine: &r.experiment.machine,
        scale: r.scale,
        seed: r.seed,
        version: env!("CARGO_PKG_VERSION"),
        asked: r.asked,
        answer: answer::answer(r),
        command: command(r),
        ranged: r.choices.len() > 1,
        rows: r.claims.iter().zip(r.rows).map(row_line).collect(),
        inputs: &r.readings.input,
        implied: r.implied,
        diagnostics: r.diagnostics,
        runs: run_lines(r),
        distances: !numbers.distances.is_empty(),
        missing_programs: &r.plan.missing_programs,
        missing_designs: &r.plan.missing_designs,
    };
    let template = env.get_template("report.html").map_err(internal)?;
    let body = template.render(minijinja::value::Serde(&words)).map_err(internal)?;
    let page = Page {
        title: &format!("fencepost: {}", r.experiment.paper),
        body: &body,
        style: STYLE,
        scripts: &SCRIPTS,
        plots: true,
    };
    page.render(&numbers)
        .map_err(|e| LabError::Internal(format!("report: {e}")))
}

/// The numbers of the page's charts as CSV: a row a bar, with what the paper states of it.
pub fn figures_table(r: &Report<'_>) -> Vec<u8> {
    figures::table(&figures::drawn(r))
}

/// The command that makes the page again.
fn command(r: &Report<'_>) -> String {
    let mut words = format!("fencepost reproduce {}", r.experiment.paper);
    if r.scale != "quick" {
        words += &format!(" --scale {}", r.scale);
    }
    if r.choices.len() > 1 {
        words += " --readings";
    }
    if r.seed != 1 {
        words += &format!(" --seed {}", r.seed);
    }
    r.asked.iter().for_each(|a| words += &format!(" --reading {a}"));
    words
}

fn row_line<'a>((claim, row): (&'a Claim, &'a Row)) -> RowLine<'a> {
    RowLine {
        sentence: &claim.claim,
        section: &claim.section,
        row,
    }
}

fn internal(e: minijinja::Error) -> LabError {
    LabError::Internal(format!("report: {e:#}"))
}

fn run_lines<'a>(r: &Report<'a>) -> Vec<RunLine<'a>> {
    (r.runs.by_cell.iter())
        .map(|(c, x)| {
            let check = x.check.as_ref().map_or_else(String::new, |k| {
                let share = short(100.0 * k.covered());
                format!(
                    "{} of {} crash points ({share}%), {} violations",
                    k.points, k.points_total, k.violations
                )
            });
            RunLine {
                tag: &c.tag,
                program: &c.program,
                point: &c.point,
                media: &c.media,
                time_us: short(x.time_ps as f64 / 1e6),
                pm_writes: x.pm_writes,
                durable_events: x.durable_events,
                check,
                bad: x.check.as_ref().is_some_and(|k| !k.as_expected()),
                digest: &x.log_digest,
                config: x.config_digest.chars().take(12).collect(),
            }
        })
        .collect()
}
