//! Everything that happened in a run, once: the page and the traces for other tools are made of this.

use crate::config::Resolved;
use fencepost_kernel::{Addr, HwThread, LineAddr, Ps, StoreId, Trace, TraceEvent, TraceKind, WriteCause};
use fencepost_machine::RunReport;
use fencepost_machine::memory::AddressMap;
use fencepost_machine::seam::Cause;
use std::collections::{BTreeMap, HashMap};

pub(super) use fencepost_machine::{Passage, Stalled};

/// The events of a run. Lists are in the order in which things happened.
#[derive(Debug)]
pub(super) struct Events {
    /// Program and design.
    pub name: String,
    /// Per thread: when it finished.
    pub finished: Vec<Ps>,
    /// When nothing happens any more.
    pub end: Ps,
    /// Names of the causes of stalls, by index: the machine's, then the design's own.
    pub causes: Vec<&'static str>,
    /// Per thread: every stretch in which it could not commit.
    pub stalls: Vec<Vec<Stalled>>,
    /// Per thread: when entries of its store queue committed and when they left.
    pub queues: Vec<[Vec<Ps>; 2]>,
    /// Per thread, in program order: how operations went through the core.
    pub passages: Vec<Vec<Passage>>,
    /// Where each store to persistent memory stands in [`Events::stores`].
    pub place: HashMap<StoreId, usize>,
    /// Lines of the program.
    pub sources: Vec<String>,
    /// Stores to persistent memory.
    pub stores: Vec<Stored>,
    /// Lines that became durable.
    pub writes: Vec<Written>,
    /// Banks of persistent memory.
    pub banks: u16,
    /// What threads did beside storing.
    pub marks: Vec<Mark>,
    /// Loads that read what another thread stored: the dependences between threads.
    pub reads: Vec<Seen>,
}

/// A store to persistent memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// When it performed.
    pub time: Ps,
    /// By whom.
    pub thread: HwThread,
    /// The word.
    pub addr: Addr,
    /// Its line of the program, in [`Events::sources`].
    pub source: usize,
    /// The write that took it to memory first, in [`Events::writes`].
    pub write: Option<usize>,
}

/// A line that became durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// When it was durable.
    pub time: Ps,
    /// When the controller accepted it, where that was before.
    pub accepted: Option<Ps>,
    /// The line.
    pub line: LineAddr,
    /// Its bank, counted over channels and ranks.
    pub bank: u16,
    /// Who sent it.
    pub cause: WriteCause,
}

/// What a thread did beside storing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// When.
    pub time: Ps,
    /// Who.
    pub thread: HwThread,
    /// What.
    pub kind: MarkKind,
}

/// What threads do beside storing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// A flush took effect.
    Flush,
    /// A fence completed.
    Fence,
    /// A transaction or a queue was committed.
    Commit,
    /// An operation of this number began.
    OpBegin(u32),
    /// It executed.
    OpEnd(u32),
    /// It is acknowledged as durable.
    Ack(u32),
}

impl MarkKind {
    /// Names, in the order of [`MarkKind::index`].
    pub(super) const NAMES: [&'static str; 6] = [
        "flush",
        "fence",
        "commit",
        "operation begins",
        "operation ends",
        "acknowledged",
    ];
    /// Its place among the names.
    pub(super) fn index(self) -> usize {
        match self {
            MarkKind::Flush => 0,
            MarkKind::Fence => 1,
            MarkKind::Commit => 2,
            MarkKind::OpBegin(_) => 3,
            MarkKind::OpEnd(_) => 4,
            MarkKind::Ack(_) => 5,
        }
    }
    fn of(kind: TraceKind) -> Option<MarkKind> {
        Some(match kind {
            TraceKind::Flush { .. } => MarkKind::Flush,
            TraceKind::Fence(_) => MarkKind::Fence,
            TraceKind::TxCommit(_) | TraceKind::TxFlush | TraceKind::CommitQueue(_) => MarkKind::Commit,
            TraceKind::OpBegin(k) => MarkKind::OpBegin(k),
            TraceKind::OpEnd(k) => MarkKind::OpEnd(k),
            TraceKind::Ack(k) => MarkKind::Ack(k),
            _ => return None,
        })
    }
}

/// A load of what another thread stored.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// When it performed.
    pub time: Ps,
    /// By whom.
    pub thread: HwThread,
    /// The store, in [`Events::stores`].
    pub store: usize,
}

/// What a write is called by who sent it.
pub(super) fn cause_name(cause: WriteCause) -> &'static str {
    match cause {
        WriteCause::Eviction => "caches: eviction",
        WriteCause::Flush => "caches: flush",
        WriteCause::Persist => "persist buffer",
        WriteCause::NonTemporal => "write combining",
        WriteCause::Log | WriteCause::LogPart => "hardware log",
        WriteCause::Home => "hardware, in place",
        WriteCause::Remote => "network",
    }
}

