//! How a run persists, counted as the WHISPER suite counts its programs, from a recorded run.
//!
//! An *epoch* is what a thread stores to persistent memory between two points that order it: fences, and commits of hardware
//! transactions. It *depends* on an earlier one if both write a line and less than 50 us lie between their ends. Times are those of the
//! persist log: an epoch ends when the newest record before its end became durable.

use crate::histogram::Histogram;
use fencepost_kernel::{HwThread, LineAddr, PersistLog, Ps, StoreId, Trace, TraceKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Epochs further apart do not depend on each other (WHISPER, section 5).
const WINDOW: Ps = Ps::from_ns(50_000);

/// How the threads of a run persist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistStats {
    /// Stores of all threads, to either memory.
    pub stores: u64,
    /// Stores to persistent memory.
    pub pm_stores: u64,
    /// Lines that an epoch writes.
    pub lines_per_epoch: Histogram,
    /// Epochs that end within an operation, of operations that have any: its ordering points.
    pub epochs_per_op: Histogram,
    /// Epochs that depend on an earlier one of their thread.
    pub on_own: u64,
    /// Epochs that depend on one of another thread.
    pub on_others: u64,
}

/// One figure beside the one that WHISPER published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// What it is.
    pub what: &'static str,
    /// Here.
    pub here: f64,
    /// As published.
    pub published: &'static str,
}

/// What is being counted of a thread.
#[derive(Default)]
struct Thread {
    /// Lines of the epoch that has not ended.
    lines: BTreeSet<LineAddr>,
    /// Epochs that ended since the operation began.
    epochs: u64,
}

