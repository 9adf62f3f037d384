//! The recorder: builds the execution trace while the machine runs.

use super::passages::Passages;
use super::program_order::ProgramOrder;
use crate::frontend::{Op, OwnLines};
use fencepost_kernel::ledger::{LedgerEvent, LedgerKind};
use fencepost_kernel::{
    Addr, HwThread, LineAddr, LineData, OpRecord, Place, Ps, StoreId, StoreInfo, Trace, TraceKind, TxId,
};
use std::rc::Rc;

/// A load whose value was changed by another thread between its issue and its performing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Who loaded.
    pub thread: HwThread,
    /// What.
    pub addr: fencepost_kernel::Addr,
    /// The line of the program.
    pub source: &'static std::panic::Location<'static>,
}
impl std::fmt::Display for Race {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Race { thread, addr, source } = self;
        write!(
            f,
            "thread {} loads {addr} while another thread stores there, at {source}",
            thread.0
        )
    }
}

/// Collects the trace of a run.
#[derive(Default)]
pub(crate) struct TraceRecorder {
    trace: Trace,
    hold: bool,
    race: Option<Race>,
    /// In which order operations perform.
    pub order: ProgramOrder,
    /// Per thread and operation number: the event (plus one) of the read that yields the operation's result, 0 for none.
    results: Vec<Vec<u32>>,
    /// Time of what is recorded now.
    now: Ps,
    /// When each event was recorded, where somebody draws them.
    times: Option<Vec<Ps>>,
    /// Per thread, when store-queue entries committed and when they left, if times are kept.
    queues: Vec<[Vec<Ps>; 2]>,
    /// How each operation went through its core, if times are kept.
    pub passages: Passages,
    /// The lines of libraries that the run's operations name.
    own_lines: Rc<OwnLines>,
}
impl TraceRecorder {
    /// Events recorded so far.
    pub(crate) fn events(&self) -> usize {
        self.trace.events.len()
    }
    /// A recorder for `threads` threads, whose operations name lines of libraries by these numbers.
    pub(crate) fn new(threads: u32, own_lines: Rc<OwnLines>) -> TraceRecorder {
        TraceRecorder {
            trace: Trace {
                threads,
                ..Trace::default()
            },
            hold: false,
            race: None,
            order: ProgramOrder::default(),
            results: Vec::new(),
            now: Ps::ZERO,
            times: None,
            queues: Vec::new(),
            passages: Passages::default(),
            own_lines,
        }
    }
    /// Keeps the time of every event of so many hardware threads.
    pub(crate) fn keep_times(&mut self, threads: usize) {
        self.times = Some(Vec::new());
        self.queues = vec![[Vec::new(), Vec::new()]; threads];
        self.passages.keep(threads);
    }
    /// An entry of the store queue committed (0) or left (1).
    #[cold]
    pub(crate) fn queued(&mut self, thread: HwThread, at: Ps, end: usize) {
        if let Some(queue) = self.queues.get_mut(thread.index()) {
            queue[end].push(at);
        }
    }
    /// Per hardware thread, when store-queue entries committed and when they left; empty unless times are kept.
    pub(crate) fn take_queues(&mut self) -> Vec<[Vec<Ps>; 2]> {
        std::mem::take(&mut self.queues)
    }
    /// What is recorded from now on happens at this time.
    #[inline]
    pub(crate) fn at(&mut self, now: Ps) -> &mut TraceRecorder {
        if let Some(times) = &mut self.times {
            times.resize(self.trace.events.len(), self.now);
            self.now = now;
        }
        self
    }
    /// When each event was recorded; empty unless times are kept.
    pub(crate) fn take_times(&mut self) -> Vec<Ps> {
        self.at(self.now);
        self.times.take().unwrap_or_default()
    }
    fn result(&self, thread: HwThread, id: u32) -> u32 {
        let of_thread = self.results.get(thread.index());
        of_thread.and_then(|r| r.get(id as usize)).copied().unwrap_or(0)
    }
    fn set_result(&mut self, thread: HwThread, id: u32, result: u32) {
        if self.results.len() <= thread.index() {
            self.results.resize_with(thread.index() + 1, Vec::new);
        }
        let of_thread = &mut self.results[thread.index()];
        if of_thread.len() <= id as usize {
            of_thread.resize(id as usize + 1, 0);
        }
        of_thread[id as usize] = result;
    }
    /// The event recorded last needs the result of operation `dep` of its thread (0: of none).
    fn needs(&mut self, thread: HwThread, dep: u32) {
        if let Some(on) = self.result(thread, dep).checked_sub(1) {
            self.trace.depends_on(on);
        }
    }
    /// Operation `id`, whose address needs the result of operation `dep`, read a word: a load or an atomic.
    #[cold]
    pub(crate) fn read(&mut self, thread: HwThread, id: u32, dep: u32, kind: TraceKind) {
        if let TraceKind::Load { from: Some(from), .. } | TraceKind::Rmw { from: Some(from), .. } = kind {
            self.passages.read(thread, id, from);
        }
        self.trace.push(thread, kind);
        self.needs(thread, dep);
        self.set_result(thread, id, self.trace.next_event());
    }
    /// Load `id` took its value from a queued store of its thread: what depends on it depends on what the store and the
    /// load depend on (the newer of the two reads).
    #[cold]
    pub(crate) fn forwarded(&mut self, thread: HwThread, id: u32, deps: [u32; 2]) {
        let newest = deps.into_iter().map(|d| self.result(thread, d)).max();
        self.set_result(thread, id, newest.unwrap_or(0));
    }
    fn place(&self, op: &Op) -> Place {
        match self.own_lines.line(op.access.own()) {
            Some(own) => Place::new(Some(op.source), own),
            None => op.source.into(),
        }
    }
    /// A store performed; returns its id.
    #[cold]
    pub(crate) fn store(&mut self, thread: HwThread, op: &Op, value: u64, tx: Option<TxId>) -> StoreId {
        let id = self.next_store().expect("fewer than 2^32 stores in a recorded run");
        let nt = op.kind == crate::frontend::OpKind::NtStore;
        self.trace.stores.push(StoreInfo {
            thread,
            addr: op.addr.word(),
            value,
            nt,
            tx,
            source: self.place(op),
        });
        if !std::mem::take(&mut self.hold) {
            self.trace.push(thread, TraceKind::Store(id));
            self.needs(thread, op.dep);
        }
        id
    }
    /// Ports of the network count as further threads of the trace.
    #[cold]
    pub(crate) fn add_threads(&mut self, ports: u32) {
        self.trace.threads += ports;
    }
    /// A word that came over the network took effect.
    #[track_caller]
    #[cold]
    pub(crate) fn remote_store(&mut self, port: HwThread, addr: Addr, value: u64) -> StoreId {
        let id = self.next_store().expect("fewer than 2^32 stores in a recorded run");
        self.trace.stores.push(StoreInfo {
            thread: port,
            addr,
            value,
            nt: false,
            tx: None,
            source: std::panic::Location::caller().into(),
        });
        self.trace.push(port, TraceKind::Store(id));
        id
    }
    /// The id the next store will get.
    #[cold]
    pub(crate) fn next_store(&self) -> Option<StoreId> {
        StoreId::from_index(self.trace.stores.len())
    }
    /// The next store is the write half of an atomic: its own event is left out.
    #[cold]
    pub(crate) fn hold_next(&mut self, hold: bool) {
        self.hold = hold;
    }
    /// Any other event of a thread.
    #[cold]
    pub(crate) fn event(&mut self, thread: HwThread, kind: TraceKind) {
        self.trace.push(thread, kind);
    }
    /// A write was accepted by the persistent-memory controller.
    #[cold]
    pub(crate) fn accepted(&mut self, line: LineAddr, data: &LineData) {
        self.trace.push_hardware(TraceKind::Accepted { line, by: data.by });
    }
    /// Notes something in the account, behind the trace's events so far.
    #[cold]
    pub(crate) fn note(&mut self, kind: LedgerKind) {
        let at = self.trace.next_event();
        self.trace.ledger.push(LedgerEvent { at, kind });
    }
    /// The persist log's record `index` became durable.
    #[cold]
    pub(crate) fn durable(&mut self, index: u64) {
        self.trace.push_hardware(TraceKind::Durable { index: index as u32 });
    }
    /// An operation ended. A re-run operation replaces what it did before it was rolled back.
    #[cold]
    pub(crate) fn op(&mut self, op: OpRecord) {
        self.trace.ops.push(op);
    }
    /// A load read another value than its thread was given when it issued.
    #[cold]
    pub(crate) fn raced(&mut self, thread: HwThread, op: &Op) {
        self.race.get_or_insert(Race {
            thread,
            addr: op.addr,
            source: op.source,
        });
    }
    /// The first such load.
    #[cold]
    pub(crate) fn race(&self) -> Option<Race> {
        self.race
    }
    /// The finished trace.
    #[cold]
    pub(crate) fn finish(mut self) -> Trace {
        let mut last = rustc_hash::FxHashMap::default();
        for (i, o) in self.trace.ops.iter().enumerate() {
            last.insert((o.thread, o.k), i);
        }
        let mut i = 0;
        self.trace.ops.retain(|o| {
            i += 1;
            last[&(o.thread, o.k)] == i - 1
        });
        self.trace.ops.sort_by_key(|o| o.stamp);
        self.trace
    }
}
