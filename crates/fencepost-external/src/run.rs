//! A recorded log on the simulated machine.

use crate::body;
use crate::check::{CheckRequest, LoggedCheck, check};
use crate::log::{load, texts};
use crate::marks::{Marks, warnings};
use crate::translate::translate;
use fencepost_contract::recorded::RecordedLog;
use fencepost_kernel::{HwThread, LineAddr};
use fencepost_machine::{Counters, Machine, Workload};
use fencepost_run::config::Resolved;
use fencepost_run::host::{Host, Stopwatch};
use fencepost_run::judge::nothing_to_judge;
use fencepost_run::outcome::stalls;
use fencepost_run::request::Request;
use fencepost_run::simulate::{build_design, refuse, warning};
use fencepost_run::{BadInput, LabError};
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A recorded log to be run on a design.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// The log.
    pub log: PathBuf,
    /// Memory before it; zero if absent.
    pub image: Option<PathBuf>,
    /// Design, machine, medium and settings; the rest has no effect.
    pub request: Request,
    /// Recovery and audit, to run on what is durable at crash points.
    pub check: Option<CheckRequest>,
}

/// What a recorded log took on a design.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedRun {
    /// The log.
    pub log: String,
    /// Design word.
    pub design: String,
    /// Machine word.
    pub machine: String,
    /// Medium word.
    pub media: String,
    /// Threads of the log.
    pub threads: u32,
    /// Operations that ended.
    pub ops: u64,
    /// Simulated time.
    pub time_ps: u64,
    /// Instructions simulated.
    pub instructions: u64,
    /// Of those, instructions between the log's events, as it counts them.
    pub instructions_between: u64,
    /// Time in which threads worked, summed.
    pub busy_ps: u64,
    /// Time in which threads waited, by cause, summed.
    pub stalls: BTreeMap<String, u64>,
    /// Lines read from persistent memory.
    pub pm_reads: u64,
    /// Lines written to persistent memory.
    pub pm_writes: u64,
    /// Durable events.
    pub durable_events: u64,
    /// How the log was translated.
    pub note: String,
    /// What the program loses by it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What recovery says of the run's crash points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<LoggedCheck>,
    /// What the simulation took.
    pub host: Host,
}

/// Runs a recorded log on a design.
///
/// # Errors
/// A log that cannot be read; a configuration that is impossible; a design whose transactions the log does not mark.
pub fn run_log(request: &LogRequest) -> Result<LoggedRun, LabError> {
    let loaded = load(&request.log, 0, request.image.as_deref())?;
    let log = &loaded.log;
    if log.trace.events.iter().all(|e| e.thread.is_none()) {
        return Err(BadInput::new(format!("{}: no thread does anything", request.log.display())).into());
    }
    if request.check.is_some() {
        nothing_to_judge(&request.log, log)?;
    }
    let resolved = Resolved::resolve(&Request {
        threads: Some(log.trace.threads),
        ..request.request.clone()
    })?;
    let dialect = resolved.dialect();
    let mut warnings = warnings(log, dialect, resolved.design.name)?;
    let executions = texts(&request.log)?.len();
    warnings.extend(only_the_first(executions));
    warnings.extend(request.check.as_ref().and_then(|_| warning(&resolved)));
    let translated = translate(log, dialect);
    let machine_of = |record| -> Result<Machine, LabError> {
        let work = Workload {
            initial: log.initial.clone(),
            threads: body::bodies(&translated, dialect),
            sites: body::sites(),
            resident: resident(log).into_iter().collect(),
            warm_up: 0,
            record,
        };
        Machine::new(&resolved.machine.spec, build_design(&resolved)?, work).map_err(refuse)
    };
    let machine = machine_of(request.check.is_some())?;
    let begun = Stopwatch::start();
    let report = machine.run().map_err(refuse)?;
    let spent = begun.stop();
    if request.check.is_some() {
        // As `run --check` does: one who is forgotten only loses time, which no crash state shows.
        machine_of(false)?.looking_for_sleepers().run().map_err(refuse)?;
    }
    let check = request
        .check
        .as_ref()
        .map(|c| check(c, &resolved, &loaded, &report))
        .transpose()?;
    let between: u64 = log.work.iter().map(|w| u64::from(w.instructions)).sum();
    Ok(LoggedRun {
        log: request.log.display().to_string(),
        design: resolved.design.name.into(),
        machine: resolved.request.machine.clone(),
        media: resolved.machine.media.clone(),
        threads: resolved.threads,
        ops: report.hw_threads.iter().map(|h| h.ops).sum(),
        time_ps: report.time.0,
        instructions: report.instructions(),
        instructions_between: between,
        busy_ps: report.hw_threads.iter().map(|h| h.account.busy.0).sum(),
        stalls: stalls(&report),
        pm_reads: report.counters.memory_reads[Counters::PM],
        pm_writes: report.counters.memory_writes[Counters::PM],
        durable_events: report.log.len(),
        note: note(&resolved, log, between),
        warnings,
        check,
        host: Host::new(spent, report.simulated),
    })
}

/// What is in the caches when the log begins: each line once, where it was accessed last.
fn resident(log: &RecordedLog) -> Vec<(HwThread, LineAddr)> {
    let mut known = FxHashSet::default();
    let mut lines: Vec<_> = log
        .warm
        .iter()
        .rev()
        .filter(|(_, line)| known.insert(*line))
        .copied()
        .collect();
    lines.reverse();
    lines
}

fn note(resolved: &Resolved, log: &RecordedLog, between: u64) -> String {
    let dialect = resolved.dialect();
    let names = |fences: &[fencepost_kernel::Fence]| match fences {
        [] => "nothing".to_owned(),
        fences => fences
            .iter()
            .map(|f| format!("{f:?}").to_lowercase())
            .collect::<Vec<_>>()
            .join("; "),
    };
    let flush = dialect
        .flush
        .map_or("nothing".into(), |f| format!("{f:?}").to_lowercase());
    let counted = match between {
        0 => "the log counts no instructions between its events: none are simulated".to_owned(),
        n => format!("{n} instructions between events, as the log counts them"),
    };
    let warm = match resident(log).len() {
        0 => String::new(),
        n => format!("; caches begin with {n} lines that were accessed before"),
    };
    let transactions = match Marks::of(log).operations_are_transactions(dialect) {
        true => "; each operation is a hardware transaction",
        false => "",
    };
    format!(
        "flushes become {flush}, fences {}, acknowledgements {}{transactions}; {counted}{warm}",
        names(dialect.order),
        names(dialect.durable)
    )
}

/// What is said of a log with several executions.
fn only_the_first(executions: usize) -> Option<String> {
    (executions > 1).then(|| {
        format!("the log holds {executions} executions, and this is the first; the others: `crash --log L -d DESIGN`")
    })
}

#[test]
fn executions_that_do_not_run_are_told() {
    assert_eq!(only_the_first(1), None);
    assert!(only_the_first(2).is_some_and(|w| w.starts_with("the log holds 2 executions")));
}
