//! Programs on several designs as a page: a heat map, sorted bars, and where the time of a chosen pair went.

use super::behind::command;
use super::stalls::{GROUPS, causes};
use crate::compare::Comparison;
use fencepost_pages::{Page, escape};
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::{LabError, short};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

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
    causes: Vec<(String, f64)>,
    command: String,
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
        time_us: r.time_ps as f64 / 1e6,
        slowdown: of(&c.slowdown, r),
        half: of(&c.spread, r),
        pm_writes: r.pm_writes,
        check: (r.check.as_ref()).map(|k| if k.violated() { "VIOLATED" } else { "clean" }),
        causes: causes(r),
        command: command(&Request {
            program: r.program.clone(),
            design: r.design.clone(),
            machine: r.machine.clone(),
            ..base.clone()
        }),
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
    let mut body = format!(
        "<header><h1>{}</h1><p class=\"quiet\">Machine {}, {} operations a thread, from seed {}: {spread}.</p>\
         </header><main><div id=\"machines\" class=\"filters screen-only\" role=\"group\" aria-label=\"Machine\"></div><div id=\"heat\"></div>\
         <div id=\"pair\" class=\"card\" role=\"region\" aria-live=\"polite\" aria-label=\"One run\">\
         <p>Choose a field for where its time went.</p></div><div id=\"bars\"></div>\
         <details><summary>The numbers</summary><div class=\"scroll\"><table class=\"alive stack\"><caption>runs</caption><thead><tr>",
        escape(title),
        names.join(", "),
        base.ops,
        base.seed
    );
    let heads = [
        "machine",
        "program",
        "design",
        "time, &micro;s",
        "relative",
        "PM writes",
        "longest",
        "crash check",
    ];
    heads.iter().for_each(|h| {
        let _ = write!(body, "<th>{h}</th>");
    });
    body.push_str("</tr></thead><tbody>");
    for (machine, c) in n
        .machines
        .iter()
        .flat_map(|m| m.cells.iter().map(move |c| (m.machine, c)))
    {
        let longest = c
            .causes
            .first()
            .map_or(String::new(), |x| format!("{} {} %", x.0, short(x.1)));
        let half = c.half.map_or_else(String::new, |h| format!(" ±{}", short(h)));
        let (time, relative) = (
            short(c.time_us),
            c.slowdown.map_or_else(String::new, |s| short(s) + &half),
        );
        let cells = [
            machine,
            &c.program,
            &c.design,
            &time,
            &relative,
            &c.pm_writes.to_string(),
            &longest,
            c.check.unwrap_or(""),
        ]
        .map(escape);
        let row: String = cells
            .iter()
            .zip(heads)
            .map(|(x, h)| format!("<td data-head=\"{h}\">{x}</td>"))
            .collect();
        let _ = write!(body, "<tr>{row}</tr>");
    }
    body.push_str("</tbody></table></div></details></main>");
    body
}
