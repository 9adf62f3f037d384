//! The one-page report of a reproduction: scoreboard, slowdown chart, stall breakdown. No network; one short script shows the
//! readings behind a point of the claim map.

#[cfg(test)]
mod browser_tests;
mod claim_map;
mod histograms;
mod svg;

use crate::experiment::claims::Claim;
use crate::experiment::diagnostics::DiagnosticRow;
use crate::experiment::implied::ImpliedRow;
use crate::experiment::measured::{aggregate, ratios};
use crate::experiment::readings::{Readings, Spread};
use crate::experiment::rule::Over;
use crate::experiment::runs::{Plan, Runs};
use crate::experiment::score::Row;
use crate::experiment::scoreboard::tally_by_kind;
use crate::experiment::spec::{Experiment, Matrix};
use fencepost_run::LabError;
use fencepost_run::short;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
pub use svg::{Chart, Series, escape};

const TEMPLATE: &str = include_str!("report.html");

/// What a report is made from.
pub struct Report<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Scale.
    pub scale: &'a str,
    /// Seed of every run.
    pub seed: u64,
    /// Finished runs.
    pub runs: &'a Runs,
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
    /// Its open inputs.
    pub readings: &'a Readings,
    /// What the claims of the headline are worth over the readings.
    pub worth: &'a BTreeMap<String, Spread>,
}

/// What the template is filled with.
#[derive(Serialize)]
struct Page<'a> {
    paper: &'a str,
    about: &'a str,
    machine: &'a str,
    scale: &'a str,
    seed: u64,
    version: &'static str,
    asked: &'a [String],
    counts: Vec<KindLine>,
    claim_map: String,
    inputs: Vec<InputLine<'a>>,
    rows: &'a [Row],
    implied: &'a [ImpliedRow],
    diagnostics: &'a [DiagnosticRow],
    slowdowns: Vec<String>,
    stalls: Vec<String>,
    histograms: Vec<String>,
    runs: Vec<RunLine>,
    missing_programs: &'a BTreeSet<String>,
    missing_designs: &'a BTreeSet<String>,
}

/// Rows of one kind by verdict.
#[derive(Serialize)]
struct KindLine {
    kind: &'static str,
    verdicts: BTreeMap<&'static str, usize>,
}

/// One open input with its readings.
#[derive(Serialize)]
struct InputLine<'a> {
    name: &'a str,
    about: &'a str,
    primary: &'a str,
    rule: u8,
    quotes: &'a [crate::experiment::readings::Quote],
    silent: &'a str,
    conclusion: &'a str,
    against: &'a [crate::experiment::readings::Quote],
    doubt: &'a str,
    seen: bool,
    readings: Vec<[&'a str; 2]>,
}

#[derive(Serialize)]
struct RunLine {
    tag: String,
    program: String,
    point: String,
    media: String,
    time_us: String,
    pm_writes: u64,
    durable_events: u64,
    check: String,
    bad: bool,
    digest: String,
    config: String,
}

/// Renders the page.
pub fn render(r: &Report<'_>) -> Result<String, LabError> {
    let mut env = minijinja::Environment::new();
    env.add_template("report.html", TEMPLATE).map_err(internal)?;
    let page = Page {
        paper: &r.experiment.paper,
        about: &r.experiment.about,
        machine: &r.experiment.machine,
        scale: r.scale,
        seed: r.seed,
        version: env!("CARGO_PKG_VERSION"),
        asked: r.asked,
        counts: kind_lines(r.rows),
        claim_map: claim_map::render(r.claims, r.worth),
        inputs: r.readings.input.iter().map(input_line).collect(),
        rows: r.rows,
        implied: r.implied,
        diagnostics: r.diagnostics,
        slowdowns: timed(r)
            .flat_map(|m| m.media.iter().filter_map(move |x| slowdown_chart(r, m, x)))
            .collect(),
        stalls: timed(r).flat_map(|m| stall_charts(r, m)).collect(),
        histograms: timed(r).flat_map(|m| histograms::charts(r.runs, m)).collect(),
        runs: run_lines(r),
        missing_programs: &r.plan.missing_programs,
        missing_designs: &r.plan.missing_designs,
    };
    let template = env.get_template("report.html").map_err(internal)?;
    template.render(minijinja::value::Serde(&page)).map_err(internal)
}

fn kind_lines(rows: &[Row]) -> Vec<KindLine> {
    let line = |(kind, verdicts): (crate::experiment::kinds::Kind, [(_, usize); 5])| KindLine {
        kind: kind.name(),
        verdicts: verdicts
            .iter()
            .map(|(v, n): &(crate::experiment::score::Score, usize)| (v.name(), *n))
            .collect(),
    };
    tally_by_kind(rows).into_iter().map(line).collect()
}

fn input_line(i: &crate::experiment::readings::Input) -> InputLine<'_> {
    InputLine {
        name: &i.name,
        about: &i.about,
        primary: &i.primary,
        rule: i.rule,
        quotes: &i.quotes,
        silent: &i.silent,
        conclusion: &i.conclusion,
        against: &i.against,
        doubt: &i.doubt,
        seen: i.seen,
        readings: i.reading.iter().map(|r| [r.name.as_str(), r.reason.as_str()]).collect(),
    }
}

