//! Everything that happened in a run, as packed columns. Times are steps of [`QUANTUM`].

use crate::config::Resolved;
use fencepost_kernel::{LineAddr, Ps, StoreId, Trace, TraceKind, WriteCause};
use fencepost_machine::RunReport;
use fencepost_machine::memory::AddressMap;
use fencepost_machine::seam::Cause;
use fencepost_pages::pack::{rising, unsigned};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Picoseconds of one step of time on the page.
const QUANTUM: u64 = 100;

/// The columns. Those of one table have one length.
#[derive(Serialize)]
pub struct Tracks {
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

const CAUSES: [(WriteCause, &str); 8] = [
    (WriteCause::Eviction, "caches: eviction"),
    (WriteCause::Flush, "caches: flush"),
    (WriteCause::Persist, "persist buffer"),
    (WriteCause::NonTemporal, "write combining"),
    (WriteCause::Log, "hardware log"),
    (WriteCause::Home, "hardware, in place"),
    (WriteCause::Remote, "network"),
    (WriteCause::LogPart, "hardware log"),
];

fn step(t: Ps) -> u64 {
    t.0 / QUANTUM
}

/// When nothing happens any more.
pub fn end(report: &RunReport) -> u64 {
    let last = report.times.last().map_or(0, |t| t.0);
    let stalls = report.stalls.iter().filter_map(|s| s.last()).map(|s| s.to.0);
    stalls.chain([last]).max().unwrap_or(0)
}

/// Packs a run.
///
/// # Errors
/// Compression fails, which it does not.
pub fn tracks(resolved: &Resolved, report: &RunReport, trace: &Trace) -> io::Result<Tracks> {
    let stalls = report.stalls.iter().map(|each| {
        Ok([
            rising(each.iter().map(|s| step(s.from)))?,
            unsigned(each.iter().map(|s| step(s.to) - step(s.from)))?,
            unsigned(each.iter().map(|s| s.cause.index() as u64))?,
        ])
    });
    let sorted = |times: &[Ps]| {
        let mut steps: Vec<u64> = times.iter().map(|t| step(*t)).collect();
        steps.sort_unstable();
        rising(steps)
    };
    let queues = report
        .queues
        .iter()
        .map(|[begin, end]| Ok([sorted(begin)?, sorted(end)?]));
    let (place, stores, sources) = stores(report, trace)?;
    Ok(Tracks {
        quantum_ps: QUANTUM,
        causes: (0..Cause::NAMES.len() + report.causes.len())
            .map(|i| Cause::named(i, report.causes))
            .collect(),
        stalls: stalls.collect::<io::Result<_>>()?,
        finished: report.harts.iter().map(|h| step(h.finished)).collect(),
        queues: queues.collect::<io::Result<_>>()?,
        sources,
        stores,
        writes: writes(resolved, report, trace)?,
        marks: marks(report, trace)?,
        reads: reads(report, trace, &place)?,
    })
}

/// Stores to persistent memory, where each stands among them, and the lines of the program.
fn stores(report: &RunReport, trace: &Trace) -> io::Result<(HashMap<StoreId, u64>, Stores, Vec<String>)> {
    let mut write: HashMap<StoreId, u64> = HashMap::new();
    for (i, record) in report
        .log
        .records()
        .iter()
        .enumerate()
        .filter(|(_, r)| !r.cause.is_log())
    {
        record.data.by.iter().flatten().for_each(|s| {
            write.entry(*s).or_insert(i as u64 + 1);
        });
    }
    let performed = |(event, time): (&fencepost_kernel::TraceEvent, &Ps)| match event.kind {
        TraceKind::Store(id) | TraceKind::Rmw { store: Some(id), .. } => Some((id, *time)),
        _ => None,
    };
    let all: Vec<(StoreId, Ps)> = (trace.events.iter().zip(&report.times))
        .filter_map(performed)
        .filter(|(id, _)| trace.store(*id).addr.is_persistent())
        .collect();
    let (mut sources, mut known) = (Vec::new(), BTreeMap::new());
    let of: Vec<u64> = (all.iter())
        .map(|(id, _)| {
            let source = trace.store(*id).source;
            *known.entry((source.file(), source.line())).or_insert_with(|| {
                sources.push(format!("{}:{}", source.file(), source.line()));
                sources.len() as u64 - 1
            })
        })
        .collect();
    let base = all.iter().map(|(id, _)| trace.store(*id).addr.0 / 8).min().unwrap_or(0);
    let info = || all.iter().map(|(id, _)| trace.store(*id));
    let stores = Stores {
        time: rising(all.iter().map(|x| step(x.1)))?,
        thread: unsigned(info().map(|s| s.thread.index() as u64))?,
        word: unsigned(info().map(|s| s.addr.0 / 8 - base))?,
        base,
        source: unsigned(of)?,
        write: unsigned(all.iter().map(|(id, _)| write.get(id).copied().unwrap_or(0)))?,
    };
    let place = all.iter().enumerate().map(|(i, (id, _))| (*id, i as u64)).collect();
    Ok((place, stores, sources))
}

/// Lines that became durable, with the time that each had waited since the controller accepted it.
fn writes(resolved: &Resolved, report: &RunReport, trace: &Trace) -> io::Result<Writes> {
    let mut accepted: HashMap<LineAddr, Ps> = HashMap::new();
    let mut since = vec![None; report.log.records().len()];
    for (event, time) in trace.events.iter().zip(&report.times) {
        match event.kind {
            // Of several writes of a line that the controller merges, the first says how long it has had it.
            TraceKind::Accepted { line, .. } => {
                accepted.entry(line).or_insert(*time);
            }
            TraceKind::Durable { index } => {
                if let (Some(r), Some(s)) = (report.log.records().get(index as usize), since.get_mut(index as usize)) {
                    *s = accepted.remove(&r.line);
                }
            }
            _ => {}
        }
    }
    let records = report.log.records();
    let media = &resolved.machine.spec.pm.media;
    let map = AddressMap::new(media);
    let per_channel = media.ranks * media.banks;
    let bank = |line| {
        let at = map.locate(line);
        u64::from(at.channel * per_channel + at.bank)
    };
    let base = records.iter().map(|r| r.line.0).min().unwrap_or(0);
    let cause = |c: WriteCause| CAUSES.iter().position(|x| x.0 == c).unwrap_or(0) as u64;
    let waited = records
        .iter()
        .zip(&since)
        .map(|(r, s)| s.map_or(0, |s| step(r.time) - step(s)));
    Ok(Writes {
        time: rising(records.iter().map(|r| step(r.time)))?,
        waited: unsigned(waited)?,
        line: unsigned(records.iter().map(|r| r.line.0 - base))?,
        base,
        bank: unsigned(records.iter().map(|r| bank(r.line)))?,
        banks: per_channel * media.channels,
        cause: unsigned(records.iter().map(|r| cause(r.cause)))?,
        causes: CAUSES.iter().map(|c| c.1).collect(),
    })
}

fn marks(report: &RunReport, trace: &Trace) -> io::Result<Marks> {
    let kind = |k: TraceKind| match k {
        TraceKind::Flush { .. } => Some(0),
        TraceKind::Fence(_) => Some(1),
        TraceKind::TxCommit(_) | TraceKind::TxFlush | TraceKind::CommitQueue(_) => Some(2),
        TraceKind::OpBegin(_) => Some(3),
        TraceKind::OpEnd(_) => Some(4),
        TraceKind::Ack(_) => Some(5),
        _ => None,
    };
    let all: Vec<(u64, u64, u64)> = (trace.events.iter().zip(&report.times))
        .filter_map(|(e, t)| Some((step(*t), e.thread?.index() as u64, kind(e.kind)?)))
        .collect();
    Ok(Marks {
        time: rising(all.iter().map(|m| m.0))?,
        thread: unsigned(all.iter().map(|m| m.1))?,
        kind: unsigned(all.iter().map(|m| m.2))?,
        kinds: [
            "flush",
            "fence",
            "commit",
            "operation begins",
            "operation ends",
            "acknowledged",
        ],
    })
}

/// Loads of what another thread stored: the dependences between threads.
fn reads(report: &RunReport, trace: &Trace, place: &HashMap<StoreId, u64>) -> io::Result<[String; 3]> {
    let all: Vec<(u64, u64, u64)> = (trace.events.iter().zip(&report.times))
        .filter_map(|(e, t)| {
            let (TraceKind::Load { from, .. } | TraceKind::Rmw { from, .. }) = e.kind else {
                return None;
            };
            let (from, thread) = (from?, e.thread?);
            let other = trace.store(from).thread != thread;
            Some((step(*t), thread.index() as u64, *place.get(&from).filter(|_| other)?))
        })
        .collect();
    Ok([
        rising(all.iter().map(|r| r.0))?,
        unsigned(all.iter().map(|r| r.1))?,
        unsigned(all.iter().map(|r| r.2))?,
    ])
}
