//! Commit: in order, as wide as the core, charging every gap to its cause.

use super::entry::Progress;
use super::outside::{Outside, Turn};
use super::passages::Passage;
use super::state::HardwareThread;
use super::stores::stores_pass_loads;
use crate::frontend::{LOG_FENCE, OpKind};
use crate::seam::Instr;
use fencepost_kernel::planted;
use fencepost_kernel::{OpRecord, Ps, TraceKind};

impl HardwareThread {
    /// Commits whatever is known to have completed, oldest first.
    pub(crate) fn commit(&mut self, out: &mut impl Outside) {
        loop {
            let (h, shape) = (&mut *self, out.shape());
            let at_head = h.committed;
            if at_head == h.window.end() {
                return;
            }
            let e = &mut h.window[at_head];
            if !e.done() {
                if e.progress == Progress::AtHead {
                    self.reach_head(out);
                }
                return;
            }
            let (slots, ready) = (e.weight(), e.result * shape.commit_width);
            h.commit_pos = (h.commit_pos + slots).max(ready + slots.min(1));
            let cycle = shape.to_commit.floor(h.commit_pos.saturating_sub(1));
            let at = shape.period * cycle;
            let dispatched = std::mem::replace(&mut e.since, cycle);
            let kind = e.op.kind;
            if slots > 0 {
                let cycles = if slots == 1 { 1 } else { shape.ipc.ceil(slots) };
                h.instructions += slots;
                h.account.commit(at, shape.period * cycles, e.cause);
            }
            h.committed += 1;
            if h.drawn {
                self.passed(out, at_head, dispatched, at);
            }
            if !matches!(kind, OpKind::Compute | OpKind::Load) {
                let e = &self.window[at_head];
                let (value, id) = (e.op.value, e.id);
                if !self.has_left(kind, id) {
                    self.committed(out, kind, value, at);
                }
            }
        }
    }

    /// Records how the operation at a position, which commits, went through the core.
    #[cold]
    fn passed(&self, out: &mut impl Outside, at: usize, dispatched: u64, committed: Ps) {
        let (e, period) = (&self.window[at], out.shape().period);
        let passage = Passage {
            id: e.id,
            kind: e.op.kind,
            addr: e.op.addr,
            value: e.op.value,
            source: e.op.source,
            dispatched: period * dispatched,
            issued: None,
            completed: period * e.result,
            committed,
            left: None,
            store: None,
            read: None,
        };
        if let Some(r) = out.recorder() {
            r.passages.committed(self.id, passage);
        }
    }

    /// Whether a store that commits has performed before that, which none does.
    #[inline]
    fn has_left(&self, kind: OpKind, id: u32) -> bool {
        kind.is_store() && stores_pass_loads() && self.stores.next_to_commit().is_none_or(|s| s.id != id)
    }

    /// What the commit of an operation sets off.
    #[inline]
    fn committed(&mut self, out: &mut impl Outside, kind: OpKind, value: u64, at: Ps) {
        match kind {
            k if k.is_store() => {
                if out.hooks().queued {
                    self.tell_queued(out, kind);
                }
                self.stores.commit_next(at);
                if let Some(r) = out.recorder() {
                    r.queued(self.id, at, 0);
                }
                let at = at.max(out.now());
                self.wake_stores(out, at);
                if matches!(kind, OpKind::QueuedFence(_)) && value == LOG_FENCE {
                    self.count_log_fence();
                }
            }
            OpKind::Fence(_) if value == LOG_FENCE => self.count_log_fence(),
            OpKind::OpBegin => self.stamp = None,
            OpKind::OpEnd => self.operation_ended(out, value, at),
            OpKind::Ack if out.recorder().is_some() => self.acknowledge(out, value),
            _ => {}
        }
    }

    /// The design hears of a flush or a marker that takes its place in the store queue.
    #[cold]
    fn tell_queued(&mut self, out: &mut impl Outside, kind: OpKind) {
        let instr = match (kind, self.stores.next_to_commit()) {
            (OpKind::Flush(kind), Some(s)) => Instr::Flush(s.line(), kind),
            (OpKind::QueuedFence(kind), _) => Instr::Fence(kind),
            _ => return,
        };
        out.queued(self.id, instr);
    }

