//! Scores claims: match, miss, quoted or not run, and why.

use super::measure::{Measured, measure};
use super::rule::{Rule, Rules};
use super::runs::Runs;
use super::semantics::Checks;
use crate::claims::Claim;
use crate::cost::CostLine;
use serde::Serialize;

/// Verdict on one claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As the paper says.
    Match,
    /// Otherwise.
    Miss,
    /// Repeated from the paper, not measured.
    Quoted,
    /// Not measured, for the reason in the note.
    NotRun,
}
impl Verdict {
    /// The word of the scoreboard.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Match => "match",
            Verdict::Miss => "miss",
            Verdict::Quoted => "quoted",
            Verdict::NotRun => "not-run",
        }
    }
}

/// One row of `scoreboard.csv`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Claim id.
    pub id: String,
    /// The paper's value.
    pub paper: String,
    /// Ours.
    pub measured: String,
    /// Unit of both.
    pub unit: String,
    /// Ours over the paper's, for numbers.
    pub ratio: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason, test, or values per program.
    pub note: String,
}

/// A number matches within this share of the paper's value.
pub const NUMBER_TOLERANCE: f64 = 0.20;

/// What scoring needs beside the runs.
pub struct Evidence<'a> {
    /// Finished runs.
    pub runs: &'a Runs,
    /// Semantic checks by name.
    pub checks: &'a Checks,
    /// A line of a design's cost table: design word, item name.
    pub cost_bits: &'a dyn Fn(&str, &str) -> Option<CostLine>,
    /// A resolved parameter of the experiment's machine, by path.
    pub parameter: &'a dyn Fn(&str) -> Option<String>,
}

/// One row per claim, in the claims' order.
pub fn score(claims: &[Claim], rules: &Rules, evidence: &Evidence<'_>) -> Vec<Row> {
    claims.iter().map(|c| row(c, rules.get(&c.id), evidence)).collect()
}

fn row(claim: &Claim, rule: Option<&Rule>, evidence: &Evidence<'_>) -> Row {
    let blank = |verdict, note: String| Row {
        id: claim.id.clone(),
        paper: claim.value.clone(),
        measured: String::new(),
        unit: claim.unit.clone(),
        ratio: String::new(),
        verdict,
        note,
    };
    match rule {
        None => blank(Verdict::NotRun, "no rule for this claim yet".into()),
        Some(Rule::Quoted { reason }) => blank(Verdict::Quoted, reason.clone()),
        Some(Rule::NotRun { reason }) => blank(Verdict::NotRun, reason.clone()),
        Some(Rule::Check { test }) => match evidence.checks.run(test, evidence.runs) {
            None => blank(
                Verdict::NotRun,
                format!("the test `{test}` does not run in reproduce yet"),
            ),
            Some(Ok(found)) => Row {
                measured: "holds".into(),
                ..blank(Verdict::Match, format!("test {test}: {found}"))
            },
            Some(Err(why)) => Row {
                measured: "broken".into(),
                ..blank(Verdict::Miss, format!("test {test}: {why}"))
            },
        },
        Some(Rule::Parameter { values }) => parameters(values, evidence, &blank),
        Some(Rule::Cost {
            design,
            item,
            bits_per_unit,
        }) => match (evidence.cost_bits)(design, item) {
            Some(line) => cost_row(claim, design, &line, *bits_per_unit, &blank),
            None => blank(
                Verdict::NotRun,
                format!("depends on designs not yet built ({design}: {item})"),
            ),
        },
        Some(Rule::Costs { design, parts }) => costs_row(claim, design, parts, evidence, &blank),
        Some(rule) => match measure(rule, evidence.runs) {
            Some(m) => measured_row(claim, m, &blank),
            None => blank(Verdict::NotRun, not_measured(evidence.runs)),
        },
    }
}

fn not_measured(runs: &Runs) -> String {
    let list = |s: &std::collections::BTreeSet<String>| s.iter().cloned().collect::<Vec<_>>().join(", ");
    if !runs.missing_designs.is_empty() {
        return format!("depends on designs not yet built ({})", list(&runs.missing_designs));
    }
    format!("depends on programs not yet built ({})", list(&runs.missing_programs))
}

fn measured_row(claim: &Claim, m: Measured, blank: &dyn Fn(Verdict, String) -> Row) -> Row {
    let partial = !m.missing.is_empty();
    let mut row = match (m.value, m.holds) {
        (Some(v), _) => number_row(claim, v, m.note, blank, NUMBER_TOLERANCE),
        (None, holds) => {
            let holds = holds == Some(true);
            let verdict = if holds { Verdict::Match } else { Verdict::Miss };
            let word = if holds { "as stated" } else { "otherwise" };
            Row {
                measured: word.into(),
                ..blank(verdict, m.note)
            }
        }
    };
    if partial {
        row.verdict = Verdict::NotRun;
        row.note = format!(
            "partial: depends on programs not yet built ({}); so far {}",
            m.missing.join(", "),
            row.note
        );
    }
    row
}

