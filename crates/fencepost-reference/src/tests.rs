//! Small runs written by hand: a sound one, and each rule broken in it.

mod accounts;
mod merged;
mod order;
mod ranges;

use crate::{Breach, Controller, Counts, Hardware, Report, Run, ThreadTime, judge};
use fencepost_kernel::ledger::{LedgerEvent, LedgerKind};
use fencepost_kernel::{
    Addr, Fence, HwThread, Image, LineData, PersistRecord, Ps, QueueId, Span, StoreId, StoreInfo, Trace, TraceKind,
    WriteCause,
};
use std::panic::Location;

/// A run that is built step by step.
struct Small {
    trace: Trace,
    records: Vec<PersistRecord>,
    coherent: Image,
    durable: Image,
    counts: Option<Counts>,
    threads: Vec<ThreadTime>,
    reported: Option<Report<'static>>,
    hardware: Hardware,
}

fn id(n: usize) -> StoreId {
    StoreId::from_index(n).expect("few stores")
}

impl Small {
    fn new() -> Small {
        Small {
            trace: Trace {
                threads: 2,
                ..Trace::default()
            },
            records: Vec::new(),
            coherent: Image::with_writers(),
            durable: Image::with_writers(),
            counts: Some(Counts::default()),
            threads: Vec::new(),
            reported: None,
            hardware: Hardware {
                threads: 2,
                buffers_name_entries: true,
                ..Hardware::default()
            },
        }
    }
    fn counted(&mut self) -> &mut Counts {
        self.counts.as_mut().expect("counted")
    }
    fn store(&mut self, thread: u8, word: u64, value: u64) -> StoreId {
        let (addr, by) = (Addr::pm(word * 8), id(self.trace.stores.len()));
        let (thread, source) = (HwThread(thread), Location::caller().into());
        let own = self.trace.events.iter().rev().filter(|e| e.thread == Some(thread));
        let tx = own.map(|e| e.kind).find_map(|kind| match kind {
            TraceKind::TxBegin(tx) => Some(Some(tx)),
            TraceKind::TxCommit(_) | TraceKind::TxAbort(_) => Some(None),
            _ => None,
        });
        self.trace.stores.push(StoreInfo {
            thread,
            addr,
            value,
            nt: false,
            tx: tx.flatten(),
            source,
        });
        self.trace.push(thread, TraceKind::Store(by));
        self.coherent.set_word(addr, value, Some(by));
        if let Some(counts) = &mut self.counts {
            counts.threads[0] += 1;
        }
        by
    }
    fn note(&mut self, kind: LedgerKind) {
        let at = self.trace.next_event();
        self.trace.ledger.push(LedgerEvent { at, kind });
    }
    /// The line of a word as it is now.
    fn line(&self, word: u64) -> LineData {
        self.coherent.line(Addr::pm(word * 8).line())
    }
    fn accept(&mut self, write: u64, word: u64) -> LineData {
        self.accept_in(write, word, None)
    }
    fn accept_in(&mut self, write: u64, word: u64, epoch: Option<u64>) -> LineData {
        self.accepted(write, word, (0, epoch))
    }
    fn accept_by(&mut self, queue: u8, write: u64, word: u64) -> LineData {
        self.accepted(write, word, (queue, None))
    }
    fn accepted(&mut self, write: u64, word: u64, (queue, epoch): (u8, Option<u64>)) -> LineData {
        let (line, data) = (Addr::pm(word * 8).line(), self.line(word));
        self.trace.push_hardware(TraceKind::Accepted { line, by: data.by });
        self.note(LedgerKind::Accepted {
            id: write,
            line,
            cause: WriteCause::Flush,
            queue,
            epoch,
        });
        data
    }
    fn issue(&mut self, write: u64) {
        self.note(LedgerKind::Issued { id: write });
        if let Some(counts) = &mut self.counts {
            counts.written += 1;
        }
    }
    fn become_durable(&mut self, write: u64, word: u64, data: LineData) {
        self.note(LedgerKind::Durable {
            id: write,
            record: true,
        });
        let line = Addr::pm(word * 8).line();
        let index = self.records.len() as u32;
        self.trace.push_hardware(TraceKind::Durable { index });
        self.records.push(PersistRecord {
            time: Ps(0),
            line,
            data,
            cause: WriteCause::Flush,
        });
        self.durable.set_line(line, &data);
    }
    fn judge(&self) -> Result<(), Breach> {
        judge(&Run {
            initial: &Image::default(),
            coherent: &self.coherent,
            durable: &self.durable,
            trace: &self.trace,
            records: &self.records,
            counts: self.counts,
            report: self.reported.map(|r| Report {
                threads: &self.threads,
                ..r
            }),
            hardware: self.hardware,
        })
    }
    fn breaks(&self) -> &'static str {
        self.judge().expect_err("a breach").rule
    }
}

