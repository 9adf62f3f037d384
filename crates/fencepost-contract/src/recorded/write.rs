//! Writing the text format.

use super::fields::{CAUSES, FLUSHES, word_of};
use fencepost_kernel::{Addr, HwThread, Image, LineAddr, PersistRecord, StoreId, Trace, TraceEvent, TraceKind};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Writes a trace and its persist log as text that [`super::parse`] reads back.
///
/// Addresses of persistent memory are written as offsets. Operations' outcomes are not part of the format.
pub fn write(trace: &Trace, records: &[PersistRecord]) -> String {
    let origin = |s: StoreId| Some(trace.store(s).source.of_program());
    write_with(trace, records, &Image::default(), &origin)
}

/// The same with the memory that was durable before, and with other names for the places of stores.
pub(super) fn write_with(
    trace: &Trace,
    records: &[PersistRecord],
    initial: &Image,
    origin: &dyn Fn(StoreId) -> Option<String>,
) -> String {
    let mut text = String::from("fencepost-log 1\n");
    for line in initial.pm_lines() {
        for (i, word) in initial.line_words(line).iter().enumerate().filter(|w| *w.1 != 0) {
            let at = Addr(line.base().0 + i as u64 * 8);
            writeln!(text, "initial {at} {word:#x}").expect("writing to a string cannot fail");
        }
    }
    // The format numbers stores by their lines; the trace may have numbered them otherwise.
    let mut numbers = vec![None; trace.stores.len()];
    let mut next = 0;
    for event in &trace.events {
        if let Some(store) = crate::contracts::store_of(event.kind) {
            next += 1;
            numbers[store.index()] = Some(next);
        }
    }
    let number = |s: StoreId| numbers[s.index()].unwrap_or(0);
    let (mut reads, mut read_numbers) = (0, FxHashMap::default());
    let mut dependences = trace.dependences.iter().peekable();
    for (index, event) in trace.events.iter().enumerate() {
        if matches!(event.kind, TraceKind::Load { .. } | TraceKind::Rmw { .. }) {
            reads += 1;
            read_numbers.insert(index as u32, reads);
        }
        let start = text.len();
        event_line(
            &mut text,
            trace,
            records,
            event,
            &Names {
                number: &number,
                origin,
            },
        )
        .expect("writing to a string cannot fail");
        let mut needs = String::new();
        while let Some(d) = dependences.next_if(|d| d.event as usize <= index) {
            needs.extend(read_numbers.get(&d.on).map(|n| format!(" needs {n}")));
        }
        // What follows `@` is the place in the program.
        let at = text[start..].find(" @ ").map_or(text.len(), |at| start + at);
        text.insert_str(at, &needs);
        text.push('\n');
    }
    text
}

fn words(text: &mut String, by: &[Option<StoreId>; 8], number: &dyn Fn(StoreId) -> u32) -> std::fmt::Result {
    write!(text, " :")?;
    for (i, store) in by.iter().enumerate() {
        if let Some(store) = store {
            write!(text, " {i}=#{}", number(*store))?;
        }
    }
    Ok(())
}

/// How the log names stores and their places.
struct Names<'n> {
    number: &'n dyn Fn(StoreId) -> u32,
    origin: &'n dyn Fn(StoreId) -> Option<String>,
}

fn stored(
    text: &mut String,
    names: &Names<'_>,
    what: &str,
    (store, value): (StoreId, u64),
    at: Addr,
) -> std::fmt::Result {
    write!(text, "{what} {at} {value:#x}")?;
    match (names.origin)(store) {
        Some(origin) => write!(text, " @ {origin}"),
        None => Ok(()),
    }
}

fn event_line(
    text: &mut String,
    trace: &Trace,
    records: &[PersistRecord],
    event: &TraceEvent,
    names: &Names<'_>,
) -> std::fmt::Result {
    let number = names.number;
    if let Some(thread) = event.thread {
        write!(text, "{} ", thread.0)?;
    }
    match event.kind {
        TraceKind::Store(s) => {
            let info = trace.store(s);
            stored(
                text,
                names,
                if info.nt { "nt" } else { "store" },
                (s, info.value),
                info.addr.word(),
            )
        }
        TraceKind::Load { addr, from: Some(s) } => write!(text, "load {addr} from {}", number(s)),
        TraceKind::Load { addr, from: None } => write!(text, "load {addr} from initial"),
        TraceKind::Rmw {
            addr, store: Some(s), ..
        } => stored(text, names, "rmw", (s, trace.store(s).value), addr),
        TraceKind::Rmw { addr, store: None, .. } => write!(text, "rmw {addr}"),
        TraceKind::Flush { line, kind } => write!(text, "{} {}", word_of(&FLUSHES, kind), line.base()),
        TraceKind::Fence(f) => write!(text, "{f}"),
        TraceKind::TxBegin(id) => write!(text, "tx-begin {}", id.0),
        TraceKind::TxCommit(id) => write!(text, "tx-commit {}", id.0),
        TraceKind::TxAbort(id) => write!(text, "tx-abort {}", id.0),
        TraceKind::TxFlush => write!(text, "tx-flush"),
        TraceKind::CommitQueue(q) => write!(text, "commit-queue {}", q.0),
        TraceKind::Bind { base, len, queue } => write!(text, "bind {base} {len} queue {}", queue.0),
        TraceKind::Release { base, len } => write!(text, "release {base} {len}"),
        TraceKind::Sync { base, len } => write!(text, "sync {base} {len}"),
        TraceKind::OpBegin(k) => write!(text, "begin {k}"),
        TraceKind::OpEnd(k) => write!(text, "end {k}"),
        TraceKind::Ack(k) => write!(text, "ack {k}"),
        TraceKind::Accepted { line, by } => {
            write!(text, "accepted {}", line.base())?;
            words(text, &by, number)
        }
        TraceKind::Durable { index } => {
            let Some(r) = records.get(index as usize) else {
                return write!(text, "# record {index} is missing");
            };
            write!(
                text,
                "durable {} at {}ps cause {}",
                r.line.base(),
                r.time.0,
                word_of(&CAUSES, r.cause)
            )?;
            words(text, &r.data.by, number)
        }
    }
}

/// Lines that were accessed before, in the words of the format.
pub(super) fn warm_text(lines: &[(HwThread, LineAddr)]) -> String {
    let mut text = String::new();
    for of_thread in lines.chunk_by(|a, b| a.0 == b.0) {
        let _ = write!(text, "{} warm", of_thread[0].0.0);
        for run in of_thread.chunk_by(|a, b| a.1.0 + 1 == b.1.0) {
            let _ = write!(text, " {}", run[0].1.base());
            if run.len() > 1 {
                let _ = write!(text, "*{}", run.len());
            }
        }
        text.push('\n');
    }
    text
}
