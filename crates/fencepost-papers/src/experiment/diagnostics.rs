//! Figures that a paper's own numbers imply, beside ours: read before any speedup is looked at, never a target.

use super::measured::counter;
use super::runs::Runs;
use super::spec::{Diagnostic, Experiment};
use fencepost_run::short;
use serde::Serialize;

/// One figure of one program, ready to print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiagnosticRow {
    /// What it is.
    pub name: String,
    /// Program.
    pub program: String,
    /// Ours.
    pub value: String,
    /// Implied.
    pub implied: String,
    /// Whether it is off by more than a factor of two.
    pub off: bool,
    /// What the implied value requires.
    pub requires: String,
}

/// Every figure of every program that was run.
pub fn rows(e: &Experiment, runs: &Runs) -> Vec<DiagnosticRow> {
    let of = |d: &Diagnostic| -> Vec<DiagnosticRow> {
        let programs = runs.run_programs();
        programs.filter_map(|p| Some(row(d, p, value(d, runs, p)?))).collect()
    };
    e.diagnostic.iter().flat_map(of).collect()
}

/// A counter in percent of the sum of others or, without others, nanoseconds of the run for each that it counts.
fn value(d: &Diagnostic, runs: &Runs, program: &str) -> Option<f64> {
    let run = runs.get(&d.tag, program, &d.point, &d.media)?;
    let counted = counter(run, &d.counter)? as f64;
    if d.of.is_empty() {
        return (counted > 0.0).then(|| run.time_ps as f64 / 1000.0 / counted);
    }
    let whole: Option<u64> = d.of.iter().map(|name| counter(run, name)).sum();
    whole.filter(|w| *w > 0).map(|w| 100.0 * counted / w as f64)
}

fn row(d: &Diagnostic, program: &str, value: f64) -> DiagnosticRow {
    let [low, high] = d.implied;
    DiagnosticRow {
        name: d.name.clone(),
        program: program.to_owned(),
        value: short(value),
        implied: format!("{} to {}", short(low), short(high)),
        off: value < low / 2.0 || value > high * 2.0,
        requires: d.requires.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_two_is_marked() {
        let d = Diagnostic {
            name: "ns per line".into(),
            tag: String::new(),
            point: String::new(),
            media: String::new(),
            counter: "pm_writes".into(),
            of: Vec::new(),
            implied: [100.0, 150.0],
            requires: String::new(),
        };
        let off = |v| row(&d, "sps", v).off;
        assert!(!off(51.0) && !off(299.0) && off(49.0) && off(301.0));
    }
}