impl Events {
    /// Of a run that kept its trace and its times.
    pub(super) fn of(resolved: &Resolved, report: &RunReport, trace: &Trace) -> Events {
        let sorted = |times: &Vec<Ps>| {
            let mut times = times.clone();
            times.sort_unstable();
            times
        };
        let last = report.times.last().copied().unwrap_or_default();
        let stalled = report.stalls.iter().filter_map(|s| s.last()).map(|s| s.to);
        let (place, stores, sources) = stores(report, trace);
        let (writes, banks) = writes(resolved, report, trace);
        Events {
            name: format!("{} on {}", resolved.request.program, resolved.request.design),
            finished: report.hw_threads.iter().map(|h| h.finished).collect(),
            end: stalled.chain([last]).max().unwrap_or_default(),
            causes: (0..Cause::NAMES.len() + report.causes.len())
                .map(|i| Cause::named(i, report.causes))
                .collect(),
            stalls: report.stalls.clone(),
            queues: report.queues.iter().map(|[a, b]| [sorted(a), sorted(b)]).collect(),
            passages: report.passages.clone(),
            sources,
            stores,
            writes,
            banks,
            marks: timed(report, trace)
                .filter_map(|(e, time)| {
                    let (thread, kind) = (e.thread?, MarkKind::of(e.kind)?);
                    Some(Mark { time, thread, kind })
                })
                .collect(),
            reads: reads(report, trace, &place),
            place,
        }
    }
}

fn timed<'a>(report: &'a RunReport, trace: &'a Trace) -> impl Iterator<Item = (&'a TraceEvent, Ps)> {
    trace.events.iter().zip(report.times.iter().copied())
}

/// Stores to persistent memory, where each stands among them, and the lines of the program.
fn stores(report: &RunReport, trace: &Trace) -> (HashMap<StoreId, usize>, Vec<Stored>, Vec<String>) {
    let mut write: HashMap<StoreId, usize> = HashMap::new();
    for (i, record) in report.log.records().iter().enumerate() {
        if !record.cause.is_log() {
            record.data.by.iter().flatten().for_each(|s| {
                write.entry(*s).or_insert(i);
            });
        }
    }
    let (mut sources, mut known) = (Vec::new(), BTreeMap::new());
    let (mut place, mut stores) = (HashMap::new(), Vec::new());
    for (event, time) in timed(report, trace) {
        let (TraceKind::Store(id) | TraceKind::Rmw { store: Some(id), .. }) = event.kind else {
            continue;
        };
        let info = trace.store(id);
        if !info.addr.is_persistent() {
            continue;
        }
        let source = *known
            .entry((info.source.file(), info.source.line()))
            .or_insert_with(|| {
                sources.push(format!("{}:{}", info.source.file(), info.source.line()));
                sources.len() - 1
            });
        place.insert(id, stores.len());
        stores.push(Stored {
            time,
            thread: info.thread,
            addr: info.addr,
            source,
            write: write.get(&id).copied(),
        });
    }
    (place, stores, sources)
}

/// Lines that became durable, and the number of banks.
fn writes(resolved: &Resolved, report: &RunReport, trace: &Trace) -> (Vec<Written>, u16) {
    let records = report.log.records();
    let mut accepted: HashMap<LineAddr, Ps> = HashMap::new();
    let mut since = vec![None; records.len()];
    for (event, time) in timed(report, trace) {
        match event.kind {
            // Of several writes of a line that the controller merges, the first says how long it has had it.
            TraceKind::Accepted { line, .. } => {
                accepted.entry(line).or_insert(time);
            }
            TraceKind::Durable { index } => {
                if let (Some(r), Some(s)) = (records.get(index as usize), since.get_mut(index as usize)) {
                    *s = accepted.remove(&r.line);
                }
            }
            _ => {}
        }
    }
    let media = &resolved.machine.spec.pm.media;
    let map = AddressMap::new(media);
    let per_channel = media.ranks * media.banks;
    let bank = |line| {
        let at = map.locate(line);
        at.channel * per_channel + at.bank
    };
    let writes = records.iter().zip(since).map(|(r, accepted)| Written {
        time: r.time,
        accepted,
        line: r.line,
        bank: bank(r.line),
        cause: r.cause,
    });
    (writes.collect(), per_channel * media.channels)
}

fn reads(report: &RunReport, trace: &Trace, place: &HashMap<StoreId, usize>) -> Vec<Seen> {
    let of = |(e, time): (&TraceEvent, Ps)| {
        let (TraceKind::Load { from, .. } | TraceKind::Rmw { from, .. }) = e.kind else {
            return None;
        };
        let (from, thread) = (from?, e.thread?);
        let other = trace.store(from).thread != thread;
        let store = *place.get(&from).filter(|_| other)?;
        Some(Seen { time, thread, store })
    };
    timed(report, trace).filter_map(of).collect()
}
