//! Scores claims: match, miss, quoted or not run, and why.

use super::claims::Claim;
use super::kinds::Kind;
use super::measure::measure;
use super::measured::{Measured, NUMBER_TOLERANCE};
use super::readings::Spread;
use super::real_cpu;
use super::rule::Rule;
use super::runs::Runs;
use super::statement::{Programs, Seen};
use fencepost_run::cost::CostLine;
use fencepost_run::short;
use serde::Serialize;
use std::collections::BTreeMap;

/// Verdict on one claim.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// As the paper says.
    Match,
    /// Otherwise.
    Miss,
    /// Repeated from the paper, not measured.
    Quoted,
    /// Not measured, for the reason in the note.
    NotRun,
    /// Met with some seeds and not with others.
    Unsteady,
}
impl Score {
    /// Its name in the scoreboard.
    pub const fn name(self) -> &'static str {
        match self {
            Score::Match => "match",
            Score::Miss => "miss",
            Score::Quoted => "quoted",
            Score::NotRun => "not-run",
            Score::Unsteady => "unsteady",
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
    /// What stands behind the row: a measurement, a rule that was tested, storage, or an input repeated.
    pub kind: Kind,
    /// Ours.
    pub measured: String,
    /// Half of the 95 % interval of ours over the seeds; empty for one seed, and for orders.
    pub spread: String,
    /// Unit of both.
    pub unit: String,
    /// Ours over the paper's, for numbers.
    pub ratio: String,
    /// Verdict.
    pub verdict: Score,
    /// Least value over the readings that were run; empty where only the primaries were.
    pub low: String,
    /// Greatest value over the readings that were run.
    pub high: String,
    /// Share of the readings under which the claim is met.
    pub holds: String,
    /// The open input with the largest main effect.
    pub decided_by: String,
    /// Reason, test, or values per program.
    pub note: String,
}
impl Row {
    /// Enters the claim's range over the readings.
    pub fn enter(&mut self, spread: &Spread, seen: bool) {
        let text = |v: Option<f64>| v.map_or_else(String::new, short);
        (self.low, self.high) = (text(spread.low), text(spread.high));
        self.holds = short(spread.holds);
        self.decided_by = spread.decided_by.clone().unwrap_or_default();
        if spread.never_met() {
            let others = spread.outcomes.len().saturating_sub(1);
            self.remark(&format!(
                "not met by the text, nor under any of {others} other readings alone"
            ));
        }
        let of_decider =
            |o: &&super::readings::Outcome| o.choice.split_once('=').is_some_and(|c| c.0 == self.decided_by);
        if seen {
            let one = |o: &super::readings::Outcome| {
                let met = if o.met { "holds" } else { "fails" };
                format!("{} {}", o.choice, o.value.map_or_else(|| met.to_owned(), short))
            };
            let all: Vec<String> = spread.outcomes.iter().filter(of_decider).map(one).collect();
            self.remark(&format!(
                "decided by an input whose results were known: {}",
                all.join(", ")
            ));
        }
    }
    pub(super) fn remark(&mut self, text: &str) {
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(text);
    }
}

/// What scoring needs beside the runs.
pub struct Evidence<'a> {
    /// Finished runs.
    pub runs: &'a Runs,
    /// What the tests of statements saw, by name.
    pub tests: &'a BTreeMap<&'static str, Seen>,
    /// A line of a design's cost table: design, item name.
    pub cost_bits: &'a dyn Fn(&str, &str) -> Option<CostLine>,
    /// A resolved parameter of the experiment's machine, by path.
    pub parameter: &'a dyn Fn(&str) -> Option<String>,
}

/// A claim's value under some runs.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Found {
    /// The value, for claims that are numbers.
    pub value: Option<f64>,
    /// Whether the claim is met.
    pub met: bool,
}

/// One row per claim, in the claims' order, and beside it what was measured on the runs, if its rule measures anything there.
pub fn score(claims: &[Claim], evidence: &Evidence<'_>) -> Vec<(Row, Option<Found>)> {
    claims.iter().map(|c| row(c, evidence)).collect()
}

