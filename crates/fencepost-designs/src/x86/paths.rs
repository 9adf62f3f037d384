//! The two paths to persistence that all designs of this family share: flushes through the caches, and one
//! write-combining buffer per core past them.

use super::held::Held;
use super::params::{ClwbKeeps, X86Fault, X86Params};
use super::stat;
use super::waiters::{Unsent, Waiters};
use super::wcb::{Acked, Placed, Wcb};
use crate::info::MachineShape;
use crate::sync_flush::{Asked, SyncFlushes};
use fencepost_kernel::decision;
use fencepost_kernel::{CoreId, Flush, HwThread, LineAddr, LineData, Ps, WriteCause, planted};
use fencepost_machine::seam::{Cause, CleanKind, Cx, Gate, Level, Write, WriteId};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(super) struct PerThread {
    /// Flushes issued and not yet accepted (or found clean).
    pub(super) flushes: u32,
    sync: SyncFlushes,
    /// Entries its core had allocated after this hardware thread's newest non-temporal store.
    newest_nt: u64,
    /// A non-temporal store performed since the last fence or temporal store.
    nt_open: bool,
    /// What its fence was told to wait for.
    fence: Option<Awaited>,
}
/// What a fence waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Awaited {
    /// That its flushes are accepted.
    Flushes,
    /// That so many entries of its core's buffer are acknowledged.
    Acknowledged(u64),
}
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) wcb: Wcb,
    /// When the last entry was sent.
    sent: Option<Ps>,
    timer: Option<Ps>,
    /// The controller refused the entry at head.
    pub(super) refused: bool,
    /// Entries taken, whose acknowledgements are on their way (`None`: volatile ones).
    returning: VecDeque<Option<WriteId>>,
    /// Hardware threads whose non-temporal store found no entry: a bit each.
    no_entry: u64,
}

const FLUSH: u64 = 0;
const SYNC_FLUSH: u64 = 1;
const SEND: u64 = 0;
const VOLATILE_ACK: u64 = 1;
const ACK: u64 = 2;
fn pack(kind: u64, who: u8) -> u64 {
    kind << 8 | u64::from(who)
}

/// Flushes, fences and non-temporal stores of every hardware thread.
#[derive(Clone, Debug)]
pub struct Paths {
    params: X86Params,
    pub(super) hw_threads: Vec<PerThread>,
    pub(super) threads_per_core: usize,
    pub(super) cores: Vec<Core>,
    /// Cores whose buffers hold entries that are not acknowledged: a bit each.
    pub(super) buffering: u64,
    /// Who waits for entries.
    waiters: Waiters,
    /// Lines that are being flushed, where accesses to them wait.
    pub(super) held: Held,
    unsent: Unsent,
    /// Core that is offered the next free place in the controller's queue.
    turn: usize,
}

