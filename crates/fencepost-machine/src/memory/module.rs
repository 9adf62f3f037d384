//! The optional memory module between controller and medium: queues of its own, and a volatile cache of written lines.
//!
//! A write that may issue leaves the controller's queue when its queue has a free entry in the module, crosses the
//! link, and waits in the module for its bank; it holds its entry there until the medium has stored it (what the
//! persistence credits of the per-task-committing paper, section III-B, count).
//!
//! With a cache (the hybrid memory of the same paper, section II-B), writes of queue 0 are parked in it and reach the
//! medium only when they are displaced, oldest first. A parked line is lost in a power failure, whatever the
//! controller answered when it accepted the write; so with a cache nothing is reported durable before the medium
//! stored it. Writes of other queues pass the cache by. Parked writes no longer count as queued.

use super::MemEvent;
use super::controller::Controller;
use super::flow::{Entries, FlowControl};
use super::partition::{RangeRegisters, RegisterWrite};
use super::schedule::sooner;
use super::spec::SpecError;
use super::timed::{due, insert};
use super::writes::Slot;
use crate::seam::Write;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Bytes, Ps};
use std::collections::VecDeque;

fencepost_kernel::params! {
    /// The stage between controller and medium. Without entries there is none.
    pub struct ModuleSpec {
        /// Write entries of the module, divided evenly over the controller's queues; 0 means no module stage.
        #[range(0..=4096)]
        entries: u16 = 0,
        /// Time a write takes from the controller's queue to the module's.
        transfer: Ps = Ps(15_000),
        /// Time between two writes on the link to the module.
        slot: Ps = Ps(5000),
        /// Volatile cache of written lines below the controller; 0 means none.
        #[range(Bytes(0)..=Bytes(1 << 36))]
        dram_cache: Bytes = Bytes(0),
    }
}

/// What crosses the link.
#[derive(Copy, Clone, Debug)]
enum Crossing {
    /// A write to the medium.
    Write(Slot),
    /// A special write to an address-range register.
    Register(RegisterWrite),
}

/// State of a module.
#[derive(Debug)]
pub struct Module {
    entries_each: u16,
    transfer: Ps,
    slot: Ps,
    cache_lines: usize,
    /// The module's copy of the controller's address-range registers, if it has any.
    ranges: Option<RangeRegisters>,
    /// By entry: the queue that the module's own registers put it in.
    queue_of: Vec<u8>,
    /// Entries in use, by queue.
    used: Vec<u16>,
    flow: Box<dyn FlowControl>,
    /// When data that tells of free entries arrives, earliest first.
    news: VecDeque<(Ps, ())>,
    /// Writes in the controller's queues, in order of arrival.
    waiting: Vec<Slot>,
    /// When the link can take the next line, and when to look at `waiting` again.
    link_free: Ps,
    wake: Option<Ps>,
    crossing: VecDeque<(Ps, Crossing)>,
    /// Writes that hold a module entry until the cache has a free line.
    parking: VecDeque<Slot>,
    /// Parked writes, oldest first.
    parked: VecDeque<Slot>,
    /// By entry: displaced from the cache and not stored yet (such writes hold no module entry).
    displaced: Vec<bool>,
    displaced_now: usize,
    flushing: bool,
}

