//! What a rule finds on finished runs, and what all rules share: values per program, ratios, means, and programs that are missing.

use super::rule::{Form, Over};
use super::runs::Runs;
use fencepost_run::result::RunResult;

/// A number matches within this share of the paper's value.
pub const NUMBER_TOLERANCE: f64 = 0.20;

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Measured {
    /// The value, for number claims.
    pub value: Option<f64>,
    /// Whether an order, trend or check holds; `None` for plain numbers.
    pub holds: Option<bool>,
    /// What to say beside it.
    pub note: String,
    /// Programs that the claim is about but that were not run.
    pub missing: Vec<String>,
    /// Least and greatest value that the claim can still take, whatever the missing programs give; `None`: any.
    pub reach: Option<[f64; 2]>,
    /// An order that is broken already, whatever the missing programs give.
    pub broken: bool,
}

/// A value per program.
pub type PerProgram = Vec<(String, f64)>;

pub(super) fn number(value: f64, note: String, missing: Vec<String>) -> Measured {
    Measured {
        value: Some(value),
        note,
        missing,
        ..Measured::default()
    }
}
pub(super) fn verdict(holds: bool, note: String, missing: Vec<String>) -> Measured {
    Measured {
        holds: Some(holds),
        note,
        missing,
        ..Measured::default()
    }
}
/// The same, and whether no missing program could mend it.
pub(super) fn verdict_for_good(holds: bool, broken: bool, note: String, missing: Vec<String>) -> Measured {
    Measured {
        broken,
        ..verdict(holds, note, missing)
    }
}
pub(super) fn each(values: &PerProgram) -> String {
    values
        .iter()
        .map(|(p, v)| format!("{p} {v:.2}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Missing programs among those a claim is about; when `only` is empty, all that the tag's runs name.
pub(super) fn missing(runs: &Runs, tag: &str, only: &[String]) -> Vec<String> {
    let under_tag = |p: &String| runs.of_tag.get(tag).is_none_or(|of| of.contains(p));
    let concerned = |p: &&String| {
        if only.is_empty() {
            under_tag(p)
        } else {
            only.contains(p)
        }
    };
    runs.missing_programs.iter().filter(concerned).cloned().collect()
}

/// Ratio of two points' time per operation, program by program, on one medium.
pub fn ratios(runs: &Runs, tag: &str, [point, base]: [&String; 2], media: &str) -> PerProgram {
    let ratio = |p: &String| {
        let a = time_per_op(runs.get(tag, p, point, media)?);
        let b = time_per_op(runs.get(tag, p, base, media)?);
        (b > 0.0).then(|| (p.clone(), a / b))
    };
    runs.run_programs().filter_map(ratio).collect()
}

/// Picoseconds per measured operation of all threads.
pub(crate) fn time_per_op(r: &RunResult) -> f64 {
    r.time_ps as f64 / r.ops.max(1) as f64
}

/// One number out of the programs' values; `None` when there is none.
pub fn aggregate(over: Over, values: &PerProgram) -> Option<f64> {
    let v = || values.iter().map(|x| x.1);
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    Some(match over {
        Over::Geomean => (v().map(f64::ln).sum::<f64>() / n).exp(),
        Over::Mean => v().sum::<f64>() / n,
        Over::Min => v().fold(f64::INFINITY, f64::min),
        Over::Max => v().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// A counter of a run; `pm_writes`, `pm_reads` and operations a second are counters too.
pub fn counter(run: &RunResult, name: &str) -> Option<u64> {
    match name {
        "pm_writes" => Some(run.pm_writes),
        "pm_reads" => Some(run.pm_reads),
        "pm_lines" => Some(run.pm_writes + run.pm_reads),
        "pm_lines_per_ms" => Some((run.pm_writes + run.pm_reads) * 1_000_000_000 / run.time_ps.max(1)),
        "ops_per_s" => Some(run.ops.saturating_mul(1_000_000_000_000) / run.time_ps.max(1)),
        other => run.counters.get(other).copied(),
    }
}

/// Between which values an aggregate of positive ratios can end up when `more` are added to the `n` that gave `value`.
pub(super) fn reach(over: Over, value: f64, n: usize, more: usize) -> [f64; 2] {
    match over {
        _ if more == 0 => [value, value],
        Over::Max => [value, f64::INFINITY],
        Over::Min => [0.0, value],
        Over::Mean => [value * n as f64 / (n + more) as f64, f64::INFINITY],
        Over::Geomean => [0.0, f64::INFINITY],
    }
}

/// A ratio in the form in which a claim states it.
pub fn shape(form: Form, ratio: f64) -> f64 {
    match form {
        Form::Ratio => ratio,
        Form::GainPercent => (ratio - 1.0) * 100.0,
        Form::LossPercent => (1.0 - ratio) * 100.0,
    }
}
