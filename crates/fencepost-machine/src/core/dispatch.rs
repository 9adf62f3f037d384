//! Dispatch: operations enter the reorder buffer as fast as width and space allow.

use super::entry::{Entry, Progress};
use super::outside::Outside;
use super::shape::Shape;
use super::state::HardwareThread;
use super::state::Stopped;
use super::store_queue::{QueuedStore, StoreState};
use crate::frontend::{Op, OpKind};
use crate::seam::Cause;
use fencepost_kernel::planted;
use fencepost_kernel::{Fence, TraceKind};

impl OpKind {
    /// Whether the operation waits in the store queue.
    #[inline]
    pub(crate) fn is_store(self) -> bool {
        matches!(
            self,
            OpKind::Store | OpKind::NtStore | OpKind::Unlock | OpKind::Flush(_) | OpKind::QueuedFence(_)
        )
    }
    #[inline]
    fn is_marker(self) -> bool {
        matches!(self, OpKind::OpBegin | OpKind::OpEnd | OpKind::Ack)
    }
    /// Whether the thread waits for the operation's answer.
    pub(crate) fn suspends(self) -> bool {
        use OpKind::*;
        matches!(
            self,
            Rmw | LoadAcquire | StoreRelease | Lock | TxBegin | TxAbort | TxFlush | Bind
        )
    }
    /// Whether younger loads must wait for it at the head of the reorder buffer.
    #[inline]
    pub(crate) fn is_full_fence(self) -> bool {
        matches!(self, OpKind::Fence(Fence::Mfence | Fence::Dmb | Fence::Dsb))
    }
    /// Whether younger loads must wait for it in the store queue.
    #[inline]
    pub(crate) fn is_queued_full_fence(self) -> bool {
        matches!(self, OpKind::QueuedFence(Fence::Mfence | Fence::Dmb | Fence::Dsb))
    }
}

impl HardwareThread {
    /// Dispatch begins or goes on.
    pub fn start(&mut self, out: &mut impl Outside) {
        self.dispatch(out);
        self.check_finished(out);
    }

    /// Dispatches until space, the store queue or the thread stops it.
    pub(crate) fn dispatch(&mut self, out: &mut impl Outside) {
        loop {
            let (h, shape) = (&mut *self, out.shape());
            let Some(mut op) = h.next_op(shape) else { return };
            if let OpKind::Fence(kind) = op.kind
                && shape.is_buffered(kind)
            {
                op.kind = OpKind::QueuedFence(kind);
            }
            let admitted = match op.kind {
                OpKind::Compute => h.admit_compute(shape, op.value as u32),
                kind if kind.is_marker() => h.admit_marker(shape),
                kind => h.admit(shape, kind),
            };
            let admitted = match admitted {
                Ok(admitted) => admitted,
                Err(stop) => {
                    h.stopped = Some(stop);
                    return;
                }
            };
            if op.kind == OpKind::Compute {
                h.dispatch_compute(shape, op, admitted);
            } else {
                h.thread.dispatched();
                if op.kind.is_marker() {
                    h.enter(shape, op, admitted);
                    h.next_id = h.next_id.wrapping_add(1);
                    if op.kind == OpKind::OpBegin {
                        self.record(out, TraceKind::OpBegin(op.value as u32));
                    }
                } else {
                    self.dispatch_access(out, op, admitted);
                    continue;
                }
            }
            let h = &*self;
            if h.committed + 1 == h.window.len() {
                self.commit(out);
            }
        }
    }

    /// A memory operation, or another one that is more than time, enters the window.
    fn dispatch_access(&mut self, out: &mut impl Outside, op: Op, admitted: Admitted) {
        let (h, shape) = (&mut *self, out.shape());
        h.dispatch_pos += shape.units;
        let at = h.enter(shape, op, admitted);
        let id = h.next_id;
        h.next_id = id.wrapping_add(1);
        h.memory_ops += 1;
        match op.kind {
            OpKind::Load => {
                h.loads += 1;
                h.window[at].progress = Progress::Issued;
                self.with_operands(out, at);
            }
            kind if kind.is_store() => {
                h.window[at].progress = Progress::Issued;
                let (tx, state) = (h.tx, StoreState::Speculative);
                h.stores.push(QueuedStore { op, id, tx, state });
                self.with_operands(out, at);
            }
            kind => {
                h.window[at].progress = Progress::AtHead;
                h.open_fences += u32::from(kind.is_full_fence());
                if kind.suspends() {
                    h.stopped = Some(Stopped::Answer);
                } else if matches!(kind, OpKind::Fence(kind) if shape.serializes(kind)) {
                    h.stopped = Some(Stopped::Fence);
                }
                if matches!(kind, OpKind::TxCommit | OpKind::TxAbort) {
                    h.tx = None;
                }
                if at == h.committed {
                    self.reach_head(out);
                }
            }
        }
    }

