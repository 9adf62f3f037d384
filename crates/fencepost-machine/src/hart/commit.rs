//! Commit: in order, as wide as the core, charging every gap to its cause.

use super::Progress;
use crate::frontend::{LOG_FENCE, OpKind};
use crate::machine::{Ev, Machine};
use fencepost_kernel::{HartId, OpRecord, Ps, TraceKind};

impl Machine {
    /// Commits whatever is known to have completed, oldest first.
    pub(crate) fn commit(&mut self, hart: HartId) {
        loop {
            let (h, shape) = (&mut self.sys.harts[hart.index()], &self.sys.shape);
            let at_head = h.committed;
            if at_head == h.window.len() {
                return;
            }
            let e = &mut h.window[at_head];
            if !e.done() {
                if e.progress == Progress::AtHead {
                    self.reach_head(hart);
                }
                return;
            }
            let (slots, ready) = (u64::from(e.weight), e.result * shape.commit_width);
            h.commit_pos = (h.commit_pos + slots).max(ready + slots.min(1));
            let cycle = shape.to_commit.floor(h.commit_pos.saturating_sub(1));
            let at = shape.period * cycle;
            e.committed_at = cycle;
            if slots > 0 {
                h.instructions += slots;
                h.account.commit(at, shape.period * shape.ipc.ceil(slots), e.cause);
            }
            h.committed += 1;
            let (kind, value) = (e.op.kind, e.op.value);
            if !matches!(kind, OpKind::Compute | OpKind::Load) {
                self.committed(hart, kind, value, at);
            }
        }
    }

    /// What the commit of an operation sets off.
    fn committed(&mut self, hart: HartId, kind: OpKind, value: u64, at: Ps) {
        let h = &mut self.sys.harts[hart.index()];
        match kind {
            k if k.is_store() => {
                h.stores.commit_next(at);
                let at = at.max(self.sys.now());
                self.sys.wake_stores(hart, at);
                if matches!(kind, OpKind::QueuedFence(_)) && value == LOG_FENCE {
                    self.count_log_fence(hart);
                }
            }
            OpKind::OpBegin => h.stamp = None,
            // An operation that was rolled back will run again.
            OpKind::OpEnd if self.sys.journal.borrow().rolled_back(hart) => drop(h.thread.next_outcome()),
            OpKind::Ack if self.sys.journal.borrow().rolled_back(hart) => {}
            OpKind::OpEnd => {
                let outcome = h.thread.next_outcome();
                h.ops_done += 1;
                let stamp = h.stamp.take();
                let stamp = stamp.unwrap_or_else(|| self.sys.locks.stamp());
                let record = OpRecord {
                    thread: u32::from(hart.0),
                    k: value as u32,
                    stamp,
                    outcome,
                };
                if let Some(r) = &mut self.sys.recorder {
                    r.op(record);
                }
                self.record(hart, TraceKind::OpEnd(value as u32));
                self.warm_up_check(hart);
            }
            OpKind::Fence(_) if value == LOG_FENCE => self.count_log_fence(hart),
            OpKind::Ack => self.record(hart, TraceKind::Ack(value as u32)),
            _ => {}
        }
    }

    /// A fence between log entries and data committed: how many instructions lie between it and the one before, neither
    /// counted.
    fn count_log_fence(&mut self, hart: HartId) {
        let h = &mut self.sys.harts[hart.index()];
        let before = h.log_fence.replace(h.instructions);
        if let Some(distance) = before.map(|before| h.instructions - before - 1) {
            *self.sys.log_fence_distances.entry(distance).or_insert(0) += 1;
        }
    }

    /// An instruction that acts at the head became the oldest: it acts when everything before it has committed.
    pub(crate) fn reach_head(&mut self, hart: HartId) {
        let now = self.sys.now();
        let h = &mut self.sys.harts[hart.index()];
        let before = h
            .committed
            .checked_sub(1)
            .and_then(|i| h.window.get(i))
            .map_or(h.account.until, |e| self.sys.shape.period * e.committed_at);
        let e = &mut h.window[h.committed];
        e.progress = Progress::Acting;
        let at = now.max(before).max(self.sys.shape.period * e.dispatched);
        let at = self.sys.align(at);
        self.sys.events.schedule(at, Ev::Head(hart));
    }

    /// Adds an event of a hart to the trace, if one is kept.
    pub(crate) fn record(&mut self, hart: HartId, kind: TraceKind) {
        if let Some(r) = &mut self.sys.recorder {
            r.event(hart, kind);
        }
    }

    /// Whether the hart's thread has returned and everything it did has performed.
    pub(crate) fn check_finished(&mut self, hart: HartId) {
        let h = &mut self.sys.harts[hart.index()];
        let done = h.finished.is_none() && h.committed == h.window.len() && h.stores.is_empty() && h.thread.finished();
        if done {
            h.finished = Some(
                h.account
                    .until
                    .max(self.sys.shape.period * h.window.back().map_or(0, |e| e.committed_at)),
            );
            self.sys.unfinished -= 1;
        }
    }
}
