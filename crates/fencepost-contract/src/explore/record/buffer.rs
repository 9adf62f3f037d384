//! Store buffers of recorded threads (total store order): what a thread has executed and others do not see yet.

use super::state::Execution;
use fencepost_kernel::{Addr, Fence, Flush, HartId, LineAddr, Outcome, StoreId, TraceKind, Width};
use std::collections::VecDeque;
use std::panic::Location;

/// Entries that a store buffer holds: about as many as real ones.
const CAPACITY: usize = 48;

/// Something that a thread does and that takes effect in program order with its stores.
pub enum Effect {
    /// A store of the low `width` bytes of `value`.
    Store {
        at: Addr,
        value: u64,
        width: Width,
        nt: bool,
        source: &'static Location<'static>,
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
pub struct StoreBuffer {
    entries: VecDeque<Effect>,
}
impl StoreBuffer {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub fn is_full(&self) -> bool {
        self.entries.len() >= CAPACITY
    }
    pub fn push(&mut self, effect: Effect) {
        self.entries.push_back(effect);
    }
    /// The oldest entry, with the loads that it answered.
    pub fn pop(&mut self) -> Option<(Effect, Vec<Effect>)> {
        let first = self.entries.pop_front()?;
        let mut answered = Vec::new();
        while matches!(self.entries.front(), Some(Effect::OwnLoad(_))) {
            answered.extend(self.entries.pop_front());
        }
        Some((first, answered))
    }
    /// The word at `at` as its owner sees it, if the buffer has a part of it.
    pub fn forward(&self, at: Addr, memory: u64) -> Option<u64> {
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

impl Execution {
    /// Lets an effect of `thread` happen. Returns the store that it made.
    pub fn happen(&mut self, thread: HartId, effect: Effect) -> Option<StoreId> {
        match effect {
            Effect::Store {
                at,
                value,
                width,
                nt,
                source,
            } => {
                let word = at.word();
                let whole = width.insert(self.memory.word(word), at.0, value);
                let id = self.store(thread, word, whole, nt, source);
                self.push(thread, TraceKind::Store(id));
                return Some(id);
            }
            Effect::OwnLoad(addr) => {
                let from = self.memory.writer(addr);
                self.push(thread, TraceKind::Load { addr, from });
            }
            Effect::Flush(line, kind) => self.push(thread, TraceKind::Flush { line, kind }),
            Effect::Fence(kind) => self.push(thread, TraceKind::Fence(kind)),
            Effect::OpBegin(k) => self.push(thread, TraceKind::OpBegin(k)),
            Effect::OpEnd(k, outcome, stamp) => self.end_op(thread, k, outcome, stamp),
            Effect::Ack(k) => self.push(thread, TraceKind::Ack(k)),
        }
        None
    }
    /// The oldest entry of the buffer of `thread` takes effect.
    pub fn drain_one(&mut self, thread: HartId) {
        let Some((first, answered)) = self.thread(thread).buffer.pop() else {
            return;
        };
        self.happen(thread, first);
        for load in answered {
            self.happen(thread, load);
        }
    }
    /// Everything in the buffer of `thread` takes effect.
    pub fn drain(&mut self, thread: HartId) {
        while !self.threads[thread.index()].buffer.is_empty() {
            self.drain_one(thread);
        }
    }
}
