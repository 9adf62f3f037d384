//! The crash check of a run: power failures at its durable events, and its persist order against the contract.

use super::searched_again::{is_due, search_again};
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::fire::Hardware;
use crate::progress::Progress;
use crate::replay_key::ReplayKey;
use crate::replication;
use crate::result::{Check, DEFAULT_BUDGET};
use crate::simulate::{build_design, contract_of, warning};
use crate::states::States;
use crate::verdict::Verdict;
use crate::witness::{Searched, Witness, cut_witness, prefix_witness};
use fencepost_contract::explore::{
    self, AnyOracle, BrokenPrefix, Budget, Explorer, PrefixCheck, PrefixReport, ReplayId, Subject,
};
use fencepost_contract::{Contract, ContractKind, Demands, conform};
use fencepost_harness::AnyProgram;
use fencepost_kernel::Image;
use fencepost_kernel::{Dependence, Trace, TraceEvent, TraceKind, WriteCause};
use fencepost_machine::seam::Disturbed;
use fencepost_machine::{Race, RunReport};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Instant;

/// Crash points that tell how long each takes, where time is limited.
const PROBE: u64 = 16;
/// Stores of a run beyond which neither recovery is interrupted nor writes in flight are reordered.
const SMALL: usize = 4_000;
/// Recoveries, and steps of them, that reordering the writes in flight of one run may take.
const IN_FLIGHT: u64 = 2_000;
const IN_FLIGHT_STEPS: u64 = 200_000;
/// What is in flight is not tried where there is more memory than this: each state would be audited whole, whatever it differs in.
const IN_FLIGHT_MEMORY: u64 = 256 << 20;

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

/// A recorded run before its judge: what ran, what it left behind, and the audit that recovery has to pass.
#[derive(Copy, Clone)]
pub struct Recorded<'a> {
    /// The run.
    pub resolved: &'a Resolved,
    /// The audit of its program.
    pub oracle: &'a dyn AnyOracle,
    /// What it left behind.
    pub report: &'a RunReport,
}