/// Two stores to a line, written together, and a second write into which a third is merged.
fn sound() -> Small {
    let mut r = Small::new();
    r.store(0, 0, 1);
    r.store(1, 1, 2);
    let first = r.accept(1, 0);
    r.issue(1);
    r.store(0, 0, 3);
    r.accept(2, 0);
    r.store(0, 1, 4);
    let merged = r.accept(3, 0);
    r.counted().merged += 1;
    r.become_durable(1, 0, first);
    r.issue(2);
    r.become_durable(2, 0, merged);
    r.note(LedgerKind::Durable { id: 3, record: false });
    r
}

#[test]
fn a_sound_run_is_no_breach() {
    assert_eq!(sound().judge(), Ok(()));
}

#[test]
fn loads_read_what_was_stored_last() {
    let mut r = sound();
    let addr = Addr::pm(0);
    r.trace.push(
        HwThread(1),
        TraceKind::Load {
            addr,
            from: Some(id(2)),
        },
    );
    assert_eq!(r.judge(), Ok(()));
    r.trace.push(
        HwThread(1),
        TraceKind::Load {
            addr,
            from: Some(id(0)),
        },
    );
    assert_eq!(r.breaks(), "a load reads what was stored last");
}

#[test]
fn memory_and_log_hold_what_was_stored() {
    let mut r = sound();
    r.coherent.set_word(Addr::pm(0), 9, Some(id(2)));
    assert_eq!(r.breaks(), "memory holds what was stored last");
    let mut r = sound();
    r.records[0].data.words[1] = 7;
    assert_eq!(r.breaks(), "what is durable was stored");
    let mut r = sound();
    r.records[1].data.by[1] = Some(id(1));
    r.records[1].data.words[1] = 2;
    assert_eq!(r.breaks(), "memory holds what became durable last");
    let mut r = sound();
    r.records[1].data.words[0] = 1;
    r.records[1].data.by[0] = Some(id(0));
    assert_eq!(r.breaks(), "a line becomes durable as it was at one moment");
    let mut r = sound();
    r.durable.set_word(Addr::pm(0), 8, None);
    assert_eq!(r.breaks(), "memory holds what became durable last");
}

/// The second write joins the first, whose data has left: it is durable at once, in order, and too early.
#[test]
fn no_write_joins_one_whose_data_has_left() {
    let late = |durable_on_accept| {
        let mut r = Small::new();
        r.hardware.durable_on_accept = durable_on_accept;
        r.store(0, 0, 1);
        let first = r.accept(1, 0);
        if durable_on_accept {
            r.become_durable(1, 0, first);
        }
        r.issue(1);
        r.store(0, 0, 2);
        let second = r.accept(2, 0);
        r.counted().merged += 1;
        (r, second)
    };
    let (mut r, second) = late(false);
    r.become_durable(1, 0, second);
    r.note(LedgerKind::Durable { id: 2, record: false });
    assert_eq!(r.breaks(), "no write is merged into one whose data has left");
    // Where acceptance is durable, the next write of the line shows it.
    let (mut r, second) = late(true);
    r.become_durable(2, 0, second);
    r.store(0, 0, 3);
    let third = r.accept(3, 0);
    r.become_durable(3, 0, third);
    assert_eq!(r.judge(), Ok(()));
    r.issue(3);
    assert_eq!(r.breaks(), "no write is merged into one whose data has left");
}

#[test]
fn accepted_writes_are_durable_once_and_with_their_bytes() {
    let mut r = sound();
    r.accept(4, 0);
    assert_eq!(r.breaks(), "every accepted write becomes durable");
    let mut r = sound();
    r.note(LedgerKind::Durable { id: 3, record: false });
    assert_eq!(r.breaks(), "an accepted write becomes durable once");
    let mut r = sound();
    r.issue(2);
    assert_eq!(r.breaks(), "a write is issued once, after it was accepted");
    // The merged write's bytes are lost: those of the older one become durable.
    let mut r = sound();
    let mut old = r.records[1].data;
    (old.words[1], old.by[1]) = (2, Some(id(1)));
    r.records[1].data = old;
    r.durable.set_line(Addr::pm(0).line(), &old);
    assert_eq!(r.breaks(), "merged writes leave the bytes of the newest");
}

