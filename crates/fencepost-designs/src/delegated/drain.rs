//! Draining: one entry per slot of the shared path, and the epoch rule.

use super::buffer::Kind;
use super::front::Front;
use super::mechanism::{Delegated, QUEUE};
use super::params::{EpochRule, Fault};
use super::port::PortId;
use crate::persist_path::note_sent;
use fencepost_kernel::{Ps, WriteCause};
use fencepost_machine::seam::{Cx, Epoch, Write};

impl Delegated {
    /// Buffers whose oldest entry can drain, a bit each: a FENCE takes no entry of the controller.
    fn ready(&self, gathers: bool) -> u64 {
        let Front { tracker, path, .. } = &self.front;
        let (free, fences) = (tracker.free_heads(), tracker.fence_heads());
        let persists = match path.refuses(QUEUE) {
            true => 0,
            false => free & !fences,
        };
        match gathers {
            false => persists | free & fences,
            true if self.leaving & free != 0 => self.leaving & free,
            // Refused persists are persists still: no FENCE leaves before them.
            true if free & !fences != 0 => persists,
            true => free & fences,
        }
    }
    /// Whether FENCEs wait for persists of other buffers; where the queue keeps no epochs there is nothing to gather.
    fn gathers(&self, cx: &dyn Cx) -> bool {
        self.params.epoch_rule == EpochRule::Gather && !cx.durable_on_accept()
    }
    /// Asks for a slot on the path, if something can drain and none was asked for.
    #[inline]
    pub(super) fn schedule(&mut self, cx: &mut dyn Cx) {
        if !self.front.path.is_asked() && self.ready(self.gathers(cx)) != 0 {
            self.front.ask_for_slot(cx);
        }
    }
    /// A slot of the path: one entry drains.
    pub(super) fn slot(&mut self, cx: &mut dyn Cx) {
        self.front.path.slot_came();
        let gathers = self.gathers(cx);
        while let Some(port) = self.front.pick(self.ready(gathers)) {
            if gathers && self.leaving == 0 {
                self.leaving = self.front.tracker.free_heads() & self.front.tracker.fence_heads() & self.ready(true);
            }
            self.leaving &= !(1 << port.0);
            if self.drain_head(cx, port) {
                self.front.took_slot(cx, port);
                self.front.update_block(cx, port);
                break;
            }
        }
        self.schedule(cx);
    }
    /// Drains the oldest entry of a buffer; false if the controller refused it.
    fn drain_head(&mut self, cx: &mut dyn Cx, port: PortId) -> bool {
        let Some(head) = self.front.tracker.ports[port.index()].entries.front() else {
            return false;
        };
        let (seq, earliest, after_fence) = (head.seq, head.deps.earliest, head.deps.after_fence);
        let raise = match &head.kind {
            Kind::Persist {
                line, data, hw_thread, ..
            } => {
                let epoch = self.persist_epoch(cx, port, earliest);
                let write = Write {
                    line: *line,
                    data: *data,
                    queue: QUEUE,
                    epoch,
                    cause: WriteCause::Persist,
                    hw_thread: *hw_thread,
                    delay: Ps::ZERO,
                };
                let Some(id) = self.front.path.send(cx, write) else {
                    return false;
                };
                note_sent(cx, (port.0, seq.0), id);
                self.front.tracker.merge.as_mut().zip(epoch).map(|(merge, e)| {
                    merge.persisted(port, earliest, e);
                    (e, Epoch(e.0 + 1))
                })
            }
            Kind::Fence { sets } => {
                let sets = *sets;
                self.close_epoch(cx, port, (earliest, after_fence), sets)
            }
        };
        self.front.drop_head(cx, port, raise);
        self.front.fence_left(cx, port, seq, false);
        true
    }
    fn persist_epoch(&self, cx: &dyn Cx, port: PortId, earliest: Epoch) -> Option<Epoch> {
        if cx.durable_on_accept() {
            return None;
        }
        Some(match &self.front.tracker.merge {
            None => cx.open_epoch(QUEUE),
            Some(merge) => merge.persist_epoch(port, earliest, cx.active_epoch(QUEUE)),
        })
    }
    /// A FENCE drains: the epoch rule. Returns what its dependents learn.
    fn close_epoch(
        &mut self,
        cx: &mut dyn Cx,
        port: PortId,
        raised: (Epoch, Epoch),
        sets: usize,
    ) -> Option<(Epoch, Epoch)> {
        if cx.durable_on_accept() || self.params.fault == Fault::EpochBoundarySkipped {
            return None;
        }
        let tracker = &mut self.front.tracker;
        match &mut tracker.merge {
            None => {
                cx.end_epoch(QUEUE);
                None
            }
            Some(merge) => {
                let active = cx.active_epoch(QUEUE);
                let sets = &tracker.ports[port.index()].sets[sets];
                let pointer = merge.fence(port, raised, active, sets);
                Some((pointer, pointer))
            }
        }
    }
}
