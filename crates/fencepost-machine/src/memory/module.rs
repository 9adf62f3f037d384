//! The optional memory module between controller and medium: queues of its own, and a volatile cache of written lines.
//!
//! A write that may issue leaves the controller's queue when its queue has a free entry in the module (its share of them, or
//! what the design's own flow control allows, while any entry is free), crosses the link, and waits in the module for its bank; it holds its entry there until the medium has stored it (what the
//! persistence credits of the per-task-committing paper, section III-B, count).
//!
//! With a cache (the hybrid memory of the same paper, section II-B), writes of queue 0 are parked in it and reach the
//! medium only when they are displaced, oldest first. A parked line is lost in a power failure, whatever the
//! controller answered when it accepted the write; so with a cache nothing is reported durable before the medium
//! stored it. Writes of other queues pass the cache by. Parked writes no longer count as queued.

use super::flow::FlowControl;
use super::partition::{RangeRegisters, RegisterWrite};
use super::request::Write;
use super::timed::Timed;
use super::writes::Slot;
use fencepost_kernel::{Bytes, Ps};
use std::collections::VecDeque;

fencepost_kernel::params! {
    /// The stage between controller and medium. Without entries there is none.
    pub struct ModuleSpec {
        /// Write entries of the module, divided evenly over the controller's queues where the design does not say otherwise; 0
        /// means no module stage.
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

impl ModuleSpec {
    /// Whether lines stay in a volatile cache behind the controller.
    pub fn is_volatile(&self) -> bool {
        self.entries > 0 && self.dram_cache.0 > 0
    }
}

/// What crosses the link.
#[derive(Copy, Clone, Debug)]
pub(super) enum Crossing {
    /// A write to the medium.
    Write(Slot),
    /// A special write to an address-range register.
    Register(RegisterWrite),
}

/// State of a module.
#[derive(Debug)]
pub(super) struct Module {
    /// Write entries of all queues together.
    pub(super) entries: u16,
    /// A queue's share of them, where no flow control of a design's own divides them.
    pub(super) entries_each: u16,
    pub(super) transfer: Ps,
    pub(super) slot: Ps,
    pub(super) cache_lines: usize,
    /// The module's copy of the controller's address-range registers, if it has any.
    pub(super) ranges: Option<RangeRegisters>,
    /// By entry: the queue that the module's own registers put it in.
    pub(super) queue_of: Vec<u8>,
    /// Entries in use, by queue.
    pub(super) used: Vec<u16>,
    pub(super) flow: Box<dyn FlowControl>,
    /// When data that tells of free entries arrives, earliest first.
    pub(super) notices: Timed<()>,
    /// Writes in the controller's queues, in order of arrival.
    pub(super) waiting: Vec<Slot>,
    /// When the link can take the next line, and when to look at `waiting` again (`NEVER`: not before something happens).
    pub(super) link_free: Ps,
    pub(super) wake: Ps,
    /// When to ask what the module knows: a question that had to wait (`NEVER`: none waits).
    pub(super) ask: Ps,
    pub(super) crossing: Timed<Crossing>,
    /// Writes that hold a module entry until the cache has a free line.
    pub(super) parking: VecDeque<Slot>,
    /// Parked writes, oldest first.
    pub(super) parked: VecDeque<Slot>,
    /// By entry: displaced from the cache and not stored yet (such writes hold no module entry).
    pub(super) displaced: Vec<bool>,
    pub(super) displaced_now: usize,
    pub(super) flushing: bool,
}

impl Module {
    /// When something can happen.
    pub(super) fn next_event(&self) -> Ps {
        self.notices
            .first()
            .min(self.crossing.first())
            .min(self.wake)
            .min(self.ask)
    }
    /// A write arrived in the controller's queue, or what may leave changed.
    pub(super) fn look(&mut self, now: Ps) {
        if !self.waiting.is_empty() {
            self.wake = self.wake.min(now);
        }
    }
    /// A write arrived in the controller's queue.
    pub(super) fn wait(&mut self, now: Ps, slot: Slot) {
        self.waiting.push(slot);
        self.look(now);
    }
    /// The module matches a write that arrives against its own registers.
    pub(super) fn match_queue(&mut self, slot: Slot, write: &Write) -> u8 {
        let queue = self.ranges.as_ref().map_or(write.queue, |r| r.route(write.line));
        let i = slot as usize;
        if self.queue_of.len() <= i {
            self.queue_of.resize(i + 1, 0);
        }
        self.queue_of[i] = queue;
        queue
    }
    pub(super) fn set_displaced(&mut self, slot: Slot, displaced: bool) {
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
