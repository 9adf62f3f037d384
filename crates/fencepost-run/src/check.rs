//! The crash check of a run: power failures at its durable events, and its persist order against the contract.

use crate::config::Resolved;
use crate::crash_witness::{cut_witness, prefix_witness};
use crate::error::{BadInput, LabError};
use crate::progress;
use crate::replay_key::ReplayKey;
use crate::replication;
use crate::result::{Check, Witness};
use crate::simulate::{build_design, contract_of, warning};
use crate::states::States;
use fencepost_contract::explore::{
    AnyOracle, BrokenPrefix, Budget, Explorer, PrefixCheck, PrefixReport, ReplayId, Subject, Verdict,
};
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_harness::AnyProgram;
use fencepost_kernel::{Dependence, Image, Trace, TraceEvent, TraceKind, WriteCause};
use fencepost_machine::RunReport;
use fencepost_machine::seam::Design;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Instant;

/// Crash points examined unless the request says otherwise.
pub const DEFAULT_BUDGET: u64 = 20_000;

/// Crash points that tell how long each takes, where time is limited.
const PROBE: u64 = 16;
/// Stores of a run beyond which neither recovery is interrupted nor writes in flight are reordered.
const SMALL: usize = 4_000;
/// Recoveries, and steps of them, that reordering the writes in flight of one run may take.
const IN_FLIGHT: u64 = 2_000;
const IN_FLIGHT_STEPS: u64 = 200_000;

/// What examining the crash points of a run may take.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// Crash points, each a recovery at most.
    pub points: u64,
    /// Recoveries after power has failed again.
    pub second: u64,
    /// The end of it all.
    pub until: Option<Instant>,
}
impl Limits {
    /// What a request asks for.
    pub fn of(resolved: &Resolved) -> Limits {
        Limits {
            points: resolved.request.budget.unwrap_or(DEFAULT_BUDGET),
            second: u64::MAX,
            until: None,
        }
    }
}

/// Examines the crash points of a recorded run within limits, until one fails.
pub fn prefixes(
    resolved: &Resolved,
    oracle: &dyn AnyOracle,
    report: &RunReport,
    limits: Limits,
) -> Result<PrefixReport, LabError> {
    with_prefixes(resolved, oracle, report, limits.points, |check, design| {
        let check = check.until(limits.until).most_second(limits.second);
        let found = check.run(|image| recovered(design, image));
        found.map_err(|e| LabError::Internal(e.to_string()))
    })
}

/// Runs recovery again on the crash point before the durable event `events` of a recorded run; with `second`, on a
/// crash state of recovery's own stores there.
pub fn replay_prefix(
    resolved: &Resolved,
    oracle: &dyn AnyOracle,
    report: &RunReport,
    events: u64,
    second: Option<&ReplayId>,
) -> Result<Option<BrokenPrefix>, LabError> {
    with_prefixes(resolved, oracle, report, u64::MAX, |check, design| {
        let found = check.replay(events, second, |image| recovered(design, image));
        found.map_err(|e| BadInput::new(e.to_string()).into())
    })
}