fn row(claim: &Claim, evidence: &Evidence<'_>) -> (Row, Option<Found>) {
    let blank = |verdict, note: String| Row {
        id: claim.id.clone(),
        paper: claim.value.clone(),
        measured: String::new(),
        spread: String::new(),
        kind: claim.rests_on,
        unit: claim.unit.clone(),
        ratio: String::new(),
        verdict,
        low: String::new(),
        high: String::new(),
        holds: String::new(),
        decided_by: String::new(),
        note,
    };
    let row = match &claim.by {
        Rule::Quoted { reason } => blank(Score::Quoted, reason.clone()),
        Rule::NotRun { reason } => blank(Score::NotRun, reason.clone()),
        Rule::Check { test } => match evidence.tests.get(test.as_str()) {
            None => blank(
                Score::NotRun,
                format!("the test `{test}` does not run in reproduce yet"),
            ),
            Some(seen) => statement_row(claim, seen, evidence.runs, &blank),
        },
        rule @ Rule::Native { .. } => match real_cpu::measure(rule, &evidence.runs.native) {
            Ok(m) => measured_row(claim, m, &blank),
            Err(reason) => blank(Score::NotRun, reason),
        },
        Rule::Parameter { values } => parameters(values, evidence, &blank),
        Rule::Cost { design, parts } => costs_row(claim, design, parts, evidence, &blank),
        rule => match measure(rule, evidence.runs) {
            Some(m) => {
                let found = found(claim, &m);
                return (measured_row(claim, m, &blank), Some(found));
            }
            None => blank(Score::NotRun, not_measured(evidence.runs)),
        },
    };
    (row, None)
}

/// A statement's row. One about the experiment's programs is partial until all have run, unless what was seen is final.
fn statement_row(claim: &Claim, statement: &Seen, runs: &Runs, blank: &dyn Fn(Score, String) -> Row) -> Row {
    let (test, outcome) = (statement.name, &statement.outcome);
    let over_programs = claim.rests_on == Kind::Measured;
    let last = match outcome {
        Ok(_) => statement.programs == Programs::OneSuffices,
        Err(_) => statement.programs == Programs::OneRefutes,
    };
    let (measured, verdict) = match outcome {
        Ok(_) => ("holds", Score::Match),
        Err(_) => ("broken", Score::Miss),
    };
    let (Ok(seen) | Err(seen)) = outcome;
    let (verdict, note) = match over_programs && !runs.missing_programs.is_empty() && !last {
        false => (verdict, format!("test {test}: {seen}")),
        true => {
            let rest: Vec<&str> = runs.missing_programs.iter().map(String::as_str).collect();
            let rest = rest.join(", ");
            let note = format!("partial: depends on programs not yet built ({rest}); so far test {test}: {seen}");
            (Score::NotRun, note)
        }
    };
    Row {
        measured: measured.into(),
        ..blank(verdict, note)
    }
}

fn not_measured(runs: &Runs) -> String {
    let list = |s: &std::collections::BTreeSet<String>| s.iter().cloned().collect::<Vec<_>>().join(", ");
    if !runs.missing_designs.is_empty() {
        return format!("depends on designs not yet built ({})", list(&runs.missing_designs));
    }
    format!("depends on programs not yet built ({})", list(&runs.missing_programs))
}

/// A claim's value under some runs; `None` when nothing of it was measured.
pub fn outcome(claim: &Claim, runs: &Runs) -> Option<Found> {
    measure(&claim.by, runs).map(|m| found(claim, &m))
}

fn found(claim: &Claim, m: &Measured) -> Found {
    let met = match m.value {
        Some(v) => meets(claim, v, NUMBER_TOLERANCE),
        None => m.holds == Some(true),
    };
    Found { value: m.value, met }
}

/// Whether a value meets a claim: near its number, within its bound or range.
fn meets(claim: &Claim, value: f64, tolerance: f64) -> bool {
    match claim.number() {
        Some(paper) => (value / paper - 1.0).abs() <= tolerance,
        None => bound(&claim.value, value),
    }
}

/// Whether no value of the missing programs can still make the claim true.
fn beyond_rescue(claim: &Claim, m: &Measured) -> bool {
    match (m.reach, claim.number()) {
        (Some([low, high]), Some(paper)) => {
            let mut near = [paper * (1.0 - NUMBER_TOLERANCE), paper * (1.0 + NUMBER_TOLERANCE)];
            near.sort_by(f64::total_cmp);
            low > near[1] || high < near[0]
        }
        _ => m.broken,
    }
}

