//! Dispatch: operations enter the reorder buffer as fast as width and space allow.

use super::entry::{Entry, Progress};
use super::operands::Entered;
use super::outside::Outside;
use super::shape::Shape;
use super::state::HardwareThread;
use super::state::Stopped;
use super::stores::stores_pass_loads;
use crate::frontend::OpKind;
use crate::seam::Cause;
use fencepost_kernel::TraceKind;

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
        matches!(self, OpKind::Fence(fence) if fence.properties().orders_loads)
    }
    /// Whether it is a fence that waits in the store queue.
    #[inline]
    pub(crate) fn is_queued_fence(self) -> bool {
        matches!(self, OpKind::QueuedFence(_))
    }
    /// Whether younger loads must wait for it in the store queue.
    #[inline]
    pub(crate) fn is_queued_full_fence(self) -> bool {
        matches!(self, OpKind::QueuedFence(fence) if fence.properties().orders_loads)
    }
}

impl HardwareThread {
    /// Dispatch begins or goes on.
    pub(crate) fn start(&mut self, out: &mut impl Outside) {
        self.dispatch(out);
        self.check_finished(out);
    }

    /// Dispatches until space, the store queue or the thread stops it.
    pub(crate) fn dispatch(&mut self, out: &mut impl Outside) {
        if !self.goes_on(out.shape()) {
            return;
        }
        while let Some(kind) = self.thread.next_kind() {
            let dispatched = match kind {
                OpKind::Compute => self.dispatch_compute(out),
                OpKind::Load => self.dispatch_load(out),
                OpKind::Fence(fence) if out.shape().is_buffered(fence) => {
                    self.thread.next_op().kind = OpKind::QueuedFence(fence);
                    self.dispatch_store(out)
                }
                kind if kind.is_store() => self.dispatch_store(out),
                kind if kind.is_marker() => self.dispatch_marker(out, kind),
                kind => self.dispatch_head(out, kind),
            };
            if let Err(stop) = dispatched {
                self.stopped = Some(stop);
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
                self.held_up = self.queue_blame.take().unwrap_or(Cause::StoreQueueFull);
            }
        }
        true
    }

    /// A load that is not an acquire enters the window, and goes on from there.
    #[inline]
    fn dispatch_load(&mut self, out: &mut impl Outside) -> Result<(), Stopped> {
        let shape = out.shape();
        self.free_entry(shape, true)?;
        self.store_has_left(shape)?;
        let addr = self.thread.next_op().addr;
        let new = self.enter_one(shape, Progress::Issued);
        self.loads += 1;
        self.counters.loads += 1;
        out.host_prefetch(addr);
        if let Some(start) = self.operand(new) {
            self.issue_load(out, new.at, new.id, start);
        }
        Ok(())
    }

    /// Whatever waits in the store queue.
    #[inline(always)] // into the loop, as the others
    fn dispatch_store(&mut self, out: &mut impl Outside) -> Result<(), Stopped> {
        let shape = out.shape();
        self.free_entry(shape, false)?;
        if self.stores.len() >= shape.store_queue as usize {
            return Err(Stopped::StoreQueue);
        }
        self.store_has_left(shape)?;
        let (op, tx) = (self.thread.next_op(), self.tx);
        let addr = op.addr;
        self.stores.push(op, self.next_id, tx);
        let new = self.enter_one(shape, Progress::Done);
        out.host_prefetch(addr);
        if let Some(start) = self.operand(new) {
            self.known(new.at, start + 1);
            self.commit_if_oldest(out);
        }
        if stores_pass_loads() {
            self.wake_stores(out, out.now());
        }
        Ok(())
    }

    /// An in-order core works on one store at a time, and on nothing else.
    #[inline]
    fn store_has_left(&self, shape: &Shape) -> Result<(), Stopped> {
        match shape.in_order() && !self.stores.is_empty() {
            true => Err(Stopped::StoreQueue),
            false => Ok(()),
        }
    }

    /// An instruction that acts only as the oldest enters the window. It may stop dispatch by itself.
    fn dispatch_head(&mut self, out: &mut impl Outside, kind: OpKind) -> Result<(), Stopped> {
        let (h, shape) = (&mut *self, out.shape());
        h.free_entry(shape, false)?;
        h.store_has_left(shape)?;
        let at = h.enter_one(shape, Progress::AtHead).at;
        h.open_fences += u32::from(kind.is_full_fence());
        let serializes = matches!(kind, OpKind::Fence(kind) if shape.serializes(kind));
        if matches!(kind, OpKind::TxCommit | OpKind::TxAbort) {
            h.tx = None;
        }
        if at == h.committed {
            self.reach_head(out);
        }
        match kind.suspends() {
            true => Err(Stopped::Answer),
            false if serializes => Err(Stopped::Fence),
            false => Ok(()),
        }
    }
}

/// What enters the window of a compute site.
#[derive(Copy, Clone)]
struct Admitted {
    instructions: u32,
    space: u16,
}

