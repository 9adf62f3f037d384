//! The crash check of a run: power failures at its durable events, and its persist order against the contract.

use crate::config::Resolved;
use crate::crash::prefix_witness;
use crate::error::{BadInput, LabError};
use crate::result::{Check, Witness};
use crate::run::{build_design, warning};
use fencepost_contract::explore::{BrokenPrefix, Oracle, PrefixReport, check_prefixes};
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_kernel::{Image, Program, Trace, WriteCause};
use fencepost_machine::RunReport;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Crash points examined unless the request says otherwise.
pub const DEFAULT_BUDGET: u64 = 20_000;

/// Examines the crash points of a recorded run, up to the budget, until one fails.
pub fn prefixes<P: Program>(resolved: &Resolved, program: &P, report: &RunReport) -> Result<PrefixReport, LabError> {
    let trace = recorded(report)?;
    let design = build_design(resolved)?;
    let budget = resolved.request.budget.unwrap_or(DEFAULT_BUDGET);
    let budget = NonZeroU64::new(budget).ok_or_else(|| BadInput::new("a check needs at least 1 crash point"))?;
    let oracle = Oracle::new(program, &trace.ops);
    Ok(check_prefixes(
        &oracle,
        &report.initial,
        trace,
        &report.log,
        budget,
        |image: &Image| {
            let mut image = image.clone();
            design.recover(&mut image);
            image
        },
    ))
}

fn recorded(report: &RunReport) -> Result<&Trace, LabError> {
    report
        .trace
        .as_ref()
        .ok_or_else(|| LabError::Internal("a check needs a recorded run".into()))
}

/// Examines the crash points of a recorded run and its conformance.
pub fn check<P: Program>(resolved: &Resolved, program: &P, report: &RunReport) -> Result<Check, LabError> {
    let trace = recorded(report)?;
    let found = prefixes(resolved, program, report)?;
    let contract = contract_of(resolved)?;
    let conformance = conform(
        trace,
        report.log.records(),
        &Contract::from(contract),
        Demands::default(),
    );
    let mut witnesses: Vec<Witness> = found.broken.iter().map(|b| broken(resolved, b, report)).collect();
    if let Err(refusal) = &conformance {
        let why = format!("contract {contract}: {refusal}");
        witnesses.push(Witness {
            event: None,
            time_ps: None,
            why,
            source: Vec::new(),
            replay: None,
        });
    }
    Ok(Check {
        points: found.points,
        points_total: crash_points(report),
        violations: u64::from(found.broken.is_some()),
        conforms: Some(conformance.is_ok()),
        contract: Some(contract.word().to_owned()),
        reordered: conformance.as_ref().map_or(0, |c| c.reordered),
        durable_by_cause: causes(report),
        expected_violations: warning(resolved).is_some(),
        witnesses,
    })
}

/// Crash points of a run: after every durable event, and before the first. Parts of an atomic node are no events.
pub fn crash_points(report: &RunReport) -> u64 {
    let parts = report.log.records().iter().filter(|r| r.cause == WriteCause::LogPart);
    report.log.len() + 1 - parts.count() as u64
}

fn causes(report: &RunReport) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for r in report.log.records() {
        *out.entry(format!("{:?}", r.cause).to_lowercase()).or_default() += 1;
    }
    out
}

/// The contract that the run is held to.
pub fn contract_of(resolved: &Resolved) -> Result<ContractKind, LabError> {
    let word = resolved.contract();
    word.parse()
        .map_err(|e| LabError::Internal(format!("design `{}`: {e}", resolved.design.name)))
}

fn broken(resolved: &Resolved, b: &BrokenPrefix, report: &RunReport) -> Witness {
    let shown = prefix_witness(resolved, b, report);
    let last = b.records.checked_sub(1).and_then(|i| report.log.records().get(i));
    Witness {
        event: Some(b.records as u64),
        time_ps: last.map(|r| r.time.0),
        why: format!("{}; {} stores not yet durable", shown.why, b.missing.len()),
        source: shown.source,
        replay: Some(shown.replay),
    }
}
