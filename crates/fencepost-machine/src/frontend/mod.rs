//! The front end: program threads as coroutines that hand operations to the hardware threads.
//!
//! Plain accesses act on functional memory when the program issues them, at most [`RUN_AHEAD`] operations before the
//! hardware thread dispatches them. Locks, atomics, acquires and releases suspend the thread until the timing model performs them.

mod journal;
mod sim_mem;

pub use journal::Journal;
pub use sim_mem::{SimMem, ThreadBody};

use corosensei::{Coroutine, CoroutineResult};
use fencepost_kernel::{Addr, Fence, Flush, Image, Outcome, QueueId, Rmw, Width};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::rc::Rc;

/// Value of a fence that stands between log entries and data.
pub const LOG_FENCE: u64 = 1;

/// Operations a thread may run ahead of its hardware thread's dispatch.
pub const RUN_AHEAD: usize = 32;

/// What an operation is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Plain load.
    Load,
    /// Plain store.
    Store,
    /// Non-temporal store.
    NtStore,
    /// Flush of a line.
    Flush(Flush),
    /// Fence.
    Fence(Fence),
    /// Atomic; suspends the thread. What it does is [`Thread::rmw`].
    Rmw,
    /// Acquiring load; suspends the thread.
    LoadAcquire,
    /// Releasing store; suspends the thread.
    StoreRelease,
    /// A fence that waits in the store queue: dispatch makes it of a `Fence` that is declared so.
    QueuedFence(Fence),
    /// Lock; suspends the thread.
    Lock,
    /// Unlock.
    Unlock,
    /// Non-memory instructions.
    Compute,
    /// Transaction begin; suspends the thread.
    TxBegin,
    /// Transaction commit.
    TxCommit,
    /// Transaction abort; suspends the thread.
    TxAbort,
    /// Transaction flush; suspends the thread.
    TxFlush,
    /// Range binding; suspends the thread.
    Bind,
    /// Commit of a sub-queue.
    CommitQueue(QueueId),
    /// Release of a range.
    Release,
    /// Marker: operation begins.
    OpBegin,
    /// Marker: operation executed.
    OpEnd,
    /// Marker: operation acknowledged.
    Ack,
}

/// One operation on its way from a program thread to its hardware thread.
#[derive(Copy, Clone, Debug)]
pub struct Op {
    /// What.
    pub kind: OpKind,
    /// Width of the access.
    pub width: Width,
    /// Byte address (range binding: first byte).
    pub addr: Addr,
    /// Value stored, value loaded functionally, instruction count, operation index or length; of a fence, whether it is a
    /// [`LOG_FENCE`].
    pub value: u64,
    /// Operation whose result the address depends on (0: none).
    pub dep: u32,
    /// Line of the program.
    pub source: &'static Location<'static>,
}
impl Op {
    /// Stands for no operation.
    pub const NOTHING: Op = Op {
        kind: OpKind::Compute,
        width: Width::B8,
        addr: Addr(0),
        value: 0,
        dep: 0,
        source: Location::caller(),
    };
}

/// Mailbox between a program thread and its hardware thread.
#[derive(Default)]
pub struct Port {
    pub(crate) ops: RefCell<VecDeque<Op>>,
    pub(crate) outcomes: RefCell<VecDeque<Outcome>>,
    /// The last atomic; there is at most one under way, because it suspends the thread.
    pub(crate) rmw: Cell<Option<Rmw>>,
}

/// Why a thread suspended.
pub enum Pause {
    /// Its mailbox is full.
    Full,
    /// It waits for the answer to its last operation.
    Sync,
}

/// Answer to a suspended operation.
#[derive(Copy, Clone, Debug, Default)]
pub struct Answer {
    /// Value read, transaction number, queue number.
    pub value: u64,
    /// The thread was rolled back: re-run from this operation.
    pub rolled_back: Option<u32>,
}

/// One program thread.
pub struct Thread {
    coroutine: Option<Coroutine<Answer, Pause, ()>>,
    port: Rc<Port>,
    /// Operations taken out of the mailbox and not yet dispatched, oldest first.
    taken: VecDeque<Op>,
}

impl Thread {
    /// A thread that will run `body` on `memory`. `sites` gives the instructions of each compute site.
    pub fn new(
        body: ThreadBody,
        memory: Rc<RefCell<Image>>,
        journal: Rc<RefCell<Journal>>,
        sites: Rc<[u32]>,
        hart: u8,
    ) -> Thread {
        let port = Rc::new(Port::default());
        let inner = port.clone();
        let coroutine = Coroutine::new(move |yielder: &corosensei::Yielder<Answer, Pause>, _first: Answer| {
            body(&mut SimMem::new(yielder, inner, memory, journal, sites, hart));
        });
        Thread {
            coroutine: Some(coroutine),
            port,
            taken: VecDeque::with_capacity(RUN_AHEAD),
        }
    }
    /// Whether the thread has returned.
    pub fn finished(&self) -> bool {
        self.coroutine.is_none() && self.taken.is_empty() && self.port.ops.borrow().is_empty()
    }
    /// Runs the thread until it suspends or returns, handing it `answer` if it waits for one.
    pub fn resume(&mut self, answer: Answer) {
        if let Some(co) = self.coroutine.as_mut()
            && let CoroutineResult::Return(()) = co.resume(answer)
        {
            self.coroutine = None;
        }
    }
    /// The next operation to dispatch; the thread runs on when it has handed over none. `None` once it has returned and
    /// everything was dispatched.
    #[inline]
    pub fn next_op(&mut self) -> Option<&mut Op> {
        if self.taken.is_empty() {
            self.take_ops();
        }
        self.taken.front_mut()
    }
    /// The next operation has been dispatched.
    #[inline]
    pub fn dispatched(&mut self) {
        self.taken.pop_front();
    }
    fn take_ops(&mut self) {
        while self.port.ops.borrow().is_empty() && self.coroutine.is_some() {
            self.resume(Answer::default());
        }
        std::mem::swap(&mut self.taken, &mut self.port.ops.borrow_mut());
    }
    /// What the atomic under way does.
    pub fn rmw(&self) -> Option<Rmw> {
        self.port.rmw.get()
    }
    /// Outcome of the operation whose end marker was just taken.
    pub fn next_outcome(&self) -> Outcome {
        self.port.outcomes.borrow_mut().pop_front().unwrap_or_default()
    }
}
