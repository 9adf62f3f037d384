//! The work between persists, beside what the paper's figures imply: a diagnostic, never a target.

use super::measured::counter;
use super::runs::Runs;
use super::spec::{Experiment, Implied, ImpliedFrom};
use fencepost_run::short;
use serde::Serialize;

/// One program's line, ready to print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImpliedRow {
    /// Program.
    pub program: String,
    /// Volatile time per flush of the synchronous build, per core.
    pub ns_per_flush: String,
    /// The same, implied.
    pub implied_ns_per_flush: String,
    /// Flushes per operation of the synchronous build.
    pub flushes_per_op: String,
    /// The same, implied.
    pub implied_flushes_per_op: String,
    /// Time of an operation on the volatile machine.
    pub op_ns: String,
    /// The same, implied.
    pub implied_op_ns: String,
    /// Whether any of the three is off by more than a factor of two.
    pub off: bool,
    /// What the implied values require.
    pub requires: String,
}

/// One row per program that both the experiment's table and the runs have.
pub fn rows(e: &Experiment, runs: &Runs, source: &ImpliedFrom) -> Vec<ImpliedRow> {
    (runs.run_programs())
        .filter_map(|p| {
            let implied = e.implied.get(p)?;
            let flushing = runs.get(&source.tag, p, &source.flushing, &source.media)?;
            let volatile = runs.get(&source.tag, p, &source.volatile, &source.media)?;
            let flushes = counter(flushing, &source.counter)? as f64;
            let per_thread = flushes / f64::from(flushing.threads);
            let ops_per_thread = volatile.ops as f64 / f64::from(volatile.threads);
            let time_ns = volatile.time_ps as f64 / 1000.0;
            Some(row(
                p,
                implied,
                [
                    time_ns / per_thread,
                    flushes / flushing.ops as f64,
                    time_ns / ops_per_thread,
                ],
            ))
        })
        .collect()
}

fn row(program: &str, i: &Implied, [ns_per_flush, flushes_per_op, op_ns]: [f64; 3]) -> ImpliedRow {
    let off = |v: f64, range: Option<[f64; 2]>| range.is_some_and(|[low, high]| v < low / 2.0 || v > high * 2.0);
    let range = |range: Option<[f64; 2]>| match range {
        None => "-".to_owned(),
        Some([low, high]) if low == high => short(low),
        Some([low, high]) => format!("{} to {}", short(low), short(high)),
    };
    ImpliedRow {
        program: program.to_owned(),
        ns_per_flush: short(ns_per_flush),
        implied_ns_per_flush: range(i.ns_per_flush),
        flushes_per_op: short(flushes_per_op),
        implied_flushes_per_op: range(i.flushes_per_op),
        op_ns: short(op_ns),
        implied_op_ns: range(i.op_ns),
        off: off(ns_per_flush, i.ns_per_flush) || off(flushes_per_op, i.flushes_per_op) || off(op_ns, i.op_ns),
        requires: i.requires.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_factor_of_two_is_marked() {
        let implied = Implied {
            ns_per_flush: Some([37.0, 70.0]),
            flushes_per_op: Some([6.0, 6.0]),
            op_ns: Some([220.0, 420.0]),
            requires: String::new(),
        };
        assert!(!row("sps", &implied, [139.0, 3.1, 120.0]).off);
        assert!(row("sps", &implied, [141.0, 6.0, 300.0]).off);
        assert!(row("sps", &implied, [60.0, 2.9, 300.0]).off);
        assert_eq!(row("sps", &implied, [60.0, 6.0, 300.0]).implied_op_ns, "220 to 420");
        let silent = Implied {
            flushes_per_op: None,
            ..implied
        };
        assert!(!row("sps", &silent, [60.0, 99.0, 300.0]).off);
    }
}