/// The write of the later epoch becomes durable last, as it should, and was sent too early.
#[test]
fn epochs_issue_in_turn() {
    let run = |early: bool| {
        let mut r = Small::new();
        r.hardware.epochs_in_turn = true;
        r.store(0, 0, 1);
        let first = r.accept_in(1, 0, Some(4));
        r.store(0, 8, 2);
        let second = r.accept_in(2, 8, Some(5));
        r.issue(1);
        if early {
            r.issue(2);
        }
        r.become_durable(1, 0, first);
        if !early {
            r.issue(2);
        }
        r.become_durable(2, 8, second);
        r.judge().map_err(|b| b.rule)
    };
    let wrong = Err("a write issues when all of earlier epochs are durable");
    assert_eq!([run(false), run(true)], [Ok(()), wrong]);
}

#[test]
fn counters_add_up() {
    let mut r = sound();
    r.counted().written += 1;
    assert_eq!(r.breaks(), "lines written are writes issued");
    let mut r = sound();
    r.counted().merged = 0;
    assert_eq!(r.breaks(), "writes are issued or merged");
    let mut r = sound();
    r.counted().misses = [1, 2];
    assert_eq!(r.breaks(), "what misses below has missed above");
    let mut r = sound();
    r.counted().events_before = 2;
    r.counted().threads_before = [2, 0, 0, 0];
    assert_eq!(r.judge(), Ok(()), "two stores come first");
    r.counted().threads_before = [1, 0, 0, 0];
    assert_eq!(r.breaks(), "the warm-up is counted apart");
    let mut r = sound();
    r.counted().threads = [4, 0, 0, 1];
    assert_eq!(r.breaks(), "counters count what happened");
}

#[test]
fn registers_are_in_step_with_bindings() {
    let (base, len, queue) = (Addr::pm(0), 64, QueueId(1));
    let range = Span { at: base, len };
    let bound = |registers: u32| {
        let mut r = Small::new();
        (0..registers).for_each(|_| r.note(LedgerKind::RegisterSet { queue: 1, range }));
        r.trace.push(HwThread(0), TraceKind::Bind { base, len, queue });
        r
    };
    let mut r = bound(1);
    assert_eq!(r.judge(), Ok(()));
    r.trace.push(HwThread(1), TraceKind::Bind { base, len, queue });
    r.trace.push(HwThread(0), TraceKind::Release { base, len });
    assert_eq!(r.judge(), Ok(()));
    r.trace.push(HwThread(1), TraceKind::Release { base, len });
    assert_eq!(r.breaks(), "registers in use are ranges bound");
    assert_eq!(bound(2).breaks(), "a line is in one register");
    let mut r = bound(1);
    let again = TraceKind::Bind {
        base,
        len,
        queue: QueueId(0),
    };
    r.trace.push(HwThread(1), again);
    assert_eq!(r.breaks(), "a bound range stays in its queue");
    let mut r = bound(1);
    r.hardware.volatile_below = true;
    r.accept(1, 0);
    assert_eq!(r.breaks(), "a write goes to the queue of its range");
}

/// Thread 0 stores x, fences and stores y; thread 1 reads y, fences and stores z: z is behind x, by name of y's fence or of what is behind it.
#[test]
fn entries_name_what_is_before_them() {
    let run = |names: Option<u64>, left: bool| {
        let mut r = Small::new();
        let (x, y, z) = (0, 8, 16);
        let put = |r: &mut Small, thread: u8, word: u64, entry: u64| {
            let by = r.store(thread, word, 1 + word);
            let line = Some(Addr::pm(word * 8).line());
            r.note(LedgerKind::Buffered {
                buffer: thread,
                entry,
                line,
            });
            by
        };
        let fence = |r: &mut Small, thread: u8, entry: u64| {
            r.note(LedgerKind::Buffered {
                buffer: thread,
                entry,
                line: None,
            });
            r.trace.push(HwThread(thread), TraceKind::Fence(Fence::Dmb));
        };
        put(&mut r, 0, x, 1);
        fence(&mut r, 0, 2);
        let from = Some(put(&mut r, 0, y, 3));
        if left {
            (1..=3).for_each(|entry| r.note(LedgerKind::Left { buffer: 0, entry }));
        }
        r.trace.push(
            HwThread(1),
            TraceKind::Load {
                addr: Addr::pm(y * 8),
                from,
            },
        );
        fence(&mut r, 1, 1);
        if let Some(entry) = names {
            r.note(LedgerKind::WaitsFor {
                buffer: 1,
                other: 0,
                entry,
            });
        }
        put(&mut r, 1, z, 2);
        r.counts = None;
        r.judge().map_err(|b| b.rule)
    };
    let missing = Err("what is before an entry has left or is named");
    assert_eq!([run(Some(3), false), run(None, true)], [Ok(()), Ok(())]);
    assert_eq!([run(None, false), run(Some(2), false)], [missing, missing]);
}