impl Recorded<'_> {
    /// Examines the crash points within limits, until one fails.
    ///
    /// # Errors
    /// A budget of 0; a defect of ours.
    pub fn prefixes(&self, limits: Limits, progress: &dyn Progress) -> Result<(PrefixReport, Disturbed), LabError> {
        let budget = points(limits.points)?;
        let points = budget.get().min(crash_points(self.report));
        progress.begin(points);
        let design = build_design(self.resolved)?;
        let mut hardware = Hardware::new(&*design, points, self.resolved.request.nested);
        let recovered = |image: &Image| {
            progress.examined();
            hardware.recover(image)
        };
        let check = self
            .prefix_check(budget)?
            .until(limits.until)
            .most_second(limits.second);
        let found = check.run(recovered);
        let found = found.map_err(|e| LabError::Internal(e.to_string()))?;
        Ok((found, hardware.seen))
    }

    /// As many crash points as a deadline allows, evenly spread as they are without one: a few show how long each takes.
    fn prefixes_by(
        &self,
        until: Option<Instant>,
        progress: &dyn Progress,
    ) -> Result<(PrefixReport, Disturbed), LabError> {
        let limits = Limits {
            until,
            ..Limits::of(self.resolved)
        };
        let Some(until) = until.filter(|_| limits.points.min(crash_points(self.report)) > PROBE) else {
            return self.prefixes(limits, progress);
        };
        let begun = Instant::now();
        let few = Limits {
            points: PROBE,
            ..limits
        };
        let found = self.prefixes(few, progress)?;
        let (each, left) = (
            begun.elapsed().div_f64(PROBE as f64),
            until.saturating_duration_since(Instant::now()),
        );
        let points = (0.9 * left.as_secs_f64() / each.as_secs_f64().max(1e-9)) as u64;
        if found.0.broken.is_some() || points <= PROBE {
            return Ok(found);
        }
        let points = points.min(limits.points);
        self.prefixes(Limits { points, ..limits }, progress)
    }

    /// Runs recovery again on the crash point before the durable event `events`; with `second`, on a crash state of recovery's
    /// own stores there.
    ///
    /// # Errors
    /// An id that names no state of this run.
    pub fn replay_prefix(&self, events: u64, second: Option<&ReplayId>) -> Result<Option<BrokenPrefix>, LabError> {
        let design = build_design(self.resolved)?;
        let check = self.prefix_check(NonZeroU64::MAX)?;
        let mut hardware = Hardware::new(&*design, 1, self.resolved.request.nested);
        let found = check.replay(events, second, |image| hardware.recover(image));
        found.map_err(|e| BadInput::new(e.to_string()).into())
    }

    /// Recovers after each crash point, up to the request's budget, whatever the ones before gave.
    ///
    /// # Errors
    /// A budget of 0; a defect of ours.
    pub fn each_prefix(
        &self,
        progress: &dyn Progress,
        then: impl FnMut(u64, Option<BrokenPrefix>),
    ) -> Result<(), LabError> {
        let budget = points(Limits::of(self.resolved).points)?;
        let points = budget.get().min(crash_points(self.report));
        progress.begin(points);
        let design = build_design(self.resolved)?;
        let mut hardware = Hardware::new(&*design, points, self.resolved.request.nested);
        let recovered = |image: &Image| {
            progress.examined();
            hardware.recover(image)
        };
        self.prefix_check(budget)?.each(recovered, then);
        Ok(())
    }

    fn prefix_check(&self, budget: NonZeroU64) -> Result<PrefixCheck<'_>, LabError> {
        let trace = recorded(self.report)?;
        let small = trace.stores.len() <= SMALL;
        let again = small.then_some(contract_of(self.resolved)).map(Contract::from);
        let check = PrefixCheck::new(self.oracle, &self.report.initial, trace, &self.report.log);
        Ok(check.budget(budget).power_fails_again(again))
    }

    /// Every crash state that the design's contract allows of a small run: at each crash point the writes in flight, in every
    /// order in which they may become durable. `then` is not called where the run or the memory is large. Where the contract promises nothing,
    /// what the run left behind says nothing of that (nothing at all may have reached memory), so the beginning of a large run is
    /// explored.
    ///
    /// # Errors
    /// Those of `then`.
    pub fn in_flight(
        &self,
        then: impl FnOnce(Explorer<'_>, &mut dyn Subject) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let (trace, kind) = (recorded(self.report)?, contract_of(self.resolved));
        // Hardware transactions are left to their own recovery: which writes of theirs are in flight says nothing by itself.
        let nothing = kind == ContractKind::None;
        let large = self.oracle.extent().bytes() > IN_FLIGHT_MEMORY;
        if trace.stores.len() > SMALL && !nothing || kind.is_transactional() || large {
            return Ok(());
        }
        let contract = Contract::from(kind);
        let space = match nothing {
            true => contract.space(&beginning(trace, SMALL), &self.report.initial),
            false => contract.space(trace, &self.report.initial),
        };
        let prefix = format!("{}@0", ReplayKey::flight(self.resolved, &contract).encode());
        then(
            Explorer::new(&space)
                .memory(self.oracle.extent())
                .recoveries_take(self.oracle.usual(trace.threads as usize))
                .budget(Budget::States(IN_FLIGHT))
                .beside_others(IN_FLIGHT_STEPS)
                .prefix(prefix),
            &mut *self.oracle.subject(),
        )
    }
}

