//! The simulator's back end of the memory interface.

use super::journal::Journal;
use super::op::{Answer, LOG_FENCE, Op, OpKind, Pause, Port, RUN_AHEAD};
use super::own_lines::{Access, OwnLine};
use corosensei::Yielder;
use fencepost_kernel::{
    Addr, At, Fence, Flush, HwThread, Image, Mem, Outcome, QueueId, Rmw, Rollback, Site, TxId, Val, Width,
};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

/// What a thread runs.
pub type ThreadBody = Box<dyn FnOnce(&mut SimMem<'_>)>;

/// What a thread does where an operation of its program begins.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// It goes on.
    RunOn,
    /// It suspends itself.
    Suspend,
}

/// Memory as a simulated thread sees it. Provenance (`Dep`) is the number of the producing operation, 0 for none.
pub struct SimMem<'y> {
    yielder: &'y Yielder<Answer, Pause>,
    port: Rc<Port>,
    memory: Rc<RefCell<Image>>,
    journal: Rc<RefCell<Journal>>,
    sites: Rc<[u32]>,
    hw_thread: HwThread,
    ends: Ends,
    /// Operations issued and not handed over, oldest first, and how many there are.
    ops: [Op; RUN_AHEAD],
    issued: usize,
    next: u32,
    op: u32,
    /// Whether it has begun a hardware transaction that can be rolled back: from then on the journal wants to know of stores.
    journalled: bool,
    /// The line of the program for which a library is at work.
    caller: Option<&'static Location<'static>>,
}

impl<'y> SimMem<'y> {
    /// Runs a thread's program to its end.
    pub(super) fn run(
        body: ThreadBody,
        yielder: &'y Yielder<Answer, Pause>,
        port: Rc<Port>,
        memory: Rc<RefCell<Image>>,
        journal: Rc<RefCell<Journal>>,
        sites: Rc<[u32]>,
        (hw_thread, ends): (u8, Ends),
    ) {
        let mut memory = SimMem {
            yielder,
            port,
            memory,
            journal,
            sites,
            hw_thread: HwThread(hw_thread),
            ends,
            ops: [Op::NOTHING; RUN_AHEAD],
            issued: 0,
            next: 1,
            op: 0,
            journalled: false,
            caller: None,
        };
        body(&mut memory);
        memory.hand_over();
    }
    fn push(
        &mut self,
        kind: OpKind,
        addr: Addr,
        value: u64,
        dep: u32,
        width: Width,
        source: &'static Location<'static>,
    ) -> u32 {
        let Some(next) = self.ops.get_mut(self.issued) else {
            return self.push_later(kind, addr, value, dep, width, source);
        };
        // Made where it lies: it would wait for its own parts if it were copied as a whole.
        *next = Op {
            kind,
            access: Access::new(width, OwnLine::NONE),
            addr,
            value,
            dep,
            source: self.caller.unwrap_or(source),
        };
        self.issued += 1;
        if self.port.own_lines.is_some() {
            self.name_own_line(width, source);
        }
        let id = self.next;
        self.next = id.wrapping_add(1);
        id
    }
    /// There is no room: the operation follows when the others were handed over.
    #[cold]
    fn push_later(
        &mut self,
        kind: OpKind,
        addr: Addr,
        value: u64,
        dep: u32,
        width: Width,
        source: &'static Location<'static>,
    ) -> u32 {
        self.suspend(Pause::Full);
        self.push(kind, addr, value, dep, width, source)
    }
    /// Somebody records: the newest operation names the line of the library that made it for the program, if one did.
    #[cold]
    fn name_own_line(&mut self, width: Width, source: &'static Location<'static>) {
        if let (Some(lines), Some(_), [.., op]) = (&self.port.own_lines, self.caller, &mut self.ops[..self.issued]) {
            op.access = Access::new(width, lines.number(source));
        }
    }
    /// What was issued goes into the mailbox.
    fn hand_over(&mut self) {
        self.port.ops.borrow_mut().extend_from_slice(&self.ops[..self.issued]);
        self.issued = 0;
    }
    /// The hardware thread goes on with what was issued, and resumes this one.
    fn suspend(&mut self, why: Pause) -> Answer {
        self.hand_over();
        self.yielder.suspend(why)
    }
    fn word_op(&mut self, kind: OpKind, at: At<u32>, value: u64, source: &'static Location<'static>) -> u32 {
        self.push(kind, at.addr, value, at.dep, Width::B8, source)
    }
    fn sync(&mut self, kind: OpKind, at: At<u32>, value: u64, source: &'static Location<'static>) -> (Answer, u32) {
        let id = self.word_op(kind, at, value, source);
        (self.suspend(Pause::Sync), id)
    }
    fn functional_store(&mut self, addr: Addr, value: u64, width: Width) {
        let mut memory = self.memory.borrow_mut();
        if !self.journalled && width == Width::B8 {
            memory.set_word(addr, value, None);
            return;
        }
        let old = memory.word(addr);
        if !self.journalled || self.journal.borrow_mut().issue(self.hw_thread, addr.word(), old) {
            memory.set_word(addr, width.insert(old, addr.0, value), None);
        }
    }
}

const NOWHERE: At<u32> = At { addr: Addr(0), dep: 0 };

