//! The crash check of a run: power failures at its durable events, and its persist order against the contract.

use crate::config::Resolved;
use crate::error::LabError;
use crate::result::{Check, Witness};
use crate::run::{build_design, warning};
use fencepost_contract::explore::{BrokenPrefix, Oracle, check_prefixes};
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::{Image, PersistRecord, Program, Trace};
use fencepost_machine::RunReport;
use std::num::NonZeroU64;

/// Crash points examined unless the request says otherwise.
pub const DEFAULT_BUDGET: u64 = 20_000;
/// Lines of the program that a witness names at most.
const LINES: usize = 8;

/// A finished check.
pub struct Checked {
    /// The verdict.
    pub check: Check,
}

/// Examines the crash points of a recorded run and its conformance.
pub fn check<P: Program>(resolved: &Resolved, program: &P, report: &RunReport) -> Result<Checked, LabError> {
    let trace = report
        .trace
        .as_ref()
        .ok_or_else(|| LabError::Internal("a check needs a recorded run".into()))?;
    let design = build_design(resolved)?;
    let budget = resolved.request.budget.unwrap_or(DEFAULT_BUDGET).max(1);
    let points_total = report.log.len() + 1;
    let every = NonZeroU64::new(points_total.div_ceil(budget)).unwrap_or(NonZeroU64::MIN);
    let oracle = Oracle::new(program, &trace.ops);
    let prefixes = check_prefixes(&oracle, &report.initial, trace, &report.log, every, |image: &Image| {
        let mut image = image.clone();
        design.recover(&mut image);
        image
    });
    let contract = contract(resolved)?;
    let conformance = conform(
        trace,
        report.log.records(),
        &Contract::from(contract),
        Demands::default(),
    );
    let mut witnesses: Vec<Witness> = prefixes
        .broken
        .iter()
        .map(|b| broken(b, trace, report.log.records()))
        .collect();
    if let Err(refusal) = &conformance {
        witnesses.push(Witness {
            event: None,
            time_ps: None,
            why: format!("contract {contract}: {refusal}"),
            source: Vec::new(),
        });
    }
    let check = Check {
        points: prefixes.points,
        points_total,
        violations: u64::from(prefixes.broken.is_some()),
        conforms: Some(conformance.is_ok()),
        contract: Some(contract.word().to_owned()),
        reordered: conformance.as_ref().map_or(0, |c| c.reordered),
        expected_violations: warning(resolved).is_some(),
        witnesses,
    };
    Ok(Checked { check })
}

/// The contract that the run is held to.
fn contract(resolved: &Resolved) -> Result<ContractKind, LabError> {
    let word = resolved.contract();
    word.parse()
        .map_err(|e| LabError::Internal(format!("design `{}`: {e}", resolved.design.word)))
}

fn broken(b: &BrokenPrefix, trace: &Trace, records: &[PersistRecord]) -> Witness {
    let mut source: Vec<String> = Vec::new();
    for id in &b.missing {
        let at = trace.store(*id).source;
        let line = format!("{}:{}", at.file(), at.line());
        if !source.contains(&line) && source.len() < LINES {
            source.push(line);
        }
    }
    let place = b.why.at.map_or_else(String::new, |a| format!(" (at {a})"));
    Witness {
        event: Some(b.records as u64),
        time_ps: b.records.checked_sub(1).and_then(|i| records.get(i)).map(|r| r.time.0),
        why: format!("{}{place}; {} stores not yet durable", b.why.why, b.missing.len()),
        source,
    }
}
