//! Per-task committing: a commit of a write sub-queue makes durable what the controller had accepted into it.
//!
//! Stores reach the controller as under `px86-pcommit`: flushed and fenced, or by themselves. There is no `pcommit`; a
//! [`CommitQueue`](TraceKind::CommitQueue) makes the stores durable that had reached the controller at the thread's last fence,
//! by whatever thread they were made, and whose line was bound to the queue from the store on to the commit. A line in no
//! range belongs to the default queue.

use super::px86::{Durability, Px86};
use super::{Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{Addr, Fence, HwThread, QueueId, Span, TraceEvent, TraceKind};

/// A range, which lines it holds, and how often it is bound.
struct Range {
    span: Span,
    bound: Binding,
    times: u32,
}

/// A binding: its queue, and a number that tells it from later ones of the same range.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Binding {
    queue: QueueId,
    number: u32,
}

/// What the address-range registers hold.
#[derive(Default)]
struct Bindings {
    ranges: Vec<Range>,
    number: u32,
}

impl Bindings {
    /// The binding of an address: of the oldest range that holds its line.
    fn of(&self, addr: Addr) -> Binding {
        let line = addr.line().0;
        let holds = |r: &&Range| {
            let (first, count) = r.span.lines();
            line.wrapping_sub(first.0) < count
        };
        let outside = Binding {
            queue: QueueId::DEFAULT,
            number: 0,
        };
        self.ranges.iter().find(holds).map_or(outside, |r| r.bound)
    }
    /// A range is bound, or once more.
    fn bind(&mut self, span: Span, queue: QueueId) {
        if queue == QueueId::DEFAULT {
            return;
        }
        self.number += 1;
        let number = self.number;
        match self.ranges.iter_mut().find(|r| r.span == span) {
            Some(range) => range.times += 1,
            None => self.ranges.push(Range {
                span,
                bound: Binding { queue, number },
                times: 1,
            }),
        }
    }
    /// One binding of a range is undone.
    fn release(&mut self, span: Span) {
        if let Some(range) = self.ranges.iter_mut().find(|r| r.span == span) {
            range.times -= 1;
        }
        self.ranges.retain(|r| r.times > 0);
    }
}

/// A store that reached the controller, by its place in that order, and is not known to be durable.
struct Accepted {
    place: usize,
    node: NodeId,
}

/// The rules of per-task committing.
pub(super) struct RangeCommit {
    global: Px86,
    bindings: Bindings,
    /// By node: the binding of its line when it was stored, and where.
    stored: Vec<Option<(Binding, Addr)>>,
    /// How many accepted stores are in `waiting`, or were.
    sorted: usize,
    /// By queue: accepted and not committed.
    waiting: Vec<Vec<Accepted>>,
}

impl RangeCommit {
    pub(super) fn new() -> RangeCommit {
        RangeCommit {
            global: Px86::new(Durability::Pcommit, false),
            bindings: Bindings::default(),
            stored: Vec::new(),
            sorted: 0,
            waiting: Vec::new(),
        }
    }
    fn commit(&mut self, thread: HwThread, queue: QueueId, space: &mut SpaceBuilder<'_>) {
        let accepted = self.global.accepted_at_fence(thread);
        for (place, node) in accepted.iter().enumerate().skip(self.sorted) {
            if let Some((bound, _)) = self.stored.get(node.index()).copied().flatten() {
                let waiting = entry(&mut self.waiting, usize::from(bound.queue.0));
                let node = *node;
                waiting.push(Accepted { place, node });
            }
        }
        let covered = accepted.len();
        self.sorted = self.sorted.max(covered);
        let (stored, bindings) = (&self.stored, &self.bindings);
        let still = |a: &Accepted| stored[a.node.index()].is_some_and(|(bound, at)| bindings.of(at) == bound);
        entry(&mut self.waiting, usize::from(queue.0)).retain(|a| {
            if a.place < covered && still(a) {
                space.must(a.node, Axiom::RangeCommit);
            }
            a.place >= covered && still(a)
        });
    }
}

impl Rules for RangeCommit {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        if event.kind == TraceKind::Fence(Fence::Pcommit) {
            return;
        }
        self.global.event(event, space);
        if let Some(id) = store_of(event.kind)
            && let Some(node) = space.node_of(id)
        {
            let at = space.trace.store(id).addr;
            *entry(&mut self.stored, node.index()) = Some((self.bindings.of(at), at));
        }
        let Some(thread) = event.thread else { return };
        match event.kind {
            TraceKind::Bind { base, len, queue } => self.bindings.bind(Span { at: base, len }, queue),
            TraceKind::Release { base, len } => self.bindings.release(Span { at: base, len }),
            TraceKind::CommitQueue(queue) => self.commit(thread, queue, space),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_its_range_until_the_last_release() {
        let span = |at, len| Span { at: Addr(at), len };
        let mut b = Bindings::default();
        // Bytes 100 to 139 lie on lines 1 and 2.
        b.bind(span(100, 40), QueueId(3));
        b.bind(span(100, 40), QueueId(3));
        b.bind(span(640, 64), QueueId::DEFAULT);
        let queues = |b: &Bindings| [0, 64, 191, 192, 640].map(|a| b.of(Addr(a)).queue.0);
        assert_eq!(queues(&b), [0, 3, 3, 0, 0]);
        let first = b.of(Addr(64));
        b.release(span(100, 40));
        b.release(span(64, 128));
        assert_eq!(b.of(Addr(64)), first);
        b.release(span(100, 40));
        assert_eq!(queues(&b), [0; 5]);
        b.bind(span(100, 40), QueueId(3));
        assert_ne!(b.of(Addr(64)), first, "bound anew");
    }
}