impl Mem for SimMem<'_> {
    type Dep = u32;

    #[track_caller]
    fn load_n(&mut self, at: At<u32>, width: Width) -> Val<u32> {
        let v = width.extract(self.memory.borrow().word(at.addr), at.addr.0);
        Val {
            v,
            dep: self.push(OpKind::Load, at.addr, v, at.dep, width, Location::caller()),
        }
    }
    #[track_caller]
    fn store_n(&mut self, at: At<u32>, v: Val<u32>, width: Width) {
        self.functional_store(at.addr, v.v, width);
        self.push(
            OpKind::Store,
            at.addr,
            v.v,
            at.dep.max(v.dep),
            width,
            Location::caller(),
        );
    }
    #[track_caller]
    fn nt_store(&mut self, at: At<u32>, v: Val<u32>) {
        self.functional_store(at.addr, v.v, Width::B8);
        self.push(
            OpKind::NtStore,
            at.addr,
            v.v,
            at.dep.max(v.dep),
            Width::B8,
            Location::caller(),
        );
    }
    #[track_caller]
    fn flush(&mut self, at: At<u32>, kind: Flush) {
        self.word_op(OpKind::Flush(kind), at, 0, Location::caller());
    }
    #[track_caller]
    fn fence(&mut self, kind: Fence) {
        self.word_op(OpKind::Fence(kind), NOWHERE, 0, Location::caller());
    }
    #[track_caller]
    fn log_fence(&mut self, kind: Fence) {
        self.word_op(OpKind::Fence(kind), NOWHERE, LOG_FENCE, Location::caller());
    }
    #[track_caller]
    fn rmw(&mut self, at: At<u32>, op: Rmw) -> Val<u32> {
        self.port.rmw.set(Some(op));
        let (answer, dep) = self.sync(OpKind::Rmw, at, 0, Location::caller());
        Val { v: answer.value, dep }
    }
    #[track_caller]
    fn load_acquire(&mut self, at: At<u32>) -> Val<u32> {
        let (answer, dep) = self.sync(OpKind::LoadAcquire, at, 0, Location::caller());
        Val { v: answer.value, dep }
    }
    #[track_caller]
    fn store_release(&mut self, at: At<u32>, v: Val<u32>) {
        let dep = at.dep.max(v.dep);
        self.sync(OpKind::StoreRelease, At { dep, ..at }, v.v, Location::caller());
    }
    #[track_caller]
    fn lock(&mut self, at: At<u32>) {
        self.sync(OpKind::Lock, at, 0, Location::caller());
    }
    #[track_caller]
    fn unlock(&mut self, at: At<u32>) {
        self.word_op(OpKind::Unlock, at, 0, Location::caller());
    }
    #[track_caller]
    fn tx_begin(&mut self) -> Result<TxId, Rollback> {
        let (answer, _) = self.sync(OpKind::TxBegin, NOWHERE, u64::from(self.op), Location::caller());
        if let Some(op) = answer.rolled_back {
            return Err(Rollback { op });
        }
        let tx = TxId(answer.value as u32);
        self.journalled |= tx != TxId(0);
        Ok(tx)
    }
    #[track_caller]
    fn tx_commit(&mut self) {
        self.word_op(OpKind::TxCommit, NOWHERE, 0, Location::caller());
    }
    #[track_caller]
    fn tx_abort(&mut self) {
        self.sync(OpKind::TxAbort, NOWHERE, 0, Location::caller());
    }
    #[track_caller]
    fn tx_flush(&mut self) {
        self.sync(OpKind::TxFlush, NOWHERE, 0, Location::caller());
    }
    #[track_caller]
    fn bind(&mut self, base: Addr, len: u64) -> QueueId {
        let (answer, _) = self.sync(OpKind::Bind, At { addr: base, dep: 0 }, len, Location::caller());
        QueueId(answer.value as u8)
    }
    #[track_caller]
    fn commit_queue(&mut self, queue: QueueId) {
        self.word_op(OpKind::CommitQueue(queue), NOWHERE, 0, Location::caller());
    }
    #[track_caller]
    fn release(&mut self, base: Addr, len: u64) {
        self.word_op(OpKind::Release, At { addr: base, dep: 0 }, len, Location::caller());
    }
    #[track_caller]
    fn compute(&mut self, site: Site) {
        let n = self.sites.get(usize::from(site.0)).copied().unwrap_or(0);
        if n > 0 {
            self.word_op(OpKind::Compute, NOWHERE, u64::from(n), Location::caller());
        }
    }
    fn work_for(&mut self, line: Option<&'static Location<'static>>) -> Option<&'static Location<'static>> {
        std::mem::replace(&mut self.caller, line)
    }
    fn op_begin(&mut self, op: u32) {
        if self.ends == Ends::Suspend {
            self.suspend(Pause::Operation);
        }
        self.op = op;
        self.word_op(OpKind::OpBegin, NOWHERE, u64::from(op), Location::caller());
    }
    fn op_end(&mut self, op: u32, outcome: Outcome) {
        self.port.outcomes.borrow_mut().push_back(outcome);
        self.word_op(OpKind::OpEnd, NOWHERE, u64::from(op), Location::caller());
    }
    fn ack(&mut self, op: u32) {
        self.word_op(OpKind::Ack, NOWHERE, u64::from(op), Location::caller());
    }
}