impl Paths {
    /// Empty buffers for a machine of this shape; `pointer_bits` as in [`Wcb::new`].
    pub fn new(params: X86Params, shape: MachineShape, pointer_bits: Option<u8>) -> Paths {
        let params = X86Params {
            fault: params.fault.or_planted(),
            ..params
        };
        let late = planted!("themis.pointers-reset-late", "pointers are reset when they run out");
        let pointer_bits = pointer_bits.map(|bits| bits + u8::from(late));
        let core = Core {
            wcb: Wcb::new(params.wcb_entries, pointer_bits),
            sent: None,
            timer: None,
            refused: false,
            returning: VecDeque::new(),
            no_entry: 0,
        };
        Paths {
            held: Held::new(params.flush_holds),
            params,
            hw_threads: vec![PerThread::default(); usize::from(shape.hw_threads)],
            threads_per_core: usize::from(shape.hw_threads.div_ceil(shape.cores.max(1))),
            cores: vec![core; usize::from(shape.cores)],
            buffering: 0,
            waiters: Waiters::new(),
            unsent: Unsent::default(),
            turn: 0,
        }
    }
    /// The buffer of a core.
    pub fn wcb(&self, core: CoreId) -> &Wcb {
        &self.cores[core.index()].wcb
    }
    /// Lines in the caches of one core may wait for the entries of others.
    pub fn lines_wait_for_all(mut self) -> Paths {
        self.waiters.own_lines = false;
        self
    }
    /// Refuses a hardware thread; it is asked again when entries are acknowledged.
    pub fn wait(&mut self, hw_thread: HwThread, cause: Cause) -> Gate {
        self.waiters.until_acked(hw_thread, cause)
    }
    /// Refuses to let a line go, or to serve a request for it; it asks again when entries of this core, or of any, are sent or
    /// acknowledged.
    pub fn hold(&mut self, until: Option<CoreId>, cause: Cause) -> Gate {
        self.waiters.held(until, cause)
    }
    /// The buffers that hold entries which are not acknowledged, with their cores.
    #[inline]
    fn buffering(&self) -> impl Iterator<Item = (CoreId, &Wcb)> {
        debug_assert!(
            (0..)
                .zip(&self.cores)
                .all(|(i, c)| c.wcb.is_empty() == (self.buffering >> i & 1 == 0))
        );
        CoreId::all_in(self.buffering).map(|core| (core, &self.cores[core.index()].wcb))
    }
    /// Whether nothing is buffered and no flush is out.
    pub fn idle(&self) -> bool {
        self.buffering == 0 && self.hw_threads.iter().all(|h| h.flushes == 0)
    }

    // ---- the temporal path

