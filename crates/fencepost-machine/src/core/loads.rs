//! Loads: forwarding, gates, L1 access, performing.

use super::outside::Outside;
use super::state::HardwareThread;
use super::state::{Refused, Stopped};
use crate::frontend::{Op, OpKind};
use crate::hierarchy::{Lookup, Waiter, WayRef};
use crate::seam::{Access, Cause, Gate};
use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{LineAddr, Ps, TraceKind, Width};

impl HardwareThread {
    /// Looks a line up in the L1, for a load or, `exclusive`, for a store.
    #[inline(always)] // most accesses end here
    pub(super) fn access(&mut self, out: &mut impl Outside, line: LineAddr, exclusive: bool, waiter: Waiter) -> Lookup {
        match out.l1(self.id).youngest(line, exclusive) {
            Some(way) => {
                self.counters.l1_hits += 1;
                Lookup::Hit(way)
            }
            None => out.access(line, exclusive, waiter),
        }
    }

    /// The load at a position, which has no result yet, accesses the L1.
    #[inline(always)] // into those who found it
    pub(super) fn look_up(&mut self, out: &mut impl Outside, at: usize) {
        let (h, position) = (&mut *self, at as u32);
        let e = &h.window[at];
        let (id, addr, dep) = (e.id, e.op.addr, e.op.dep);
        let skips = planted!("core.forwarding-left-out", "a load sees the stores of its own thread");
        if let Some(store) = h.stores.forwarder(addr, id).filter(|_| !skips) {
            let (deps, forwarded, from) = ([dep, store.op.dep], store.op, store.id);
            // What it stores is not known yet: the load waits for it as for an operand.
            if let Some(store) = h.producer(from).filter(|at| !h.window[*at].done()) {
                h.wait_for(store, at);
                return;
            }
            let op = h.window[at].op;
            match self.thread.is_dataflow() {
                true => self.deliver(out, id, forwarded.value),
                false => self.check_forwarded(out, &op, &forwarded),
            }
            if let Some(r) = out.recorder() {
                r.forwarded(self.id, id, deps);
                r.order.forwarded(self.id, id, addr, from);
            }
            let ready = out.now() + out.shape().l1_latency;
            self.complete_load(out, at, ready);
            return;
        }
        if let Some(cause) = out.blocked(self.id) {
            let h = &mut *self;
            h.window[at].cause = cause;
            h.blocked_loads.push(position);
            return;
        }
        if out.hooks().gate_loads
            && let Gate::Wait(cause) = out.may_access(self.id, addr.line(), Access::Load)
        {
            let h = &mut *self;
            h.window[at].cause = cause;
            h.refuse(Refused::Load(position));
            return;
        }
        match self.access(out, addr.line(), false, Waiter::Load(self.id, position)) {
            Lookup::Hit(way) => {
                let ready = out.now() + out.shape().l1_latency;
                self.perform_load(out, at, way, ready);
            }
            Lookup::Missed => self.window[at].cause = Cause::LoadCache,
        }
    }

    /// The line that the load at a position waited for is in the L1.
    pub(crate) fn load_arrived(&mut self, out: &mut impl Outside, position: u32) {
        let Some((at, e)) = self.window.find(position).filter(|(_, e)| !e.done()) else {
            return;
        };
        let line = e.op.addr.line();
        match out.l1(self.id).find_recent(line) {
            Some(way) => {
                let now = out.now();
                self.perform_load(out, at, way, now);
            }
            None => self.load(out, position),
        }
    }

    #[inline(always)] // into those who found the way
    fn perform_load(&mut self, out: &mut impl Outside, at: usize, way: WayRef, ready: Ps) {
        let e = &self.window[at];
        let (addr, issued, access) = (e.op.addr, e.op.value, e.op.access);
        let word = out.word(addr);
        let value = match access.width() {
            Width::B8 => word,
            width => width.extract(word, addr.0),
        };
        if value != issued || self.thread.is_dataflow() {
            self.differs(out, at, value);
        }
        if out.recorder().is_some() {
            self.record_load(out, at);
        }
        out.performed(self.id, addr.line(), way, Access::Load);
        self.complete_load(out, at, ready);
    }
    /// A load finds another value than the program was given, or the program is given its value only now.
    #[cold]
    fn differs(&mut self, out: &mut impl Outside, at: usize, value: u64) {
        let e = &self.window[at];
        let (op, id) = (e.op, e.id);
        if self.thread.is_dataflow() {
            self.deliver(out, id, value);
        } else if !self.rolled_back() {
            self.counters.races += 1;
            if let Some(r) = out.recorder() {
                r.raced(self.id, &op);
            }
        }
    }
    #[cold]
    fn record_load(&mut self, out: &mut impl Outside, at: usize) {
        let e = &self.window[at];
        let (op, id) = (e.op, e.id);
        self.record_read(out, &op, id);
        if let Some(r) = out.recorder() {
            r.order.load(self.id, id, op.addr);
        }
    }

    /// Load `id` of a dataflow thread has its value: stores that need it get theirs, and dispatch goes on from here if it waited.
    #[cold]
    fn deliver(&mut self, out: &mut impl Outside, id: u32, value: u64) {
        for (store, value) in self.thread.loaded(id, value) {
            if let Some((_, s)) = self.stores.by_id(store) {
                s.op.value = value;
            }
        }
        self.dispatch_pos = self.dispatch_pos.max(out.shape().position_at(out.now()));
    }

    /// A load takes its value from a queued store: where both access a whole word, that is the value it was given at issue.
    fn check_forwarded(&mut self, out: &mut impl Outside, op: &Op, store: &Op) {
        let whole = op.access.width() == Width::B8 && store.access.width() == Width::B8 && store.kind != OpKind::Unlock;
        if decision!(
            "core.forward-differs",
            whole && store.value != op.value && !self.rolled_back()
        ) {
            self.counters.races += 1;
            if let Some(r) = out.recorder() {
                r.raced(self.id, op);
            }
        }
    }

    /// Records that operation `id` of the thread read a word now.
    #[inline]
    pub(crate) fn observed(&mut self, out: &mut impl Outside, op: &Op, id: u32) {
        if out.recorder().is_some() {
            self.record_read(out, op, id);
        }
    }
    #[cold]
    fn record_read(&mut self, out: &mut impl Outside, op: &Op, id: u32) {
        let (addr, from) = (op.addr.word(), out.writer(op.addr));
        if let Some(r) = out.recorder() {
            r.read(self.id, id, op.dep, TraceKind::Load { addr, from });
        }
    }

    #[inline(always)] // its parts are calls
    fn complete_load(&mut self, out: &mut impl Outside, at: usize, ready: Ps) {
        self.known(at, out.shape().cycle(ready));
        self.completed(out, at);
        let h = &*self;
        // A full window has a free entry again only when something commits.
        if h.stopped != Some(Stopped::Window) || h.committed > h.window.first() {
            self.dispatch(out);
        }
        self.check_finished(out);
    }
}
