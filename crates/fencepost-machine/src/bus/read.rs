//! Reads of memory: through the shared cache's miss registers to a controller and back.

use crate::machine::{Ev, Machine, ReadFor, Side};
use crate::seam::Cause;
use fencepost_kernel::{CoreId, HartId, LineAddr, LineData};

impl Machine {
    /// The data of a miss comes from the design if it holds the line, else from memory.
    pub(crate) fn below_caches(&mut self, core: CoreId, miss: u8, by: HartId, line: LineAddr) {
        if self.hooks.reads && self.design.read_missed(&mut self.sys, by, line) {
            let at = self.sys.now() + self.sys.spec.bus.snoop + self.sys.spec.bus.transfer;
            self.sys.events.schedule(at, Ev::Fill(core, miss));
        } else {
            self.read_memory(core, miss, line);
        }
    }
    /// Reads that waited for a miss register look again for their data: the design may have taken the line since.
    fn read_starved(&mut self) {
        while self.sys.bus.reads < self.sys.spec.llc.mshrs {
            let Some((core, miss)) = self.sys.bus.starved_reads.pop_front() else {
                return;
            };
            let m = self.sys.cores[core.index()].misses[usize::from(miss)].as_ref();
            let (by, line) = m.map(|m| (m.waiters[0].hart(), m.line)).expect("open");
            self.below_caches(core, miss, by, line);
        }
    }

    fn read_memory(&mut self, core: CoreId, miss: u8, line: LineAddr) {
        self.charge_miss(core, miss, Cause::LoadMemory);
        if self.sys.bus.reads >= self.sys.spec.llc.mshrs {
            self.sys.bus.starved_reads.push_back((core, miss));
            return;
        }
        self.sys.bus.reads += 1;
        let from = match self.hooks.reads {
            true => self.design.read_from(&mut self.sys, line),
            false => line,
        };
        if let Some(m) = self.sys.cores[core.index()].misses[usize::from(miss)].as_mut() {
            m.from = Some(from);
        }
        self.check_memory_is_current(line, from);
        let at = self.sys.now() + self.sys.spec.llc.latency + self.sys.spec.bus.to_memory;
        self.sys
            .events
            .schedule(at, Ev::ReadSend(Side::of(line), ReadFor::Miss(core, miss)));
    }

    /// The bytes memory would return must be the newest; anything else is a design that lost a write.
    fn check_memory_is_current(&mut self, line: LineAddr, from: LineAddr) {
        if !line.is_persistent() {
            return;
        }
        let port = &self.sys.pm;
        let waiting = port
            .outgoing
            .iter()
            .rfind(|w| w.write.line == from)
            .map(|w| w.write.data.words);
        let queued = port.controller.forward(from).map(|d| d.words);
        let part = self.sys.parts.get(&from).map(|d| d.words);
        let landing = self.sys.landing.iter().rfind(|l| l.0 == from).map(|l| l.1);
        let found = waiting.or(queued).or(landing).or(part);
        let found = found.unwrap_or_else(|| self.sys.durable.line_words(from));
        if found != self.sys.coherent.line_words(line) {
            self.sys.counters.stale_reads += 1;
        }
    }

    /// Sends a read to its controller, or queues it for room there.
    pub(crate) fn send_read(&mut self, side: Side, what: ReadFor) {
        let line = match what {
            ReadFor::Miss(core, miss) => {
                let m = self.sys.cores[core.index()].misses[usize::from(miss)].as_ref();
                let m = m.expect("a reading miss is open");
                m.from.unwrap_or(m.line)
            }
            ReadFor::Design(slot) => {
                let (line, _) = self.sys.design_reads[slot as usize].expect("a read under way is known");
                line
            }
        };
        let now = self.sys.now();
        let port = self.sys.port(side);
        let id = port.reads.iter().position(Option::is_none).unwrap_or_else(|| {
            port.reads.push(None);
            port.reads.len() - 1
        });
        match port.controller.push_read(now, crate::memory::ReadId(id as u64), line) {
            Ok(()) => port.reads[id] = Some(what),
            Err(_) => port.waiting_reads.push_back(what),
        }
        self.sys.wake_memory(side);
    }

    /// A read's data left the controller.
    pub(crate) fn read_done(&mut self, side: Side, id: u64) {
        let back = self.sys.now() + self.sys.spec.bus.to_memory;
        let Some(what) = self.sys.port(side).reads[id as usize].take() else {
            return;
        };
        match what {
            ReadFor::Miss(core, miss) => {
                self.sys.bus.reads -= 1;
                self.sys.counters.memory_reads[side as usize] += 1;
                self.sys.events.schedule(back, Ev::Fill(core, miss));
                let m = self.sys.cores[core.index()].misses[usize::from(miss)]
                    .as_ref()
                    .expect("open");
                let line = m.line;
                self.insert_llc(line, false, 0);
                self.read_starved();
            }
            ReadFor::Design(slot) => {
                let (line, _) = self.sys.design_reads[slot as usize].expect("a read under way is known");
                let data = self.sys.durable.line(line);
                self.design_read_done(slot, &data);
            }
        }
        if let Some(next) = self.sys.port(side).waiting_reads.pop_front() {
            self.send_read(side, next);
        }
    }

    fn design_read_done(&mut self, slot: u32, data: &LineData) {
        if let Some((line, tag)) = self.sys.design_reads[slot as usize].take() {
            self.design.read_done(&mut self.sys, tag, line, data);
        }
    }
}
