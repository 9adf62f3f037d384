//! Loads: forwarding, gates, L1 access, performing.

use super::{Refused, Stopped};
use crate::bus::{Lookup, Waiter};
use crate::cache::WayRef;
use crate::frontend::Op;
use crate::machine::Machine;
use crate::seam::{Access, Cause, Gate};
use fencepost_kernel::{HartId, Ps, TraceKind};

impl Machine {
    /// A load accesses the L1.
    pub(crate) fn load(&mut self, hart: HartId, id: u32) {
        let h = &mut self.sys.harts[hart.index()];
        let Some(at) = h.position(id).filter(|p| !h.window[*p].done()) else {
            return;
        };
        let (addr, dep) = (h.window[at].op.addr, h.window[at].op.dep);
        if let Some(store) = h.stores.forwarder(addr, id) {
            let deps = [dep, store.op.dep];
            if let Some(r) = &mut self.sys.recorder {
                r.forwarded(hart, id, deps);
            }
            let ready = self.sys.now() + self.sys.spec.l1.latency;
            self.complete_load(hart, at, ready);
            return;
        }
        if let Some(cause) = self.blocked(hart) {
            let h = &mut self.sys.harts[hart.index()];
            h.window[at].cause = cause;
            h.blocked_loads.push(id);
            return;
        }
        if self.hooks.gates
            && let Gate::Wait(cause) = self.design.may_access(&mut self.sys, hart, addr.line(), Access::Load)
        {
            let h = &mut self.sys.harts[hart.index()];
            h.window[at].cause = cause;
            h.refuse(Refused::Load(id));
            return;
        }
        match self.access(addr.line(), false, Waiter::Load(hart, id)) {
            Lookup::Hit(way) => {
                let ready = self.sys.now() + self.sys.spec.l1.latency;
                self.perform_load(hart, at, way, ready);
            }
            Lookup::Missed => self.sys.harts[hart.index()].window[at].cause = Cause::LoadCache,
        }
    }

    /// The line a load waited for is in the L1.
    pub(crate) fn load_arrived(&mut self, hart: HartId, id: u32) {
        let h = &self.sys.harts[hart.index()];
        let Some(at) = h.position(id).filter(|p| !h.window[*p].done()) else {
            return;
        };
        let line = h.window[at].op.addr.line();
        let core = self.sys.core_index(hart);
        match self.sys.cores[core].l1.find(line) {
            Some(way) => {
                let now = self.sys.now();
                self.perform_load(hart, at, way, now);
            }
            None => self.load(hart, id),
        }
    }

    fn perform_load(&mut self, hart: HartId, at: usize, way: WayRef, ready: Ps) {
        let (op, id) = (
            self.sys.harts[hart.index()].window[at].op,
            self.sys.harts[hart.index()].window[at].id,
        );
        let value = op.width.extract(self.sys.coherent.word(op.addr), op.addr.0);
        if value != op.value && !self.sys.journal.borrow().rolled_back(hart) {
            self.sys.counters.races += 1;
        }
        self.observed(hart, &op, id);
        self.notify_access(hart, &op, way, Access::Load);
        self.complete_load(hart, at, ready);
    }

    /// Records that operation `id` of a hart read a word now.
    pub(crate) fn observed(&mut self, hart: HartId, op: &Op, id: u32) {
        if let Some(r) = &mut self.sys.recorder {
            let (addr, from) = (op.addr.word(), self.sys.coherent.writer(op.addr));
            r.read(hart, id, op.dep, TraceKind::Load { addr, from });
        }
    }

    fn complete_load(&mut self, hart: HartId, at: usize, ready: Ps) {
        self.complete(hart, at, self.sys.shape.cycle(ready));
        let h = &self.sys.harts[hart.index()];
        // A full window has room again only when something commits.
        if h.stopped != Some(Stopped::Window) || h.committed > 0 {
            self.dispatch(hart);
        }
        self.check_finished(hart);
    }
}
