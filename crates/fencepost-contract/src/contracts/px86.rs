//! The x86 family: no order between lines, durability by flush and fence.
//!
//! Px86 in its view form (after Raad et al., POPL'20, and Cho et al., PLDI'21): a thread's view bounds
//! which stores a flush covers, and a fence makes what earlier flushes covered durable. The crash set of an
//! execution is then a product of intervals, one per line; fences add to the must-set and need no edges, because a
//! store after the fence has not executed at the failure points before it.
//!
//! `px86-pcommit` (Kolli et al., MICRO'16, section II) moves durability from the fence to `pcommit`; Themis adds one
//! edge kind, non-temporal store before later store.

use super::{LineOrder, Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::planted;
use fencepost_kernel::{Addr, Fence, Flush, HwThread, LineAddr, StoreId, TraceEvent, TraceKind};
use rustc_hash::FxHashMap;

/// Position of a store in the order in which stores performed, from 1; 0 stands for "before all".
type Stamp = u32;

fn stamp(store: StoreId) -> Stamp {
    store.index() as u32 + 1
}

/// What makes accepted writes durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Acceptance itself: the controller's queue survives power failures (ADR).
    Accepted,
    /// A `pcommit` followed by a fence.
    Pcommit,
}

#[derive(Default)]
struct View {
    /// Newest store of each line that the thread has written.
    coherence: FxHashMap<LineAddr, Stamp>,
    /// Newest store that the thread has made or read, volatile ones included.
    newest: Stamp,
    /// Flushes take stores up to here into account (`vpr`).
    ready: Stamp,
    /// Flushed, waiting for a fence: line and the newest covered store.
    flushed: Vec<(LineAddr, Stamp)>,
    /// Non-temporal stores waiting for a fence.
    nt: Vec<NodeId>,
    /// Number of accepted writes at the last fence, and at the last fence before the newest `pcommit`.
    accepted_at_fence: usize,
    accepted_at_pcommit: Option<usize>,
    /// Themis: non-temporal stores since `nt_before`, and what stands for all before them.
    nt_open: Vec<NodeId>,
    nt_before: Option<NodeId>,
}

/// Px86 and its variants.
pub(super) struct Px86 {
    durability: Durability,
    nt_before_store: bool,
    views: Vec<View>,
    /// Stores of each line (or each word, without line order), by stamp.
    history: FxHashMap<Addr, Vec<(Stamp, NodeId)>>,
    accepted: Vec<NodeId>,
    /// By node: whether it is in `accepted`.
    is_accepted: Vec<bool>,
    durable: usize,
}

impl Px86 {
    pub(super) fn new(durability: Durability, nt_before_store: bool) -> Px86 {
        Px86 {
            durability,
            nt_before_store,
            views: Vec::new(),
            history: FxHashMap::default(),
            accepted: Vec::new(),
            is_accepted: Vec::new(),
            durable: 0,
        }
    }

    /// What had reached the controller at the thread's last fence, in that order.
    pub(super) fn accepted_at_fence(&self, thread: HwThread) -> &[NodeId] {
        let upto = self.views.get(thread.index()).map_or(0, |v| v.accepted_at_fence);
        &self.accepted[..upto]
    }
    fn store(&mut self, id: StoreId, space: &mut SpaceBuilder<'_>) {
        let info = space.trace.store(id);
        let (thread, addr) = (info.thread.index(), info.addr);
        let view = entry(&mut self.views, thread);
        view.newest = view.newest.max(stamp(id));
        if !addr.is_persistent() {
            return;
        }
        view.coherence.insert(addr.line(), stamp(id));
        let before = if self.nt_before_store && !info.nt {
            view.nt_barrier(space)
        } else {
            None
        };
        let node = space.store(id, before.map(|n| (n, Axiom::NtBeforeStore)).as_slice());
        if info.nt {
            view.nt.push(node);
            view.nt_open.push(node);
        }
        let key = match space.line_order() {
            LineOrder::Fifo => addr.line().base(),
            LineOrder::Unordered => addr.word(),
        };
        self.history.entry(key).or_default().push((stamp(id), node));
    }

    fn read(&mut self, thread: HwThread, from: Option<StoreId>, space: &SpaceBuilder<'_>) {
        let Some(from) = from else { return };
        let view = entry(&mut self.views, thread.index());
        view.newest = view.newest.max(stamp(from));
        // Its own stores it has noted where it made them.
        if space.trace.store(from).thread != thread {
            view.ready = view.ready.max(stamp(from));
        }
    }

