//! Transactions that run at once and store to one line.
//!
//! None of the designs isolates transactions, as the paper of loose ordering says of its own: *we focus on storage transactions, which
//! provide atomicity and durability* (Lu et al., ICCD'14, section II). Programs keep them apart by locks that they hold to the end. Where
//! they do not, a line has bytes of both, and no order in which it becomes durable is right for each.

use crate::contracts::entry;
use fencepost_kernel::{HwThread, LineAddr, Trace, TraceKind};
use rustc_hash::FxHashMap;
use std::fmt;

/// Two transactions of which one stored to a line while the other, which had done so, was still running.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The line.
    pub line: LineAddr,
    /// Who stored there first, and who then.
    pub threads: [HwThread; 2],
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.threads.map(|t| t.0);
        let at = self.line.base();
        write!(
            f,
            "threads {first} and {second} store to one line, at {at}, in hardware transactions that run at once: no design isolates them"
        )
    }
}

/// The first two hardware transactions of an execution that race, if any do.
pub fn race(trace: &Trace) -> Option<Race> {
    let mut writers: FxHashMap<LineAddr, Vec<HwThread>> = FxHashMap::default();
    let mut lines: Vec<Vec<LineAddr>> = Vec::new();
    for event in &trace.events {
        let Some(thread) = event.thread else { continue };
        let own = entry(&mut lines, thread.index());
        match event.kind {
            TraceKind::TxBegin(_) | TraceKind::TxCommit(_) | TraceKind::TxAbort(_) => {
                for line in own.drain(..) {
                    writers.entry(line).or_default().retain(|t| *t != thread);
                }
            }
            kind => {
                let Some(store) = crate::contracts::store_of(kind).map(|id| trace.store(id)) else {
                    continue;
                };
                if store.tx.is_none() || !store.addr.is_persistent() {
                    continue;
                }
                let line = store.addr.line();
                let running = writers.entry(line).or_default();
                if let Some(other) = running.iter().find(|t| **t != thread) {
                    return Some(Race {
                        line,
                        threads: [*other, thread],
                    });
                }
                if running.is_empty() {
                    running.push(thread);
                    own.push(line);
                }
            }
        }
    }
    None
}