fn internal(e: minijinja::Error) -> LabError {
    LabError::Internal(format!("report: {e:#}"))
}

/// Matrices that are about time; those that only check crash states have no charts.
fn timed<'a>(r: &'a Report<'_>) -> impl Iterator<Item = &'a Matrix> {
    r.experiment.matrix.iter().filter(|m| !m.check)
}

/// Slowdown over the first point of a matrix on one medium, by program, and their geometric mean.
fn slowdown_chart(r: &Report<'_>, m: &Matrix, media: &str) -> Option<String> {
    let (base, others) = m.points.split_first()?;
    let values: Vec<_> = others
        .iter()
        .map(|p| ratios(r.runs, &m.tag, [p, base], media))
        .collect();
    let mut groups: Vec<String> = m
        .programs
        .iter()
        .filter(|p| values.iter().flatten().any(|v| v.0 == **p))
        .cloned()
        .collect();
    let mean = groups.len() > 1;
    let series: Vec<Series> = (others.iter().zip(&values))
        .map(|(point, v)| {
            let of = |p: &String| v.iter().find(|x| x.0 == *p).map(|x| x.1);
            let mut row: Vec<Option<f64>> = groups.iter().map(of).collect();
            row.extend(mean.then(|| aggregate(Over::Geomean, v)));
            Series {
                name: point.clone(),
                values: row,
            }
        })
        .collect();
    if groups.is_empty() || series.is_empty() {
        return None;
    }
    groups.extend(mean.then(|| "geomean".to_owned()));
    let title = format!("{}, {media}: execution time relative to {base}", m.tag);
    let chart = Chart {
        title: &title,
        unit: "time / baseline time",
        groups: &groups,
        series: &series,
        stacked: false,
        reference: Some(1.0),
    };
    Some(chart.render())
}

/// Where the time of every thread went, one chart per medium, as a share of the threads' total.
fn stall_charts(r: &Report<'_>, m: &Matrix) -> Vec<String> {
    let chart = |media: &String| {
        let runs: Vec<_> = (m.programs.iter())
            .flat_map(|p| m.points.iter().map(move |d| (p, d)))
            .filter_map(|(p, d)| Some((format!("{p} {d}"), r.runs.get(&m.tag, p, d, media)?)))
            .collect();
        if runs.is_empty() {
            return None;
        }
        let total = |x: &fencepost_run::result::RunResult| (x.busy_ps + x.stalls.values().sum::<u64>()).max(1) as f64;
        // Causes that never reach half a percent anywhere are summed up.
        let weight = |c: &String| {
            runs.iter()
                .map(|x| x.1.stalls.get(c).map_or(0.0, |v| *v as f64 / total(x.1)))
                .fold(0.0, f64::max)
        };
        let causes: BTreeSet<String> = runs.iter().flat_map(|x| x.1.stalls.keys().cloned()).collect();
        let (mut main, rest): (Vec<String>, Vec<String>) = causes.into_iter().partition(|c| weight(c) >= 0.005);
        main.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        let share = |x: &fencepost_run::result::RunResult, cs: &[String]| {
            Some(100.0 * cs.iter().map(|c| x.stalls.get(c).copied().unwrap_or(0)).sum::<u64>() as f64 / total(x))
        };
        let mut series = vec![Series {
            name: "busy".into(),
            values: runs
                .iter()
                .map(|x| Some(100.0 * x.1.busy_ps as f64 / total(x.1)))
                .collect(),
        }];
        for c in main {
            let one = [c];
            series.push(Series {
                name: one[0].clone(),
                values: runs.iter().map(|x| share(x.1, &one)).collect(),
            });
        }
        if !rest.is_empty() {
            series.push(Series {
                name: "other".into(),
                values: runs.iter().map(|x| share(x.1, &rest)).collect(),
            });
        }
        let groups: Vec<String> = runs.iter().map(|x| x.0.clone()).collect();
        let title = format!("{}: where the threads' time went, {media}", m.tag);
        Some(
            Chart {
                title: &title,
                unit: "% of thread time",
                groups: &groups,
                series: &series,
                stacked: true,
                reference: None,
            }
            .render(),
        )
    };
    m.media.iter().filter_map(chart).collect()
}

fn run_lines(r: &Report<'_>) -> Vec<RunLine> {
    (r.runs.by_cell.iter())
        .map(|(c, x)| {
            let check = x.check.as_ref().map_or_else(String::new, |k| {
                let share = 100.0 * k.covered();
                format!(
                    "{} of {} crash points ({}%), {} violations",
                    k.points,
                    k.points_total,
                    short(share),
                    k.violations
                )
            });
            RunLine {
                tag: c.tag.clone(),
                program: c.program.clone(),
                point: c.point.clone(),
                media: c.media.clone(),
                time_us: short(x.time_ps as f64 / 1e6),
                pm_writes: x.pm_writes,
                durable_events: x.durable_events,
                check,
                bad: x.check.as_ref().is_some_and(|k| !k.as_expected()),
                digest: x.log_digest.clone(),
                config: x.config_digest.chars().take(12).collect(),
            }
        })
        .collect()
}