    /// The program's operation `k` has committed.
    fn operation_ended(&mut self, out: &mut impl Outside, k: u64, at: Ps) {
        let outcome = self.thread.next_outcome();
        if self.rolled_back() {
            // It will run again.
            return;
        }
        self.ops_done += 1;
        let stamp = self.stamp.take();
        let stamp = stamp.unwrap_or_else(|| out.locks().stamp());
        let record = OpRecord {
            thread: u32::from(self.id.0),
            k: k as u32,
            stamp,
            outcome,
        };
        if let Some(r) = out.recorder() {
            r.op(record);
        }
        self.record(out, TraceKind::OpEnd(k as u32));
        if self.ops_done == self.warm_up {
            self.at_warm_up = Some(Box::new(self.progress()));
            out.warmed_up(self.id, at);
        }
    }

    /// The program acknowledges its operation `k`: behind the fences and `clflush`es that it committed, and not if it will run again.
    #[cold]
    fn acknowledge(&mut self, out: &mut impl Outside, k: u64) {
        let dead = self.rolled_back()
            && !planted!(
                "core.dead-operation-acknowledged",
                "an operation that will run again is not acknowledged"
            );
        match self.stores.committed_barriers() {
            _ if dead => {}
            0 => self.record(out, TraceKind::Ack(k as u32)),
            barriers => self.late_acks.push((barriers, k as u32)),
        }
    }
    /// A fence of the store queue has acted, or a `clflush`: what the thread acknowledged behind it is known to the outside from now on, as an
    /// answer that it sent behind the fence would be.
    pub(super) fn acknowledge_late(&mut self, out: &mut impl Outside) {
        if self.late_acks.is_empty() {
            return;
        }
        self.late_acks.iter_mut().for_each(|a| a.0 -= 1);
        let due = self.late_acks.iter().take_while(|a| a.0 == 0).count();
        for (_, op) in self.late_acks.drain(..due).collect::<Vec<_>>() {
            self.record(out, TraceKind::Ack(op));
        }
    }

    /// A fence between log entries and data committed: how many instructions lie between it and the one before, neither
    /// counted.
    fn count_log_fence(&mut self) {
        let h = &mut *self;
        let before = h.log_fence.replace(h.instructions);
        if let Some(distance) = before.map(|before| h.instructions - before - 1) {
            *self.log_fence_distances.entry(distance).or_insert(0) += 1;
        }
    }

    /// An instruction that acts at the head became the oldest: it acts when everything before it has committed.
    pub(crate) fn reach_head(&mut self, out: &mut impl Outside) {
        let now = out.now();
        let h = &mut *self;
        let before = h
            .committed
            .checked_sub(1)
            .and_then(|i| h.window.get(i))
            .map_or(h.account.until, |e| out.shape().period * e.since);
        let e = &mut h.window[h.committed];
        e.progress = Progress::Acting;
        let at = now.max(before).max(out.shape().period * e.since);
        let at = out.shape().align(at);
        if self.drawn {
            let id = self.window[self.committed].id;
            self.issues(out, id, at);
        }
        out.schedule(at, self.id, Turn::Head);
    }

    /// Adds an event of the thread to the trace, if one is kept.
    pub(crate) fn record(&mut self, out: &mut impl Outside, kind: TraceKind) {
        if let Some(r) = out.recorder() {
            r.event(self.id, kind);
        }
    }

    /// Whether the program has returned and everything it did has performed.
    #[inline]
    pub(crate) fn check_finished(&mut self, out: &mut impl Outside) {
        if self.committed == self.window.end() && self.stores.is_empty() {
            self.all_performed(out);
        }
    }
    /// Everything that was dispatched has performed.
    #[inline(never)] // seldom so
    fn all_performed(&mut self, out: &mut impl Outside) {
        let h = &mut *self;
        if h.finished.is_none() && h.thread.finished() {
            // What a thread ends with may take no slot, and commits later than all that do where the reorder buffer had no place for it.
            if let Some(last) = h.window.back() {
                h.account.stall(out.shape().period * last.since, last.cause);
            }
            h.finished = Some(h.account.until);
            out.finished();
        }
    }
}
