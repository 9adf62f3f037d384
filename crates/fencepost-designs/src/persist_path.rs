//! The path from persist buffers to the controller, and the hardware threads that wait for a free entry: what every design has
//! that moves persists around the caches.
//!
//! Buffers drain over one shared path that takes an entry every `slot` and delivers it `latency` later. A design asks for a slot
//! when something can drain, gets its timer, and hands over at most one entry. The controller may refuse it (its queue is full);
//! then nothing is sent until an entry is free again. What was handed over is remembered until it is durable, oldest first: a design that
//! frees entries when they drain ignores that, one that frees them on the durable acknowledgement (a buffer per hardware thread, as
//! BROI has) releases the entry, and whoever depends on it, from [`PersistPath::durable`].

use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::{HwThread, Ps};
use fencepost_machine::seam::{Cause, Cx, Gate, Write, WriteId};
use std::collections::VecDeque;

/// The shared path.
#[derive(Clone, Debug)]
pub struct PersistPath {
    latency: Ps,
    slot: Ps,
    /// When the path can take the next entry.
    free: Ps,
    asked: bool,
    /// Queues that have refused a write and have had no free entry since: a bit each.
    refused: u64,
    /// Writes handed to the controller, oldest first, and whether each is durable; the oldest and the newest are not.
    outstanding: VecDeque<(WriteId, bool)>,
}
/// Notes which write an entry of a buffer became.
pub fn note_sent(cx: &mut dyn Cx, (buffer, entry): (u8, u64), id: WriteId) {
    let write = id.0;
    cx.note(LedgerKind::Sent { buffer, entry, write });
}

impl PersistPath {
    /// A path on which an entry arrives `latency` after it left, and the next may leave `slot` after it.
    pub fn new(latency: Ps, slot: Ps) -> PersistPath {
        PersistPath {
            latency,
            slot,
            free: Ps::ZERO,
            asked: false,
            refused: 0,
            outstanding: VecDeque::new(),
        }
    }
    /// Asks for a slot, unless one was asked for: the design's timer fires with `tag` when it comes.
    pub fn ask(&mut self, cx: &mut dyn Cx, tag: u64) {
        if !std::mem::replace(&mut self.asked, true) {
            cx.timer(self.free.max(cx.now() + self.slot), tag);
        }
    }
    /// Whether a slot was asked for and has not come.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.asked
    }
    /// The slot came.
    pub fn slot_came(&mut self) {
        self.asked = false;
    }
    /// An entry took the slot.
    pub fn taken(&mut self, cx: &dyn Cx) {
        self.free = cx.now() + self.slot;
    }
    /// Hands a write over, with the path's latency; `None` if the controller refused it.
    pub fn send(&mut self, cx: &mut dyn Cx, write: Write) -> Option<WriteId> {
        let delay = self.latency;
        match cx.write(Write { delay, ..write }) {
            Ok(id) => {
                self.outstanding.push_back((id, false));
                Some(id)
            }
            Err(_) => {
                self.refused |= 1 << write.queue;
                None
            }
        }
    }
    /// Whether a queue of the controller has refused a write and has had no free entry since.
    pub fn refuses(&self, queue: u8) -> bool {
        self.refused >> queue & 1 == 1
    }
    /// The queues that have refused a write and have had no free entry since, a bit each.
    pub fn refused(&self) -> u64 {
        self.refused
    }
    /// A queue has a free entry again.
    pub fn queue_freed(&mut self, queue: u8) {
        self.refused &= !(1 << queue);
    }
    /// A write became durable: whether it came over this path.
    pub fn durable(&mut self, id: WriteId) -> bool {
        let oldest = self.outstanding.front().is_some_and(|o| o.0 == id);
        let at = if oldest {
            Ok(0)
        } else {
            self.outstanding.binary_search_by_key(&id, |o| o.0)
        };
        let Ok(at) = at else { return false };
        if std::mem::replace(&mut self.outstanding[at].1, true) {
            return false;
        }
        while self.outstanding.front().is_some_and(|o| o.1) {
            self.outstanding.pop_front();
        }
        while self.outstanding.back().is_some_and(|o| o.1) {
            self.outstanding.pop_back();
        }
        true
    }
    /// The oldest and the newest write that are not durable.
    pub fn outstanding(&self) -> Option<(WriteId, WriteId)> {
        Some((self.outstanding.front()?.0, self.outstanding.back()?.0))
    }
}

/// Hardware threads that were told to wait: a bit each.
#[derive(Copy, Clone, Debug, Default)]
pub struct Waiting(u64);
impl Waiting {
    /// Refuses; the thread is kicked when it is woken.
    pub fn wait(&mut self, hw_thread: HwThread, cause: Cause) -> Gate {
        self.0 |= 1 << hw_thread.0;
        Gate::Wait(cause)
    }
    /// Kicks the thread, if it waits.
    pub fn wake(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        if self.0 >> hw_thread.0 & 1 == 1 {
            self.0 &= !(1 << hw_thread.0);
            cx.kick(Some(hw_thread));
        }
    }
}