impl PersistStats {
    /// Counts the epochs of a recorded run.
    pub fn of(trace: &Trace, log: &PersistLog) -> PersistStats {
        let mut out = PersistStats {
            lines_per_epoch: Histogram::new("lines", &BTreeMap::new()),
            epochs_per_op: Histogram::new("epochs", &BTreeMap::new()),
            ..PersistStats::default()
        };
        let mut threads: BTreeMap<HwThread, Thread> = BTreeMap::new();
        let mut writers: BTreeMap<LineAddr, BTreeMap<HwThread, Ps>> = BTreeMap::new();
        let mut now = Ps::ZERO;
        for event in &trace.events {
            let Some(hw_thread) = event.thread else {
                if let TraceKind::Durable { index } = event.kind {
                    now = log.records().get(index as usize).map_or(now, |r| r.time);
                }
                continue;
            };
            let thread = threads.entry(hw_thread).or_default();
            match event.kind {
                TraceKind::Store(id) | TraceKind::Rmw { store: Some(id), .. } => out.store(trace, id, thread),
                TraceKind::Fence(_)
                | TraceKind::Sync { .. }
                | TraceKind::TxCommit(_)
                | TraceKind::TxFlush
                | TraceKind::CommitQueue(_) => out.end_epoch(thread, hw_thread, now, &mut writers),
                TraceKind::OpEnd(_) => {
                    if thread.epochs > 0 {
                        *out.epochs_per_op.values.entry(thread.epochs).or_default() += 1;
                    }
                    thread.epochs = 0;
                }
                _ => {}
            }
        }
        out
    }
    fn store(&mut self, trace: &Trace, id: StoreId, thread: &mut Thread) {
        let addr = trace.store(id).addr;
        self.stores += 1;
        if addr.is_persistent() {
            self.pm_stores += 1;
            thread.lines.insert(addr.line());
        }
    }
    fn end_epoch(
        &mut self,
        thread: &mut Thread,
        hw_thread: HwThread,
        now: Ps,
        writers: &mut BTreeMap<LineAddr, BTreeMap<HwThread, Ps>>,
    ) {
        let lines = std::mem::take(&mut thread.lines);
        if lines.is_empty() {
            return;
        }
        thread.epochs += 1;
        *self.lines_per_epoch.values.entry(lines.len() as u64).or_default() += 1;
        let (mut own, mut others) = (false, false);
        for line in lines {
            let writers = writers.entry(line).or_default();
            for (writer, time) in writers.iter().filter(|w| now.0 - w.1.0 < WINDOW.0) {
                own |= *writer == hw_thread;
                others |= *writer != hw_thread && time.0 <= now.0;
            }
            writers.insert(hw_thread, now);
        }
        self.on_own += u64::from(own);
        self.on_others += u64::from(others);
    }
    /// The figures that WHISPER published of its suite, beside those of this run; empty if nothing was persisted.
    pub fn beside_whisper(&self) -> Vec<Beside> {
        let epochs = self.lines_per_epoch.count();
        if epochs == 0 {
            return Vec::new();
        }
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        let row = |what, here, published| Beside { what, here, published };
        let one = self.lines_per_epoch.values.get(&1).copied().unwrap_or(0);
        let median = self.epochs_per_op.quantile(0.5).unwrap_or(0);
        vec![
            row(
                "stores to persistent memory, %",
                percent(self.pm_stores, self.stores),
                "4",
            ),
            row("ordering points of an operation, median", median as f64, "5 to 50"),
            row("epochs that write one line, %", percent(one, epochs), "75"),
            row(
                "epochs that depend on one of their thread, %",
                percent(self.on_own, epochs),
                "80",
            ),
            row(
                "epochs that depend on one of another thread, %",
                percent(self.on_others, epochs),
                "few",
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::{Addr, Fence, LineData, PersistRecord, StoreInfo, TraceEvent, WriteCause};
    use std::panic::Location;

    /// A run written by hand.
    struct Hand(Trace, PersistLog);
    impl Hand {
        fn store(&mut self, thread: u8, addr: Addr) {
            let id = StoreId::from_index(self.0.stores.len()).unwrap();
            self.0.stores.push(StoreInfo {
                thread: HwThread(thread),
                addr,
                value: 1,
                nt: false,
                tx: None,
                source: Location::caller().into(),
            });
            self.0.push(HwThread(thread), TraceKind::Store(id));
        }
        fn pm(&mut self, thread: u8, lines: &[u64]) {
            lines.iter().for_each(|l| self.store(thread, Addr::pm(4096 + l * 64)));
        }
        fn fence(&mut self, thread: u8) {
            self.0.push(HwThread(thread), TraceKind::Fence(Fence::Sfence));
        }
        fn end(&mut self, thread: u8) {
            self.0.push(HwThread(thread), TraceKind::OpEnd(0));
        }
        fn durable(&mut self, time: Ps) {
            let index = self.1.len() as u32;
            self.1.push(PersistRecord {
                time,
                line: Addr::pm(4096).line(),
                data: LineData::default(),
                cause: WriteCause::Flush,
            });
            let kind = TraceKind::Durable { index };
            self.0.events.push(TraceEvent { thread: None, kind });
        }
    }

    #[test]
    fn epochs_of_a_run_written_by_hand() {
        let mut h = Hand(Trace::default(), PersistLog::new(true));
        // Thread 0, first operation: an epoch of two lines, a fence that ends none, an epoch of one line.
        h.store(0, Addr(4096));
        h.pm(0, &[0, 1, 0]);
        h.fence(0);
        h.fence(0);
        h.pm(0, &[2]);
        h.fence(0);
        h.end(0);
        // Thread 1: an operation without an epoch; then one that writes a line of thread 0, and a line of its own twice.
        h.store(1, Addr(8192));
        h.end(1);
        h.durable(Ps::from_ns(10_000));
        h.pm(1, &[1]);
        h.fence(1);
        h.pm(1, &[5]);
        h.fence(1);
        h.pm(1, &[5]);
        h.fence(1);
        h.end(1);
        // Fifty microseconds later nothing depends on what was before.
        h.durable(Ps::from_ns(60_000));
        h.pm(0, &[0, 1]);
        h.fence(0);
        h.end(0);
        let s = PersistStats::of(&h.0, &h.1);
        assert_eq!((s.stores, s.pm_stores), (11, 9));
        assert_eq!(s.lines_per_epoch.values, [(1, 4), (2, 2)].into());
        assert_eq!(s.epochs_per_op.values, [(1, 1), (2, 1), (3, 1)].into());
        assert_eq!((s.on_own, s.on_others), (1, 1));
        let shown: Vec<String> = s.beside_whisper().iter().map(|b| format!("{:.1}", b.here)).collect();
        assert_eq!(shown, ["81.8", "2.0", "66.7", "16.7", "16.7"]);
        assert!(
            PersistStats::of(&Trace::default(), &PersistLog::new(true))
                .beside_whisper()
                .is_empty()
        );
    }
}