    fn flush(&mut self, thread: HwThread, line: LineAddr, kind: Flush, space: &mut SpaceBuilder<'_>) {
        let view = entry(&mut self.views, thread.index());
        let complete = kind != Flush::Clflush
            && planted!(
                "contract.flush-needs-no-fence",
                "a flush is complete only at the next fence"
            );
        match kind {
            // Ordered with every write of its thread, streaming stores too (Intel SDM 3A, 8.2.2, and 2A, CLFLUSH): no later one is
            // durable before what it covers. So it has taken effect here, before whatever the trace has behind it.
            Flush::Clflush => {
                let covered = (line, view.newest);
                self.accept_lines(&[covered], space);
            }
            _ if complete => {
                let covered = (line, view.newest);
                self.accept_lines(&[covered], space);
            }
            Flush::Clwb | Flush::ClflushOpt | Flush::CvAp => {
                let seen = view.coherence.get(&line).copied().unwrap_or(0);
                view.flushed.push((line, seen.max(view.ready)));
            }
        }
    }

    fn fence(&mut self, thread: HwThread, space: &mut SpaceBuilder<'_>) {
        let view = entry(&mut self.views, thread.index());
        view.ready = view.ready.max(view.newest);
        let flushed = std::mem::take(&mut view.flushed);
        let nt = std::mem::take(&mut view.nt);
        let completes = !planted!(
            "contract.fence-orders-nothing",
            "a fence completes the flushes before it"
        );
        if completes {
            self.accept_lines(&flushed, space);
        }
        for node in nt {
            self.accept(node, Axiom::NtFence, space);
        }
        let accepted = self.accepted.len();
        let view = &mut self.views[thread.index()];
        view.accepted_at_fence = accepted;
        if let Some(upto) = view.accepted_at_pcommit.take() {
            for node in self.accepted.get(self.durable..upto).unwrap_or(&[]) {
                space.must(*node, Axiom::Pcommit);
            }
            self.durable = self.durable.max(upto);
        }
    }

    /// The stores of each line up to its stamp have reached the memory controller.
    fn accept_lines(&mut self, covered: &[(LineAddr, Stamp)], space: &mut SpaceBuilder<'_>) {
        for (line, upto) in covered {
            let places = match space.line_order() {
                LineOrder::Fifo => 1,
                LineOrder::Unordered => 8,
            };
            for place in 0..places {
                let Some(history) = self.history.get_mut(&Addr(line.base().0 + place * 8)) else {
                    continue;
                };
                let covered = history.partition_point(|s| s.0 <= *upto);
                if space.newest_covers() {
                    let newest = history[..covered].last().copied();
                    newest
                        .into_iter()
                        .for_each(|(_, node)| self.accept(node, Axiom::FlushFence, space));
                } else {
                    // The newest store to a word may have changed other bytes than those before it.
                    let stores: Vec<_> = history.drain(..covered).collect();
                    stores
                        .iter()
                        .for_each(|(_, node)| self.accept(*node, Axiom::FlushFence, space));
                }
            }
        }
    }
    fn accept(&mut self, node: NodeId, axiom: Axiom, space: &mut SpaceBuilder<'_>) {
        match self.durability {
            Durability::Accepted => space.must(node, axiom),
            Durability::Pcommit => {
                if !std::mem::replace(entry(&mut self.is_accepted, node.index()), true) {
                    self.accepted.push(node);
                }
            }
        }
    }
    /// A `pcommit` covers what had been accepted at the thread's last fence; when exactly it reaches the controller
    /// after that is the hardware's business.
    fn pcommit(&mut self, thread: HwThread) {
        let view = entry(&mut self.views, thread.index());
        view.accepted_at_pcommit = Some(view.accepted_at_fence);
    }
}

impl View {
    /// Themis: what stands for every earlier non-temporal store of the thread.
    fn nt_barrier(&mut self, space: &mut SpaceBuilder<'_>) -> Option<NodeId> {
        if !self.nt_open.is_empty() {
            let all = self.nt_before.iter().chain(&self.nt_open);
            let all: Vec<_> = all.map(|n| (*n, Axiom::NtBeforeStore)).collect();
            self.nt_before = Some(space.barrier(&all));
            self.nt_open.clear();
        }
        self.nt_before
    }
}

impl Rules for Px86 {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        if let (TraceKind::Accepted { by, .. }, Durability::Pcommit) = (event.kind, self.durability) {
            for store in by.iter().flatten() {
                if let Some(node) = space.node_of(*store) {
                    self.accept(node, Axiom::Pcommit, space);
                }
            }
        }
        let Some(thread) = event.thread else { return };
        match event.kind {
            TraceKind::Load { from, .. } | TraceKind::Rmw { from, .. } => self.read(thread, from, space),
            TraceKind::Flush { line, kind } => self.flush(thread, line, kind, space),
            TraceKind::Fence(Fence::Pcommit) => self.pcommit(thread),
            TraceKind::Fence(fence) if fence.properties().completes_flushes => self.fence(thread, space),
            TraceKind::Fence(fence) if fence.properties().orders_loads => {
                let view = entry(&mut self.views, thread.index());
                view.ready = view.ready.max(view.newest);
            }
            _ => {}
        }
        if let Some(id) = store_of(event.kind) {
            self.store(id, space);
        }
        if let TraceKind::Rmw { .. } = event.kind {
            self.fence(thread, space);
        }
    }
}
