//! Store buffers of recorded threads (total store order): what a thread has executed and others do not see yet.

use fencepost_kernel::{Addr, Fence, Flush, LineAddr, Outcome, Place, Width};
use std::collections::VecDeque;

/// Entries that a store buffer holds: about as many as real ones.
const CAPACITY: usize = 48;

/// Something that a thread does and that takes effect in program order with its stores.
pub(super) enum Effect {
    /// A store of the low `width` bytes of `value`.
    Store {
        at: Addr,
        value: u64,
        width: Width,
        nt: bool,
        source: Place,
    },
    /// A load that was answered by the store before it in the buffer.
    OwnLoad(Addr),
    Flush(LineAddr, Flush),
    Fence(Fence),
    OpBegin(u32),
    OpEnd(u32, Outcome, Option<u64>),
    Ack(u32),
}

/// The buffer of one thread. Loads look into it first; everything else leaves it in program order.
#[derive(Default)]
pub(super) struct StoreBuffer {
    entries: VecDeque<Effect>,
}
impl StoreBuffer {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= CAPACITY
    }
    pub(super) fn push(&mut self, effect: Effect) {
        self.entries.push_back(effect);
    }
    /// The oldest entry, with the loads that it answered.
    pub(super) fn pop(&mut self) -> Option<(Effect, Vec<Effect>)> {
        let first = self.entries.pop_front()?;
        let mut answered = Vec::new();
        while matches!(self.entries.front(), Some(Effect::OwnLoad(_))) {
            answered.extend(self.entries.pop_front());
        }
        Some((first, answered))
    }
    /// The word at `at` as its owner sees it, if the buffer has a part of it.
    pub(super) fn forward(&self, at: Addr, memory: u64) -> Option<u64> {
        let mut own = None;
        for entry in &self.entries {
            if let Effect::Store {
                at: stored,
                value,
                width,
                ..
            } = entry
                && stored.word() == at
            {
                own = Some(width.insert(own.unwrap_or(memory), stored.0, *value));
            }
        }
        own
    }
}
