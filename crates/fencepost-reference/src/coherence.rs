//! Memory as the threads see it: one value per word, changed by every store in coherence order.

use crate::run::{Breach, Run, must};
use fencepost_kernel::{Addr, HwThread, LineAddr, StoreId, TraceKind, TxId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The stores of each word that have taken effect, newest last.
#[derive(Default)]
struct Memory {
    words: FxHashMap<Addr, Vec<StoreId>>,
    next: usize,
}

impl Memory {
    fn newest(&self, word: Addr) -> Option<StoreId> {
        self.words.get(&word).and_then(|w| w.last().copied())
    }
}

/// Replays the trace: every store once and in order, every load from the newest store of its word, and the memory that is left.
pub(crate) fn judge(run: &Run<'_>) -> Result<(), Breach> {
    let mut memory = Memory::default();
    let undone = undone(run);
    // A roll-back restores words in an order of its own, which the trace does not tell.
    let restored = |word: Addr| undone.contains(&word);
    for (i, event) in run.trace.events.iter().enumerate() {
        match event.kind {
            TraceKind::Store(id) => memory.store(run, i, event.thread, id)?,
            TraceKind::Load { addr, from } if !restored(addr) => memory.load(i, addr, from)?,
            TraceKind::Rmw { addr, from, store } => {
                if !restored(addr) {
                    memory.load(i, addr, from)?;
                }
                if let Some(id) = store {
                    memory.store(run, i, event.thread, id)?;
                }
            }
            _ => {}
        }
    }
    let all = run.trace.stores.len();
    must(memory.next == all, "every store takes effect once", None, || {
        format!("{} of {all} stores are in the trace", memory.next)
    })?;
    let persistent = memory.words.keys().filter(|w| w.is_persistent() && !restored(**w));
    for word in persistent {
        let (held, by, newest) = (
            run.coherent.word(*word),
            run.coherent.writer(*word),
            memory.newest(*word),
        );
        let value = newest.map_or(0, |s| run.trace.store(s).value);
        must(
            (held, by) == (value, newest),
            "memory holds what was stored last",
            None,
            || format!("{word} ends as {held:#x} by {by:?}, and {newest:?} stored {value:#x} last"),
        )?;
    }
    let stored: FxHashSet<LineAddr> = memory.words.keys().map(|w| w.line()).collect();
    let mut others = run.coherent.pm_lines().filter(|l| !stored.contains(l));
    let changed = others.find(|l| !run.coherent.same_line(run.initial, *l));
    must(changed.is_none(), "memory holds what was stored last", None, || {
        format!("{changed:?} changed, and nobody stored there")
    })
}

/// Words that transactions stored to, in runs in which some transaction was aborted.
fn undone(run: &Run<'_>) -> FxHashSet<Addr> {
    let aborted = |k: &TraceKind| matches!(k, TraceKind::TxAbort(_));
    if !run.trace.events.iter().any(|e| aborted(&e.kind)) {
        return FxHashSet::default();
    }
    let in_transaction = |tx: Option<TxId>| tx.is_some_and(|t| t != TxId(0));
    let stores = run.trace.stores.iter().filter(|s| in_transaction(s.tx));
    stores.map(|s| s.addr).collect()
}

impl Memory {
    fn store(&mut self, run: &Run<'_>, event: usize, thread: Option<HwThread>, id: StoreId) -> Result<(), Breach> {
        must(
            id.index() == self.next,
            "stores are numbered in coherence order",
            Some(event),
            || format!("store {} takes effect where store {} is due", id.index(), self.next),
        )?;
        self.next += 1;
        let store = run.trace.store(id);
        must(
            thread == Some(store.thread),
            "a store belongs to its thread",
            Some(event),
            || {
                format!(
                    "store {} of thread {} is an event of {thread:?}",
                    id.index(),
                    store.thread.0
                )
            },
        )?;
        self.words.entry(store.addr.word()).or_default().push(id);
        Ok(())
    }
    fn load(&self, event: usize, addr: Addr, from: Option<StoreId>) -> Result<(), Breach> {
        let newest = self.newest(addr.word());
        must(from == newest, "a load reads what was stored last", Some(event), || {
            format!("a load of {addr} reads store {from:?}, and {newest:?} is the newest")
        })
    }
}
