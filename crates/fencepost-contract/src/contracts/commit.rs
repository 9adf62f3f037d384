//! Per-task committing: a range bound to a write sub-queue becomes durable when the queue's commit completes.
//!
//! Everything else is as under `px86-pcommit`, whose global commit the design keeps beside the new one. A commit
//! covers the thread's own stores to the queue's ranges, and those of other threads that had performed before the
//! commit could begin: later ones wait outside the queue.

use super::px86::{Durability, Px86};
use super::{Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{Addr, HartId, QueueId, TraceEvent, TraceKind};
use std::collections::BTreeMap;

/// The queue of each address: disjoint ranges by base, each with its end.
#[derive(Default)]
struct Bindings(BTreeMap<u64, (u64, QueueId)>);

impl Bindings {
    fn of(&self, addr: Addr) -> Option<QueueId> {
        let (_, (end, queue)) = self.0.range(..=addr.0).next_back()?;
        (addr.0 < *end).then_some(*queue)
    }
    /// Binds a range; what it overlaps of older ones goes.
    fn bind(&mut self, base: Addr, len: u64, queue: QueueId) {
        let (start, end) = (base.0, base.0.saturating_add(len));
        let overlaps = |(b, (e, _)): &(&u64, &(u64, QueueId))| **b < end && *e > start;
        let old: Vec<_> = self
            .0
            .range(..end)
            .rev()
            .take_while(overlaps)
            .map(|(b, r)| (*b, *r))
            .collect();
        for (b, (e, q)) in old {
            self.0.remove(&b);
            if b < start {
                self.0.insert(b, (start, q));
            }
            if e > end {
                self.0.insert(end, (e, q));
            }
        }
        if len > 0 {
            self.0.insert(start, (end, queue));
        }
    }
}

struct Pending {
    node: NodeId,
    thread: HartId,
    event: usize,
}

/// The rules of per-task committing.
pub(super) struct RangeCommit {
    global: Px86,
    bindings: Bindings,
    pending: Vec<Vec<Pending>>,
    /// Per thread, number of events before its latest event.
    latest: Vec<usize>,
    event: usize,
}

impl RangeCommit {
    pub(super) fn new() -> RangeCommit {
        let global = Px86::new(Durability::Pcommit, false);
        RangeCommit {
            global,
            bindings: Bindings::default(),
            pending: Vec::new(),
            latest: Vec::new(),
            event: 0,
        }
    }
    fn commit(&mut self, thread: HartId, queue: QueueId, space: &mut SpaceBuilder<'_>) {
        let began = *entry(&mut self.latest, thread.index());
        let pending = entry(&mut self.pending, usize::from(queue.0));
        pending.retain(|p| {
            let covered = p.thread == thread || p.event < began;
            if covered {
                space.must(p.node, Axiom::RangeCommit);
            }
            !covered
        });
    }
}

impl Rules for RangeCommit {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        self.event += 1;
        self.global.event(event, space);
        let Some(thread) = event.thread else { return };
        match event.kind {
            TraceKind::Bind { base, len, queue } => self.bindings.bind(base, len, queue),
            TraceKind::CommitQueue(queue) => self.commit(thread, queue, space),
            _ => {}
        }
        if let Some(id) = store_of(event.kind)
            && let Some(queue) = self.bindings.of(space.trace.store(id).addr)
            && let Some(node) = space.node_of(id)
        {
            let event = self.event;
            entry(&mut self.pending, usize::from(queue.0)).push(Pending { node, thread, event });
        }
        *entry(&mut self.latest, thread.index()) = self.event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Stream;

    #[test]
    fn the_newest_binding_of_an_address_decides() {
        let mut rng = Stream::new(1, "bindings");
        for _ in 0..200 {
            let (mut bindings, mut want) = (Bindings::default(), [None; 64]);
            for queue in 0..12 {
                let (base, len) = (rng.below(64), rng.below(20));
                bindings.bind(Addr(base), len, QueueId(queue));
                (base..(base + len).min(64)).for_each(|a| want[a as usize] = Some(QueueId(queue)));
                let got: Vec<_> = (0..64).map(|a| bindings.of(Addr(a))).collect();
                assert_eq!(got, want);
            }
        }
    }
}
