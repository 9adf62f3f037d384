//! Traces for other tools hold what the run reports: stalls to the picosecond, every durable line, no flow without an end.

use super::events::{Events, Passage};
use super::konata::konata;
use super::perfetto::perfetto;
use super::proto::{TracePacket, Type};
use crate::config::Resolved;
use crate::request::Request;
use crate::result::RunResult;
use crate::simulate::{program_of, simulate_timed};
use fencepost_kernel::Ps;
use fencepost_machine::frontend::OpKind;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

/// A trace file, as its schema begins.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn request() -> Request {
    Request {
        program: "sps".into(),
        design: "delegated".into(),
        threads: Some(2),
        ops: 6,
        warmup: 0,
        ..Request::default()
    }
}

fn run() -> (Events, RunResult) {
    let request = request();
    let (resolved, design) = Resolved::built(&request).unwrap();
    let program = program_of(&resolved).unwrap();
    let report = simulate_timed(&resolved, design, &*program).unwrap().report;
    let events = Events::of(&resolved, &report, report.trace.as_ref().unwrap());
    (events, crate::run::run_resolved(&resolved).unwrap())
}

#[test]
fn stalls_of_the_trace_are_the_stall_account() {
    let (events, result) = run();
    let packets = Trace::decode(&perfetto(&events)[..]).unwrap().packet;
    let mut open: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let mut by_cause: BTreeMap<String, u64> = BTreeMap::new();
    let stalls: BTreeSet<u64> = packets
        .iter()
        .filter_map(|p| p.track_descriptor.as_ref())
        .filter(|d| d.name().starts_with("stalls of"))
        .map(|d| d.uuid())
        .collect();
    assert_eq!(stalls.len(), 2);
    for p in &packets {
        let Some(e) = p.track_event.as_ref().filter(|e| stalls.contains(&e.track_uuid())) else {
            continue;
        };
        match e.r#type() {
            Type::SliceBegin => {
                let before = open.insert(e.track_uuid(), (p.timestamp(), e.name().to_owned()));
                assert!(before.is_none(), "stalls of a thread do not overlap");
            }
            Type::SliceEnd => {
                let (from, cause) = open.remove(&e.track_uuid()).unwrap();
                *by_cause.entry(cause).or_default() += p.timestamp() - from;
            }
            other => panic!("{other:?} among stalls"),
        }
    }
    assert!(open.is_empty());
    let account: BTreeMap<String, u64> = result.stalls.into_iter().filter(|s| s.1 > 0).collect();
    by_cause.retain(|_, ps| *ps > 0);
    assert_eq!(by_cause, account);
}

#[test]
fn every_flow_ends_where_a_line_became_durable_or_was_read() {
    let (events, result) = run();
    let packets = Trace::decode(&perfetto(&events)[..]).unwrap().packet;
    let all = || packets.iter().filter_map(|p| p.track_event.as_ref());
    let begun: BTreeSet<u64> = all().flat_map(|e| e.flow_ids.iter().copied()).collect();
    let ended: BTreeSet<u64> = all().flat_map(|e| e.terminating_flow_ids.iter().copied()).collect();
    assert!(!begun.is_empty());
    assert_eq!(begun, ended);
    let writes = all().filter(|e| e.r#type() == Type::SliceBegin && e.categories == ["write"]);
    assert_eq!(writes.count() as u64, result.durable_events);
    // Each track's slices are closed, and its counters come back to nothing.
    let mut depth: BTreeMap<u64, i64> = BTreeMap::new();
    let mut level: BTreeMap<u64, i64> = BTreeMap::new();
    for e in all() {
        match e.r#type() {
            Type::SliceBegin => *depth.entry(e.track_uuid()).or_default() += 1,
            Type::SliceEnd => *depth.entry(e.track_uuid()).or_default() -= 1,
            Type::Counter => drop(level.insert(e.track_uuid(), e.counter_value())),
            _ => {}
        }
    }
    assert!(
        depth.values().chain(level.values()).all(|n| *n == 0),
        "{depth:?} {level:?}"
    );
}

#[test]
fn operations_go_through_the_core_in_the_order_of_its_stages() {
    let (events, result) = run();
    let (mut instructions, mut stored) = (0, BTreeSet::<&usize>::new());
    for list in &events.passages {
        for p in list {
            let issued = p.issued.unwrap_or(p.dispatched);
            assert!(
                p.dispatched <= issued && p.dispatched <= p.completed && p.completed <= p.committed,
                "{p:?}"
            );
            assert!(p.left.is_none_or(|left| p.committed <= left), "{p:?}");
            instructions += match p.kind {
                OpKind::OpBegin | OpKind::OpEnd | OpKind::Ack => 0,
                OpKind::Compute => p.value,
                _ => 1,
            };
            stored.extend(p.store.and_then(|s| events.place.get(&s)));
        }
        let ordered = |f: fn(&Passage) -> Ps| list.windows(2).all(|w| f(&w[0]) <= f(&w[1]));
        assert!(
            ordered(|p| p.dispatched) && ordered(|p| p.committed),
            "in program order"
        );
    }
    // Every instruction that the run counts, and every store to persistent memory, went through a core.
    assert_eq!(instructions, result.instructions);
    assert_eq!(stored.len(), events.stores.len());
}

#[test]
fn rows_for_konata_begin_and_retire_once_and_last_as_long_as_the_events() {
    let (events, _) = run();
    let text = konata(&events).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    let (mut now, mut begun, mut retired) = (0u64, Vec::new(), BTreeSet::new());
    let mut waits = 0;
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let id = |i: usize| cells[i].parse::<usize>().unwrap();
        match cells[0] {
            "C=" => now = cells[1].parse().unwrap(),
            "C" => now += cells[1].parse::<u64>().unwrap(),
            "I" => {
                assert_eq!(id(1), begun.len(), "rows are numbered as they begin");
                begun.push(now);
            }
            "R" => assert!(retired.insert(id(1)), "twice: {line}"),
            "E" if cells[3] == "W" => waits += now - begun[id(1)],
            "S" | "E" | "L" => assert!(id(1) < begun.len()),
            "W" => assert!(id(1) < begun.len() && id(2) < begun.len()),
            other => panic!("{other}"),
        }
    }
    assert_eq!(retired.len(), begun.len());
    // A row for each operation and each stall, and the stages of every operation begin with its dispatch.
    let marker = |p: &&Passage| !matches!(p.kind, OpKind::OpBegin | OpKind::OpEnd | OpKind::Ack);
    let operations = events.passages.iter().flatten().filter(marker).count();
    let stalls = events.stalls.iter().flatten().count();
    assert_eq!(begun.len(), operations + stalls);
    let stages = |name: &str| {
        text.lines()
            .filter(|l| l.starts_with("S\t") && l.ends_with(&format!("\t{name}")))
            .count()
    };
    assert_eq!((stages("D"), stages("W")), (operations, stalls));
    assert!(stages("I") > 0 && stages("C") > 0 && stages("Q") > 0 && stages("M") > 0);
    let stalled: u64 = events.stalls.iter().flatten().map(|s| s.to.0 - s.from.0).sum();
    assert_eq!(waits, stalled);
}