impl Module {
    /// When something can happen.
    pub(super) fn next_event(&self) -> Option<Ps> {
        let news = self.news.front().map(|x| x.0);
        sooner(sooner(self.wake, news), self.crossing.front().map(|x| x.0))
    }
    /// A write arrived in the controller's queue, or what may leave changed.
    pub(super) fn look(&mut self, now: Ps) {
        if !self.waiting.is_empty() {
            self.wake = sooner(self.wake, Some(now));
        }
    }
    /// A write arrived in the controller's queue.
    pub(super) fn wait(&mut self, now: Ps, slot: Slot) {
        self.waiting.push(slot);
        self.look(now);
    }
    /// The module matches a write that arrives against its own registers.
    fn match_queue(&mut self, slot: Slot, write: &Write) -> u8 {
        let queue = self.ranges.as_ref().map_or(write.queue, |r| r.route(write.line));
        let i = slot as usize;
        if self.queue_of.len() <= i {
            self.queue_of.resize(i + 1, 0);
        }
        self.queue_of[i] = queue;
        queue
    }
    fn set_displaced(&mut self, slot: Slot, displaced: bool) {
        let i = slot as usize;
        if self.displaced.len() <= i {
            self.displaced.resize(i + 1, false);
        }
        if self.displaced[i] != displaced {
            self.displaced[i] = displaced;
            self.displaced_now = if displaced {
                self.displaced_now + 1
            } else {
                self.displaced_now - 1
            };
        }
    }
}

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
        if cache_lines > 0 {
            self.accept_is_durable = false;
            self.writes.durable_in_medium_only();
        }
        self.module = Some(Module {
            entries_each: spec.entries / queues,
            transfer: spec.transfer,
            slot: spec.slot,
            ranges: self.ranges.clone(),
            queue_of: Vec::new(),
            cache_lines: cache_lines as usize,
            used: vec![0; usize::from(queues)],
            flow: Box::new(Entries::new(queues as u8, spec.entries / queues)),
            news: VecDeque::new(),
            waiting: Vec::with_capacity(64),
            link_free: Ps::ZERO,
            wake: None,
            crossing: VecDeque::with_capacity(16),
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
        Some(m.entries_each - m.used[usize::from(queue)])
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
        while let Some(arrived) = self.module.as_mut().and_then(|m| due(&mut m.crossing, now)) {
            match arrived {
                Crossing::Write(slot) => self.reach_module(now, slot, out),
                Crossing::Register(write) => {
                    let ranges = self.module.as_mut().and_then(|m| m.ranges.as_mut());
                    ranges.map(|r| r.write(write));
                }
            }
        }
        self.hear_news(now);
        self.send_next(now, out);
        self.query_module(now);
    }
    /// The first write that may leave for the module does, if the link is free.
    fn send_next(&mut self, now: Ps, out: &mut Vec<MemEvent>) {
        let Some(m) = self.module.as_mut().filter(|m| m.wake.is_some_and(|w| w <= now)) else {
            return;
        };
        m.wake = None;
        if m.link_free > now {
            m.wake = Some(m.link_free);
            return;
        }
        let (m, writes) = (&*m, &self.writes);
        let may_leave = |slot: &Slot| {
            let write = writes.write(*slot);
            m.flow.may_send(write.queue) && writes.may_leave(*slot)
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
        m.crossing.push_back((now + m.transfer, Crossing::Write(slot)));
        m.link_free = now + m.slot;
        m.look(m.link_free);
        self.stats.module_writes += 1;
        self.writes.leave(slot);
        self.slot_free(queue, out);
        self.watermarks(now);
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
        let Some(m) = &mut self.module else {
            return;
        };
        m.used[0] -= 1;
        m.flow.freed(0);
        m.look(now);
        let older = self.writes.older(slot);
        let parked = match self.writes.park(slot) {
            true => {
                m.parked.push_back(slot);
                Some(slot)
            }
            false => {
                self.stats.cache_merges += 1;
                self.count_drains(0, accepted);
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
            insert(&mut m.crossing, leaves + m.transfer, Crossing::Register(write));
            m.link_free = leaves + m.slot;
            self.next = sooner(self.next, m.next_event());
        }
    }
    /// A read of data reached the module; what the module knows arrives with it.
    pub(super) fn read_reached_module(&mut self, arrives: Ps) {
        if let Some(m) = &mut self.module {
            m.flow.read_reached(arrives, false);
            insert(&mut m.news, arrives, ());
        }
    }
    /// What reads brought back about free entries.
    fn hear_news(&mut self, now: Ps) {
        let Some(m) = &mut self.module else {
            return;
        };
        while due(&mut m.news, now).is_some() {
            m.flow.arrived(now);
            m.look(now);
        }
    }
    /// Asks the module for its free entries, where the flow control wants to know.
    fn query_module(&mut self, now: Ps) {
        if let Some(m) = &mut self.module
            && m.flow.wants_query()
            && let Some(channel) = self.channels.first_mut()
        {
            self.stats.module_queries += 1;
            let arrives = channel.query(&self.delays, now);
            m.flow.read_reached(arrives, true);
            insert(&mut m.news, arrives, ());
        }
    }
}
