//! The paper's figures with our values beside its own.

use super::subject::Report;
use crate::experiment::claims::Claim;
use crate::experiment::figures::{Bar, Figure};
use crate::experiment::measured::{PerProgram, aggregate, shape};
use crate::experiment::metrics::Compared;
use crate::experiment::rule::{Form, Over, Rule};
use crate::experiment::runs::Runs;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A figure as the page draws it.
#[derive(Serialize)]
pub(super) struct Drawn {
    id: String,
    place: String,
    title: String,
    /// What is divided by what, by the names of the design points.
    baseline: String,
    main: bool,
    unit: &'static str,
    /// The value that says "no difference".
    neutral: f64,
    /// Where bars begin, where that is not the neutral value.
    origin: f64,
    media: Vec<String>,
    bars: Vec<String>,
    cells: Vec<Cell>,
}

/// One bar.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Cell {
    media: String,
    /// A program, or what is taken over all.
    program: String,
    /// Whether it is taken over all programs.
    over_all: bool,
    bar: String,
    /// Ours under the primaries.
    value: Option<f64>,
    /// Least and greatest over the readings that were run.
    range: Option<[f64; 2]>,
    /// The paper's, where it states it.
    stated: Option<f64>,
    /// Ours under the best joint reading, where one was inferred.
    best: Option<f64>,
    /// Claim that states it.
    claim: Option<String>,
}

/// Name of what is taken over programs.
pub(super) const fn over_name(over: Over) -> &'static str {
    match over {
        Over::Geomean => "geomean",
        Over::Mean => "mean",
        Over::Min => "least",
        Over::Max => "most",
    }
}

/// Every figure of the paper whose runs there are.
pub(super) fn drawn(r: &Report<'_>) -> Vec<Drawn> {
    let all = r.figures.iter().map(|f| {
        if f.claims.is_empty() {
            of_runs(r, f)
        } else {
            of_claims(r, f)
        }
    });
    all.filter(|f| f.cells.iter().any(|c| c.value.is_some())).collect()
}

/// The bars of all figures as a table: what the charts of the page show.
pub(super) fn table(figures: &[Drawn]) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let head = [
        "figure",
        "media",
        "program",
        "bar",
        "unit",
        "by_text",
        "low",
        "high",
        "best_joint",
        "paper",
        "claim",
    ];
    let number = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
    let cells = figures.iter().flat_map(|f| f.cells.iter().map(move |c| (f, c)));
    let rows = cells.map(|(f, c)| {
        let [low, high] = [c.range.map(|r| r[0]), c.range.map(|r| r[1])].map(number);
        let [text, best, paper] = [c.value, c.best, c.stated].map(number);
        let name = [&f.id, &c.media, &c.program, &c.bar].map(String::clone);
        let claim = c.claim.clone().unwrap_or_default();
        [
            name.to_vec(),
            vec![f.unit.to_owned(), text, low, high, best, paper, claim],
        ]
        .concat()
    });
    // A table in memory takes every row.
    let _ = out.write_record(head);
    rows.for_each(|r| drop(out.write_record(r)));
    out.into_inner().unwrap_or_default()
}

fn unit(form: Form) -> (&'static str, f64) {
    match form {
        Form::Ratio => ("x", 1.0),
        Form::GainPercent | Form::LossPercent => ("%", 0.0),
    }
}

fn of_runs(r: &Report<'_>, f: &Figure) -> Drawn {
    let here = r
        .experiment
        .matrix
        .iter()
        .filter(|m| f.bar.iter().any(|b| m.tag == *f.tag_of(b)));
    let mut media: Vec<String> = here.flat_map(|m| m.media.iter().cloned()).collect();
    let mut seen = Vec::new();
    media
        .retain(|m| (f.media.is_empty() || f.media.contains(m)) && !seen.contains(m) && (seen.push(m.clone()), true).1);
    let (unit, neutral) = unit(f.form);
    let cells = media
        .iter()
        .flat_map(|m| f.bar.iter().flat_map(move |b| cells(r, f, b, m)))
        .collect();
    Drawn {
        id: f.id.clone(),
        place: f.place.clone(),
        title: f.title.clone(),
        baseline: baseline(r, f),
        main: f.main,
        unit,
        neutral,
        origin: if f.from_zero { 0.0 } else { neutral },
        bars: f.bar.iter().map(|b| b.name.clone()).collect(),
        media,
        cells,
    }
}