fn number_row(claim: &Claim, value: f64, note: String, blank: &dyn Fn(Verdict, String) -> Row, tolerance: f64) -> Row {
    let Some(paper) = claim.number() else {
        // Claims such as ">50" or "77.4-87" are bounds or ranges.
        let holds = bound(&claim.value, value);
        let verdict = if holds { Verdict::Match } else { Verdict::Miss };
        return Row {
            measured: short(value),
            ..blank(verdict, note)
        };
    };
    let ratio = value / paper;
    let verdict = if (ratio - 1.0).abs() <= tolerance {
        Verdict::Match
    } else {
        Verdict::Miss
    };
    Row {
        measured: short(value),
        ratio: short(ratio),
        ..blank(verdict, note)
    }
}

/// Storage: the paper's formula must reproduce its number; the first-principles value stands beside it.
fn cost_row(claim: &Claim, design: &str, line: &CostLine, unit: f64, blank: &dyn Fn(Verdict, String) -> Row) -> Row {
    let scored = line.paper_bits.unwrap_or(line.bits) as f64 / unit;
    let first = short(line.bits as f64 / unit);
    let note = format!(
        "{design}, {}: {first} {} from first principles; {}",
        line.what, claim.unit, line.note
    );
    number_row(claim, scored, note, blank, 0.005)
}

/// Several lines of a bill, joined as the claim joins them.
fn costs_row(
    claim: &Claim,
    design: &str,
    parts: &[[String; 2]],
    evidence: &Evidence<'_>,
    blank: &dyn Fn(Verdict, String) -> Row,
) -> Row {
    let lines: Option<Vec<(CostLine, f64)>> = (parts.iter())
        .map(|[item, unit]| Some(((evidence.cost_bits)(design, item)?, unit.parse().ok()?)))
        .collect();
    let Some(lines) = lines else {
        return blank(Verdict::NotRun, format!("depends on designs not yet built ({design})"));
    };
    let join = |bits: &dyn Fn(&CostLine) -> u64| {
        lines
            .iter()
            .map(|(l, unit)| short(bits(l) as f64 / unit))
            .collect::<Vec<_>>()
            .join("/")
    };
    let (paper, first) = (join(&|l| l.paper_bits.unwrap_or(l.bits)), join(&|l| l.bits));
    let verdict = if paper == claim.value {
        Verdict::Match
    } else {
        Verdict::Miss
    };
    Row {
        measured: paper,
        ..blank(
            verdict,
            format!("{design}: {first} {} from first principles", claim.unit),
        )
    }
}

/// Whether `value` satisfies a bound (">50") or lies in a range ("77.4-87").
fn bound(text: &str, value: f64) -> bool {
    if let Some(low) = text.strip_prefix('>') {
        return low.parse::<f64>().is_ok_and(|l| value > l);
    }
    let range = text
        .split_once('-')
        .and_then(|(a, b)| Some((a.parse::<f64>().ok()?, b.parse::<f64>().ok()?)));
    range.is_some_and(|(a, b)| (a..=b).contains(&value))
}

fn parameters(
    values: &std::collections::BTreeMap<String, String>,
    evidence: &Evidence<'_>,
    blank: &dyn Fn(Verdict, String) -> Row,
) -> Row {
    let wrong: Vec<String> = (values.iter())
        .filter_map(|(path, want)| {
            let have = (evidence.parameter)(path);
            (have.as_ref() != Some(want))
                .then(|| format!("{path} is {}, not {want}", have.unwrap_or_else(|| "absent".into())))
        })
        .collect();
    if wrong.is_empty() {
        let note = format!("test resolved-preset: {} values as stated", values.len());
        return Row {
            measured: "as stated".into(),
            ..blank(Verdict::Match, note)
        };
    }
    Row {
        measured: "otherwise".into(),
        ..blank(Verdict::Miss, format!("test resolved-preset: {}", wrong.join("; ")))
    }
}

/// Three significant digits.
pub fn short(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return format!("{v}");
    }
    let digits = (2 - v.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{v:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The rows' `kind`s that count as work done: everything but `not-run`.
pub fn tally(rows: &[Row]) -> [(Verdict, usize); 4] {
    [Verdict::Match, Verdict::Miss, Verdict::Quoted, Verdict::NotRun]
        .map(|v| (v, rows.iter().filter(|r| r.verdict == v).count()))
}

/// The scoreboard as CSV.
pub fn to_csv(rows: &[Row]) -> Vec<u8> {
    let mut w = csv::Writer::from_writer(Vec::new());
    for r in rows {
        w.serialize(r).expect("rows are plain text");
    }
    if rows.is_empty() {
        let _ = w.write_record(["id", "paper", "measured", "unit", "ratio", "verdict", "note"]);
    }
    w.into_inner().unwrap_or_default()
}
