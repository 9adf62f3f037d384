//! From the persist buffers to the BROI entries, and back when a request is durable.

use super::mechanism::Broi;
use super::params::{BroiFault, Release};
use crate::delegated::{Kind, PortId};
use crate::persist_path::note_sent;
use fencepost_kernel::{Ps, WriteCause};
use fencepost_machine::seam::{Cx, Write, WriteId};

impl Broi {
    /// Asks for a slot on the path, if something can be sent and none was asked for.
    #[inline]
    pub(super) fn schedule(&mut self, cx: &mut dyn Cx) {
        if !self.front.path.is_asked() && self.ready() != 0 {
            self.front.ask_for_slot(cx);
        }
    }
    /// A slot of the path: one entry is sent.
    pub(super) fn slot(&mut self, cx: &mut dyn Cx) {
        self.front.path.slot_came();
        while let Some(port) = self.front.pick(self.ready()) {
            if self.send(cx, port) {
                self.front.took_slot(cx, port);
                self.free(cx, port);
                break;
            }
        }
        self.schedule(cx);
    }
    /// Sends the next entry of a buffer, which keeps it until it is durable; false if the controller refused it. A FENCE becomes a
    /// barrier of the BROI entry.
    fn send(&mut self, cx: &mut dyn Cx, port: PortId) -> bool {
        let Some(next) = self.front.tracker.next(port) else {
            return false;
        };
        let entry = &mut self.outgoing[port.index()];
        match &next.kind {
            Kind::Persist {
                line, data, hw_thread, ..
            } => {
                let write = Write {
                    line: *line,
                    data: *data,
                    queue: port.0,
                    epoch: (!cx.durable_on_accept()).then_some(entry.set()),
                    cause: WriteCause::Persist,
                    hw_thread: *hw_thread,
                    delay: Ps::ZERO,
                };
                let Some(id) = self.front.path.send(cx, write) else {
                    return false;
                };
                entry.persist(id);
                note_sent(cx, (port.0, next.seq.0), id);
            }
            Kind::Fence { .. } => entry.fence(),
        }
        self.front.tracker.sent(port);
        self.update_free(port.index());
        true
    }
    /// A request is complete: its unit is free, and so is whatever is complete at the head of its persist buffer.
    pub(super) fn complete(&mut self, cx: &mut dyn Cx, port: usize, id: WriteId) {
        self.outgoing[port].complete(id);
        self.update_free(port);
        self.free(cx, PortId(port as u8));
        self.schedule(cx);
    }
    /// Frees the oldest entries of a buffer that are complete, in order, and releases what depends on them.
    fn free(&mut self, cx: &mut dyn Cx, port: PortId) {
        let early = self.params.fault.or_planted() == BroiFault::ReleasedWhenSent;
        while let Some(is_fence) = self.outgoing[port.index()].freed(early) {
            let Some(oldest) = self.front.tracker.ports[port.index()].entries.front() else {
                break;
            };
            let seq = oldest.seq;
            self.front.drop_head(cx, port, None);
            if is_fence {
                let durable = self.params.release == Release::Media;
                self.front.fence_left(cx, port, seq, durable);
            }
        }
        self.front.update_block(cx, port);
    }
}