/// What the bars of a figure divide by what.
fn baseline(r: &Report<'_>, f: &Figure) -> String {
    let design = |point: &String| {
        let p = r.experiment.points.get(point);
        p.filter(|p| p.design != *point)
            .map_or_else(|| point.clone(), |p| format!("{point} ({})", p.design))
    };
    let what = f.metric.as_deref().unwrap_or("time");
    let [above, below]: [BTreeSet<&String>; 2] = [
        f.bar.iter().map(|b| &b.point).collect(),
        f.bar.iter().map(|b| &b.base).collect(),
    ];
    let first = |points: BTreeSet<&String>| points.first().map_or_else(String::new, |p| design(p));
    match (f.bar.len(), above.len(), below.len()) {
        (2.., _, 1) => format!("Bars are {what} divided by that of {}.", first(below)),
        (2.., 1, _) => format!(
            "Bars are {what} of {} divided by that of the bar's design.",
            first(above)
        ),
        _ => {
            let of = |point: &String| r.experiment.points.get(point).map(|p| p.design.as_str());
            let designs: BTreeSet<_> = f.bar.iter().map(|b| (of(&b.point), of(&b.base))).collect();
            if let (3.., Some((Some(above), Some(below))), 1) = (f.bar.len(), designs.first(), designs.len()) {
                return format!("Ratio of {what}: {above} / {below}.");
            }
            let pairs: Vec<String> = (f.bar.iter())
                .map(|b| format!("{} / {}", design(&b.point), design(&b.base)))
                .collect();
            format!("Ratio of {what}: {}.", pairs.join(", "))
        }
    }
}

/// The bars of one name on one medium: programs, and what is taken over them.
fn cells(r: &Report<'_>, f: &Figure, bar: &Bar, media: &str) -> Vec<Cell> {
    let ours = values(r.runs, f, bar, media);
    let best = r.best.map(|b| values(&b.runs, f, bar, media)).unwrap_or_default();
    let tried: Vec<PerProgram> = r.choices.iter().map(|runs| values(runs, f, bar, media)).collect();
    let blank = |program: &str, over_all| Cell {
        media: media.into(),
        program: program.into(),
        over_all,
        bar: bar.name.clone(),
        value: None,
        range: None,
        stated: None,
        best: None,
        claim: None,
    };
    let find = |v: &PerProgram, p: &str| v.iter().find(|x| x.0 == p).map(|x| x.1);
    let mut out = Vec::new();
    for (program, value) in &ours {
        let mut cell = blank(program, false);
        cell.value = Some(shape(f.form, *value));
        cell.best = find(&best, program).map(|v| shape(f.form, v));
        cell.range = range(tried.iter().filter_map(|v| find(v, program)).map(|v| shape(f.form, v)));
        cell.state(stated(r.claims, f, bar, media, None, program, &ours));
        out.push(cell);
    }
    for over in [f.over.unwrap_or(Over::Mean), Over::Min, Over::Max] {
        let claim = stated(r.claims, f, bar, media, Some(over), "", &ours);
        // Of one program, what is taken over all is its own bar.
        if let [only] = &mut out[..] {
            if only.claim.is_none() {
                only.state(claim);
            }
            continue;
        }
        let of = |v: &PerProgram| aggregate(over, v).map(|x| shape(f.form, x));
        let mut cell = blank(over_name(over), true);
        (cell.value, cell.range) = (of(&ours), range(tried.iter().filter_map(of)));
        cell.best = of(&best);
        cell.state(claim);
        // The extremes are bars of their own only where the paper states them.
        let mean = f.over.is_none_or(|o| o == over);
        if cell.value.is_some() && (cell.stated.is_some() || mean && ours.len() > 1) {
            out.push(cell);
        }
    }
    out
}

