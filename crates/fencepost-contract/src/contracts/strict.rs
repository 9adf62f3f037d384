//! Strict persistency: stores become durable in the order in which memory consistency lets others see them
//! (Pelley et al., ISCA'14, section 4), over TSO and over sequential consistency.
//!
//! The order is ob = ppo | bar | rfe | fre | co, restricted to writes. Under TSO a thread's next store is ordered
//! after all it did, its next load only after its loads (and what they observed) and what precedes a full fence.

use super::{Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{Addr, HwThread, StoreId, TraceEvent, TraceKind};
use rustc_hash::FxHashMap;

/// The consistency model underneath.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Total store order: a load may overtake earlier stores of its thread.
    Tso,
    /// Sequential consistency.
    Sc,
}

#[derive(Default)]
struct Thread {
    /// What the next store is ordered after, beside `loads`: the last store.
    stores: Option<NodeId>,
    /// What the next load is ordered after.
    loads: Option<NodeId>,
    /// Per other thread, its newest store that this thread has read.
    seen: Vec<Option<NodeId>>,
}

#[derive(Default)]
struct Word {
    last: Option<NodeId>,
    readers: Vec<(HwThread, NodeId)>,
}

/// The rules of strict persistency.
pub(super) struct Strict {
    order: Order,
    fences_drain: bool,
    threads: Vec<Thread>,
    words: FxHashMap<Addr, Word>,
}

impl Strict {
    pub(super) fn new(order: Order, buffered: bool) -> Strict {
        Strict {
            order,
            fences_drain: !buffered,
            threads: Vec::new(),
            words: FxHashMap::default(),
        }
    }

    fn store(&mut self, thread: HwThread, id: StoreId, space: &mut SpaceBuilder<'_>) {
        let addr = space.trace.store(id).addr.word();
        let state = entry(&mut self.threads, thread.index());
        let word = self.words.entry(addr).or_default();
        let mut before: Vec<_> = state.stores.map(|n| (n, Axiom::ProgramOrder)).into_iter().collect();
        before.extend(
            state
                .loads
                .filter(|l| Some(*l) != state.stores)
                .map(|n| (n, Axiom::ReadsFrom)),
        );
        before.extend(
            word.readers
                .drain(..)
                .filter(|r| r.0 != thread)
                .map(|r| (r.1, Axiom::FromRead)),
        );
        let node = if addr.is_persistent() {
            space.store(id, &before)
        } else {
            before.extend(word.last.map(|n| (n, Axiom::SameWord)));
            space.volatile_store(id, &before)
        };
        word.last = Some(node);
        state.stores = Some(node);
        if self.order == Order::Sc {
            state.loads = Some(node);
        }
    }

    fn read(&mut self, thread: HwThread, addr: Addr, from: Option<StoreId>, space: &mut SpaceBuilder<'_>) {
        let state = entry(&mut self.threads, thread.index());
        let external = from
            .map(|s| (s, space.trace.store(s).thread))
            .filter(|(_, writer)| *writer != thread);
        if let Some((store, writer)) = external
            && let Some(node) = space.node_of(store)
        {
            // One thread's stores are totally ordered, so an older one than the newest seen says nothing new.
            let seen = entry(&mut state.seen, writer.index());
            if seen.is_none_or(|s| s < node) {
                *seen = Some(node);
                let mut before = vec![(node, Axiom::ReadsFrom)];
                before.extend(state.loads.map(|n| (n, Axiom::ProgramOrder)));
                state.loads = Some(space.barrier(&before));
            }
        }
        if let Some(loads) = state.loads {
            let readers = &mut self.words.entry(addr.word()).or_default().readers;
            readers.retain(|r| r.0 != thread);
            readers.push((thread, loads));
        }
        if self.order == Order::Sc {
            state.stores = state.loads.max(state.stores);
        }
    }

    /// A full fence: later loads come after earlier stores.
    fn fence(&mut self, thread: HwThread, drain: bool, space: &mut SpaceBuilder<'_>) {
        let state = entry(&mut self.threads, thread.index());
        let parts = [state.stores, state.loads];
        let mut before: Vec<_> = parts.into_iter().flatten().map(|n| (n, Axiom::ProgramOrder)).collect();
        before.dedup();
        if before.is_empty() {
            return;
        }
        let all = space.barrier(&before);
        (state.stores, state.loads) = (Some(all), Some(all));
        if drain {
            space.must(all, Axiom::Drain);
        }
    }
}

impl Rules for Strict {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        let Some(thread) = event.thread else { return };
        match event.kind {
            TraceKind::Load { addr, from } => self.read(thread, addr, from, space),
            TraceKind::Rmw { addr, from, .. } => {
                self.fence(thread, false, space);
                self.read(thread, addr, from, space);
            }
            TraceKind::Fence(fence) => {
                let does = fence.properties();
                if does.drains || does.orders_loads {
                    self.fence(thread, self.fences_drain || does.drains, space);
                } else if let (true, true, Some(last)) = (
                    does.orders_stores,
                    self.fences_drain,
                    entry(&mut self.threads, thread.index()).stores,
                ) {
                    // Store fences order nothing more among loads and stores under TSO, but they wait for persists.
                    space.must(last, Axiom::Drain);
                }
            }
            _ => {}
        }
        if let Some(id) = store_of(event.kind) {
            self.store(thread, id, space);
        }
        if let TraceKind::Rmw { .. } = event.kind {
            self.fence(thread, false, space);
        }
    }
}