    /// The entry's operands may be ready: issue it, or leave it waiting.
    pub(crate) fn with_operands(&mut self, out: &mut impl Outside, at: usize) {
        let h = &mut *self;
        let e = &h.window[at];
        let (id, dep, is_store, dispatched) = (e.id, e.op.dep, e.op.kind.is_store(), e.dispatched);
        let start = match h.producer(dep) {
            None => dispatched,
            Some(p) if h.window[p].done() => dispatched.max(h.window[p].result),
            Some(p) => {
                // Entries come to wait in program order.
                h.window[at].progress = Progress::Operand;
                let (first, last) = h.window[p].awaited_by;
                if first == 0 {
                    h.window[p].awaited_by = (id, id);
                } else {
                    h.window[p].awaited_by.1 = id;
                    if let Some(last) = h.position(last) {
                        h.window[last].next_waiting = id;
                    }
                }
                return;
            }
        };
        if is_store {
            self.complete(out, at, start + 1);
        } else if h.behind_fence(at) {
            h.window[at].progress = Progress::Fence;
        } else {
            h.window[at].progress = Progress::Issued;
            self.load_at(out, id, start);
        }
    }

    /// The result of an entry is (or will be) available in cycle `ready`.
    pub(crate) fn complete(&mut self, out: &mut impl Outside, at: usize, ready: u64) {
        let h = &mut *self;
        let e = &mut h.window[at];
        e.result = ready;
        e.progress = Progress::Done;
        h.latest_result = h.latest_result.max(ready);
        let awaited_by = e.awaited_by.0;
        if e.op.kind.is_full_fence() {
            h.open_fences -= 1;
            self.leave_fence(out, at);
        }
        if awaited_by != 0 {
            self.wake_dependents(out, awaited_by);
        }
        if at == self.committed {
            self.commit(out);
        }
    }

    /// The full fence at `at` completed: loads up to the next one go on.
    fn leave_fence(&mut self, out: &mut impl Outside, at: usize) {
        for i in at + 1..self.window.len() {
            let e = &self.window[i];
            if e.op.kind.is_full_fence() && !e.done() {
                break;
            }
            if e.progress == Progress::Fence {
                self.with_operands(out, i);
            }
        }
    }

    /// A full fence left the store queue: loads behind no other one go on.
    pub(crate) fn leave_queued_fence(&mut self, out: &mut impl Outside) {
        for i in 0..self.window.len() {
            if self.window[i].progress == Progress::Fence {
                self.with_operands(out, i);
            }
        }
    }

    /// A result is known: the operations that wait for it go on, from the `first` one.
    fn wake_dependents(&mut self, out: &mut impl Outside, first: u32) {
        let mut next = first;
        while let Some(at) = self.producer(next) {
            next = self.window[at].next_waiting;
            self.with_operands(out, at);
        }
    }
}

/// What may enter the window now.
#[derive(Copy, Clone)]
struct Admitted {
    instructions: u32,
    space: u32,
}
impl Admitted {
    /// Markers take no space and no time.
    const NONE: Admitted = Admitted {
        instructions: 0,
        space: 0,
    };
}

impl HardwareThread {
    /// The next operation to dispatch, unless dispatch has to wait for an answer.
    fn next_op(&mut self, shape: &Shape) -> Option<Op> {
        match self.stopped {
            None => {}
            Some(Stopped::Answer | Stopped::Fence) => return None,
            Some(Stopped::Window) => self.stopped = None,
            Some(Stopped::StoreQueue) => {
                self.stopped = None;
                self.dispatch_pos = self.dispatch_pos.max(shape.position_at(self.store_freed));
                self.held_up = Some(self.queue_blame.take().unwrap_or(Cause::StoreQueueFull));
            }
        }
        self.thread.next_op().copied()
    }

