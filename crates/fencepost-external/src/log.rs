//! A recorded log: read with the memory it started from; and run on the simulated machine.

mod body;

use fencepost_contract::recorded::{self, RecordedLog};
use fencepost_kernel::{Addr, Image, Logging};
use fencepost_machine::{Machine, Workload};
use fencepost_run::config::Resolved;
use fencepost_run::host::{Host, Stopwatch};
use fencepost_run::outcome::stalls;
use fencepost_run::request::Request;
use fencepost_run::simulate::{build_design, refuse};
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A log with the memory it started from.
pub(crate) struct Loaded {
    pub(crate) log: RecordedLog,
    /// Persistent memory before the run, as bytes.
    pub(crate) base: Arc<[u8]>,
    /// The log's text, for its digest.
    pub(crate) text: String,
}

/// Reads a log over the bytes of `image` (zero if there is none).
///
/// # Errors
/// A file that cannot be read, or a line that cannot be understood, with its number and the reason.
pub(crate) fn load(file: &Path, image: Option<&Path>) -> Result<Loaded, LabError> {
    let bytes = std::fs::read(file).map_err(|e| LabError::file("read", file, e))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut before = match image {
        Some(path) => std::fs::read(path).map_err(|e| LabError::file("read", path, e))?,
        None => Vec::new(),
    };
    before.resize(before.len().next_multiple_of(64), 0);
    let mut initial = Image::default();
    for (i, word) in before.chunks_exact(8).enumerate() {
        let value = word.try_into().map_or(0, u64::from_le_bytes);
        if value != 0 {
            initial.set_word(Addr::pm(i as u64 * 8), value, None);
        }
    }
    let log = recorded::parse_over(&text, &initial).map_err(|e| {
        let bad = BadInput::new(format!("{}:{}: {}", file.display(), e.line, e.reason));
        e.hint.iter().fold(bad, |bad, hint| bad.hint(hint.clone()))
    })?;
    let stores = log.trace.stores.iter().filter(|s| s.addr.is_persistent());
    let end = stores.map(|s| s.addr.0 - Addr::pm(0).0 + 8).max().unwrap_or(0);
    let length = log
        .persistent_bytes
        .max(end.next_multiple_of(64))
        .max(before.len() as u64);
    const MOST: u64 = 1 << 32;
    if length > MOST {
        return Err(BadInput::new(format!(
            "{}: images of {length} bytes are too large (at most {MOST})",
            file.display()
        ))
        .into());
    }
    before.resize(length as usize, 0);
    // `initial` lines of the log are part of the memory before the run.
    for line in log.initial.pm_lines() {
        for (i, word) in log.initial.line_words(line).into_iter().enumerate() {
            let at = (line.base().0 - Addr::pm(0).0) as usize + i * 8;
            if let Some(place) = before.get_mut(at..at + 8).filter(|_| word != 0) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    Ok(Loaded {
        log,
        base: before.into(),
        text,
    })
}

/// A recorded log to be run on a design.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// The log.
    pub log: PathBuf,
    /// Memory before it; zero if absent.
    pub image: Option<PathBuf>,
    /// Design, machine, medium and settings; the rest has no effect.
    pub request: Request,
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
    /// What the simulation took.
    pub host: Host,
}

/// Runs a recorded log on a design.
///
/// # Errors
/// A log that cannot be read; a configuration that is impossible; a design whose transactions the log does not mark.
pub fn run_log(request: &LogRequest) -> Result<LoggedRun, LabError> {
    let loaded = load(&request.log, request.image.as_deref())?;
    let log = &loaded.log;
    if log.trace.events.iter().all(|e| e.thread.is_none()) {
        return Err(BadInput::new(format!("{}: no thread does anything", request.log.display())).into());
    }
    let resolved = Resolved::resolve(&Request {
        threads: Some(log.trace.threads),
        ..request.request.clone()
    })?;
    let dialect = resolved.dialect();
    if dialect.logging == Logging::Hardware && !body::has_operations(log) {
        let text = format!(
            "`{}` keeps transactions, and the log marks no operations",
            resolved.design.name
        );
        let hint = "mark them with `begin N` and `end N`; each becomes a transaction";
        return Err(BadInput::new(text).hint(hint).into());
    }
    let design = build_design(&resolved)?;
    let work = Workload {
        initial: log.initial.clone(),
        threads: body::bodies(log, dialect),
        sites: body::sites(),
        resident: Vec::new(),
        warm_up: 0,
        record: false,
    };
    let machine = Machine::new(&resolved.machine.spec, design, work).map_err(refuse)?;
    let begun = Stopwatch::start();
    let report = machine.run().map_err(refuse)?;
    let spent = begun.stop();
    let between: u64 = log.work.iter().map(|w| u64::from(w.instructions)).sum();
    Ok(LoggedRun {
        log: request.log.display().to_string(),
        design: resolved.design.name.into(),
        machine: resolved.request.machine.clone(),
        media: resolved.machine.media.clone(),
        threads: resolved.threads,
        ops: report.harts.iter().map(|h| h.ops).sum(),
        time_ps: report.time.0,
        instructions: report.instructions(),
        instructions_between: between,
        busy_ps: report.harts.iter().map(|h| h.account.busy.0).sum(),
        stalls: stalls(&report),
        pm_reads: report.counters.memory_reads[1],
        pm_writes: report.counters.memory_writes[1],
        durable_events: report.log.len(),
        note: note(&resolved, between),
        host: Host::new(spent, report.simulated),
    })
}

fn note(resolved: &Resolved, between: u64) -> String {
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
    let transactions = match dialect.logging {
        Logging::Hardware => "; each operation is a hardware transaction",
        Logging::None | Logging::Software => "",
    };
    format!(
        "flushes become {flush}, fences {}, acknowledgements {}{transactions}; {counted}",
        names(dialect.order),
        names(dialect.durable)
    )
}
