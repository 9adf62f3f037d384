//! The memory interface of a recorded thread.

use super::buffer::Effect;
use super::schedule::{Granularity, Order, Pause, Schedule, Yielding};
use super::state::Execution;
use fencepost_kernel::{
    Addr, At, Fence, Flush, HwThread, Mem, Outcome, Place, QueueId, Rmw, Rollback, Span, StoreId, TraceKind, TxId, Val,
    Width,
};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::time::Instant;

/// Loads in a row, with no store by any thread between them, after which others get a chance to run.
const PATIENCE: u64 = 1 << 10;
/// The same, after which the thread counts as spinning: it can go on only if another thread stores.
const SPINNING: u64 = 1 << 20;

/// Memory as a recorded thread sees it. Every access is written down with the line of the program it comes from.
pub struct RecordMem<'y> {
    pub(super) execution: Rc<RefCell<Execution>>,
    pub(super) thread: HwThread,
    pub(super) schedule: Schedule,
    pub(super) yielder: &'y Yielding,
    /// Loads in a row, and how many stores there were when they began.
    pub(super) quiet: (u64, usize),
    /// Memory operations so far.
    pub(super) operations: u64,
    /// The line of the program for which a library is at work.
    pub(super) caller: Option<&'static Location<'static>>,
}

impl RecordMem<'_> {
    /// Another thread may run now, if switches are as fine as `at`.
    fn may_switch(&mut self, at: Granularity) {
        self.operations += 1;
        let late = |t: Instant| self.operations.is_multiple_of(PATIENCE) && Instant::now() >= t;
        if self.schedule.until.is_some_and(late) {
            self.yielder.suspend(Pause::OutOfTime);
        }
        if self.schedule.granularity >= at {
            self.yielder.suspend(Pause::Switch);
        }
    }
    /// The thread reads again. One that does nothing else waits for a store.
    fn read_again(&mut self, at: Addr, source: &'static Location<'static>) {
        let stores = self.execution.borrow().trace.stores.len();
        if self.quiet.1 != stores {
            self.quiet = (0, stores);
        }
        self.quiet.0 += 1;
        if self.quiet.0 >= SPINNING {
            self.quiet.0 = 0;
            self.yielder.suspend(Pause::Spin { at, source, stores });
        } else if self.quiet.0.is_multiple_of(PATIENCE) {
            self.yielder.suspend(Pause::Switch);
        }
    }
    /// The word and the store that wrote it, in memory.
    fn look(&self, at: Addr) -> (u64, Option<StoreId>) {
        let execution = self.execution.borrow();
        (execution.memory.word(at), execution.memory.writer(at))
    }
    /// Lets an effect happen, now or when it leaves the store buffer.
    fn act(&mut self, effect: Effect) {
        self.quiet.0 = 0;
        let mut execution = self.execution.borrow_mut();
        if self.schedule.order == Order::Sequential {
            execution.happen(self.thread, effect);
            return;
        }
        if execution.thread(self.thread).buffer.is_full() {
            execution.drain_one(self.thread);
        }
        execution.thread(self.thread).buffer.push(effect);
    }
    /// Everything that the thread has executed takes effect.
    fn drain(&mut self) {
        self.quiet.0 = 0;
        self.execution.borrow_mut().drain(self.thread);
    }
    #[track_caller]
    fn write(&mut self, at: Addr, value: u64, width: Width, nt: bool) {
        self.act(Effect::Store {
            at,
            value,
            width,
            nt,
            source: Place::new(self.caller, Location::caller()),
        });
    }
    fn push(&self, kind: TraceKind) {
        self.execution.borrow_mut().push(self.thread, kind);
    }
}

