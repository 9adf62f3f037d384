//! The memory interface of a recorded thread.

use super::schedule::{Granularity, Pause, Yielding};
use super::state::Execution;
use fencepost_kernel::{
    Addr, At, Fence, Flush, HartId, Mem, Outcome, QueueId, Rmw, Rollback, StoreId, TraceKind, TxId, Val, Width,
};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

/// Memory as a recorded thread sees it. Every access is written down with the line of the program it comes from.
pub struct RecordMem<'y> {
    pub(super) execution: Rc<RefCell<Execution>>,
    pub(super) thread: HartId,
    pub(super) granularity: Granularity,
    pub(super) yielder: &'y Yielding,
}

impl RecordMem<'_> {
    /// Another thread may run now, if switches are as fine as `at`.
    fn may_switch(&self, at: Granularity) {
        if self.granularity >= at {
            self.yielder.suspend(Pause::Switch);
        }
    }
    /// The word and the store that wrote it.
    fn look(&self, at: Addr) -> (u64, Option<StoreId>) {
        let execution = self.execution.borrow();
        (execution.memory.word(at), execution.memory.writer(at))
    }
    #[track_caller]
    fn write(&self, at: Addr, value: u64, nt: bool) -> StoreId {
        self.execution
            .borrow_mut()
            .store(self.thread, at, value, nt, Location::caller())
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
        let (word, from) = self.look(addr);
        self.push(TraceKind::Load { addr, from });
        Val {
            v: width.extract(word, at.addr.0),
            dep: (),
        }
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.may_switch(Granularity::Access);
        let addr = at.addr.word();
        let id = self.write(addr, width.insert(self.look(addr).0, at.addr.0, v.v), false);
        self.push(TraceKind::Store(id));
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.may_switch(Granularity::Access);
        let id = self.write(at.addr.word(), v.v, true);
        self.push(TraceKind::Store(id));
    }
    fn flush(&mut self, at: At<()>, kind: Flush) {
        self.may_switch(Granularity::Access);
        self.push(TraceKind::Flush { line: at.line(), kind });
    }
    fn fence(&mut self, kind: Fence) {
        self.may_switch(Granularity::Access);
        self.push(TraceKind::Fence(kind));
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        self.may_switch(Granularity::Lock);
        let addr = at.addr.word();
        let (old, from) = self.look(addr);
        let new = match op {
            Rmw::Cas { expect, new } => (old == expect).then_some(new),
            Rmw::Add(n) => Some(old.wrapping_add(n)),
            Rmw::Swap(new) => Some(new),
        };
        // Not `map`: a closure would hide the caller's line.
        #[allow(clippy::manual_map)]
        let store = match new {
            Some(new) => Some(self.write(addr, new, false)),
            None => None,
        };
        self.push(TraceKind::Rmw { addr, from, store });
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
        let addr = at.addr.word();
        while self.look(addr).0 != 0 {
            self.yielder.suspend(Pause::Lock {
                at: addr,
                source: Location::caller(),
            });
        }
        let from = self.look(addr).1;
        self.execution.borrow_mut().stamp(self.thread);
        let store = Some(self.write(addr, 1, false));
        self.push(TraceKind::Rmw { addr, from, store });
    }
    fn unlock(&mut self, at: At<()>) {
        let id = self.write(at.addr.word(), 0, false);
        self.push(TraceKind::Store(id));
        self.may_switch(Granularity::Lock);
    }
    fn tx_begin(&mut self) -> Result<TxId, Rollback> {
        let mut execution = self.execution.borrow_mut();
        let state = execution.thread(self.thread);
        if std::mem::take(&mut state.rolled_back) {
            let op = state.op.take().map_or(0, |op| op.0);
            return Err(Rollback { op });
        }
        Ok(execution.begin(self.thread))
    }
    fn tx_commit(&mut self) {
        self.execution.borrow_mut().commit(self.thread);
    }
    fn tx_abort(&mut self) {
        self.execution.borrow_mut().abort(self.thread);
    }
    fn tx_flush(&mut self) {
        self.push(TraceKind::TxFlush);
    }
    fn bind(&mut self, base: Addr, len: u64) -> QueueId {
        let queue = QueueId(self.execution.borrow_mut().next_queue());
        self.push(TraceKind::Bind { base, len, queue });
        queue
    }
    fn commit_queue(&mut self, queue: QueueId) {
        self.push(TraceKind::CommitQueue(queue));
    }
    fn op_begin(&mut self, op: u32) {
        self.may_switch(Granularity::Operation);
        self.execution.borrow_mut().thread(self.thread).op = Some((op, None));
        self.push(TraceKind::OpBegin(op));
    }
    fn op_end(&mut self, op: u32, outcome: Outcome) {
        self.execution.borrow_mut().end_op(self.thread, op, outcome);
    }
    fn ack(&mut self, op: u32) {
        self.push(TraceKind::Ack(op));
    }
}
