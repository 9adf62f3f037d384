//! Drains and epochs, as the seam asks for them.

use super::MemEvent;
use super::controller::Controller;
use super::drain::Drain;
use super::partition::RegisterWrite;
use super::request::{DrainScope, Epoch};
use super::timed::NEVER;
use fencepost_kernel::{Ps, planted};

impl Controller {
    /// Asks for [`MemEvent::Drained`] with `tag` once the scope is satisfied: at the next `advance` (due at `now`) if
    /// it is already. Writes on their way do not count; where the queue is durable, accepted writes are satisfied.
    pub fn when_drained(&mut self, now: Ps, scope: DrainScope, tag: u64) {
        let at_once = planted!("memory.drain-at-once", "a drain waits for the medium");
        let remaining = match scope {
            _ if at_once => 0,
            DrainScope::AcceptedSoFar(_) if self.accept_is_durable => 0,
            DrainScope::AcceptedSoFar(queue) | DrainScope::Empty(queue) => self.arrived(queue),
        };
        let upto = self.writes.accepted();
        self.drains.push(Drain {
            scope,
            tag,
            upto,
            remaining,
        });
        self.drain_check = self.drain_check.min(now);
        self.act_by(now);
    }
    /// A write of `queue`, `accepted` in this place, is in the medium (or has become part of an older one).
    pub(super) fn count_drains(&mut self, queue: u8, accepted: u64) {
        self.drains_moved = true;
        for d in &mut self.drains {
            let DrainScope::AcceptedSoFar(scope) = d.scope else {
                continue;
            };
            let early = planted!(
                "memory.drain-counts-later-writes",
                "a drain waits for the writes accepted before it"
            );
            let counted = scope.is_none_or(|q| q == queue) && (accepted <= d.upto || early);
            d.remaining = d.remaining.saturating_sub(counted.into());
        }
    }
    fn arrived(&self, queue: Option<u8>) -> u32 {
        let all = 0..self.writes.queues();
        let count = |q| self.writes.arrived(q);
        queue.map_or_else(|| all.map(count).sum(), count)
    }
    /// Reports the drains that are satisfied now, in the order in which they were asked for.
    pub(super) fn answer_drains(&mut self, out: &mut Vec<MemEvent>) {
        (self.drain_check, self.drains_moved) = (NEVER, false);
        let mut i = 0;
        while i < self.drains.len() {
            let d = self.drains[i];
            let satisfied = match d.scope {
                DrainScope::AcceptedSoFar(_) => d.remaining == 0,
                DrainScope::Empty(queue) => self.arrived(queue) == 0,
            };
            if satisfied {
                out.push(MemEvent::Drained { tag: d.tag });
                self.drains.remove(i);
            } else {
                i += 1;
            }
        }
    }
    /// Closes the open epoch of a queue if any write joined it (on its way, queued or durable); the epoch now open.
    pub fn end_epoch(&mut self, queue: u8) -> Epoch {
        self.writes.end_epoch(queue)
    }
    /// The oldest epoch of a queue that holds writes that are not durable; the open one when all are.
    pub fn active_epoch(&self, queue: u8) -> Epoch {
        self.writes.active_epoch(queue)
    }
    /// The epoch open for writes: the latest that was opened, or that a write named.
    pub fn open_epoch(&self, queue: u8) -> Epoch {
        self.writes.open_epoch(queue)
    }
    /// Opens or closes a queue for new writes; writes it holds, or on their way, are not affected. Who was refused by a closed
    /// queue hears of it ([`MemEvent::SlotFree`]) when it opens.
    pub fn gate_queue(&mut self, now: Ps, queue: u8, open: bool) {
        self.writes.gate(queue, open);
        if open && self.write_refused[usize::from(queue)] {
            self.opened.push(queue);
        }
        self.queue_due_by(now);
    }
    /// Whether a queue holds no write, none on its way to it either; what went on to the module does not count.
    pub fn queue_is_empty(&self, queue: u8) -> bool {
        self.writes.used(queue) == 0
    }
    /// Writes or clears an address-range register, here and, behind the writes on the link, in the module; false where that
    /// cannot be done.
    pub fn write_register(&mut self, now: Ps, write: RegisterWrite) -> bool {
        let done = self.ranges.as_mut().is_some_and(|r| r.write(write));
        let told = done
            && !planted!(
                "ranges.module-not-told",
                "the module has the same ranges as the controller"
            );
        if told {
            self.tell_module(now, write);
        }
        done
    }
}