impl Mem for RecordMem<'_> {
    type Dep = ();

    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        self.may_switch(Granularity::Access);
        let addr = at.addr.word();
        self.read_again(addr, self.caller.unwrap_or(Location::caller()));
        let (memory, from) = self.look(addr);
        let own = self
            .execution
            .borrow_mut()
            .thread(self.thread)
            .buffer
            .forward(addr, memory);
        match own {
            Some(_) => {
                let mut execution = self.execution.borrow_mut();
                execution.thread(self.thread).buffer.push(Effect::OwnLoad(addr));
            }
            None => self.push(TraceKind::Load { addr, from }),
        }
        Val {
            v: width.extract(own.unwrap_or(memory), at.addr.0),
            dep: (),
        }
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.may_switch(Granularity::Access);
        self.write(at.addr, v.v, width, false);
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.may_switch(Granularity::Access);
        self.write(at.addr.word(), v.v, Width::B8, true);
    }
    fn flush(&mut self, at: At<()>, kind: Flush) {
        self.may_switch(Granularity::Access);
        self.act(Effect::Flush(at.line(), kind));
    }
    fn fence(&mut self, kind: Fence) {
        self.may_switch(Granularity::Access);
        if kind.properties().orders_loads {
            self.drain();
        }
        self.act(Effect::Fence(kind));
        if kind.properties().orders_loads {
            self.drain();
        }
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        self.may_switch(Granularity::Lock);
        self.execution.borrow_mut().drain(self.thread);
        let addr = at.addr.word();
        self.read_again(addr, self.caller.unwrap_or(Location::caller()));
        let (old, from) = self.look(addr);
        let new = match op {
            Rmw::Cas { expect, new } => (old == expect).then_some(new),
            Rmw::Add(n) => Some(old.wrapping_add(n)),
            Rmw::Swap(new) => Some(new),
        };
        let source = Place::new(self.caller, Location::caller());
        let mut execution = self.execution.borrow_mut();
        let store = new.map(|new| execution.store(self.thread, addr, new, false, source));
        execution.push(self.thread, TraceKind::Rmw { addr, from, store });
        Val { v: old, dep: () }
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.may_switch(Granularity::Lock);
        self.load(at)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.may_switch(Granularity::Lock);
        self.store(at, v);
    }
    fn lock(&mut self, at: At<()>) {
        self.may_switch(Granularity::Lock);
        self.drain();
        let addr = at.addr.word();
        let (source, place) = (Location::caller(), Place::new(self.caller, Location::caller()));
        while self.look(addr).0 != 0 {
            self.yielder.suspend(Pause::Lock { at: addr, source });
        }
        let from = self.look(addr).1;
        let mut execution = self.execution.borrow_mut();
        execution.stamp(self.thread);
        let store = Some(execution.store(self.thread, addr, 1, false, place));
        execution.push(self.thread, TraceKind::Rmw { addr, from, store });
    }
    fn unlock(&mut self, at: At<()>) {
        self.write(at.addr.word(), 0, Width::B8, false);
        self.may_switch(Granularity::Lock);
    }
    fn tx_begin(&mut self) -> Result<TxId, Rollback> {
        self.drain();
        let mut execution = self.execution.borrow_mut();
        let state = execution.thread(self.thread);
        if std::mem::take(&mut state.rolled_back) {
            let op = state.op.take().map_or(0, |op| op.0);
            return Err(Rollback { op });
        }
        Ok(execution.begin(self.thread))
    }
    fn tx_commit(&mut self) {
        self.drain();
        self.execution.borrow_mut().commit(self.thread);
    }
    fn tx_abort(&mut self) {
        self.drain();
        self.execution.borrow_mut().abort(self.thread);
    }
    fn tx_flush(&mut self) {
        self.drain();
        self.push(TraceKind::TxFlush);
    }
    fn bind(&mut self, base: Addr, len: u64) -> QueueId {
        self.drain();
        let queue = self.execution.borrow_mut().bind(Span { at: base, len });
        self.push(TraceKind::Bind { base, len, queue });
        queue
    }
    fn release(&mut self, base: Addr, len: u64) {
        self.drain();
        self.execution.borrow_mut().release(Span { at: base, len });
        self.push(TraceKind::Release { base, len });
    }
    fn commit_queue(&mut self, queue: QueueId) {
        self.drain();
        self.push(TraceKind::CommitQueue(queue));
    }
    fn work_for(&mut self, line: Option<&'static Location<'static>>) -> Option<&'static Location<'static>> {
        std::mem::replace(&mut self.caller, line)
    }
    fn op_begin(&mut self, op: u32) {
        self.may_switch(Granularity::Operation);
        self.execution.borrow_mut().thread(self.thread).op = Some((op, None));
        self.act(Effect::OpBegin(op));
    }
    fn op_end(&mut self, op: u32, outcome: Outcome) {
        let running = self.execution.borrow_mut().thread(self.thread).op.take();
        self.act(Effect::OpEnd(op, outcome, running.and_then(|r| r.1)));
    }
    fn ack(&mut self, op: u32) {
        self.act(Effect::Ack(op));
    }
}
