//! How what threads have executed takes effect on the shared execution: at once, or when it leaves a store buffer.

use super::buffer::Effect;
use super::state::Execution;
use fencepost_kernel::{HwThread, StoreId, TraceKind};

impl Execution {
    /// Lets an effect of `thread` happen. Returns the store that it made.
    pub(super) fn happen(&mut self, thread: HwThread, effect: Effect) -> Option<StoreId> {
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
    pub(super) fn drain_one(&mut self, thread: HwThread) {
        let Some((first, answered)) = self.thread(thread).buffer.pop() else {
            return;
        };
        self.happen(thread, first);
        for load in answered {
            self.happen(thread, load);
        }
    }
    /// Everything in the buffer of `thread` takes effect.
    pub(super) fn drain(&mut self, thread: HwThread) {
        while !self.threads[thread.index()].buffer.is_empty() {
            self.drain_one(thread);
        }
    }
}
