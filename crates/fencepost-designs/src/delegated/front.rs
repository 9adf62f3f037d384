//! The core side of every design with persist buffers: what enters them, what a full one holds up, explicit drains, and whose
//! turn it is on the path to the controller. What happens to an entry that has its turn is the design's.

use super::buffer::Kind;
use super::deps::Seq;
use super::explicit::{ExplicitDrains, Progress};
use super::params::{Arbitration, DelegatedParams};
use super::port::{PortId, Ports};
use super::region::Region;
use super::stats::{COALESCED, DEPENDENCES, DEPENDENT, DROPPED, FENCES, OVERFLOWS, PERSISTS, SUPPLIED};
use super::tracker::{Stored, Tracker};
use crate::persist_path::{PersistPath, Waiting};
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::{Fence, HwThread, LineAddr, LineData, Ps, planted};
use fencepost_machine::seam::{
    Access, Cause, Cx, Epoch, Exit, Gate, Instr, Level, ReadAnswer, Snoop, SnoopAnswer, Way, Why, WriteId,
};
use std::collections::VecDeque;

/// Timer: the persist path has a free slot.
pub(crate) const SLOT: u64 = 1 << 32;
/// Timer: the answer to the explicit drain of hardware thread (tag minus this) reaches its core.
pub(crate) const DRAIN_ANSWERED: u64 = 2 << 32;

/// Persist buffers with all that stands around them.
#[derive(Clone, Debug)]
pub struct Front {
    /// The buffers and what they know of one another.
    pub tracker: Tracker,
    /// Whose buffers they are.
    pub ports: Ports,
    /// From the buffers to the controller.
    pub path: PersistPath,
    drains: ExplicitDrains,
    pub(super) waiting: Waiting,
    /// Barrier regions of the network that are not durable, in the order in which they ended.
    pub(super) regions: VecDeque<Region>,
    pub(super) latency: Ps,
    /// Why each buffer keeps its threads from their L1, if it does.
    pub(super) blocked: Vec<Option<Cause>>,
    /// Entries and FENCE slots in use, of each buffer or, at the first of those that share them, of all together.
    pub(super) used: Vec<[usize; 2]>,
    pub(super) entries: usize,
    pub(super) fences: usize,
    arbitration: Arbitration,
    /// Buffer that drained last, for taking turns.
    last: usize,
}

impl Front {
    /// Empty buffers; `merge` selects one epoch pointer per buffer.
    pub fn new(params: &DelegatedParams, ports: Ports, hw_threads: u8, merge: bool) -> Front {
        Front {
            tracker: Tracker::new(params, ports.count(), merge),
            ports,
            path: PersistPath::new(params.path_latency, params.path_slot),
            drains: ExplicitDrains::new(usize::from(hw_threads), params.path_latency, DRAIN_ANSWERED),
            waiting: Waiting::default(),
            regions: VecDeque::new(),
            latency: params.path_latency,
            blocked: vec![None; ports.count()],
            used: vec![[0; 2]; ports.count()],
            entries: usize::from(params.entries),
            fences: usize::from(params.fences),
            arbitration: params.arbitration,
            last: ports.count().saturating_sub(1),
        }
    }

    // ---- capacity

    /// Why a buffer can take no more, if it cannot.
    #[inline]
    pub fn full(&self, port: PortId) -> Option<Cause> {
        match self.used[self.ports.first_of_pool(port).index()] {
            [entries, _] if entries >= self.entries => Some(Cause::PersistBufferFull),
            [_, fences] if fences >= self.fences => Some(Cause::FenceSlots),
            _ => None,
        }
    }
    /// Blocks or unblocks the L1 for the buffer's threads as its filling says.
    #[inline]
    pub fn update_block(&mut self, cx: &mut dyn Cx, port: PortId) {
        // Those that share their entries are full together.
        let cause = self.full(port);
        let blocks =
            cause.is_some() && !planted!("delegated.full-buffer-passes", "a full persist buffer blocks the L1");
        let cause = cause.filter(|_| blocks);
        if self.blocked[port.index()] != cause {
            for port in self.ports.pool(port) {
                self.block(cx, port, cause);
            }
        }
    }
    #[inline(never)]
    fn block(&mut self, cx: &mut dyn Cx, port: PortId, cause: Option<Cause>) {
        self.blocked[port.index()] = cause;
        for hw_thread in self.ports.hw_threads(port) {
            cx.block_l1(hw_thread, cause);
            if cause.is_none() {
                self.waiting.wake(cx, hw_thread);
            }
        }
        if let (None, Some(network)) = (cause, self.ports.in_network(port)) {
            self.waiting.wake(cx, network);
        }
    }

    // ---- appending

