//! The execution trace: what the program did and what became durable, in one order. The checker's only input.

use crate::fence::Fence;
use crate::ledger::LedgerEvent;
use crate::ops::{Flush, QueueId, TxId};
use crate::place::Place;
use crate::program::OpRecord;
use crate::units::{Addr, HwThread, LineAddr, StoreId};

/// One store of the execution.
#[derive(Copy, Clone, Debug)]
pub struct StoreInfo {
    /// Who stored.
    pub thread: HwThread,
    /// The aligned word written.
    pub addr: Addr,
    /// The whole word after the store, in coherence order (narrow stores merged).
    pub value: u64,
    /// Whether it took the non-temporal path.
    pub nt: bool,
    /// Hardware transaction it belongs to, if any.
    pub tx: Option<TxId>,
    /// The line of the program, and the library's own.
    pub source: Place,
}

/// What happened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// A store performed (became visible to other threads; for non-temporal stores: left for the write-combining buffer).
    Store(StoreId),
    /// A load of a word performed; `from` is the store it read, `None` the initial value.
    Load {
        /// The aligned word read.
        addr: Addr,
        /// The store it read from.
        from: Option<StoreId>,
    },
    /// An atomic read-modify-write performed: reads `from` and, if it wrote, is `store`. Also a full fence on x86.
    Rmw {
        /// The aligned word.
        addr: Addr,
        /// The store it read from.
        from: Option<StoreId>,
        /// The store it made, if it wrote.
        store: Option<StoreId>,
    },
    /// A flush took effect on a line.
    Flush {
        /// The line.
        line: LineAddr,
        /// Which instruction.
        kind: Flush,
    },
    /// A fence completed.
    Fence(Fence),
    /// A hardware transaction began.
    TxBegin(TxId),
    /// A hardware transaction committed in program order (not necessarily durably).
    TxCommit(TxId),
    /// A hardware transaction was aborted.
    TxAbort(TxId),
    /// A `tx_flush` completed: every earlier committed transaction of the thread is durable.
    TxFlush,
    /// A commit of a write sub-queue completed.
    CommitQueue(QueueId),
    /// A range was bound to a write sub-queue.
    Bind {
        /// First byte.
        base: Addr,
        /// Length in bytes.
        len: u64,
        /// The queue; the default queue where nothing was bound.
        queue: QueueId,
    },
    /// One binding of a range was undone.
    Release {
        /// First byte, as it was bound.
        base: Addr,
        /// Length in bytes, as it was bound.
        len: u64,
    },
    /// The system made a range of persistent memory durable (`msync`, `fsync`) and returned: every store to it that has
    /// performed is durable, by whatever thread, and the thread has passed a store fence.
    Sync {
        /// First byte.
        base: Addr,
        /// Length in bytes.
        len: u64,
    },
    /// Operation `k` of the thread began.
    OpBegin(u32),
    /// Operation `k` executed.
    OpEnd(u32),
    /// Operation `k` and all earlier ones of the thread are acknowledged as durable.
    Ack(u32),
    /// A write was accepted by the controller (record index unknown yet): the words of a line and their stores.
    Accepted {
        /// The line.
        line: LineAddr,
        /// The store of each word.
        by: [Option<StoreId>; 8],
    },
    /// Record `index` of the persist log became durable.
    Durable {
        /// Index into the persist log's records.
        index: u32,
    },
}

/// One event. For `Accepted` and `Durable`, `thread` is `None`: they belong to the hardware.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The thread, if it is a thread's event.
    pub thread: Option<HwThread>,
    /// What happened.
    pub kind: TraceKind,
}

/// An event that needs the result of an earlier read of its thread: the read yields its address, its value, or the
/// decision to execute it. Which of the three makes no difference to a store.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The dependent event, as an index into [`Trace::events`].
    pub event: u32,
    /// The load or read-modify-write it depends on, as an index into [`Trace::events`].
    pub on: u32,
}

/// A recorded execution.
///
/// `events` is a linear order in which every thread's loads, stores, flushes and fences appear in the order they
/// took effect, every load after the store it read, stores to one word in coherence order, and `Durable` events
/// where the persist log saw them. An event never precedes a fence of its thread that orders it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Events in the order in which they took effect.
    pub events: Vec<TraceEvent>,
    /// Every store, indexed by [`StoreId::index`].
    pub stores: Vec<StoreInfo>,
    /// Known dependences, sorted by their dependent event. A back end that sees addresses and values only (no branches)
    /// records fewer than there are, and a contract then promises less.
    pub dependences: Vec<Dependence>,
    /// Number of software threads.
    pub threads: u32,
    /// Every operation that ended, sorted by stamp.
    pub ops: Vec<OpRecord>,
    /// What became of every write, of simulated runs.
    pub ledger: Vec<LedgerEvent>,
}
impl Trace {
    /// What is known of a store.
    pub fn store(&self, id: StoreId) -> &StoreInfo {
        &self.stores[id.index()]
    }
    /// Appends a thread's event.
    pub fn push(&mut self, thread: HwThread, kind: TraceKind) {
        self.events.push(TraceEvent {
            thread: Some(thread),
            kind,
        });
    }
    /// The index that the next event will get.
    pub fn next_event(&self) -> u32 {
        self.events.len() as u32
    }
    /// The event appended last needs the result of the event with index `on`, an earlier read of its thread.
    pub fn depends_on(&mut self, on: u32) {
        let event = self.next_event().saturating_sub(1);
        debug_assert!(on < event, "a dependence leads backwards");
        self.dependences.push(Dependence { event, on });
    }
    /// Appends an event of the hardware.
    pub fn push_hardware(&mut self, kind: TraceKind) {
        self.events.push(TraceEvent { thread: None, kind });
    }
}
