//! The crash check of a log's run on a design: what is durable at its crash points, given to the user's recovery.

use crate::in_flight::in_flight;
use crate::log::Loaded;
use crate::recovery::command::Recover;
use crate::recovery::deadline::Deadlines;
use crate::recovery::runner::Runner;
use crate::recovery::scratch::Scratch;
use fencepost_contract::explore::is_chosen;
use fencepost_contract::{Contract, ContractKind, Demands, conform, race};
use fencepost_kernel::{Addr, CrashPoint, Image, Trace, TraceKind};
use fencepost_machine::RunReport;
use fencepost_machine::seam::{Design, Recovery};
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::simulate::{build_design, contract_of};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How a run is checked.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// Recovery and audit.
    pub recover: Recover,
    /// Crash points to examine at most, evenly spread.
    pub points: u64,
    /// After so long no further one is begun.
    pub time: Option<Duration>,
}

/// What recovery says of a run's crash points.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedCheck {
    /// The design's contract.
    pub contract: String,
    /// Whether the order in which stores became durable is one that it allows; none where operations race, so that no order is right.
    pub conforms: Option<bool>,
    /// Why it does not allow that order, or which operations race.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Crash points examined.
    pub points: u64,
    /// Crash points of the run: before each durable event, and at the end.
    pub points_total: u64,
    /// Crash states covered with the writes in flight in other orders that the contract allows, of small runs.
    pub in_flight_states: u128,
    /// Whether those are all.
    pub in_flight_complete: bool,
    /// Why recovery does not survive one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Durable events before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// Operations begun and acknowledged there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<[Vec<u32>; 2]>,
    /// Lines of the program whose stores are lost there, where the writes in flight are in another order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}
impl LoggedCheck {
    /// Whether the run is not crash-consistent, or the machine broke its contract.
    pub fn violated(&self) -> bool {
        self.why.is_some() || self.conforms == Some(false)
    }
}

/// Checks a recorded run, until a crash point is not survived.
pub(crate) fn check(
    request: &CheckRequest,
    resolved: &Resolved,
    loaded: &Loaded,
    report: &RunReport,
) -> Result<LoggedCheck, LabError> {
    let trace = report.trace.as_ref();
    let trace = trace.ok_or_else(|| LabError::Internal("a check needs a recorded run".into()))?;
    let contract = contract_of(resolved);
    let (conforms, refusal) = judged(trace, report, contract);
    let records = report.log.records();
    let total = records.len() as u64 + 1;
    let design = build_design(resolved)?;
    let (scratch, watch) = (Scratch::new()?, Deadlines::start());
    let mut runner = Runner::new(&request.recover, scratch.path(), 0, &loaded.base, &watch.0);
    let mut found = LoggedCheck {
        contract: contract.name().into(),
        conforms,
        refusal,
        points: 0,
        points_total: total,
        in_flight_states: 0,
        in_flight_complete: false,
        why: None,
        event: None,
        crash: None,
        lost: Vec::new(),
    };
    let begun = Instant::now();
    let is_late = || request.time.is_some_and(|time| begun.elapsed() >= time);
    let threads = trace.threads as usize;
    let mut point = CrashPoint {
        begun: vec![0; threads],
        acked: vec![0; threads],
    };
    let (mut media, mut done) = (report.initial.clone(), 0u64);
    let end = std::iter::once(None);
    for event in trace.events.iter().map(Some).chain(end) {
        let record = match event.map(|e| (e.kind, e.thread)) {
            Some((TraceKind::OpBegin(k), Some(t))) => {
                point.begun[t.index()] = k + 1;
                continue;
            }
            Some((TraceKind::Ack(k), Some(t))) => {
                point.acked[t.index()] = k + 1;
                continue;
            }
            Some((TraceKind::Durable { index }, _)) => records.get(index as usize),
            Some(_) => continue,
            None => None,
        };
        if is_chosen(done + 1, total, request.points) && !is_late() {
            found.points += 1;
            let words = recovered(&media, &*design, &report.initial);
            if let Some(why) = runner.run_state(&words, &point)?.failed {
                found.why = Some(why);
                found.event = Some(done);
                found.crash = Some([point.begun.clone(), point.acked.clone()]);
                break;
            }
        }
        done += 1;
        if let Some(record) = record {
            media.set_line(record.line, &record.data);
        }
    }
    if found.why.is_none() {
        let more = |states: u64| states < request.points && !is_late();
        let flight = in_flight(contract, &loaded.log, report, trace, &mut runner, more)?;
        (found.in_flight_states, found.in_flight_complete) = (flight.states, flight.complete);
        if let Some(failed) = flight.failed {
            found.why = Some(format!("with the writes in flight in another order: {}", failed.why));
            (found.crash, found.lost) = (Some(failed.crash), failed.lost);
        }
    }
    Ok(found)
}

/// Whether the contract allows the order in which stores became durable, and why not. Operations of a recorded program are hardware
/// transactions on some designs, though nobody promised that they do not run at once on one line.
fn judged(trace: &Trace, report: &RunReport, contract: ContractKind) -> (Option<bool>, Option<String>) {
    let order = conform(
        trace,
        report.log.records(),
        &Contract::from(contract),
        Demands::default(),
    );
    let Err(refusal) = order else { return (Some(true), None) };
    match race(trace) {
        Some(race) => (None, Some(format!("operations race: {race}"))),
        None => (Some(false), Some(refusal.to_string())),
    }
}

/// The words in which memory differs from the initial one, once the hardware has recovered.
fn recovered(media: &Image, design: &dyn Design, initial: &Image) -> Vec<(u64, u64)> {
    let mut image = media.clone();
    design.recover(&mut Recovery::new(&mut image));
    let mut words = BTreeMap::new();
    for line in image.pm_lines().chain(initial.pm_lines()) {
        let (now, before) = (image.line_words(line), initial.line_words(line));
        for (i, (value, _)) in now
            .iter()
            .zip(before)
            .enumerate()
            .filter(|(_, (now, before))| **now != *before)
        {
            words.insert(line.base().0 - Addr::pm(0).0 + i as u64 * 8, *value);
        }
    }
    words.into_iter().collect()
}