fn measured_row(claim: &Claim, m: Measured, blank: &dyn Fn(Score, String) -> Row) -> Row {
    let partial = !m.missing.is_empty();
    let lost = partial && beyond_rescue(claim, &m);
    let mut row = match (m.value, m.holds) {
        (Some(v), _) => number_row(claim, v, m.note, blank, NUMBER_TOLERANCE),
        (None, holds) => {
            let holds = holds == Some(true);
            let verdict = if holds { Score::Match } else { Score::Miss };
            let word = if holds { "as stated" } else { "otherwise" };
            Row {
                measured: word.into(),
                ..blank(verdict, m.note)
            }
        }
    };
    if partial {
        let rest = m.missing.join(", ");
        (row.verdict, row.note) = match lost {
            true => (
                Score::Miss,
                format!("whatever the programs not yet built ({rest}) give: {}", row.note),
            ),
            false => {
                let note = format!(
                    "partial: depends on programs not yet built ({rest}); so far {}",
                    row.note
                );
                (Score::NotRun, note)
            }
        };
    }
    row
}

fn number_row(claim: &Claim, value: f64, note: String, blank: &dyn Fn(Score, String) -> Row, tolerance: f64) -> Row {
    let Some(paper) = claim.number() else {
        // Claims such as ">50" or "77.4-87" are bounds or ranges.
        let verdict = if bound(&claim.value, value) {
            Score::Match
        } else {
            Score::Miss
        };
        return Row {
            measured: short(value),
            ..blank(verdict, note)
        };
    };
    let ratio = value / paper;
    let verdict = if meets(claim, value, tolerance) {
        Score::Match
    } else {
        Score::Miss
    };
    Row {
        measured: short(value),
        ratio: short(ratio),
        ..blank(verdict, note)
    }
}

/// Storage: the paper's formula must reproduce its number; the first-principles value stands beside it.
fn cost_row(claim: &Claim, design: &str, line: &CostLine, unit: f64, blank: &dyn Fn(Score, String) -> Row) -> Row {
    let scored = line.paper_bits.unwrap_or(line.bits) as f64 / unit;
    let first = short(line.bits as f64 / unit);
    let note = format!(
        "{design}, {}: {first} {} from first principles; {}",
        line.what, claim.unit, line.note
    );
    number_row(claim, scored, note, blank, 0.005)
}

/// Lines of the cost table, several joined as the claim joins them.
fn costs_row(
    claim: &Claim,
    design: &str,
    parts: &[(String, f64)],
    evidence: &Evidence<'_>,
    blank: &dyn Fn(Score, String) -> Row,
) -> Row {
    let mut lines: Vec<(CostLine, f64)> = Vec::new();
    for (item, unit) in parts {
        match (evidence.cost_bits)(design, item) {
            Some(line) => lines.push((line, *unit)),
            None => {
                return blank(
                    Score::NotRun,
                    format!("depends on designs not yet built ({design}: {item})"),
                );
            }
        }
    }
    if let [(line, unit)] = &lines[..] {
        return cost_row(claim, design, line, *unit, blank);
    }
    let join = |bits: &dyn Fn(&CostLine) -> u64| {
        let one = |(l, unit): &(CostLine, f64)| short(bits(l) as f64 / unit);
        lines.iter().map(one).collect::<Vec<_>>().join("/")
    };
    let (paper, first) = (join(&|l| l.paper_bits.unwrap_or(l.bits)), join(&|l| l.bits));
    let verdict = if paper == claim.value {
        Score::Match
    } else {
        Score::Miss
    };
    let note = format!("{design}: {first} {} from first principles", claim.unit);
    Row {
        measured: paper,
        ..blank(verdict, note)
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
    blank: &dyn Fn(Score, String) -> Row,
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
            ..blank(Score::Match, note)
        };
    }
    Row {
        measured: "otherwise".into(),
        ..blank(Score::Miss, format!("test resolved-preset: {}", wrong.join("; ")))
    }
}