    /// A flush instruction. One whose line sits in a write-combining buffer waits: the flush covers those bytes too.
    pub fn flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, flush: Flush) -> Gate {
        let complete = flush == Flush::Clflush
            && self.hw_threads[hw_thread.index()]
                .sync
                .is_complete(line, &cx.coherent(line));
        if !complete && self.buffering().any(|(_, wcb)| wcb.holds(line)) {
            return self.wait(hw_thread, Cause::WcbPending);
        }
        if flush == Flush::Clflush {
            return self.sync_flush(cx, hw_thread, line);
        }
        let kind = match (flush, self.params.clwb_keeps) {
            (Flush::ClflushOpt | Flush::Clflush, _) => CleanKind::Invalidate,
            (_, ClwbKeeps::Exclusive) => CleanKind::KeepExclusive,
            (_, ClwbKeeps::Shared) => CleanKind::KeepShared,
        };
        self.hw_threads[hw_thread.index()].flushes += 1;
        cx.count(stat::FLUSHES, 1);
        self.held.flushed(line);
        cx.clean(hw_thread, line, kind, line.0 << 1 | FLUSH);
        Gate::Go
    }
    fn sync_flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr) -> Gate {
        let tag = |serial: u32| u64::from(serial) << 1 | SYNC_FLUSH;
        match self.hw_threads[hw_thread.index()].sync.ask(cx, hw_thread, line, tag) {
            Asked::Complete => return Gate::Go,
            Asked::SentOut => cx.count(stat::FLUSHES, 1),
            Asked::UnderWay => {}
        }
        Gate::Wait(Cause::FlushPending)
    }
    /// A clean finished.
    pub fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64, found: Option<&LineData>) {
        if found.is_none() {
            cx.count(stat::NOTHING_DIRTY, 1);
        }
        let h = &mut self.hw_threads[hw_thread.index()];
        if tag & 1 == SYNC_FLUSH {
            h.sync.finished((tag >> 1) as u32);
            cx.kick(Some(hw_thread));
        } else {
            h.flushes -= 1;
            if decision!(
                "x86.last-flush-of-fence",
                h.flushes == 0 && h.fence == Some(Awaited::Flushes)
            ) {
                cx.kick(Some(hw_thread));
            }
            self.held.done(cx, LineAddr(tag >> 1));
        }
    }
    /// A temporal store to persistent memory performed.
    pub fn stored(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        if std::mem::take(&mut self.hw_threads[hw_thread.index()].nt_open) {
            cx.count(stat::UNFENCED, 1);
        }
    }

    // ---- fences

    /// A store fence, or a locked instruction: the hardware thread's flushes are accepted, its non-temporal stores acknowledged.
    pub fn fence(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        let (core, fault) = (cx.core_of(hw_thread), self.params.fault);
        let acknowledged = self.wcb(core).acknowledged();
        let h = &mut self.hw_threads[hw_thread.index()];
        if h.flushes > 0 && fault != X86Fault::SfenceIgnoresFlushes {
            h.fence = Some(Awaited::Flushes);
            return Gate::Wait(Cause::FlushPending);
        }
        if acknowledged < h.newest_nt && fault != X86Fault::SfenceIgnoresWcb {
            h.fence = Some(Awaited::Acknowledged(h.newest_nt));
            return Gate::Wait(Cause::WcbPending);
        }
        h.fence = None;
        h.nt_open = false;
        Gate::Go
    }

    // ---- the non-temporal path

    /// A non-temporal store; `data` is the line with it applied. A line is in one buffer at a time.
    pub fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData) -> Gate {
        let (core, now) = (cx.core_of(hw_thread), cx.now());
        let elsewhere = self.unsent.core(line).filter(|c| *c != core);
        if elsewhere.is_some_and(|c| self.wcb(c).holds_unsent(line)) {
            return self.waiters.until_sent(hw_thread, Cause::WcbPending);
        }
        let wcb = &mut self.cores[core.index()].wcb;
        let placed = match wcb.push(hw_thread, line, data, now) {
            Ok(placed) => placed,
            Err(cause) => {
                self.cores[core.index()].no_entry |= 1 << hw_thread.0;
                return Gate::Wait(cause);
            }
        };
        self.buffering |= 1 << core.0;
        // An entry it was combined into is not newer than the tail: waiting for the tail covers it.
        self.hw_threads[hw_thread.index()].newest_nt = wcb.allocated();
        self.hw_threads[hw_thread.index()].nt_open |= line.is_persistent();
        let wrapping = wcb.wrapping();
        match placed {
            Placed::Allocated => {
                self.unsent.add(core, line);
                cx.count(stat::NT_ENTRIES, 1);
            }
            Placed::Coalesced => cx.count(stat::NT_COALESCED, 1),
        }
        if placed == Placed::Allocated && wrapping {
            cx.count(stat::WRAPS, 1);
        }
        self.send(cx, core);
        Gate::Go
    }
    /// Whether a bus request for the line must wait: its newest bytes are in a buffer and memory does not have them.
    pub fn holds_unsent(&self, line: LineAddr) -> bool {
        let core = self.unsent.core(line);
        core.is_some_and(|c| self.wcb(c).holds_unsent(line))
    }
    /// Sends entries of a core in order, as soon as each may go.
    fn send(&mut self, cx: &mut dyn Cx, core: CoreId) {
        let (now, mut sent_any) = (cx.now(), false);
        let gap = self.params.drain_gap;
        let at_once = planted!(
            "x86.entries-leave-at-once",
            "an entry stays until its time on the path has come"
        );
        let stay = gap.max(self.params.drain_delay) * u64::from(!at_once);
        let c = &mut self.cores[core.index()];
        // A timer is set for the oldest entry, and before that nothing goes.
        if !c.refused && c.timer.is_some_and(|at| now < at) {
            return;
        }
        c.refused = false;
        while let Some(e) = c.wcb.next() {
            let ready = c.sent.map_or(e.since + stay, |t| (e.since + stay).max(t + gap));
            if now < ready {
                if c.timer != Some(ready) {
                    c.timer = Some(ready);
                    cx.timer(ready, pack(SEND, core.0));
                }
                break;
            }
            let write = Write {
                line: e.line,
                data: e.data,
                queue: 0,
                epoch: None,
                cause: WriteCause::NonTemporal,
                hw_thread: Some(e.hw_thread),
                delay: self.params.ack_latency,
            };
            let line = e.line;
            if !line.is_persistent() {
                cx.timer(now + self.params.ack_latency, pack(VOLATILE_ACK, core.0));
                c.wcb.sent(None);
            } else if let Ok(id) = cx.write(write) {
                c.wcb.sent(Some(id));
            } else {
                c.refused = true;
                break;
            }
            self.unsent.remove(line);
            c.sent = Some(now);
            sent_any = true;
        }
        if sent_any {
            self.waiters.wake_sent(cx, core);
        }
    }
    /// The controller has a free entry again: cores take turns.
    pub fn queue_freed(&mut self, cx: &mut dyn Cx) {
        let n = self.cores.len();
        let first = self.turn;
        self.turn = (first + 1) % n;
        for i in (0..n).map(|i| (first + i) % n) {
            if self.cores[i].refused {
                self.send(cx, CoreId(i as u8));
                // Those that are not asked are still refused, and the one refused last hears of the next free place.
                if self.cores[i].refused && cx.queue_is_full(0) {
                    break;
                }
            }
        }
    }
    /// A write was accepted by the controller: with ADR it is durable, and its acknowledgement starts back.
    pub fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        if let (WriteCause::NonTemporal, Some(hw_thread)) = (write.cause, write.hw_thread) {
            let core = cx.core_of(hw_thread);
            self.return_ack(cx, core, Some(id));
        }
    }
    /// An entry was taken: its acknowledgement starts back. All take equally long, so they arrive in order.
    fn return_ack(&mut self, cx: &mut dyn Cx, core: CoreId, id: Option<WriteId>) {
        match self.params.ack_return {
            Ps::ZERO => self.acknowledge(cx, core, id),
            back => {
                self.cores[core.index()].returning.push_back(id);
                cx.timer(cx.now() + back, pack(ACK, core.0));
            }
        }
    }
    fn acknowledge(&mut self, cx: &mut dyn Cx, core: CoreId, id: Option<WriteId>) {
        let wcb = &mut self.cores[core.index()].wcb;
        let acked = wcb.acknowledge(id);
        if wcb.is_empty() {
            self.buffering &= !(1 << core.0);
        }
        match acked {
            None | Some(Acked::OutOfOrder) => return,
            Some(Acked::Advanced) => {}
            Some(Acked::Reset) => {
                // No line depends on an outstanding entry any more: the stored tails are void.
                cx.clear_meta(Level::L1(core));
            }
        }
        self.wake_core(cx, core);
        self.waiters.wake_acked(cx, core);
    }
    /// An entry of a core's buffer is free, and fences may have what they wait for.
    fn wake_core(&mut self, cx: &mut dyn Cx, core: CoreId) {
        let c = &mut self.cores[core.index()];
        let (acknowledged, no_entry) = (c.wcb.acknowledged(), std::mem::take(&mut c.no_entry));
        let first = core.index() * self.threads_per_core;
        for (i, h) in self
            .hw_threads
            .iter()
            .enumerate()
            .skip(first)
            .take(self.threads_per_core)
        {
            let done = |a| matches!(a, Awaited::Acknowledged(n) if n <= acknowledged);
            let refused = no_entry >> i & 1 == 1
                && !planted!(
                    "x86.no-entry-forgotten",
                    "a store that found no entry hears of a free one"
                );
            if refused || h.fence.is_some_and(done) {
                cx.kick(Some(HwThread(i as u8)));
            }
        }
    }
    /// A timer of this part fired.
    pub fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        let core = CoreId(tag as u8);
        match tag >> 8 {
            SEND => {
                self.cores[core.index()].timer = None;
                self.send(cx, core);
            }
            VOLATILE_ACK => self.return_ack(cx, core, None),
            _ => {
                if let Some(id) = self.cores[core.index()].returning.pop_front() {
                    self.acknowledge(cx, core, id);
                }
            }
        }
    }
}
