//! Programs on several designs as a page: a heat map, sorted bars, and where the time of a chosen pair went.

use super::behind::options;
use super::stalls::{GROUPS, causes};
use crate::compare::Comparison;
use fencepost_pages::{Page, escape};
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::{LabError, short};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const SCRIPT: &str = include_str!("comparison.js");

#[derive(Serialize)]
struct Cell {
    program: String,
    design: String,
    time_us: f64,
    slowdown: Option<f64>,
    /// Half of the slowdown's 95 % interval over the seeds, where there are several.
    half: Option<f64>,
    pm_writes: u64,
    /// "clean" or what was found, where crash states were examined.
    check: Option<&'static str>,
    /// Percent of the threads' time, the largest first.
    causes: Vec<(String, f64)>,
}

/// One machine's comparison.
#[derive(Serialize)]
struct Machine<'a> {
    machine: &'a str,
    /// Design, geometric mean, half of its interval.
    geomean: Vec<(&'a String, f64, Option<f64>)>,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Numbers<'a> {
    baseline: &'a str,
    groups: [(&'static str, &'static [&'static str]); 8],
    /// What every command has after program, design and machine.
    options: String,
    machines: Vec<Machine<'a>>,
}

/// Renders the page of comparisons, each on a machine of its own; all with one baseline.
///
/// # Errors
/// A number that has no form in JSON, which is a defect.
pub fn page(all: &[Comparison], base: &Request) -> Result<String, LabError> {
    let numbers = Numbers {
        baseline: all.first().map_or("", |c| &c.baseline),
        groups: GROUPS,
        options: options(base),
        machines: all.iter().map(|c| machine(c, base)).collect(),
    };
    let seeds = all
        .iter()
        .flat_map(|c| &c.runs)
        .map(|r| r.seed)
        .collect::<BTreeSet<_>>()
        .len();
    let title = format!("Time relative to {}", numbers.baseline);
    let page = Page {
        title: &title,
        body: &body(&title, &numbers, base, seeds),
        style: "",
        scripts: &[include_str!("stall_bar.js"), SCRIPT],
        plots: true,
    };
    page.render(&numbers)
        .map_err(|e| LabError::Internal(format!("comparison: {e}")))
}

fn machine<'a>(c: &'a Comparison, base: &Request) -> Machine<'a> {
    let of = |all: &BTreeMap<String, BTreeMap<String, f64>>, r: &RunResult| {
        all.get(&r.program).and_then(|d| d.get(&r.design)).copied()
    };
    let cell = |r: &RunResult| Cell {
        program: r.program.clone(),
        design: r.design.clone(),
        time_us: rounded(r.time_ps as f64 / 1e6),
        slowdown: of(&c.slowdown, r).map(rounded),
        half: of(&c.spread, r).map(rounded),
        pm_writes: r.pm_writes,
        check: (r.check.as_ref()).map(|k| if k.violated() { "VIOLATED" } else { "clean" }),
        causes: causes(r)
            .into_iter()
            .map(|(cause, share)| (cause, rounded(share)))
            .collect(),
    };
    let mean = |(design, mean): (&'a String, &f64)| (design, *mean, c.geomean_spread.get(design).copied());
    let mut geomean: Vec<_> = c.geomean.iter().map(mean).collect();
    geomean.sort_by(|a, b| a.1.total_cmp(&b.1));
    Machine {
        machine: c.runs.first().map_or("", |r| &r.machine),
        geomean,
        // The first seed's time is shown in full.
        cells: c.runs.iter().filter(|r| r.seed == base.seed).map(cell).collect(),
    }
}

fn body(title: &str, n: &Numbers<'_>, base: &Request, seeds: usize) -> String {
    let spread = match seeds {
        0 | 1 => "one seed, so without intervals".to_owned(),
        s => format!("means over {s} seeds with their 95 % intervals"),
    };
    let names: Vec<String> = n
        .machines
        .iter()
        .map(|m| format!("<code>{}</code>", escape(m.machine)))
        .collect();
    format!(
        "<header><h1>{}</h1><p class=\"quiet\">Machine {}, {} operations a thread, from seed {}: {spread}.</p>\
         </header><main><div id=\"machines\" class=\"filters screen-only\" role=\"group\" aria-label=\"Machine\"></div><div id=\"heat\"></div>\
         <div id=\"pair\" class=\"card\" role=\"region\" aria-live=\"polite\" aria-label=\"One run\">\
         <p>Choose a field for where its time went.</p></div><div id=\"bars\"></div>\
         <details><summary>The numbers</summary><div class=\"scroll\" id=\"numbers\"></div></details></main>",
        escape(title),
        names.join(", "),
        base.ops,
        base.seed
    )
}

/// A number as the page shows it: a page of thousands of runs stays small.
fn rounded(v: f64) -> f64 {
    short(v).parse().unwrap_or(v)
}
