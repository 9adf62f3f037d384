//! A run as a trace for Perfetto: threads, store queues, persist buffers, the controller's queue and banks as tracks; stalls and waits
//! as slices; what a store became, and who read it, as flows.
//!
//! Perfetto counts nanoseconds; a nanosecond of the trace is a picosecond of the run, so that nothing is rounded.

use super::events::{Events, MarkKind, Written, cause_name};
use super::lanes::{Lanes, Stretch};
use super::proto::*;
use fencepost_kernel::Ps;
use std::collections::BTreeMap;

/// Tracks by number: processes, then what is in each of them.
const CORES: u64 = 1;
const PERSIST: u64 = 2;
const MEMORY: u64 = 3;
const QUEUED: u64 = 4;
/// First number of a thread's own tracks, and how many numbers a thread has.
const THREADS: u64 = 1 << 20;
const PER_THREAD: u64 = 4;
/// First numbers of the tracks that lists of lanes have.
const BUFFERS: u64 = 1 << 32;
const OPERATIONS: u64 = 1 << 34;
const BANKS: u64 = 1 << 40;
/// Numbers for the lanes of one buffer or bank; no run has so much under way at once.
const LANES: u64 = 1 << 20;
/// Flows of reads are numbered from here on, those of stores from 1.
const READS: u64 = 1 << 40;

/// The trace, as a file holds it.
pub(super) fn perfetto(e: &Events) -> Vec<u8> {
    let mut out = Writer::default();
    processes(&mut out, e);
    threads(&mut out, e);
    queues(&mut out, e);
    buffers(&mut out, e);
    memory(&mut out, e);
    out.bytes
}

/// Packets, one after the other, each as field 1 of the trace.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    begun: bool,
}

impl Writer {
    fn packet(&mut self, packet: TracePacket) {
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(1),
            // The first packet says that nothing came before.
            sequence_flags: (!self.begun).then_some(1),
            ..packet
        };
        self.begun = true;
        prost::encoding::message::encode(1, &packet, &mut self.bytes);
    }
    fn track(&mut self, uuid: u64, name: &str, parent: Option<u64>) {
        self.descriptor(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid: parent,
            ..TrackDescriptor::default()
        });
    }
    fn counter(&mut self, uuid: u64, name: &str, parent: u64, unit: &str) {
        self.descriptor(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid: Some(parent),
            counter: Some(CounterDescriptor {
                unit_name: Some(unit.to_owned()),
            }),
            ..TrackDescriptor::default()
        });
    }
    fn descriptor(&mut self, descriptor: TrackDescriptor) {
        self.packet(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
    }
    fn event(&mut self, time: Ps, kind: Type, track: u64, event: TrackEvent) {
        self.packet(TracePacket {
            timestamp: Some(time.0),
            track_event: Some(TrackEvent {
                r#type: Some(kind as i32),
                track_uuid: Some(track),
                ..event
            }),
            ..TracePacket::default()
        });
    }
    fn slice(&mut self, (from, to): (Ps, Ps), track: u64, event: TrackEvent) {
        self.event(from, Type::SliceBegin, track, event);
        self.event(to, Type::SliceEnd, track, TrackEvent::default());
    }
    /// Slices that overlap, on lanes side by side: tracks of one name, numbered from `first` on, below another track.
    fn lanes(
        &mut self,
        stretches: Vec<Stretch>,
        first: u64,
        (name, parent): (String, u64),
        event: impl Fn(Stretch) -> TrackEvent,
    ) {
        let mut lanes = Lanes::of(stretches);
        (0..lanes.count() as u64).for_each(|lane| self.track(first + lane, &name, Some(parent)));
        for (lane, stretch) in lanes.drain() {
            self.slice((stretch.from, stretch.to), first + lane as u64, event(stretch));
        }
    }
    /// A counter that goes up at the first times and down at the others; both rise.
    fn level(&mut self, track: u64, up: &[Ps], down: &[Ps]) {
        let (mut i, mut j, mut level) = (0, 0, 0);
        while i < up.len() || j < down.len() {
            let rises = j >= down.len() || up.get(i).is_some_and(|u| *u <= down[j]);
            let time = if rises { up[i] } else { down[j] };
            let step = if rises { &mut i } else { &mut j };
            *step += 1;
            level += if rises { 1 } else { -1 };
            let event = TrackEvent {
                counter_value: Some(level),
                ..TrackEvent::default()
            };
            self.event(time, Type::Counter, track, event);
        }
    }
}

fn named(name: &str, category: &str) -> TrackEvent {
    TrackEvent {
        name: Some(name.to_owned()),
        categories: vec![category.to_owned()],
        ..TrackEvent::default()
    }
}

fn number(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.to_owned()),
        uint_value: Some(value),
        ..DebugAnnotation::default()
    }
}

fn text(name: &str, value: &str) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.to_owned()),
        string_value: Some(value.to_owned()),
        ..DebugAnnotation::default()
    }
}

fn own(thread: usize, which: u64) -> u64 {
    THREADS + thread as u64 * PER_THREAD + which
}

/// Flow of a store to what it became.
fn flow(store: usize) -> u64 {
    store as u64 + 1
}

