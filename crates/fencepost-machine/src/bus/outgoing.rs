//! Writes of the machine's own on their way to memory: admission, then the controller.

use super::OutgoingWrite;
use crate::machine::{Machine, Side, UnderWay};
use crate::memory::MemEvent;
use crate::seam::{Cause, Write, WriteId};
use fencepost_kernel::{HartId, PersistRecord, Ps};

impl Machine {
    /// Queues a write of the machine's own for admission.
    pub(crate) fn send_out(&mut self, side: Side, write: Write, notify: Vec<(HartId, u64)>) {
        let since = self.sys.now();
        self.sys.port(side).outgoing.push(OutgoingWrite {
            write,
            notify,
            since,
            refused: None,
        });
        self.try_outgoing(side);
    }

    /// Admits what can be admitted, oldest first, and writes to one line in order.
    pub(crate) fn try_outgoing(&mut self, side: Side) {
        let now = self.sys.now();
        let mut i = 0;
        while i < self.sys.port(side).outgoing.len() {
            let write = self.sys.port(side).outgoing[i].write;
            let behind = self.sys.port(side).outgoing[..i]
                .iter()
                .any(|w| w.write.line == write.line);
            if behind {
                i += 1;
                continue;
            }
            let id = self.sys.new_write_id();
            let port = self.sys.port(side);
            if port.controller.push_write(now, id, write).is_err() {
                port.outgoing[i].refused = Some(Cause::WriteQueueFull);
                i += 1;
                continue;
            }
            let out = port.outgoing.remove(i);
            // Also without anyone to tell yet: a clean that finds the line on its way completes when it arrives.
            port.under_way.push(UnderWay {
                id,
                line: write.line,
                notify: out.notify,
            });
        }
        self.sys.wake_memory(side);
        for queue in std::mem::take(&mut self.sys.port(side).line_refused) {
            self.design.write_room(&mut self.sys, queue);
        }
        if !self.sys.bus.throttled.is_empty() {
            self.unthrottle();
        }
    }

    /// A memory controller makes progress.
    pub(crate) fn memory(&mut self, side: Side) {
        let now = self.sys.now();
        let mut events = std::mem::take(&mut self.mem_events);
        let port = self.sys.port(side);
        port.scheduled = None;
        port.controller.advance(now, None, &mut events);
        if side == Side::Pm {
            for e in &events {
                if let MemEvent::Durable { write, .. } = e {
                    self.sys.landing.push((write.line, write.data.words));
                }
            }
        }
        for e in &events {
            self.memory_event(side, e);
        }
        events.clear();
        self.sys.landing.clear();
        self.mem_events = events;
        self.sys.wake_memory(side);
    }

    fn memory_event(&mut self, side: Side, event: &MemEvent) {
        match *event {
            MemEvent::ReadDone { id, .. } => self.read_done(side, id.0),
            MemEvent::Accepted { id, ref write } => self.accepted(side, id, write),
            MemEvent::Issued { .. } | MemEvent::ModuleAccepted { .. } => {}
            MemEvent::Durable { id, ref write, record } => self.durable(id, write, record),
            MemEvent::SlotFree { queue } => {
                self.try_outgoing(side);
                if side == Side::Pm {
                    self.design.write_room(&mut self.sys, queue);
                }
            }
            MemEvent::ReadSlotFree => {
                for what in std::mem::take(&mut self.sys.port(side).waiting_reads) {
                    self.send_read(side, what);
                }
            }
            MemEvent::Drained { tag } => self.design.drained(&mut self.sys, tag),
        }
    }

    fn accepted(&mut self, side: Side, id: WriteId, write: &Write) {
        self.sys.counters.memory_writes[side as usize] += 1;
        if side == Side::Pm {
            if let Some(r) = &mut self.sys.recorder {
                r.accepted(write.line, &write.data);
            }
            if self.hooks.writes {
                self.design.accepted(&mut self.sys, id, write);
            }
        }
        let port = self.sys.port(side);
        let Some(i) = port.under_way.iter().position(|w| w.id == id) else {
            return;
        };
        let notify = port.under_way.swap_remove(i).notify;
        self.cleaned_now(&notify, Some(&write.data));
    }

    fn durable(&mut self, id: WriteId, write: &Write, record: bool) {
        if write.cause == fencepost_kernel::WriteCause::LogPart {
            self.sys.parts.insert(write.line, write.data);
        } else if record {
            self.sys.make_durable(PersistRecord {
                time: self.sys.now(),
                line: write.line,
                data: write.data,
                cause: write.cause,
            });
        }
        if self.hooks.writes {
            self.design.durable(&mut self.sys, id, write);
        }
    }

    /// Whether so many evictions wait for memory that new requests must hold back.
    pub(crate) fn write_path_full(&self) -> bool {
        let limit = self.sys.spec.llc.writeback_buffer as usize;
        self.sys.pm.outgoing.len() >= limit
            || self.sys.dram.outgoing.len() >= limit
            || self.sys.llc.write_back.len() >= limit
    }

    /// Lets requests that were held back ask again.
    pub(crate) fn unthrottle(&mut self) {
        while !self.write_path_full() {
            let Some(b) = self.sys.bus.throttled.pop_front() else {
                return;
            };
            self.regrant(b);
            // One at a time would be too slow; every regrant checks again at its own event.
        }
    }

    /// Time a clean's line needs from the cache that held it to memory.
    pub(crate) fn clean_path(&self, from_llc: bool) -> Ps {
        let bus = &self.sys.spec.bus;
        if from_llc {
            self.sys.spec.llc.latency + bus.to_memory
        } else {
            bus.snoop + bus.transfer + bus.to_memory
        }
    }
}
