//! The store queue at work: committed stores perform in the L1, in order or not, as the machine's store order says.

use super::{QueuedStore, Refused, Stopped, StoreState};
use crate::bus::{Lookup, Waiter};
use crate::cache::{State, WayRef};
use crate::frontend::OpKind;
use crate::machine::Machine;
use crate::seam::{Access, Cause, Gate, Instr, Level, Place};
use crate::spec::StoreOrder;
use fencepost_kernel::{HartId, TraceKind};

/// What became of a try.
enum Tried {
    Performed,
    Waits,
}

impl Machine {
    /// Looks at the store queue: performs at most one store, starts as many misses as it may.
    pub(crate) fn stores(&mut self, hart: HartId) {
        let now = self.sys.now();
        let in_order = self.sys.spec.core.store_order == StoreOrder::Tso;
        self.sys.harts[hart.index()].store_event = None;
        let mut i = 0;
        while let Some(s) = self.sys.harts[hart.index()].stores.get(i) {
            let is_fence = s.is_fence();
            match s.state {
                StoreState::Speculative => break,
                StoreState::Committed(t) if t > now => {
                    self.sys.wake_stores(hart, t);
                    break;
                }
                StoreState::Committed(_) if !self.must_wait(hart, i, s) => {
                    let s = *s;
                    if let Tried::Performed = self.try_store(hart, i, &s) {
                        self.store_done(hart, i);
                        return;
                    }
                }
                _ => {}
            }
            // Nothing passes a fence.
            if in_order || is_fence {
                break;
            }
            i += 1;
        }
    }

    /// Same-line order; releases and fences behind everything.
    fn must_wait(&self, hart: HartId, i: usize, s: &QueuedStore) -> bool {
        i > 0 && (s.op.kind == OpKind::Unlock || s.is_fence() || self.sys.harts[hart.index()].stores.older_on_line(i))
    }

    /// The line a store waited for is in the L1 (or, for a non-temporal store, nowhere).
    pub(crate) fn store_arrived(&mut self, hart: HartId, id: u32) {
        let now = self.sys.now();
        let Some((i, s)) = self.sys.harts[hart.index()].stores.by_id(id).map(|(i, s)| (i, *s)) else {
            return;
        };
        self.sys.harts[hart.index()]
            .stores
            .set_state(i, StoreState::Committed(now));
        match self.try_store(hart, i, &s) {
            Tried::Performed => self.store_done(hart, i),
            Tried::Waits => {}
        }
    }

    fn try_store(&mut self, hart: HartId, i: usize, s: &QueuedStore) -> Tried {
        if matches!(s.op.kind, OpKind::Store | OpKind::NtStore) && self.sys.journal.borrow().rolled_back(hart) {
            return Tried::Performed; // squashed
        }
        let done = match s.op.kind {
            OpKind::Flush(kind) => self.design.instr(&mut self.sys, hart, Instr::Flush(s.line(), kind)),
            OpKind::QueuedFence(kind) => self.design.instr(&mut self.sys, hart, Instr::Fence(kind)),
            OpKind::NtStore => return self.try_nt_store(hart, i, s),
            _ => return self.try_temporal(hart, i, s),
        };
        match done {
            Gate::Go => {
                match s.op.kind {
                    OpKind::Flush(kind) => {
                        self.sys.counters.flushes += 1;
                        self.record(hart, TraceKind::Flush { line: s.line(), kind });
                    }
                    OpKind::QueuedFence(kind) => self.fence_acted(hart, kind),
                    _ => {}
                }
                Tried::Performed
            }
            Gate::Wait(cause) => self.store_refused(hart, i, cause),
        }
    }

    fn store_refused(&mut self, hart: HartId, i: usize, cause: Cause) -> Tried {
        let h = &mut self.sys.harts[hart.index()];
        h.stores.set_state(i, StoreState::Refused(cause));
        h.refuse(Refused::Stores);
        Tried::Waits
    }

    fn try_temporal(&mut self, hart: HartId, i: usize, s: &QueuedStore) -> Tried {
        if let Some(cause) = self.blocked(hart) {
            return self.store_refused(hart, i, cause);
        }
        if self.hooks.gates
            && let Gate::Wait(cause) = self.design.may_access(&mut self.sys, hart, s.line(), Access::Store)
        {
            return self.store_refused(hart, i, cause);
        }
        let Lookup::Hit(way) = self.access(s.line(), true, Waiter::Store(hart, s.id)) else {
            self.sys.harts[hart.index()].stores.set_state(i, StoreState::Fetching);
            return Tried::Waits;
        };
        let way = match self.version_way(hart, way) {
            Ok(way) => way,
            Err(cause) => return self.store_refused(hart, i, cause),
        };
        self.perform_store(hart, s, way);
        if s.op.kind == OpKind::Unlock {
            self.unlocked(s.op.addr);
        }
        Tried::Performed
    }

