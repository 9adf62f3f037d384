//! What passes between a program thread and its hardware thread.

use super::own_lines::{Access, OwnLines};
use fencepost_kernel::{Addr, Fence, Flush, Outcome, QueueId, Rmw};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::rc::Rc;

/// Value of a fence that stands between log entries and data.
pub const LOG_FENCE: u64 = 1;

/// Value of a lock that is taken at once, whoever holds it: the access that a trace has of it.
pub const AT_ONCE: u64 = 1;

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
    /// Atomic; suspends the thread. What it does stands in [`Port`].
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

/// One operation on its way from a program thread to its hardware thread. Two fill a line of the host's cache.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
pub struct Op {
    /// What.
    pub kind: OpKind,
    /// Width of the access, and the line of the library that made it for the program.
    pub access: Access,
    /// Byte address (range binding: first byte).
    pub addr: Addr,
    /// Value stored, value loaded functionally, instruction count, operation index or length; of a fence, whether it is a
    /// [`LOG_FENCE`]; of a lock, whether it is taken [`AT_ONCE`].
    pub value: u64,
    /// Operation whose result the address depends on (0: none).
    pub dep: u32,
    /// Line of the program.
    pub source: &'static Location<'static>,
}

const _: () = assert!(size_of::<Op>() == 32);
impl Op {
    /// Stands for no operation.
    pub const NOTHING: Op = Op {
        kind: OpKind::Compute,
        access: Access::WORD,
        addr: Addr(0),
        value: 0,
        dep: 0,
        source: Location::caller(),
    };
}

/// Mailbox between a program thread and its hardware thread.
#[derive(Default)]
pub struct Port {
    /// Operations issued and not yet taken, oldest first; all are taken at once.
    pub(crate) ops: RefCell<Vec<Op>>,
    pub(crate) outcomes: RefCell<VecDeque<Outcome>>,
    /// The last atomic; there is at most one under way, because it suspends the thread.
    pub(crate) rmw: Cell<Option<Rmw>>,
    /// The lines of libraries, where somebody records.
    pub(crate) own_lines: Option<Rc<OwnLines>>,
}

/// Why a thread suspended.
pub enum Pause {
    /// Its mailbox is full.
    Full,
    /// It waits for the answer to its last operation.
    Sync,
    /// Its next operation begins, and it was asked to say so.
    Operation,
}

/// Answer to a suspended operation.
#[derive(Copy, Clone, Debug, Default)]
pub struct Answer {
    /// Value read, transaction number, queue number.
    pub value: u64,
    /// The thread was rolled back: re-run from this operation.
    pub rolled_back: Option<u32>,
}