    /// Returns whether there is another entry.
    #[inline]
    fn append_persist(
        &mut self,
        cx: &mut dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        data: &LineData,
        active: Epoch,
    ) -> bool {
        let port = self.ports.of(hw_thread);
        if self.full(port).is_some() {
            cx.count(OVERFLOWS, 1);
        }
        self.persist(cx, Some(hw_thread), port, line, data, active)
    }
    /// A line enters a buffer that is not full; `hw_thread` is `None` for what a network brought. Returns whether there is another entry.
    pub fn persist(
        &mut self,
        cx: &mut dyn Cx,
        hw_thread: Option<HwThread>,
        port: PortId,
        line: LineAddr,
        data: &LineData,
        active: Epoch,
    ) -> bool {
        let stored = self.tracker.persist(hw_thread, port, line, data, (cx.now(), active));
        match stored {
            Stored::Coalesced => cx.count(COALESCED, 1),
            Stored::Appended(_) => {
                self.used[self.ports.first_of_pool(port).index()][0] += 1;
                cx.count(PERSISTS, 1);
                if self.tracker.newest_depends(port) {
                    cx.count(DEPENDENT, 1);
                }
            }
        }
        if cx.keeps_account() {
            self.note_newest(cx, port);
        }
        let another = stored != Stored::Coalesced;
        if another {
            self.update_block(cx, port);
        }
        another
    }
    /// Notes the newest entry of a buffer, and what it waits for.
    fn note_newest(&self, cx: &mut dyn Cx, port: PortId) {
        let Some(newest) = self.tracker.ports[port.index()].entries.back() else {
            return;
        };
        let line = match newest.kind {
            Kind::Persist { line, .. } => Some(line),
            Kind::Fence { .. } => None,
        };
        let (buffer, entry) = (port.0, newest.seq.0);
        cx.note(LedgerKind::Buffered { buffer, entry, line });
        for (other, seq) in newest.deps.open(&self.tracker.drained) {
            let (other, entry) = (other.0, seq.0);
            cx.note(LedgerKind::WaitsFor { buffer, other, entry });
        }
    }
    /// The oldest entry of a buffer leaves it; see [`Tracker::drop_head`].
    pub fn drop_head(&mut self, cx: &mut dyn Cx, port: PortId, raise: Option<(Epoch, Epoch)>) {
        if let Some(kind) = self.tracker.drop_head(port, raise) {
            let used = &mut self.used[self.ports.first_of_pool(port).index()];
            used[0] -= 1;
            used[1] -= usize::from(matches!(kind, Kind::Fence { .. }));
        }
        let (buffer, entry) = (port.0, self.tracker.drained[port.index()]);
        cx.note(LedgerKind::Left { buffer, entry });
    }
    /// A FENCE enters a buffer, if it has a free entry.
    pub fn fence(&mut self, cx: &mut dyn Cx, port: PortId) -> Result<Seq, Cause> {
        if let Some(cause) = self.full(port) {
            return Err(cause);
        }
        let seq = self.tracker.fence(port, cx.now()).ok_or(Cause::FenceSlots)?;
        let used = &mut self.used[self.ports.first_of_pool(port).index()];
        used.iter_mut().for_each(|n| *n += 1);
        cx.count(FENCES, 1);
        cx.count(DEPENDENT, u64::from(self.tracker.newest_depends(port)));
        if cx.keeps_account() {
            self.note_newest(cx, port);
        }
        self.update_block(cx, port);
        Ok(seq)
    }
    fn explicit_drain(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        match self.drains.progress(hw_thread) {
            Progress::Done => {
                self.drains.finish(hw_thread);
                return Gate::Go;
            }
            Progress::None => match self.fence(cx, self.ports.of(hw_thread)) {
                Ok(seq) => self.drains.begin(hw_thread, seq),
                Err(cause) => return self.waiting.wait(hw_thread, cause),
            },
            Progress::Buffered(_) | Progress::Draining { .. } | Progress::Answering => {}
        }
        self.waiting.wait(hw_thread, Cause::DrainPending)
    }

    // ---- what cores and caches do

