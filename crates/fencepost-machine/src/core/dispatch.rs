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
        if !self.goes_on(out.shape()) {
            return;
        }
        while let Some(&mut op) = self.thread.next_op() {
            let dispatched = match op.kind {
                OpKind::Compute => self.dispatch_compute(out, op),
                kind if kind.is_marker() => self.dispatch_marker(out, op),
                _ => self.dispatch_access(out, op),
            };
            if let Err(stop) = dispatched {
                self.stopped = Some(stop);
                return;
            }
            if self.stopped.is_some() {
                return;
            }
        }
    }

    /// Whether dispatch may be tried: not while the thread waits for an answer, or a fence keeps it.
    #[inline]
    fn goes_on(&mut self, shape: &Shape) -> bool {
        match self.stopped {
            None => {}
            Some(Stopped::Answer | Stopped::Fence) => return false,
            Some(Stopped::Window) => self.stopped = None,
            Some(Stopped::StoreQueue) => {
                self.stopped = None;
                self.dispatch_pos = self.dispatch_pos.max(shape.position_at(self.store_freed));
                self.held_up = Some(self.queue_blame.take().unwrap_or(Cause::StoreQueueFull));
            }
        }
        true
    }

    /// A memory operation, or another one that is more than time, enters the window.
    fn dispatch_access(&mut self, out: &mut impl Outside, mut op: Op) -> Result<(), Stopped> {
        let (h, shape) = (&mut *self, out.shape());
        if let OpKind::Fence(kind) = op.kind
            && shape.is_buffered(kind)
        {
            op.kind = OpKind::QueuedFence(kind);
        }
        let (is_load, is_store) = (op.kind == OpKind::Load, op.kind.is_store());
        h.free_entry(shape, is_load)?;
        if is_store && h.stores.len() >= shape.store_queue as usize || shape.in_order() && !h.stores.is_empty() {
            return Err(Stopped::StoreQueue);
        }
        h.thread.dispatched();
        h.memory_ops += 1;
        h.dispatch_pos += shape.units;
        let at = h.enter(shape, op, Admitted::ONE);
        let id = h.next_id;
        h.next_id = id.wrapping_add(1);
        if is_load || is_store {
            out.host_prefetch(op.addr);
        }
        if is_load {
            h.loads += 1;
            self.with_operands(out, at);
        } else if is_store {
            let (tx, state) = (h.tx, StoreState::Speculative);
            h.stores.push(QueuedStore { op, id, tx, state });
            self.with_operands(out, at);
        } else {
            self.dispatch_head(out, at, op.kind);
        }
        Ok(())
    }

    /// An instruction that acts only as the oldest entered the window.
    fn dispatch_head(&mut self, out: &mut impl Outside, at: usize, kind: OpKind) {
        let (h, shape) = (&mut *self, out.shape());
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

    /// The entry's operands may be ready: issue it, or leave it waiting.
    pub(crate) fn with_operands(&mut self, out: &mut impl Outside, at: usize) {
        let h = &mut *self;
        let e = &h.window[at];
        let (id, dep, is_store, dispatched) = (e.id, e.op.dep, e.op.kind.is_store(), e.dispatched);
        let start = match h.producer(dep) {
            None => dispatched,
            Some(p) if h.window[p].done() => dispatched.max(h.window[p].result),
            Some(p) => {
                h.wait_for(p, at);
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

    /// The entry at `at` waits for the result of the one at `producer`. Entries come to wait in program order.
    fn wait_for(&mut self, producer: usize, at: usize) {
        self.window[at].progress = Progress::Operand;
        let id = self.window[at].id;
        let (first, last) = self.window[producer].awaited_by;
        if first == 0 {
            self.window[producer].awaited_by = (id, id);
            return;
        }
        self.window[producer].awaited_by.1 = id;
        if let Some(last) = self.position(last) {
            self.window[last].next_waiting = id;
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

/// What enters the window.
#[derive(Copy, Clone)]
struct Admitted {
    instructions: u32,
    space: u32,
}
impl Admitted {
    /// One instruction in an entry of its own.
    const ONE: Admitted = Admitted {
        instructions: 1,
        space: 1,
    };
    /// Markers take no space and no time.
    const NONE: Admitted = Admitted {
        instructions: 0,
        space: 0,
    };
}

impl HardwareThread {
    /// Some or all instructions of a compute site enter the window; they take a cycle from dispatch to result.
    fn dispatch_compute(&mut self, out: &mut impl Outside, op: Op) -> Result<(), Stopped> {
        let shape = out.shape();
        let admitted = self.admit_compute(shape, op.value as u32)?;
        let now = u64::from(admitted.instructions);
        self.dispatch_pos += now * shape.compute_units;
        let at = self.enter(shape, Op { value: now, ..op }, admitted);
        let e = &mut self.window[at];
        e.result += 1;
        self.latest_result = self.latest_result.max(e.result);
        match self.thread.next_op() {
            Some(rest) if op.value > now => rest.value -= now,
            _ => {
                self.thread.dispatched();
                // The pieces of a long compute share its number.
                self.next_id = self.next_id.wrapping_add(1);
            }
        }
        self.commit_if_oldest(out);
        Ok(())
    }

    /// A marker takes no entry, but it must not overtake the store that an in-order core is working on.
    fn dispatch_marker(&mut self, out: &mut impl Outside, op: Op) -> Result<(), Stopped> {
        let shape = out.shape();
        if shape.in_order() && !self.stores.is_empty() {
            return Err(Stopped::StoreQueue);
        }
        self.thread.dispatched();
        self.enter(shape, op, Admitted::NONE);
        self.next_id = self.next_id.wrapping_add(1);
        if op.kind == OpKind::OpBegin {
            self.record(out, TraceKind::OpBegin(op.value as u32));
        }
        self.commit_if_oldest(out);
        Ok(())
    }

    /// What entered last has its result already: it commits at once, when it is the oldest.
    #[inline]
    fn commit_if_oldest(&mut self, out: &mut impl Outside) {
        if self.committed + 1 == self.window.len() {
            self.commit(out);
        }
    }

    /// Frees an entry for one operation, or says what it must wait for.
    #[inline]
    fn free_entry(&mut self, shape: &Shape, is_load: bool) -> Result<(), Stopped> {
        while (self.occupancy >= shape.rob || (is_load && self.loads >= shape.load_queue)) && !self.window.is_empty() {
            if self.committed == 0 {
                return Err(Stopped::Window);
            }
            self.retire_oldest(shape);
        }
        Ok(())
    }

    /// Frees entries for as many of `n` instructions as can enter now.
    ///
    /// Behind an unfinished instruction they enter up to the free entries. When everything older has completed by the cycle after
    /// their dispatch, they stream through: all of them enter, and stand for the few entries they hold at a time.
    fn admit_compute(&mut self, shape: &Shape, n: u32) -> Result<Admitted, Stopped> {
        if shape.in_order() && !self.stores.is_empty() {
            return Err(Stopped::StoreQueue);
        }
        let idle = self.committed == self.window.len();
        let streams = idle && self.latest_result <= shape.to_dispatch.floor(self.dispatch_pos) + 1;
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
    #[inline]
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
