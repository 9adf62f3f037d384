//! Contracts whose order comes from fences that divide a thread's accesses into epochs: RCBSP, epoch and strand.
//!
//! A thread carries `closed`, one node that stands for everything its next access is ordered after, and `open`, what
//! happened since. A fence folds `open` into `closed`. What a load observes goes into `open`: it is ordered before
//! the accesses after the next fence, together with all that *it* is ordered after, and nothing else of its still
//! open epoch comes along.
//!
//! RCBSP (Kolli et al., MICRO'16, section III-C) is buffered strict persistency over the non-multi-copy-atomic ARMv7.
//! In the relations of Alglave et al. (TOPLAS'14), PMO = (co | (prop;hb* & W x W))+ with every fence strong; hb is
//! fences, external reads-from and the dependences that the trace knows of (`dependences.rs`). Epoch and strand
//! persistency are Pelley's (ISCA'14): conflicting accesses carry order between threads, from-reads too.

use super::dependences::{Behind, Reads};
use super::{Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{Addr, Fence, HwThread, StoreId, TraceEvent, TraceKind};
use rustc_hash::FxHashMap;

/// Which of the family.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Relaxed consistency, buffered strict persistency.
    Rcbsp,
    /// Epoch persistency.
    Epoch,
    /// Strand persistency.
    Strand,
}

#[derive(Default)]
struct Thread {
    closed: Option<NodeId>,
    /// Own stores of the open epoch.
    stores: Vec<NodeId>,
    /// Stores of other threads observed in the open epoch.
    observed: Vec<NodeId>,
    /// Everything ever observed, so that each store is noted once, and the epoch in which it was.
    known: FxHashMap<NodeId, u32>,
    /// Full fences so far.
    epoch: u32,
    /// What earlier strands left: it orders nothing more, and a drain waits for it.
    left: Vec<NodeId>,
    /// RCBSP: what the reads of the open epoch hand on to stores that depend on them.
    reads: Reads,
}

#[derive(Default)]
struct Word {
    last: Option<NodeId>,
    /// What the readers of the newest version are ordered after.
    readers: Vec<(HwThread, NodeId)>,
}

/// The rules of the family.
pub(super) struct Epochs {
    family: Family,
    /// Whether a fence that orders persists also waits for them.
    fences_drain: bool,
    threads: Vec<Thread>,
    words: FxHashMap<Addr, Word>,
    /// RCBSP: what is before each store, for those that depend on a read of it.
    behind: Behind,
}

impl Epochs {
    pub(super) fn new(family: Family, buffered: bool) -> Epochs {
        Epochs {
            family,
            fences_drain: !buffered,
            threads: Vec::new(),
            words: FxHashMap::default(),
            behind: Behind::default(),
        }
    }
    fn axiom(&self) -> Axiom {
        match self.family {
            Family::Rcbsp => Axiom::FenceCumulativity,
            Family::Epoch | Family::Strand => Axiom::PersistBarrier,
        }
    }

    fn store(&mut self, thread: HwThread, id: StoreId, space: &mut SpaceBuilder<'_>) {
        let addr = space.trace.store(id).addr.word();
        let axiom = self.axiom();
        let state = entry(&mut self.threads, thread.index());
        let after = match self.family {
            Family::Rcbsp => state.reads.store(id, state.closed, &mut self.behind, space),
            Family::Epoch | Family::Strand => state.closed.map(|n| (n, axiom)),
        };
        let word = self.words.entry(addr).or_default();
        let mut before: Vec<(NodeId, Axiom)> = after.into_iter().collect();
        let readers = word.readers.drain(..).filter(|r| r.0 != thread);
        before.extend(readers.map(|r| (r.1, Axiom::FromRead)));
        let node = if addr.is_persistent() {
            space.store(id, &before)
        } else {
            before.extend(word.last.map(|n| (n, Axiom::SameWord)));
            space.volatile_store(id, &before)
        };
        word.last = Some(node);
        state.stores.push(node);
    }

    fn read(&mut self, thread: HwThread, addr: Addr, from: Option<StoreId>, space: &mut SpaceBuilder<'_>) {
        let state = entry(&mut self.threads, thread.index());
        if self.family != Family::Rcbsp
            && let Some(closed) = state.closed
        {
            let readers = &mut self.words.entry(addr.word()).or_default().readers;
            readers.retain(|r| r.0 != thread);
            readers.push((thread, closed));
        }
        let external = from.filter(|s| space.trace.store(*s).thread != thread);
        let mut in_epoch = false;
        if let Some(node) = external.and_then(|s| space.node_of(s)) {
            let epoch = state.known.entry(node).or_insert_with(|| {
                state.observed.push(node);
                state.epoch
            });
            in_epoch = *epoch == state.epoch;
        }
        if self.family == Family::Rcbsp {
            let (reads, behind) = (&mut state.reads, &self.behind);
            reads.read(addr, from, in_epoch, state.closed, behind, space);
        }
    }

    /// Everything so far before everything later; with `stores_only`, only the thread's own stores so far.
    fn barrier(&mut self, thread: HwThread, stores_only: bool, drain: bool, space: &mut SpaceBuilder<'_>) {
        let axiom = self.axiom();
        let state = entry(&mut self.threads, thread.index());
        let mut before: Vec<_> = state.stores.drain(..).map(|n| (n, axiom)).collect();
        if !stores_only {
            before.extend(state.observed.drain(..).map(|n| (n, Axiom::ReadsFrom)));
            state.epoch += 1;
            state.reads.fold();
        }
        if !before.is_empty() {
            before.extend(state.closed.map(|n| (n, axiom)));
            state.closed = Some(space.barrier(&before));
        }
        if let (true, Some(closed)) = (drain, state.closed) {
            space.must(closed, Axiom::Drain);
        }
    }

    /// A strand begins: what was before orders nothing that comes, and only a drain still waits for it.
    fn new_strand(&mut self, thread: HwThread) {
        let state = entry(&mut self.threads, thread.index());
        let mut left = std::mem::take(&mut state.left);
        left.extend(state.closed);
        left.append(&mut state.stores);
        left.append(&mut state.observed);
        *state = Thread {
            left,
            ..Thread::default()
        };
    }
    /// Everything of the thread is durable when this fence completes, whatever its strand.
    fn drain_strands(&mut self, thread: HwThread, space: &mut SpaceBuilder<'_>) {
        for node in entry(&mut self.threads, thread.index()).left.drain(..) {
            space.must(node, Axiom::Drain);
        }
    }

    fn fence(&mut self, thread: HwThread, fence: Fence, space: &mut SpaceBuilder<'_>) {
        let does = fence.properties();
        let drain = self.fences_drain || does.drains;
        if does.drains {
            self.drain_strands(thread, space);
        }
        match (fence, self.family) {
            (Fence::NewStrand, Family::Strand) => self.new_strand(thread),
            _ if !(does.orders_persists || does.drains) => {}
            (Fence::DmbSt, Family::Rcbsp) => self.barrier(thread, true, false, space),
            _ => self.barrier(thread, false, drain, space),
        }
    }
}

impl Rules for Epochs {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        let Some(thread) = event.thread else { return };
        match event.kind {
            TraceKind::Load { addr, from } | TraceKind::Rmw { addr, from, .. } => self.read(thread, addr, from, space),
            TraceKind::Fence(fence) => self.fence(thread, fence, space),
            _ => {}
        }
        if let Some(id) = store_of(event.kind) {
            self.store(thread, id, space);
        }
    }
}