impl HardwareThread {
    /// Some or all instructions of a compute site enter the window; they take a cycle from dispatch to result.
    #[inline]
    fn dispatch_compute(&mut self, out: &mut impl Outside) -> Result<(), Stopped> {
        let shape = out.shape();
        let all = self.thread.next_op().value;
        let admitted = self.admit_compute(shape, all as u32)?;
        let now = u64::from(admitted.instructions);
        self.dispatch_pos += now * shape.compute_units;
        let Entered { at, since, .. } = self.enter(shape, admitted.space, Progress::Done, 1);
        self.latest_result = self.latest_result.max(since + 1);
        if all > now {
            self.window[at].op.value = now;
            self.thread.next_op().value = all - now;
        } else {
            self.thread.dispatched();
            // The pieces of a long compute share its number.
            self.next_id = self.next_id.wrapping_add(1);
        }
        self.commit_if_oldest(out);
        // The rest of it finds no entry: most pieces end here.
        let shape = out.shape();
        match all > now && self.occupancy >= shape.rob && self.committed == self.window.first() {
            true => Err(Stopped::Window),
            false => Ok(()),
        }
    }

    /// A marker takes no entry, but it must not overtake the store that an in-order core is working on.
    fn dispatch_marker(&mut self, out: &mut impl Outside, kind: OpKind) -> Result<(), Stopped> {
        let shape = out.shape();
        self.store_has_left(shape)?;
        let value = self.thread.next_op().value;
        self.enter(shape, 0, Progress::Done, 0);
        self.thread.dispatched();
        self.next_id = self.next_id.wrapping_add(1);
        if kind == OpKind::OpBegin {
            self.record(out, TraceKind::OpBegin(value as u32));
        }
        self.commit_if_oldest(out);
        Ok(())
    }

    /// What entered last has its result already: it commits at once, when it is the oldest.
    #[inline]
    fn commit_if_oldest(&mut self, out: &mut impl Outside) {
        if self.committed + 1 == self.window.end() {
            self.commit(out);
        }
    }

    /// Frees an entry for one operation, or says what it must wait for.
    #[inline]
    fn free_entry(&mut self, shape: &Shape, is_load: bool) -> Result<(), Stopped> {
        while self.occupancy >= shape.rob || (is_load && self.loads >= shape.load_queue) {
            if self.committed == self.window.first() {
                return Err(Stopped::Window);
            }
            // One is enough for one, nearly always.
            self.retire_oldest(shape);
        }
        Ok(())
    }

    /// Frees entries for as many of `n` instructions as can enter now.
    ///
    /// Behind an unfinished instruction they enter up to the free entries. When everything older has completed by the cycle after
    /// their dispatch, they stream through: all of them enter, and stand for the few entries they hold at a time.
    fn admit_compute(&mut self, shape: &Shape, n: u32) -> Result<Admitted, Stopped> {
        self.store_has_left(shape)?;
        let idle = self.committed == self.window.end();
        let streams = idle && self.latest_result <= shape.to_dispatch.floor(self.dispatch_pos) + 1;
        let want = n.min(if streams { shape.streaming } else { shape.rob });
        if self.occupancy + want > shape.rob {
            self.retire(shape, shape.rob - want);
        }
        // An entry counts its space with 16 bits; the longest reorder buffer has one more.
        let free = shape.rob.saturating_sub(self.occupancy).min(n).min(u16::MAX.into());
        let (instructions, space) = if streams { (n, want) } else { (free, free) };
        match space {
            0 => Err(Stopped::Window),
            _ => Ok(Admitted {
                instructions,
                space: space as u16,
            }),
        }
    }

    /// Drops the oldest committed entry; what enters in its place dispatches no earlier than it committed.
    #[inline]
    fn retire_oldest(&mut self, shape: &Shape) {
        let e = &self.window[self.window.first()];
        self.occupancy -= u32::from(e.space);
        self.loads -= u32::from(e.op.kind == OpKind::Load);
        self.dispatch_pos = self.dispatch_pos.max(shape.position(e.since));
        self.window.drop_oldest();
    }
    /// The same of as many as are in the way, until so much space is occupied at most.
    #[inline]
    fn retire(&mut self, shape: &Shape, occupied: u32) {
        let (mut first, mut last) = (self.window.first(), 0);
        let (mut space, mut loads) = (self.occupancy, self.loads);
        while space > occupied && first < self.committed {
            let e = &self.window[first];
            space -= u32::from(e.space);
            loads -= u32::from(e.op.kind == OpKind::Load);
            // They committed in order: the last one did last.
            last = e.since;
            first += 1;
        }
        (self.occupancy, self.loads) = (space, loads);
        self.window.drop_before(first);
        self.dispatch_pos = self.dispatch_pos.max(shape.position(last));
    }

    /// A memory operation, or another one that is more than time, enters the window.
    #[inline]
    fn enter_one(&mut self, shape: &Shape, progress: Progress) -> Entered {
        self.memory_ops += 1;
        self.dispatch_pos += shape.units;
        let new = self.enter(shape, 1, progress, 0);
        self.thread.dispatched();
        self.next_id = new.id.wrapping_add(1);
        new
    }
    /// The next operation enters the window at the present dispatch position, as if its result were there after so many cycles.
    #[inline]
    fn enter(&mut self, shape: &Shape, space: u16, progress: Progress, cycles: u64) -> Entered {
        let since = shape.to_dispatch.floor(self.dispatch_pos);
        self.occupancy += u32::from(space);
        let (at, id) = (self.window.end(), self.next_id);
        let op = self.thread.next_op();
        let (dep, cause) = (op.dep, std::mem::replace(&mut self.held_up, Cause::Execute));
        let entry = self.window.add();
        *entry = Entry {
            op: *op,
            since,
            // What a load has there before it is done says that no other is in its run (`load_turns`).
            result: if progress == Progress::Issued {
                0
            } else {
                since + cycles
            },
            id,
            awaited_by: 0,
            next_waiting: 0,
            space,
            cause,
            progress,
        };
        Entered { at, id, since, dep }
    }
}