fn with_prefixes<T>(
    resolved: &Resolved,
    oracle: &dyn AnyOracle,
    report: &RunReport,
    points: u64,
    then: impl FnOnce(PrefixCheck<'_>, &dyn Design) -> Result<T, LabError>,
) -> Result<T, LabError> {
    let trace = recorded(report)?;
    let design = build_design(resolved)?;
    let budget = NonZeroU64::new(points).ok_or_else(|| BadInput::new("a check needs at least 1 crash point"))?;
    progress::begin(budget.get().min(crash_points(report)));
    let small = trace.stores.len() <= SMALL;
    let again = small.then_some(contract_of(resolved)?).map(Contract::from);
    let check = PrefixCheck::new(oracle, &report.initial, trace, &report.log).budget(budget);
    then(check.power_fails_again(again), &*design)
}
fn recovered(design: &dyn Design, image: &Image) -> Image {
    let mut image = image.clone();
    design.recover(&mut image);
    progress::step();
    image
}

/// Every crash state that the design's contract allows of a small run: at each crash point the writes in flight, in every
/// order in which they may become durable. `then` is not called where the run is large. Where the contract promises nothing,
/// what the run left behind says nothing of that (nothing at all may have reached memory), so the beginning of a large run is
/// explored.
pub fn in_flight(
    resolved: &Resolved,
    oracle: &dyn AnyOracle,
    report: &RunReport,
    then: impl FnOnce(Explorer<'_>, &mut dyn Subject) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let (trace, kind) = (recorded(report)?, contract_of(resolved)?);
    // Hardware transactions are left to their own recovery: which writes of theirs are in flight says nothing by itself.
    let nothing = kind == ContractKind::None;
    if trace.stores.len() > SMALL && !nothing || kind.is_transactional() {
        return Ok(());
    }
    let contract = Contract::from(kind);
    let space = match nothing {
        true => contract.space(&beginning(trace, SMALL), &report.initial),
        false => contract.space(trace, &report.initial),
    };
    let prefix = format!("{}@0", ReplayKey::flight(resolved, &contract).encode());
    then(
        Explorer::new(&space)
            .memory(oracle.extent())
            .budget(Budget::States(IN_FLIGHT))
            .beside_others(IN_FLIGHT_STEPS)
            .prefix(prefix),
        &mut *oracle.subject(),
    )
}

/// An execution up to the store after so many others.
fn beginning(trace: &Trace, stores: usize) -> Trace {
    let is_store = |e: &&TraceEvent| matches!(e.kind, TraceKind::Store(_) | TraceKind::Rmw { store: Some(_), .. });
    let later = trace.events.iter().enumerate().filter(|(_, e)| is_store(e)).nth(stores);
    let end = later.map_or(trace.events.len(), |(i, _)| i);
    let before = |d: &&Dependence| (d.event as usize) < end;
    Trace {
        events: trace.events[..end].to_vec(),
        dependences: trace.dependences.iter().take_while(before).copied().collect(),
        ..trace.clone()
    }
}

pub(crate) fn recorded(report: &RunReport) -> Result<&Trace, LabError> {
    report
        .trace
        .as_ref()
        .ok_or_else(|| LabError::Internal("a check needs a recorded run".into()))
}

/// As many crash points as a deadline allows, evenly spread as they are without one: a few show how long each takes.
fn prefixes_by(
    resolved: &Resolved,
    oracle: &dyn AnyOracle,
    report: &RunReport,
    until: Option<Instant>,
) -> Result<PrefixReport, LabError> {
    let limits = Limits {
        until,
        ..Limits::of(resolved)
    };
    let Some(until) = until.filter(|_| limits.points.min(crash_points(report)) > PROBE) else {
        return prefixes(resolved, oracle, report, limits);
    };
    let begun = Instant::now();
    let few = Limits {
        points: PROBE,
        ..limits
    };
    let found = prefixes(resolved, oracle, report, few)?;
    let (each, left) = (
        begun.elapsed().div_f64(PROBE as f64),
        until.saturating_duration_since(Instant::now()),
    );
    let points = (0.9 * left.as_secs_f64() / each.as_secs_f64().max(1e-9)) as u64;
    if found.broken.is_some() || points <= PROBE {
        return Ok(found);
    }
    let points = points.min(limits.points);
    prefixes(resolved, oracle, report, Limits { points, ..limits })
}

/// Examines the crash points of a recorded run and its conformance, until a deadline.
pub fn check(
    resolved: &Resolved,
    program: &dyn AnyProgram,
    report: &RunReport,
    until: Option<Instant>,
) -> Result<Check, LabError> {
    let trace = recorded(report)?;
    let (oracle, races) = (&*program.oracle(&trace.ops), program.races());
    let found = prefixes_by(resolved, oracle, report, until)?;
    let mut flight = None;
    if found.broken.is_none() {
        in_flight(resolved, oracle, report, |explorer, recovery| {
            let found = explorer.until(until).explore(recovery);
            flight = Some(found.map_err(|e| LabError::Internal(e.to_string()))?);
            Ok(())
        })?;
    }
    let contract = contract_of(resolved)?;
    let conformance = conform(
        trace,
        report.log.records(),
        &Contract::from(contract),
        Demands::default(),
    );
    let mut witnesses: Vec<Witness> = found.broken.iter().map(|b| broken(resolved, b, report)).collect();
    if let Some(w) = flight.as_ref().and_then(|f| f.witness.as_ref()) {
        let shown = cut_witness(w, "writes in flight");
        witnesses.push(Witness {
            event: None,
            time_ps: None,
            why: format!("with the writes in flight in another order: {}", shown.why),
            source: shown.source,
            replay: Some(shown.replay),
        });
    }
    let replica = replication::audit(resolved, report);
    witnesses.extend(replica.iter().map(replication::witness));
    let race = report.race.filter(|_| !races);
    if let Some(race) = race {
        witnesses.push(Witness {
            event: None,
            time_ps: None,
            why: format!("a data race that the program does not declare: {race}"),
            source: vec![race.source.to_string()],
            replay: None,
        });
    }
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
    witnesses.extend(report.broken_rule.iter().map(|rule| Witness {
        event: None,
        time_ps: None,
        why: format!("the mechanism broke a rule of its own: {rule}"),
        source: Vec::new(),
        replay: None,
    }));
    let violations = [
        found.broken.is_some(),
        flight.as_ref().is_some_and(|f| f.witness.is_some()),
        report.broken_rule.is_some(),
        replica.is_some(),
        race.is_some(),
    ];
    Ok(Check {
        points: found.points,
        points_total: crash_points(report),
        violations: violations.into_iter().map(u64::from).sum(),
        interrupted: found.again.map_or(0, |a| a.recoveries),
        interrupted_states: States::from(found.again.map_or(0, |a| a.states)),
        in_flight_states: States::from(flight.as_ref().map_or(0, |f| f.states_covered)),
        in_flight_complete: flight.as_ref().is_some_and(|f| f.verdict == Verdict::Clean),
        conforms: Some(conformance.is_ok()),
        contract: Some(contract.name().to_owned()),
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

pub(crate) fn causes(report: &RunReport) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for r in report.log.records() {
        *out.entry(format!("{:?}", r.cause).to_lowercase()).or_default() += 1;
    }
    out
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