impl Cell {
    fn state(&mut self, claim: Option<&Claim>) {
        let Some(claim) = claim else { return };
        self.stated = claim.number();
        self.claim = Some(claim.id.clone());
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let ends = values.fold(None, |ends: Option<[f64; 2]>, v| {
        Some(ends.map_or([v, v], |[a, b]| [a.min(v), b.max(v)]))
    });
    ends.filter(|[a, b]| a < b)
}

fn values(runs: &Runs, f: &Figure, bar: &Bar, media: &str) -> PerProgram {
    let metric = f.metric.as_deref().unwrap_or("time");
    let compared = Compared {
        tag: f.tag_of(bar),
        metrics: [metric, f.base_metric.as_deref().unwrap_or(metric)],
        point: &bar.point,
        base: Some(&bar.base),
        media,
    };
    compared.per_program(runs)
}

/// The claim that states a bar's height: for what is taken over all programs, or for one program.
fn stated<'a>(
    claims: &'a [Claim],
    f: &Figure,
    bar: &Bar,
    media: &str,
    over: Option<Over>,
    program: &str,
    ran: &PerProgram,
) -> Option<&'a Claim> {
    let tag_here = f.tag_of(bar);
    let says = |claim: &&Claim| match &claim.by {
        Rule::Value(v) => {
            let whole = match over {
                Some(over) => v.over == over && ran.iter().all(|p| v.programs.is_empty() || v.programs.contains(&p.0)),
                None => v.programs.len() == 1 && v.programs[0] == program,
            };
            let metric = f.metric.as_deref().unwrap_or("time") == v.metric && f.base_metric == v.base_metric;
            let bars = (&v.tag, &v.point, v.base.as_ref(), &v.form) == (tag_here, &bar.point, Some(&bar.base), &f.form);
            whole && metric && bars && v.media == [media]
        }
        _ => false,
    };
    let by_name = || {
        let id = bar.stated.as_ref().filter(|_| over.is_some() && over == f.over)?;
        claims.iter().find(|c| c.id == *id)
    };
    claims
        .iter()
        .find(says)
        .or_else(by_name)
        .filter(|c| c.number().is_some())
}

/// A figure whose bars are claims.
fn of_claims(r: &Report<'_>, f: &Figure) -> Drawn {
    let rows: BTreeMap<&str, &crate::experiment::score::Row> = r.rows.iter().map(|x| (x.id.as_str(), x)).collect();
    let mut unit = String::new();
    let cells = (f.claims.iter()).filter_map(|(label, id)| {
        let claim = r.claims.iter().find(|c| c.id == *id)?;
        unit.clone_from(&claim.unit);
        let row = rows.get(id.as_str())?;
        let ends = r.under_readings.get(id).and_then(|s| Some([s.low?, s.high?]));
        Some(Cell {
            media: String::new(),
            program: label.clone(),
            over_all: false,
            bar: "ours".into(),
            value: row.measured.parse().ok(),
            range: ends.filter(|[a, b]| a < b),
            stated: claim.number(),
            best: r.best.and_then(|b| b.found.get(id)?.value),
            claim: Some(id.clone()),
        })
    });
    Drawn {
        cells: cells.collect(),
        id: f.id.clone(),
        place: f.place.clone(),
        title: f.title.clone(),
        baseline: String::new(),
        main: f.main,
        unit: if unit == "x" { "x" } else { "" },
        neutral: if unit == "x" { 1.0 } else { 0.0 },
        origin: if unit == "x" { 1.0 } else { 0.0 },
        media: vec![String::new()],
        bars: vec!["ours".into()],
    }
}