fn processes(out: &mut Writer, e: &Events) {
    let what = [
        (CORES, "cores"),
        (PERSIST, "persist buffers"),
        (MEMORY, "persistent memory"),
    ];
    for (uuid, name) in what {
        out.descriptor(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(ProcessDescriptor {
                pid: Some(uuid as i32),
                process_name: Some(format!("{name}: {} (1 ns is 1 ps)", e.name)),
            }),
            ..TrackDescriptor::default()
        });
    }
    for thread in 0..e.finished.len() {
        out.descriptor(TrackDescriptor {
            uuid: Some(own(thread, 0)),
            parent_uuid: Some(CORES),
            thread: Some(ThreadDescriptor {
                pid: Some(CORES as i32),
                tid: Some(10 + thread as i32),
                thread_name: Some(format!("thread {thread}")),
            }),
            ..TrackDescriptor::default()
        });
        out.track(
            own(thread, 1),
            &format!("stalls of thread {thread}"),
            Some(own(thread, 0)),
        );
    }
}

/// Operations, stores, reads and stalls of each thread.
fn threads(out: &mut Writer, e: &Events) {
    // Operations of one thread overlap: the next one begins while stores of the last are still to execute.
    let mut begun: Vec<BTreeMap<u32, Ps>> = vec![BTreeMap::new(); e.finished.len()];
    let mut operations: Vec<Vec<Stretch>> = vec![Vec::new(); e.finished.len()];
    for mark in &e.marks {
        let thread = mark.thread.index();
        match mark.kind {
            MarkKind::OpBegin(k) => drop(begun[thread].insert(k, mark.time)),
            MarkKind::OpEnd(k) => operations[thread].extend(begun[thread].remove(&k).map(|from| Stretch {
                from,
                to: mark.time,
                what: k as usize,
            })),
            other => {
                let event = named(MarkKind::NAMES[other.index()], "order");
                out.event(mark.time, Type::Instant, own(thread, 0), event);
            }
        }
    }
    for (thread, operations) in operations.into_iter().enumerate() {
        let first = OPERATIONS + thread as u64 * LANES;
        let under = (format!("operations of thread {thread}"), own(thread, 0));
        out.lanes(operations, first, under, |o| {
            named(&format!("operation {}", o.what), "operation")
        });
    }
    let mut readers = vec![Vec::new(); e.stores.len()];
    for (i, seen) in e.reads.iter().enumerate() {
        readers[seen.store].push(READS + i as u64);
        let event = TrackEvent {
            terminating_flow_ids: vec![READS + i as u64],
            ..named("reads another thread's store", "dependence")
        };
        out.event(seen.time, Type::Instant, own(seen.thread.index(), 0), event);
    }
    for (i, store) in e.stores.iter().enumerate() {
        let became = store.write.map(|_| flow(i));
        let event = TrackEvent {
            debug_annotations: vec![
                number("address", store.addr.0),
                text("source", &e.sources[store.source]),
            ],
            flow_ids: became.into_iter().chain(std::mem::take(&mut readers[i])).collect(),
            ..named("store", "store")
        };
        out.event(store.time, Type::Instant, own(store.thread.index(), 0), event);
    }
    for (thread, stalls) in e.stalls.iter().enumerate() {
        for s in stalls {
            out.slice(
                (s.from, s.to),
                own(thread, 1),
                named(e.causes[s.cause.index()], "stall"),
            );
        }
    }
}

fn queues(out: &mut Writer, e: &Events) {
    for (thread, [committed, left]) in e.queues.iter().enumerate() {
        let track = own(thread, 2);
        out.counter(track, &format!("store queue of thread {thread}"), CORES, "entries");
        out.level(track, committed, left);
    }
}

/// What a store waits between its performing and the controller.
fn buffers(out: &mut Writer, e: &Events) {
    for thread in 0..e.finished.len() {
        let name = format!("thread {thread}: performed, not accepted");
        let waits = e.stores.iter().enumerate().filter(|(_, s)| s.thread.index() == thread);
        let stretch = |(i, s): (usize, &super::events::Stored)| {
            let write = &e.writes[s.write?];
            let to = write.accepted.unwrap_or(write.time);
            (to > s.time).then_some(Stretch {
                from: s.time,
                to,
                what: i,
            })
        };
        let first = BUFFERS + thread as u64 * LANES;
        let stretches = waits.filter_map(stretch).collect();
        out.lanes(stretches, first, (name, PERSIST), |s| TrackEvent {
            debug_annotations: vec![number("address", e.stores[s.what].addr.0)],
            flow_ids: vec![flow(s.what)],
            ..named("store waits", "persist")
        });
    }
}

/// The controller's queue, and what each bank's writes waited there.
fn memory(out: &mut Writer, e: &Events) {
    out.counter(QUEUED, "writes accepted and not durable", MEMORY, "lines");
    let mut accepted: Vec<Ps> = e.writes.iter().filter_map(|w| w.accepted).collect();
    accepted.sort_unstable();
    let durable: Vec<Ps> = e
        .writes
        .iter()
        .filter(|w| w.accepted.is_some())
        .map(|w| w.time)
        .collect();
    out.level(QUEUED, &accepted, &durable);
    let mut stores = vec![Vec::new(); e.writes.len()];
    for (i, s) in e.stores.iter().enumerate() {
        s.write.into_iter().for_each(|w| stores[w].push(flow(i)));
    }
    for bank in 0..e.banks {
        let here = e.writes.iter().enumerate().filter(|(_, w)| w.bank == bank);
        let stretch = |(i, w): (usize, &Written)| Stretch {
            from: w.accepted.unwrap_or(w.time),
            to: w.time,
            what: i,
        };
        let first = BANKS + u64::from(bank) * LANES;
        let stretches = here.map(stretch).collect();
        out.lanes(stretches, first, (format!("bank {bank}"), MEMORY), |s| {
            let write = &e.writes[s.what];
            TrackEvent {
                debug_annotations: vec![number("line", write.line.0), number("record", s.what as u64)],
                terminating_flow_ids: stores[s.what].clone(),
                ..named(cause_name(write.cause), "write")
            }
        });
    }
}
