//! The machine as its hardware threads see it.

use super::agenda::Ev;
use super::handle::Handle;
use super::system::System;
use super::world::World;
use crate::core::{Locks, Outside, Shape, TraceRecorder, Turn};
use crate::hierarchy::{Hierarchy, Lookup, Tags, Waiter, WayRef};
use crate::seam::{Access, Bound, Cause, Design, Gate, Hooks, Instr, TxStart};
use fencepost_kernel::{Addr, HwThread, LineAddr, LineData, Ps, QueueId, Span, StoreId, TxId};

/// Everything but the threads.
pub(crate) struct Rest {
    pub hier: Hierarchy,
    pub sys: System,
    pub design: Box<dyn Design>,
    pub hooks: Hooks,
    pub shape: Shape,
}
impl Rest {
    /// The design, and the handle it acts through.
    #[inline]
    pub(super) fn ask(&mut self) -> (&mut dyn Design, Handle<'_>) {
        let (hier, sys) = (&mut self.hier, &mut self.sys);
        (&mut *self.design, Handle { hier, sys })
    }
    /// The hierarchy, and the rest of the machine as it sees it.
    #[inline]
    pub(super) fn split(&mut self) -> (&mut Hierarchy, World<'_>) {
        let (design, sys) = (&mut *self.design, &mut self.sys);
        (&mut self.hier, World { sys, design })
    }
}

impl Rest {
    /// A checked run compares what a load finds with the newest bytes.
    #[cold]
    fn compare_loaded(&mut self, hw_thread: HwThread, line: LineAddr) {
        let (core, newest) = (self.sys.spec.core_of(hw_thread), self.sys.coherent.line_words(line));
        self.hier.loaded(self.sys.now(), core, line, newest);
    }
    /// The design hears of an access that performed.
    #[inline]
    fn tell_performed(&mut self, hw_thread: HwThread, line: LineAddr, way: WayRef, access: Access) {
        if self.hooks.marks {
            return self.tell_with_mark(hw_thread, line, way, access);
        }
        let (design, mut cx) = self.ask();
        let mut mark = 0;
        design.performed(&mut cx, hw_thread, line, access, &mut mark);
        debug_assert_eq!(mark, 0, "a design that declares no marks sets none");
    }
    /// The same, with its mark of the way.
    #[inline(never)] // few designs have marks
    fn tell_with_mark(&mut self, hw_thread: HwThread, line: LineAddr, way: WayRef, access: Access) {
        let core = self.sys.spec.core_of(hw_thread);
        let before = self.hier.meta(core, way);
        let mut meta = before;
        let (design, mut cx) = self.ask();
        design.performed(&mut cx, hw_thread, line, access, &mut meta);
        if meta != before {
            self.hier.set_meta(core, way, meta);
        }
    }
}

impl Outside for Rest {
    #[inline]
    fn now(&self) -> Ps {
        self.sys.now()
    }
    #[inline]
    fn shape(&self) -> &Shape {
        &self.shape
    }
    #[inline]
    fn hooks(&self) -> Hooks {
        self.hooks
    }
    #[inline(always)] // which event it is, is known where it is scheduled
    fn schedule(&mut self, at: Ps, hw_thread: HwThread, turn: Turn) {
        self.sys.events.schedule(at, Ev::Thread(hw_thread, turn));
    }
    #[inline(always)]
    fn is_last(&self, at: Ps, hw_thread: HwThread, turn: Turn) -> bool {
        self.sys.events.is_last(at, Ev::Thread(hw_thread, turn))
    }

    #[inline(always)]
    fn l1(&self, hw_thread: HwThread) -> &Tags {
        self.hier.l1(self.sys.spec.core_of(hw_thread))
    }
    #[inline]
    fn host_prefetch(&self, addr: Addr) {
        self.sys.coherent.host_prefetch(addr);
        self.hier.host_prefetch(addr.line());
    }
    fn access(&mut self, line: LineAddr, exclusive: bool, waiter: Waiter) -> Lookup {
        let core = self.sys.spec.core_of(waiter.hw_thread());
        let (hier, mut out) = self.split();
        hier.access(&mut out, core, line, exclusive, waiter)
    }
    #[inline]
    fn blocked(&self, hw_thread: HwThread) -> Option<Cause> {
        self.hier.blocked(hw_thread)
    }
    fn held(&self, line: LineAddr) -> bool {
        self.hier.held(line)
    }
    fn drop_copies(&mut self, line: LineAddr, waiter: Waiter) {
        let core = self.sys.spec.core_of(waiter.hw_thread());
        let (hier, mut out) = self.split();
        hier.drop_copies(&mut out, core, line, waiter);
    }
    fn place_store(&mut self, hw_thread: HwThread, way: WayRef) -> Result<WayRef, Cause> {
        let core = self.sys.spec.core_of(hw_thread);
        let (hier, mut out) = self.split();
        hier.place_store(&mut out, hw_thread, core, way)
    }
    #[inline]
    fn store_in_l1(&mut self, hw_thread: HwThread, addr: Addr, way: WayRef) {
        let core = self.sys.spec.core_of(hw_thread);
        self.hier.store(core, addr.line(), way);
        if self.hier.keeps_bytes() {
            self.hier.stored(core, addr, self.sys.coherent.word(addr));
        }
    }
    #[inline]
    fn performed(&mut self, hw_thread: HwThread, line: LineAddr, way: WayRef, access: Access) {
        if access == Access::Load && self.hier.keeps_bytes() {
            self.compare_loaded(hw_thread, line);
        }
        let told = match access {
            Access::Load => self.hooks.loads,
            Access::Store => self.hooks.stores,
        };
        if told {
            self.tell_performed(hw_thread, line, way, access);
        }
    }