    /// Where the design wants the store when the way is dirty: in place, or beside a frozen older version.
    #[inline]
    pub(super) fn version_way(&mut self, hart: HartId, way: WayRef) -> Result<WayRef, Cause> {
        match self.hooks.versions {
            true => self.place_store(hart, way),
            false => Ok(way),
        }
    }
    fn place_store(&mut self, hart: HartId, way: WayRef) -> Result<WayRef, Cause> {
        let core = self.sys.spec.core_of(hart);
        let Some(held) = self.sys.cores[core.index()].l1.peek(way) else {
            return Ok(way);
        };
        match self.design.place(&mut self.sys, hart, &held.way()) {
            Place::Here => Ok(way),
            Place::Wait(cause) => Err(cause),
            Place::Fork => {
                let data = self.sys.line_data(held.line);
                let key = (crate::bus::level_key(Level::L1(core)), held.line, held.meta);
                self.sys.versions.insert(key, data);
                self.sys.cores[core.index()].l1.freeze(way);
                self.sys.counters.versions += 1;
                if let Some(v) = self.sys.cores[core.index()].l1.victim(held.line)
                    && let Some(gone) = self.sys.cores[core.index()].l1.remove(v)
                {
                    self.leave_l1(core, gone);
                }
                let llc = &mut self.sys.llc.tags;
                if let Some(w) = llc.find(held.line) {
                    llc.set_dirty(w, false); // The frozen way has those bytes.
                }
                let l1 = &mut self.sys.cores[core.index()].l1;
                Ok(l1.insert(held.line, State::Modified, true, 0))
            }
        }
    }

    /// A store becomes visible.
    pub(crate) fn perform_store(&mut self, hart: HartId, s: &QueuedStore, way: WayRef) {
        let (core, line) = (self.sys.core_index(hart), s.line());
        let value =
            s.op.width
                .insert(self.sys.coherent.word(s.op.addr), s.op.addr.0, s.op.value);
        if !matches!(s.op.kind, OpKind::Lock | OpKind::Unlock) {
            self.journal_performed(hart, s.op.addr.word());
        }
        let id = self.sys.recorder.as_mut().map(|r| r.store(hart, &s.op, value, s.tx));
        self.sys.coherent.set_word(s.op.addr, value, id);
        if self.sys.cores[core].l1.state(way) == State::Exclusive {
            // The copy below must not be written back over this one.
            let llc = &mut self.sys.llc.tags;
            if let Some(w) = llc.find(line) {
                llc.set_dirty(w, false);
            }
        }
        let private = &mut self.sys.cores[core];
        private.l1.set_state(way, State::Modified);
        private.l1.set_dirty(way, true);
        if let Some(l2) = private.l2.as_mut()
            && let Some(w) = l2.find(line)
        {
            l2.set_state(w, State::Modified);
        }
        self.sys.counters.stores += 1;
        self.notify_access(hart, &s.op, way, Access::Store);
    }

    fn try_nt_store(&mut self, hart: HartId, i: usize, s: &QueuedStore) -> Tried {
        let line = s.line();
        if self.held(line) {
            let core = self.sys.spec.core_of(hart);
            self.start_miss(core, line, true, true, Waiter::Store(hart, s.id));
            self.sys.harts[hart.index()].stores.set_state(i, StoreState::Fetching);
            return Tried::Waits;
        }
        let mut data = self.sys.line_data(line);
        let word = s.op.addr.word_in_line();
        data.words[word] = s.op.value;
        data.by[word] = self.sys.recorder.as_ref().and_then(|r| r.next_store());
        match self.design.nt_store(&mut self.sys, hart, line, &data, 1 << word) {
            Gate::Wait(cause) => self.store_refused(hart, i, cause),
            Gate::Go => {
                let id = self
                    .sys
                    .recorder
                    .as_mut()
                    .map(|r| r.store(hart, &s.op, s.op.value, s.tx));
                self.journal_performed(hart, s.op.addr.word());
                self.sys.coherent.set_word(s.op.addr, s.op.value, id);
                self.sys.counters.nt_stores += 1;
                Tried::Performed
            }
        }
    }

    fn journal_performed(&mut self, hart: HartId, word: fencepost_kernel::Addr) {
        let mut journal = self.sys.journal.borrow_mut();
        if journal.in_transaction(hart) {
            let (old, by) = (self.sys.coherent.word(word), self.sys.coherent.writer(word));
            journal.perform(hart, word, old, by);
        }
    }

    /// The store at a position of the queue has performed and leaves it: whoever waited for that goes on.
    fn store_done(&mut self, hart: HartId, i: usize) {
        let port = self.sys.now() + self.sys.shape.period;
        let h = &mut self.sys.harts[hart.index()];
        h.store_port = port;
        let kind = h.stores.get(i).map(|s| s.op.kind);
        h.stores.remove(i);
        if let Some(t) = h.stores.next_committed() {
            self.sys.wake_stores(hart, t.max(port));
        }
        if kind.is_some_and(OpKind::is_queued_full_fence) {
            self.leave_queued_fence(hart);
        }
        let h = &mut self.sys.harts[hart.index()];
        if h.head().is_some_and(|e| e.progress == super::Progress::Acting)
            && h.head_wait.is_some_and(|w| w.0 == Cause::StoreDrain)
        {
            self.head(hart);
        }
        if self.sys.harts[hart.index()].stopped == Some(Stopped::StoreQueue) {
            self.dispatch(hart);
        }
        self.check_finished(hart);
    }

    /// Asks the design again about refused stores.
    pub(crate) fn retry_stores(&mut self, hart: HartId) {
        let now = self.sys.now();
        let h = &mut self.sys.harts[hart.index()];
        let mut any = false;
        for i in 0..h.stores.len() {
            if let Some(StoreState::Refused(cause)) = h.stores.get(i).map(|s| s.state) {
                h.queue_blame = Some(cause);
                h.stores.set_state(i, StoreState::Committed(now));
                any = true;
            }
        }
        if any {
            self.sys.wake_stores(hart, now);
        }
    }
}
