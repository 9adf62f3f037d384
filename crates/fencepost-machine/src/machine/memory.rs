//! What the memory controllers report goes where it belongs.

use super::compose::Machine;
use crate::hierarchy::{Outside as _, Side};
use crate::memory::MemEvent;
use crate::seam::{Write, WriteId};
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::{PersistRecord, WriteCause};

impl Machine {
    /// A memory controller makes progress.
    pub(super) fn memory(&mut self, side: Side) {
        let now = self.rest.sys.now();
        let port = self.rest.sys.port(side);
        port.scheduled = None;
        port.controller.advance(now, &mut self.mem_events);
        if !self.mem_events.is_empty() {
            self.memory_events(side);
        }
        self.rest.sys.wake_memory(side);
        self.charge_loads();
    }

    /// What a controller has reported goes where it belongs.
    #[inline(never)] // half of its steps report nothing
    fn memory_events(&mut self, side: Side) {
        let mut events = std::mem::take(&mut self.mem_events);
        // A report by itself is worked off before anyone could look.
        if side == Side::Pm && events.len() > 1 {
            for e in &events {
                if let MemEvent::Durable { write, .. } = e {
                    self.rest.sys.landing.push((write.line, write.data.words));
                }
            }
        }
        for e in &events {
            self.memory_event(side, e);
        }
        events.clear();
        self.rest.sys.landing.clear();
        self.mem_events = events;
    }

    fn memory_event(&mut self, side: Side, event: &MemEvent) {
        match *event {
            MemEvent::ReadDone { id, .. } => {
                let (hier, mut out) = self.rest.split();
                hier.read_done(&mut out, side, id.0);
            }
            MemEvent::Accepted { id, ref write } => self.accepted(side, id, write),
            MemEvent::Issued { id } => {
                self.note(side, LedgerKind::Issued { id: id.0 });
                if side == Side::Pm && self.rest.hooks.writes {
                    let (design, mut cx) = self.rest.ask();
                    design.issued(&mut cx, id);
                }
            }
            MemEvent::ModuleAccepted { .. } => {}
            MemEvent::Durable { id, ref write, record } => self.durable(id, write, record),
            MemEvent::SlotFree { queue } => {
                let (hier, mut out) = self.rest.split();
                hier.try_outgoing(&mut out, side);
                if side == Side::Pm {
                    out.queue_freed(hier, queue);
                }
            }
            MemEvent::ReadSlotFree => {
                let (hier, mut out) = self.rest.split();
                hier.retry_reads(&mut out, side);
            }
            MemEvent::FlowChanged => {
                let (design, mut cx) = self.rest.ask();
                design.flow_changed(&mut cx);
            }
            MemEvent::Drained { tag } => {
                let (design, mut cx) = self.rest.ask();
                design.drained(&mut cx, tag);
            }
        }
    }

    fn accepted(&mut self, side: Side, id: WriteId, write: &Write) {
        if side == Side::Pm {
            if let Some(r) = self.rest.sys.recorder() {
                r.accepted(write.line, &write.data);
            }
            let Write {
                line,
                cause,
                queue,
                epoch,
                ..
            } = *write;
            let accepted = LedgerKind::Accepted {
                id: id.0,
                line,
                cause,
                queue,
                epoch: epoch.map(|e| e.0),
            };
            self.note(side, accepted);
            if self.rest.hooks.writes {
                let (design, mut cx) = self.rest.ask();
                design.accepted(&mut cx, id, write);
            }
        }
        let (hier, mut out) = self.rest.split();
        hier.write_arrived(&mut out, side, id, &write.data);
    }

    /// Notes what happens to a write of persistent memory.
    fn note(&mut self, side: Side, kind: LedgerKind) {
        if let Some(r) = self.rest.sys.recorder.as_mut().filter(|_| side == Side::Pm) {
            r.note(kind);
        }
    }

    fn durable(&mut self, id: WriteId, write: &Write, record: bool) {
        self.note(Side::Pm, LedgerKind::Durable { id: id.0, record });
        if write.cause == WriteCause::LogPart {
            self.rest.sys.parts.insert(write.line, write.data);
        } else if record {
            self.rest.sys.make_durable(PersistRecord {
                time: self.rest.sys.now(),
                line: write.line,
                data: write.data,
                cause: write.cause,
            });
        }
        if self.rest.hooks.writes {
            let (design, mut cx) = self.rest.ask();
            design.durable(&mut cx, id, write);
        }
    }
}
