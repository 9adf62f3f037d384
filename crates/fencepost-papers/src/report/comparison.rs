//! Programs on several designs as a page: a heat map, sorted bars, and where the time of a chosen pair went.

use super::behind::command;
use super::stalls::{GROUPS, causes};
use crate::compare::Comparison;
use fencepost_pages::{Page, escape};
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::{LabError, short};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const SCRIPT: &str = include_str!("comparison.js");

#[derive(Serialize)]
struct Cell {
    program: String,
    design: String,
    time_us: f64,
    slowdown: Option<f64>,
    /// Half of the slowdown's 95 % interval over the seeds, where there are several.
    spread: Option<f64>,
    pm_writes: u64,
    /// "clean" or what was found, where crash states were examined.
    check: Option<&'static str>,
    causes: Vec<(String, f64)>,
    command: String,
}

#[derive(Serialize)]
struct Numbers<'a> {
    baseline: &'a str,
    groups: [(&'static str, &'static [&'static str]); 8],
    geomean: Vec<(&'a String, f64, Option<f64>)>,
    cells: Vec<Cell>,
}

/// Renders the page.
///
/// # Errors
/// A number that has no form in JSON, which is a defect.
pub fn page(c: &Comparison, base: &Request) -> Result<String, LabError> {
    let of = |by: &BTreeMap<String, BTreeMap<String, f64>>, r: &RunResult| by.get(&r.program)?.get(&r.design).copied();
    let cell = |r: &RunResult| Cell {
        program: r.program.clone(),
        design: r.design.clone(),
        time_us: r.time_ps as f64 / 1e6,
        slowdown: of(&c.slowdown, r),
        spread: of(&c.spread, r),
        pm_writes: r.pm_writes,
        check: (r.check.as_ref()).map(|k| if k.violated() { "VIOLATED" } else { "clean" }),
        causes: causes(r),
        command: command(&Request {
            program: r.program.clone(),
            design: r.design.clone(),
            ..base.clone()
        }),
    };
    let half = |design: &String| c.geomean_spread.get(design).copied();
    let mut geomean: Vec<_> = c.geomean.iter().map(|g| (g.0, *g.1, half(g.0))).collect();
    geomean.sort_by(|a, b| a.1.total_cmp(&b.1));
    let numbers = Numbers {
        baseline: &c.baseline,
        groups: GROUPS,
        geomean,
        cells: shown(c, base).map(cell).collect(),
    };
    let title = format!("Time relative to {}", c.baseline);
    let page = Page {
        title: &title,
        body: &body(&title, &numbers, base),
        style: "",
        scripts: &[include_str!("stall_bar.js"), SCRIPT],
        plots: true,
    };
    page.render(&numbers)
        .map_err(|e| LabError::Internal(format!("comparison: {e}")))
}

/// The runs whose time is shown in full: those of the first seed.
fn shown<'a>(c: &'a Comparison, base: &Request) -> impl Iterator<Item = &'a RunResult> {
    let first = base.seed;
    c.runs.iter().filter(move |r| r.seed == first)
}

/// What is said of seeds.
fn seeds(n: &Numbers<'_>, base: &Request) -> String {
    match n.cells.iter().any(|c| c.spread.is_some()) {
        true => format!(
            "Ratios are means over several seeds with the half of their 95 % interval; times are those of seed {}.",
            base.seed
        ),
        false => format!("Seed {}. One seed: no spread is shown.", base.seed),
    }
}

fn body(title: &str, n: &Numbers<'_>, base: &Request) -> String {
    let mut body = format!(
        "<header><h1>{}</h1><p class=\"quiet\">Machine <code>{}</code>, {} operations a thread. {}</p>\
         </header><main><div id=\"heat\"></div><div id=\"pair\" class=\"card\" role=\"region\" aria-live=\"polite\" aria-label=\"One run\">\
         <p>Choose a field for where its time went.</p></div><div id=\"bars\"></div>\
         <details><summary>The numbers</summary><div class=\"scroll\"><table class=\"alive stack\"><caption>runs</caption><thead><tr>",
        escape(title),
        escape(&base.machine),
        base.ops,
        escape(&seeds(n, base))
    );
    let heads = [
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
    for c in &n.cells {
        let longest = c
            .causes
            .first()
            .map_or(String::new(), |x| format!("{} {} %", x.0, short(x.1)));
        let (time, relative) = (short(c.time_us), relative(c));
        let cells = [
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

/// The time over the baseline's, with its spread where it is known.
fn relative(c: &Cell) -> String {
    let half = c.spread.map_or_else(String::new, |h| format!(" ± {}", short(h)));
    c.slowdown.map_or_else(String::new, |s| short(s) + &half)
}
