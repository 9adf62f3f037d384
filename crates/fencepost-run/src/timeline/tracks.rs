//! The events of a run as packed columns, for the page. Times are steps of [`QUANTUM`].

use super::events::{Events, MarkKind, Written, cause_name};
use fencepost_kernel::Ps;
use fencepost_pages::pack::{rising, unsigned};
use serde::Serialize;
use std::io;

/// Picoseconds of one step of time on the page.
const QUANTUM: u64 = 100;

/// The columns. Those of one table have one length.
#[derive(Serialize)]
pub(super) struct Tracks {
    quantum_ps: u64,
    /// Names of the causes of stalls.
    causes: Vec<&'static str>,
    /// Per thread: begin (rising), length, cause of every stall.
    stalls: Vec<[String; 3]>,
    /// Per thread: when it finished.
    finished: Vec<u64>,
    /// Per thread: when entries of its store queue committed and when they left (both rising).
    queues: Vec<[String; 2]>,
    /// Lines of the program.
    sources: Vec<String>,
    stores: Stores,
    writes: Writes,
    marks: Marks,
    /// Loads that read what another thread stored: time (rising), thread, store.
    reads: [String; 3],
}

/// Stores to persistent memory, in the order in which they performed.
#[derive(Serialize)]
struct Stores {
    /// When each performed (rising).
    time: String,
    thread: String,
    /// Word, counted from the lowest one that is stored.
    word: String,
    base: u64,
    source: String,
    /// One more than the write that took it to memory first; 0 where none did.
    write: String,
}

/// Lines that became durable, in order.
#[derive(Serialize)]
struct Writes {
    time: String,
    /// How long before the controller had accepted it.
    waited: String,
    line: String,
    base: u64,
    bank: String,
    banks: u16,
    cause: String,
    causes: Vec<&'static str>,
}

/// What threads did beside storing: time (rising), thread, kind.
#[derive(Serialize)]
struct Marks {
    time: String,
    thread: String,
    kind: String,
    kinds: [&'static str; 6],
}

/// Steps of the page that a time is.
pub(super) fn step(t: Ps) -> u64 {
    t.0 / QUANTUM
}

/// Packs a run.
///
/// # Errors
/// Compression fails, which it does not.
pub(super) fn tracks(e: &Events) -> io::Result<Tracks> {
    let stalls = e.stalls.iter().map(|each| {
        Ok([
            rising(each.iter().map(|s| step(s.from)))?,
            unsigned(each.iter().map(|s| step(s.to) - step(s.from)))?,
            unsigned(each.iter().map(|s| s.cause.index() as u64))?,
        ])
    });
    let times = |times: &[Ps]| rising(times.iter().map(|t| step(*t)).collect::<Vec<_>>());
    let queues = e.queues.iter().map(|[begin, end]| Ok([times(begin)?, times(end)?]));
    Ok(Tracks {
        quantum_ps: QUANTUM,
        causes: e.causes.clone(),
        stalls: stalls.collect::<io::Result<_>>()?,
        finished: e.finished.iter().map(|t| step(*t)).collect(),
        queues: queues.collect::<io::Result<_>>()?,
        sources: e.sources.clone(),
        stores: stores(e)?,
        writes: writes(&e.writes, e.banks)?,
        marks: Marks {
            time: rising(e.marks.iter().map(|m| step(m.time)))?,
            thread: unsigned(e.marks.iter().map(|m| m.thread.index() as u64))?,
            kind: unsigned(e.marks.iter().map(|m| m.kind.index() as u64))?,
            kinds: MarkKind::NAMES,
        },
        reads: [
            rising(e.reads.iter().map(|r| step(r.time)))?,
            unsigned(e.reads.iter().map(|r| r.thread.index() as u64))?,
            unsigned(e.reads.iter().map(|r| r.store as u64))?,
        ],
    })
}

fn stores(e: &Events) -> io::Result<Stores> {
    let all = || e.stores.iter();
    let base = all().map(|s| s.addr.0 / 8).min().unwrap_or(0);
    Ok(Stores {
        time: rising(all().map(|s| step(s.time)))?,
        thread: unsigned(all().map(|s| s.thread.index() as u64))?,
        word: unsigned(all().map(|s| s.addr.0 / 8 - base))?,
        base,
        source: unsigned(all().map(|s| s.source as u64))?,
        write: unsigned(all().map(|s| s.write.map_or(0, |w| w as u64 + 1)))?,
    })
}

fn writes(writes: &[Written], banks: u16) -> io::Result<Writes> {
    let all = || writes.iter();
    let mut causes: Vec<&'static str> = Vec::new();
    let cause: Vec<u64> = all()
        .map(|w| {
            let name = cause_name(w.cause);
            let at = causes.iter().position(|c| *c == name).unwrap_or_else(|| {
                causes.push(name);
                causes.len() - 1
            });
            at as u64
        })
        .collect();
    let base = all().map(|w| w.line.0).min().unwrap_or(0);
    Ok(Writes {
        time: rising(all().map(|w| step(w.time)))?,
        waited: unsigned(all().map(|w| w.accepted.map_or(0, |a| step(w.time) - step(a))))?,
        line: unsigned(all().map(|w| w.line.0 - base))?,
        base,
        bank: unsigned(all().map(|w| u64::from(w.bank)))?,
        banks,
        cause: unsigned(cause)?,
        causes,
    })
}
