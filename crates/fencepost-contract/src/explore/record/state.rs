//! The execution under way: memory, trace, transactions. Shared by all recorded threads.

use super::buffer::StoreBuffer;
use fencepost_kernel::{
    Addr, HwThread, Image, OpRecord, Outcome, Place, QueueId, Span, StoreId, StoreInfo, Trace, TraceKind, TxId,
};

/// What one thread is in the middle of.
#[derive(Default)]
pub(super) struct ThreadState {
    /// Its hardware transaction, with what it has overwritten.
    pub tx: Option<(TxId, Vec<Overwritten>)>,
    /// Its last transaction was aborted and it has not been told yet.
    pub rolled_back: bool,
    /// Its operation, and the position of the first lock the operation took.
    pub op: Option<(u32, Option<u64>)>,
    /// What it has executed and has not taken effect; stays empty in sequentially consistent recordings.
    pub buffer: StoreBuffer,
}
/// A word as it was before a transaction wrote it.
pub(super) struct Overwritten {
    at: Addr,
    value: u64,
    by: Option<StoreId>,
}

/// Everything the recorded threads share.
pub(super) struct Execution {
    pub memory: Image,
    pub trace: Trace,
    pub threads: Vec<ThreadState>,
    transactions: u32,
    /// Ranges bound to write sub-queues, how often each, and the queues handed out so far.
    ranges: Vec<(Span, QueueId, u32)>,
    queues: u8,
}

impl Execution {
    /// An execution that starts from `initial`, an image that keeps writers.
    pub(super) fn new(initial: &Image, threads: usize) -> Execution {
        let memory = initial.clone();
        let trace = Trace {
            threads: threads as u32,
            ..Trace::default()
        };
        let threads = (0..threads).map(|_| ThreadState::default()).collect();
        Execution {
            memory,
            trace,
            threads,
            transactions: 0,
            ranges: Vec::new(),
            queues: 0,
        }
    }
    /// Appends an event of `thread`.
    pub(super) fn push(&mut self, thread: HwThread, kind: TraceKind) {
        self.trace.push(thread, kind);
    }
    /// The state of `thread`.
    pub(super) fn thread(&mut self, thread: HwThread) -> &mut ThreadState {
        &mut self.threads[thread.index()]
    }
    /// Enters a store of the whole word at `at` in the table and in memory; its event is the caller's business.
    pub(super) fn store(&mut self, thread: HwThread, at: Addr, value: u64, nt: bool, source: Place) -> StoreId {
        let id = StoreId::from_index(self.trace.stores.len()).expect("fewer than four billion stores");
        let (old, by) = (self.memory.word(at), self.memory.writer(at));
        let state = &mut self.threads[thread.index()];
        let tx = state.tx.as_mut().map(|(tx, undo)| {
            undo.push(Overwritten { at, value: old, by });
            *tx
        });
        self.trace.stores.push(StoreInfo {
            thread,
            addr: at,
            value,
            nt,
            tx,
            source,
        });
        self.memory.set_word(at, value, Some(id));
        id
    }
    /// `thread` begins a transaction.
    pub(super) fn begin(&mut self, thread: HwThread) -> TxId {
        self.transactions += 1;
        let id = TxId(self.transactions);
        self.thread(thread).tx = Some((id, Vec::new()));
        self.push(thread, TraceKind::TxBegin(id));
        id
    }
    /// `thread` commits its transaction, if it is in one.
    pub(super) fn commit(&mut self, thread: HwThread) {
        if let Some((id, _)) = self.thread(thread).tx.take() {
            self.push(thread, TraceKind::TxCommit(id));
        }
    }
    /// `thread` aborts its transaction, if it is in one: memory is as before it.
    pub(super) fn abort(&mut self, thread: HwThread) {
        if let Some((id, undo)) = self.thread(thread).tx.take() {
            for old in undo.iter().rev() {
                self.memory.set_word(old.at, old.value, old.by);
            }
            self.thread(thread).rolled_back = true;
            self.push(thread, TraceKind::TxAbort(id));
        }
    }
    /// A range is bound, or once more. Queues and registers do not run out here: every range has a queue of its own, which
    /// promises the least.
    pub(super) fn bind(&mut self, span: Span) -> QueueId {
        if let Some(r) = self.ranges.iter_mut().find(|r| r.0 == span) {
            r.2 += 1;
            return r.1;
        }
        self.queues = self.queues.checked_add(1).unwrap_or(1);
        let queue = QueueId(self.queues);
        self.ranges.push((span, queue, 1));
        queue
    }
    /// One binding of a range is undone.
    pub(super) fn release(&mut self, span: Span) {
        if let Some(r) = self.ranges.iter_mut().find(|r| r.0 == span) {
            r.2 -= 1;
        }
        self.ranges.retain(|r| r.2 > 0);
    }
    /// Notes that the running operation of `thread` is about to take a lock.
    pub(super) fn stamp(&mut self, thread: HwThread) {
        let now = self.trace.events.len() as u64;
        if let Some((_, stamp)) = &mut self.thread(thread).op {
            *stamp = Some(now);
        }
    }
    /// `thread` has executed operation `k`, which took its first lock at `stamp`.
    pub(super) fn end_op(&mut self, thread: HwThread, k: u32, outcome: Outcome, stamp: Option<u64>) {
        let now = self.trace.events.len() as u64;
        self.push(thread, TraceKind::OpEnd(k));
        self.trace.ops.push(OpRecord {
            thread: u32::from(thread.0),
            k,
            stamp: stamp.unwrap_or(now),
            outcome,
        });
    }
}
