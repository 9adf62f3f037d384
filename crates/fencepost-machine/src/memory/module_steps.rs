//! What the controller does about its module: sending writes on, completions, queries and the volatile cache below.

use super::MemEvent;
use super::controller::Controller;
use super::flow::{Entries, FlowControl};
use super::module::{Crossing, Module, ModuleSpec};
use super::partition::RegisterWrite;
use super::spec::SpecError;
use super::timed::{NEVER, Timed};
use super::writes::Slot;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Ps, planted};
use std::collections::VecDeque;

impl Controller {
    /// Puts a module between this controller, still unused, and its medium.
    pub fn with_module(mut self, spec: &ModuleSpec) -> Result<Controller, SpecError> {
        let queues = u16::from(self.writes.queues());
        if spec.entries == 0 {
            return Ok(self);
        }
        super::spec::range("entries", spec.entries.into(), queues.into(), 4096)?;
        super::spec::range("transfer", spec.transfer.0, 0, 1_000_000_000_000)?;
        super::spec::range("slot", spec.slot.0, 0, 1_000_000_000_000)?;
        let cache_lines = spec.dram_cache.0 / LINE_BYTES;
        super::spec::range("dram_cache", spec.dram_cache.0, 0, 1 << 36)?;
        let volatile = !planted!(
            "module.cache-is-durable",
            "what a cache below the controller holds is lost when power fails"
        );
        if cache_lines > 0 && volatile {
            self.accept_is_durable = false;
            self.writes.durable_in_medium_only();
        }
        self.module = Some(Module {
            entries: spec.entries,
            entries_each: spec.entries / queues,
            transfer: spec.transfer,
            slot: spec.slot,
            ranges: self.ranges.clone(),
            queue_of: Vec::new(),
            cache_lines: cache_lines as usize,
            used: vec![0; usize::from(queues)],
            flow: Box::new(Entries::new(queues as u8, spec.entries / queues)),
            notices: Timed::with_capacity(16),
            waiting: Vec::with_capacity(64),
            link_free: Ps::ZERO,
            wake: NEVER,
            ask: NEVER,
            crossing: Timed::with_capacity(16),
            parking: VecDeque::new(),
            parked: VecDeque::new(),
            displaced: Vec::new(),
            displaced_now: 0,
            flushing: false,
        });
        Ok(self)
    }
    /// Has the design's own flow control decide when writes leave for the module; for a controller still unused. Without
    /// a module it has nothing to decide.
    pub fn with_flow_control(mut self, flow: Box<dyn FlowControl>) -> Controller {
        if let Some(m) = &mut self.module {
            m.flow = flow;
        }
        self
    }
    /// Free entries of the module for a queue's writes; `None` without a module.
    pub fn module_slots(&self, queue: u8) -> Option<u16> {
        let m = self.module.as_ref()?;
        Some(m.entries_each.saturating_sub(m.used[usize::from(queue)]))
    }
    /// Lines in the module's cache that the medium does not have.
    pub fn parked(&self) -> usize {
        self.module.as_ref().map_or(0, |m| m.parked.len())
    }
    /// Orderly shutdown: writes every parked line to the medium, including those parked until that is done.
    pub fn flush_module(&mut self, now: Ps) {
        if let Some(m) = &mut self.module {
            m.flushing = true;
            self.settle_cache(now);
            self.look_ahead();
        }
    }

