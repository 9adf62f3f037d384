//! Executions as traces.

use super::{Effect, Machine};
use crate::format::op::FlushKind;
use fencepost_kernel::{Flush, HwThread, StoreId, StoreInfo, Trace, TraceKind};
use std::panic::Location;

impl Machine<'_> {
    /// The trace of an execution.
    pub(super) fn trace(&self, effects: &[(u8, Effect)]) -> Trace {
        let mut trace = Trace {
            threads: self.threads.len() as u32,
            ..Trace::default()
        };
        // The newest store to each word.
        let mut newest: Vec<Option<StoreId>> = vec![None; self.layout.words.len()];
        for (thread, effect) in effects {
            let hw_thread = HwThread(*thread);
            let addr = |word: usize| self.layout.words[word].addr;
            let mut store = |trace: &mut Trace, word: usize, value: u64, nt: bool| {
                newest[word] = push_store(trace, hw_thread, addr(word), value, nt);
                newest[word]
            };
            match *effect {
                Effect::Nothing => {}
                Effect::Store(word, value, nt) => {
                    if let Some(id) = store(&mut trace, word, value, nt) {
                        trace.push(hw_thread, TraceKind::Store(id));
                    }
                }
                Effect::Load(word) => {
                    let (addr, from) = (addr(word), newest[word]);
                    trace.push(hw_thread, TraceKind::Load { addr, from });
                }
                Effect::Rmw(word, value) => {
                    let (addr, from) = (addr(word), newest[word]);
                    let store = value.and_then(|v| push_store(&mut trace, hw_thread, addr, v, false));
                    newest[word] = store.or(from);
                    trace.push(hw_thread, TraceKind::Rmw { addr, from, store });
                }
                Effect::Flush(word, kind) => {
                    let (line, kind) = (addr(word).line(), flush(kind));
                    trace.push(hw_thread, TraceKind::Flush { line, kind });
                }
                Effect::Fence(fence) => trace.push(hw_thread, TraceKind::Fence(fence)),
            }
        }
        trace
    }
}

/// The kernel's name of a flush.
pub(crate) fn flush(kind: FlushKind) -> Flush {
    match kind {
        FlushKind::Strong => Flush::Clflush,
        FlushKind::Weak => Flush::Clwb,
    }
}

/// Adds a store to the trace's table.
pub(crate) fn push_store(
    trace: &mut Trace,
    thread: HwThread,
    addr: fencepost_kernel::Addr,
    value: u64,
    nt: bool,
) -> Option<StoreId> {
    let source = Location::caller().into();
    trace.stores.push(StoreInfo {
        thread,
        addr,
        value,
        nt,
        tx: None,
        source,
    });
    StoreId::from_index(trace.stores.len() - 1)
}
