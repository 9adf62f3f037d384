//! Per-task committing: a range bound to a write sub-queue becomes durable when the queue's commit completes.
//!
//! Everything else is as under `px86-pcommit`, whose global commit the design keeps beside the new one. A commit
//! covers the thread's own stores to the queue's ranges, and those of other threads that had performed before the
//! commit could begin: later ones wait outside the queue.

use super::px86::{Durability, Px86};
use super::{Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{Addr, HartId, QueueId, TraceEvent, TraceKind};

struct Range {
    base: Addr,
    len: u64,
    queue: QueueId,
}

struct Pending {
    node: NodeId,
    thread: HartId,
    event: usize,
}

/// The rules of per-task committing.
pub(super) struct RangeCommit {
    global: Px86,
    /// Newest binding first decides.
    ranges: Vec<Range>,
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
            ranges: Vec::new(),
            pending: Vec::new(),
            latest: Vec::new(),
            event: 0,
        }
    }
    fn queue_of(&self, addr: Addr) -> Option<QueueId> {
        let covers = |r: &&Range| addr.0 >= r.base.0 && addr.0 - r.base.0 < r.len;
        self.ranges.iter().rev().find(covers).map(|r| r.queue)
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
            TraceKind::Bind { base, len, queue } => self.ranges.push(Range { base, len, queue }),
            TraceKind::CommitQueue(queue) => self.commit(thread, queue, space),
            _ => {}
        }
        if let Some(id) = store_of(event.kind)
            && let Some(queue) = self.queue_of(space.trace.store(id).addr)
            && let Some(node) = space.node_of(id)
        {
            let event = self.event;
            entry(&mut self.pending, usize::from(queue.0)).push(Pending { node, thread, event });
        }
        *entry(&mut self.latest, thread.index()) = self.event;
    }
}