fn points(budget: u64) -> Result<NonZeroU64, BadInput> {
    NonZeroU64::new(budget).ok_or_else(|| BadInput::new("a check needs at least 1 crash point"))
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

/// Examines the crash points of a recorded run and its conformance, until a deadline.
///
/// # Errors
/// A budget of 0; a run that was not recorded, or another defect of ours.
pub fn check(
    resolved: &Resolved,
    program: &dyn AnyProgram,
    report: &RunReport,
    until: Option<Instant>,
    progress: &dyn Progress,
) -> Result<Check, LabError> {
    let (oracle, races) = (
        &*program.oracle(&recorded(report)?.ops, &report.initial),
        program.races(),
    );
    let run = Recorded {
        resolved,
        oracle,
        report,
    };
    let (found, fire) = run.prefixes_by(until, progress)?;
    let mut flight = None;
    if found.broken.is_none() {
        run.in_flight(|explorer, recovery| {
            let explorer = explorer.until(until);
            let found = explorer.explore(recovery);
            let found = found.map_err(|e| LabError::Internal(e.to_string()))?;
            if is_due(report) {
                search_again(&explorer, oracle, recovery, &found)?;
            }
            flight = Some(found);
            Ok(())
        })?;
    }
    let failures = [
        found.broken.as_ref().map(|b| broken(resolved, b, report)),
        flight.as_ref().and_then(|f| f.witness.as_ref()).map(in_another_order),
        replication::audit(resolved, report).map(|v| replication::witness(&v)),
        report.race.filter(|_| !races).map(undeclared),
        report
            .broken_rule
            .as_ref()
            .map(|rule| Witness::of(format!("the mechanism broke a rule of its own: {rule}"))),
    ];
    Ok(Check {
        points: found.points,
        interrupted: found.again.map_or(0, |a| a.recoveries) + fire.recoveries,
        interrupted_states: States::from(found.again.map_or(0, |a| a.states).saturating_add(fire.states.into())),
        in_flight_states: States::from(flight.as_ref().map_or(fire.reordered.into(), |f| f.states_covered)),
        in_flight_complete: flight.as_ref().is_some_and(|f| f.verdict == Verdict::Clean),
        ..judged(resolved, report, failures.into_iter().flatten().collect())?
    })
}

/// A check that found these failures, and what the contract says of the persist order.
///
/// # Errors
/// A run that was not recorded.
pub(crate) fn judged(resolved: &Resolved, report: &RunReport, failures: Vec<Witness>) -> Result<Check, LabError> {
    let contract = contract_of(resolved);
    let (trace, log) = (recorded(report)?, report.log.records());
    let order = conform(trace, log, &Contract::from(contract), Demands::default());
    let refusal = order.as_ref().err();
    let refusal = refusal.map(|refusal| Witness::of(format!("contract {contract}: {refusal}")));
    let points = crash_points(report);
    Ok(Check {
        points,
        points_total: points,
        violations: failures.len() as u64,
        interrupted: 0,
        interrupted_states: States::default(),
        in_flight_states: States::default(),
        in_flight_complete: false,
        conforms: Some(order.is_ok()),
        contract: Some(contract.name().to_owned()),
        reordered: order.as_ref().map_or(0, |c| c.reordered),
        durable_by_cause: causes(report),
        expected_violations: warning(resolved).is_some(),
        witnesses: failures.into_iter().chain(refusal).collect(),
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

/// A crash point after which recovery or audit failed.
fn broken(resolved: &Resolved, b: &BrokenPrefix, report: &RunReport) -> Witness {
    let shown = prefix_witness(resolved, b, report);
    let last = b.records.checked_sub(1).and_then(|i| report.log.records().get(i));
    Witness {
        state: None,
        event: Some(b.records as u64),
        time_ps: last.map(|r| r.time.0),
        why: format!("{}; {} stores not yet durable", shown.why, b.missing.len()),
        ..shown
    }
}

/// A crash state that the contract allows and that this run did not pass through.
fn in_another_order(w: &explore::Witness) -> Witness {
    let shown = cut_witness(w, Searched::InFlight);
    Witness {
        state: None,
        why: format!("with the writes in flight in another order: {}", shown.why),
        ..shown
    }
}

fn undeclared(race: Race) -> Witness {
    Witness {
        source: vec![race.source.to_string()],
        ..Witness::of(format!("a data race that the program does not declare: {race}"))
    }
}