    /// A fence completes, or waits for a free entry or for its drain.
    pub fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Fence(Fence::Dsb) => self.explicit_drain(cx, hw_thread),
            Instr::Fence(Fence::Pcommit | Fence::NewStrand) => Gate::Go,
            Instr::Fence(_) => match self.fence(cx, self.ports.of(hw_thread)) {
                Ok(_) => Gate::Go,
                Err(cause) => self.waiting.wait(hw_thread, cause),
            },
            _ => Gate::Go,
        }
    }
    /// A non-temporal store is a store, with a bus request of its own.
    pub fn nt_store(
        &mut self,
        cx: &mut dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        data: &LineData,
        active: Epoch,
    ) -> Gate {
        let port = self.ports.of(hw_thread);
        if let Some(cause) = self.full(port) {
            return self.waiting.wait(hw_thread, cause);
        }
        self.tracker.request(port, line, true, active);
        self.append_persist(cx, hw_thread, line, data, active);
        Gate::Go
    }
    /// An access performed in the L1. Returns whether there is another entry.
    #[inline(always)] // most accesses end here
    pub fn performed(
        &mut self,
        cx: &mut dyn Cx,
        hw_thread: HwThread,
        line: LineAddr,
        access: Access,
        active: Epoch,
    ) -> bool {
        match access {
            Access::Store if line.is_persistent() => {
                let now = cx.coherent(line);
                return self.append_persist(cx, hw_thread, line, &now, active);
            }
            Access::Store => self.tracker.volatile_store(self.ports.of(hw_thread), line, active),
            Access::Load => self.tracker.load(self.ports.of(hw_thread), line, active),
        }
        false
    }
    /// A bus request, or what counts as one, is granted: its buffer learns what the others know of the line.
    pub fn requested(
        &mut self,
        cx: &mut dyn Cx,
        by: PortId,
        line: LineAddr,
        kind: Snoop,
        active: Epoch,
    ) -> SnoopAnswer {
        let before = self.tracker.received;
        let supplied = self.tracker.request(by, line, kind.invalidates(), active);
        cx.count(DEPENDENCES, self.tracker.received - before);
        if !supplied {
            return SnoopAnswer::Pass;
        }
        cx.count(SUPPLIED, 1);
        SnoopAnswer::Supply
    }
    /// Every store to persistent memory went through a buffer: what would go to memory from a cache is not needed. (A
    /// private cache sends a line straight there only when it is cleaned.)
    pub fn leaving(&self, cx: &mut dyn Cx, from: Level, way: &Way, why: Why) -> Exit {
        let to_memory = from == Level::Llc || why == Why::Cleaned;
        let written = planted!(
            "delegated.eviction-written",
            "persistent lines that the last level evicts are dropped"
        );
        if to_memory && way.line.is_persistent() && !written {
            cx.count(DROPPED, 1);
            return Exit::Drop;
        }
        Exit::Down
    }
    /// Whether a buffer has the bytes of a line that missed every cache.
    pub fn read_missed(&self, line: LineAddr) -> ReadAnswer {
        match line.is_persistent() && self.tracker.holds(line) {
            true => ReadAnswer::Supply,
            false => ReadAnswer::Pass,
        }
    }

    // ---- turns on the path

    /// Of buffers whose next entry could be sent, a bit each, those whose turn it is among the threads that share one: a shared buffer is
    /// first in, first out.
    pub fn oldest_of_pools(&self, ready: u64) -> u64 {
        if !self.ports.pooled {
            return ready;
        }
        let (tracker, next) = (&self.tracker, self.tracker.free_heads() | self.tracker.waiting_heads());
        let mut oldest = ready;
        for port in PortId::all_in(ready) {
            let since = tracker.since(port);
            let older = |p: PortId| next >> p.0 & 1 == 1 && tracker.since(p) < since;
            if self.ports.pool(port).any(older) {
                oldest &= !(1 << port.0);
            }
        }
        oldest
    }

    /// Of the buffers in a mask, the one that has its turn.
    pub fn pick(&self, ready: u64) -> Option<PortId> {
        let lowest = |bits: u64| (bits != 0).then(|| PortId(bits.trailing_zeros() as u8));
        match self.arbitration {
            Arbitration::RoundRobin => lowest(ready & (u64::MAX << self.last << 1)).or(lowest(ready)),
            Arbitration::OldestFirst => {
                let since = |p: &PortId| self.tracker.next(*p).map(|e| (e.since, *p));
                PortId::all_in(ready).min_by_key(since)
            }
        }
    }
    /// Asks for a slot on the path, unless one was asked for.
    pub fn ask_for_slot(&mut self, cx: &mut dyn Cx) {
        self.path.ask(cx, SLOT);
    }
    /// An entry of a buffer took the slot.
    pub fn took_slot(&mut self, cx: &dyn Cx, port: PortId) {
        self.last = port.index();
        self.path.taken(cx);
    }

    // ---- explicit drains

    /// A FENCE left its buffer, and with it every persist before it; `durable`: they are durable, otherwise its drain waits for
    /// every write that was handed over.
    pub fn fence_left(&mut self, cx: &mut dyn Cx, port: PortId, seq: Seq, durable: bool) {
        let handed_over = self.path.outstanding().filter(|_| !durable);
        let last = handed_over.map_or(WriteId(0), |o| o.1);
        self.region_left(cx, port, seq, last);
        if self.drains.fence_left(cx.now(), self.ports.hw_threads(port), seq, last) {
            self.answer_drains(cx);
        }
    }
    /// Sends the answer of every explicit drain whose writes are durable.
    pub fn answer_drains(&mut self, cx: &mut dyn Cx) {
        self.drains.answer(cx, self.path.outstanding().map(|o| o.0));
        self.report_regions(cx);
    }
    /// The answer to an explicit drain reached its thread.
    pub fn drain_answered(&mut self, cx: &mut dyn Cx, tag: u64) {
        let hw_thread = HwThread(tag as u8);
        debug_assert_eq!(tag, DRAIN_ANSWERED | u64::from(hw_thread.0));
        self.drains.arrived(hw_thread);
        self.waiting.wake(cx, hw_thread);
    }
}