    /// Some or all instructions of a compute site enter the window; they take a cycle from dispatch to result.
    fn dispatch_compute(&mut self, shape: &Shape, op: Op, admitted: Admitted) {
        let now = u64::from(admitted.instructions);
        self.dispatch_pos += now * shape.compute_units;
        let at = self.enter(shape, Op { value: now, ..op }, admitted);
        let result = self.window[at].result + 1;
        self.window[at].result = result;
        self.latest_result = self.latest_result.max(result);
        match self.thread.next_op() {
            Some(rest) if op.value > now => rest.value -= now,
            _ => {
                self.thread.dispatched();
                // The pieces of a long compute share its number.
                self.next_id = self.next_id.wrapping_add(1);
            }
        }
    }

    /// A marker takes no entry, but it must not overtake the store that an in-order core is working on.
    fn admit_marker(&self, shape: &Shape) -> Result<Admitted, Stopped> {
        match shape.in_order() && !self.stores.is_empty() {
            true => Err(Stopped::StoreQueue),
            false => Ok(Admitted::NONE),
        }
    }

    /// Frees an entry for one operation, or says what it must wait for.
    fn admit(&mut self, shape: &Shape, kind: OpKind) -> Result<Admitted, Stopped> {
        let is_load = kind == OpKind::Load;
        while (self.occupancy >= shape.rob || (is_load && self.loads >= shape.load_queue)) && !self.window.is_empty() {
            if self.committed == 0 {
                return Err(Stopped::Window);
            }
            self.retire_oldest(shape);
        }
        let no_entry = kind.is_store() && self.stores.len() >= shape.store_queue as usize;
        if no_entry || (shape.in_order() && !self.stores.is_empty()) {
            return Err(Stopped::StoreQueue);
        }
        Ok(Admitted {
            instructions: 1,
            space: 1,
        })
    }

    /// Frees entries for as many of `n` instructions as can enter now.
    ///
    /// Behind an unfinished instruction they enter up to the free entries. When everything older has completed by the cycle after
    /// their dispatch, they stream through: all of them enter, and stand for the few entries they hold at a time.
    fn admit_compute(&mut self, shape: &Shape, n: u32) -> Result<Admitted, Stopped> {
        if shape.in_order() && !self.stores.is_empty() {
            return Err(Stopped::StoreQueue);
        }
        let behind = shape.to_dispatch.floor(self.dispatch_pos) + 1;
        let streams = self.committed == self.window.len() && self.latest_result <= behind;
        let want = n.min(if streams { shape.streaming } else { shape.rob });
        while self.occupancy + want > shape.rob && self.committed > 0 {
            self.retire_oldest(shape);
        }
        let free = shape.rob.saturating_sub(self.occupancy).min(n);
        let (instructions, space) = if streams { (n, want) } else { (free, free) };
        match space {
            0 => Err(Stopped::Window),
            _ => Ok(Admitted { instructions, space }),
        }
    }

    /// Drops the oldest committed entry; what enters in its place dispatches no earlier than it committed.
    fn retire_oldest(&mut self, shape: &Shape) {
        let e = &self.window[0];
        self.committed -= 1;
        self.occupancy -= e.space;
        self.loads -= u32::from(e.op.kind == OpKind::Load);
        self.dispatch_pos = self.dispatch_pos.max(shape.position(e.committed_at));
        self.window.drop_oldest();
    }

    /// An operation enters the window at the present dispatch position, as if its result were there at once; its place.
    #[inline]
    fn enter(&mut self, shape: &Shape, op: Op, admitted: Admitted) -> usize {
        let dispatched = shape.to_dispatch.floor(self.dispatch_pos);
        self.occupancy += admitted.space;
        self.window.push(Entry {
            op,
            id: self.next_id,
            weight: admitted.instructions,
            space: admitted.space,
            awaited_by: (0, 0),
            next_waiting: 0,
            dispatched,
            result: dispatched,
            committed_at: 0,
            cause: self.held_up.take().unwrap_or(Cause::Execute),
            progress: Progress::Done,
        });
        self.window.len() - 1
    }

    /// Whether a full fence older than the entry has not completed.
    fn behind_fence(&self, at: usize) -> bool {
        if planted!("core.load-passes-fence", "a load waits for an older full fence") {
            return false;
        }
        // Behind the youngest entry there is none that could be younger than it.
        (self.open_fences > 0
            && (at + 1 == self.window.len()
                || (0..at).any(|i| self.window[i].op.kind.is_full_fence() && !self.window[i].done())))
            || self.stores.full_fence_before(self.window[at].id)
    }
}