    /// What the module does at `now`, before the channels issue: writes cross the link and leave the controller.
    pub(super) fn run_module(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        while let Some(arrived) = self.module.as_mut().and_then(|m| m.crossing.due(now)) {
            match arrived {
                Crossing::Write(slot) => self.reach_module(now, slot, out),
                Crossing::Register(write) => {
                    let ranges = self.module.as_mut().and_then(|m| m.ranges.as_mut());
                    ranges.map(|r| r.write(write));
                }
            }
        }
        self.hear_notices(now, out);
        self.send_next(now, out);
        self.query_module(now);
    }
    /// The first write that may leave for the module does, if the link is free.
    fn send_next(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        let Some(m) = self.module.as_mut().filter(|m| m.wake <= now) else {
            return;
        };
        m.wake = NEVER;
        if m.link_free > now {
            m.wake = m.link_free;
            return;
        }
        if m.used.iter().sum::<u16>() >= m.entries {
            return;
        }
        let (m, writes) = (&*m, &self.writes);
        // Queues of which none may leave, a bit each: of many waiting writes most are of the same few queues.
        let mut closed = [0u64; 4];
        let may_leave = |slot: &Slot| {
            let queue = writes.write(*slot).queue;
            let (word, bit) = (usize::from(queue / 64), 1 << (queue % 64));
            if closed[word] & bit != 0 {
                return false;
            }
            if !m.flow.may_send(queue) {
                closed[word] |= bit;
                return false;
            }
            writes.may_leave(*slot)
        };
        let Some(index) = m.waiting.iter().position(may_leave) else {
            return;
        };
        self.leave_controller(now, index, out);
    }
    fn leave_controller(&mut self, now: Ps, index: usize, out: &mut Vec<MemEvent>) {
        let Some(m) = &mut self.module else {
            return;
        };
        let slot = m.waiting.remove(index);
        let queue = self.writes.write(slot).queue;
        m.used[usize::from(queue)] += 1;
        m.flow.sent(queue);
        m.set_displaced(slot, false);
        m.crossing.insert(now + m.transfer, Crossing::Write(slot));
        m.link_free = now + m.slot;
        m.look(m.link_free);
        self.stats.module_writes += 1;
        self.writes.leave(slot);
        self.slot_free(queue, out);
        self.follow_fill(now, queue);
        self.follow_epochs(now);
    }
    /// A write is in the module: in its queue for the medium, or about to be parked.
    fn reach_module(&mut self, now: Ps, slot: Slot, out: &mut Vec<MemEvent>) {
        let (id, write) = (self.writes.id(slot), *self.writes.write(slot));
        out.push(MemEvent::ModuleAccepted { id, write });
        let Some(m) = &mut self.module else { return };
        match m.match_queue(slot, &write) {
            0 if m.cache_lines > 0 => {
                m.parking.push_back(slot);
                self.settle_cache(now);
            }
            _ => {
                // A write that passes the cache by must not overtake a parked one to its line.
                self.send_to_medium(now, slot);
                if let Some(older) = self.writes.older(slot).filter(|o| self.writes.is_parked(*o)) {
                    self.displace(now, older);
                }
            }
        }
    }
    /// Parks what waits for it, displacing the oldest lines where no line is free.
    fn settle_cache(&mut self, now: Ps) {
        loop {
            let Some(m) = &mut self.module else {
                return;
            };
            let next = m.parking.front().copied();
            let merges = |slot: Slot| self.writes.older(slot).is_some_and(|o| self.writes.is_parked(o));
            let fits = next.is_some_and(|s| m.parked.len() < m.cache_lines || merges(s));
            let busy = m.displaced_now >= usize::from(m.entries_each);
            if let Some(slot) = next.filter(|_| fits) {
                m.parking.pop_front();
                self.park(now, slot);
            } else if let Some(oldest) = m
                .parked
                .front()
                .copied()
                .filter(|_| (next.is_some() || m.flushing) && !busy)
            {
                self.displace(now, oldest);
            } else {
                m.flushing &= !(m.parked.is_empty() && m.parking.is_empty());
                return;
            }
        }
    }
    fn park(&mut self, now: Ps, slot: Slot) {
        let accepted = self.writes.accepted_at(slot);
        let queue = self.writes.write(slot).queue;
        let Some(m) = &mut self.module else {
            return;
        };
        m.used[usize::from(queue)] -= 1;
        m.flow.freed(m.queue_of[slot as usize]);
        m.look(now);
        let older = self.writes.older(slot);
        let parked = match self.writes.park(slot) {
            true => {
                m.parked.push_back(slot);
                Some(slot)
            }
            false => {
                self.stats.cache_merges += 1;
                self.count_drains(queue, accepted);
                older
            }
        };
        self.follow_epochs(now);
        // A write to the line that passes the cache by is waiting for this one.
        if let Some(slot) = parked.filter(|s| self.writes.blocks_passing(*s)) {
            self.displace(now, slot);
        }
    }
    fn displace(&mut self, now: Ps, slot: Slot) {
        if let Some(m) = &mut self.module {
            m.set_displaced(slot, true);
            // The oldest, except where its line is called for early.
            if let Some(position) = m.parked.iter().position(|s| *s == slot) {
                m.parked.remove(position);
            }
        }
        self.stats.cache_writebacks += 1;
        self.writes.unpark(slot);
        self.send_to_medium(now, slot);
    }
    /// The medium has stored a write that came through the module.
    pub(super) fn leave_module(&mut self, now: Ps, slot: Slot, queue: u8) {
        let Some(m) = &mut self.module else {
            return;
        };
        if m.displaced.get(slot as usize).copied().unwrap_or(false) {
            m.set_displaced(slot, false);
        } else {
            m.used[usize::from(queue)] -= 1;
            m.flow.freed(m.queue_of[slot as usize]);
        }
        m.look(now);
        self.settle_cache(now);
    }

    /// A special write to an address-range register takes its place on the link.
    pub(super) fn tell_module(&mut self, now: Ps, write: RegisterWrite) {
        if let Some(m) = &mut self.module {
            let leaves = now.max(m.link_free);
            m.crossing.insert(leaves + m.transfer, Crossing::Register(write));
            m.link_free = leaves + m.slot;
            let at = m.next_event();
            self.act_by(at);
        }
    }
    /// A read of data reached the module; what the module knows arrives with it.
    pub(super) fn read_reached_module(&mut self, now: Ps, arrives: Ps) {
        if let Some(m) = &mut self.module {
            m.flow.read_reached(now, arrives, false);
            m.notices.insert(arrives, ());
        }
    }
    /// What reads brought back about free entries.
    fn hear_notices(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        let Some(m) = &mut self.module else {
            return;
        };
        while m.notices.due(now).is_some() {
            if m.flow.arrived(now) {
                out.push(MemEvent::FlowChanged);
            }
            m.look(now);
        }
    }
    /// Asks the module for its free entries, where the flow control wants to know.
    fn query_module(&mut self, now: Ps) {
        let Some(m) = &mut self.module else { return };
        m.ask = NEVER;
        if !m.flow.wants_query() {
            return;
        }
        if m.flow.asks_from() > now {
            m.ask = m.flow.asks_from();
            return;
        }
        let channel = self.channels.get(0);
        if let Some(later) = channel.query_waits(&self.delays, now, &self.spec) {
            m.ask = later;
            return;
        }
        self.stats.module_queries += 1;
        let (arrives, _) = self.channels.act(0, |channel| channel.query(&self.delays, now));
        m.flow.read_reached(now, arrives, true);
        m.notices.insert(arrives, ());
    }
}