    #[inline]
    fn word(&self, addr: Addr) -> u64 {
        self.sys.coherent.word(addr)
    }
    fn writer(&self, addr: Addr) -> Option<StoreId> {
        self.sys.coherent.writer(addr)
    }
    #[inline]
    fn set_word(&mut self, addr: Addr, value: u64, by: Option<StoreId>) {
        self.sys.coherent.set_word(addr, value, by);
    }
    fn line_data(&self, line: LineAddr) -> LineData {
        self.sys.line_data(line)
    }

    fn instr(&mut self, hw_thread: HwThread, instr: Instr) -> Gate {
        let (design, mut cx) = self.ask();
        design.instr(&mut cx, hw_thread, instr)
    }
    fn queued(&mut self, hw_thread: HwThread, instr: Instr) {
        let (design, mut cx) = self.ask();
        design.queued(&mut cx, hw_thread, instr);
    }
    fn may_access(&mut self, hw_thread: HwThread, line: LineAddr, access: Access) -> Gate {
        let (design, mut cx) = self.ask();
        design.may_access(&mut cx, hw_thread, line, access)
    }
    fn tx_begin(&mut self, hw_thread: HwThread) -> TxStart {
        let (design, mut cx) = self.ask();
        let begun = design.transactions().map(|t| t.begin(&mut cx, hw_thread));
        begun.unwrap_or(TxStart::Go(TxId(0)))
    }
    fn tx_commit(&mut self, hw_thread: HwThread, tx: TxId) -> Gate {
        let (design, mut cx) = self.ask();
        let gate = design.transactions().map(|t| t.commit(&mut cx, hw_thread, tx));
        gate.unwrap_or(Gate::Go)
    }
    fn tx_abort(&mut self, hw_thread: HwThread, tx: TxId) -> Gate {
        let (design, mut cx) = self.ask();
        let gate = design.transactions().map(|t| t.abort(&mut cx, hw_thread, tx));
        gate.unwrap_or(Gate::Go)
    }
    fn tx_flush(&mut self, hw_thread: HwThread) -> Gate {
        let (design, mut cx) = self.ask();
        let gate = design.transactions().map(|t| t.flush(&mut cx, hw_thread));
        gate.unwrap_or(Gate::Go)
    }
    fn bind_range(&mut self, hw_thread: HwThread, range: Span) -> Bound {
        let (design, mut cx) = self.ask();
        let bound = design.ranges().map(|r| r.bind(&mut cx, hw_thread, range));
        bound.unwrap_or(Bound::To(QueueId::DEFAULT))
    }
    fn commit_queue(&mut self, hw_thread: HwThread, queue: QueueId) -> Gate {
        let (design, mut cx) = self.ask();
        let gate = design.ranges().map(|r| r.commit(&mut cx, hw_thread, queue));
        gate.unwrap_or(Gate::Go)
    }
    fn release_range(&mut self, hw_thread: HwThread, range: Span) -> Gate {
        let (design, mut cx) = self.ask();
        let gate = design.ranges().map(|r| r.release(&mut cx, hw_thread, range));
        gate.unwrap_or(Gate::Go)
    }
    fn nt_store(&mut self, hw_thread: HwThread, line: LineAddr, data: &LineData, mask: u8) -> Gate {
        let (design, mut cx) = self.ask();
        design.nt_store(&mut cx, hw_thread, line, data, mask)
    }

    fn locks(&mut self) -> &mut Locks {
        &mut self.sys.locks
    }
    #[inline]
    fn recorder(&mut self) -> Option<&mut TraceRecorder> {
        self.sys.recorder()
    }
    fn warmed_up(&mut self, hw_thread: HwThread, at: Ps) {
        self.sys.warmed_up = true;
        if self.sys.warm_up_end.is_none_or(|(_, latest)| latest <= at) {
            self.sys.warm_up_end = Some((hw_thread, at));
        }
    }
    fn finished(&mut self) {
        self.sys.unfinished -= 1;
    }
}
