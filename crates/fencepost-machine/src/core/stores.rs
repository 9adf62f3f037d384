//! The store queue at work: committed stores perform in the L1, in order or not, as the machine's store order says.

use super::entry::Progress;
use super::outside::Outside;
use super::state::HardwareThread;
use super::state::{Refused, Stopped};
use super::store_queue::{QueuedStore, StoreState};
use crate::frontend::OpKind;
use crate::hierarchy::{Lookup, Waiter, WayRef};
use crate::seam::{Access, Cause, Gate, Instr};
use fencepost_kernel::decision;
use fencepost_kernel::planted;
use fencepost_kernel::{Flush, TraceKind, Width};

/// Stores leave the reorder buffer in program order: none performs before the loads before it have their values.
pub(super) fn stores_pass_loads() -> bool {
    planted!(
        "core.store-passes-load",
        "a store performs after the loads before it have their values"
    )
}

/// What became of a try.
pub(super) enum Tried {
    Performed,
    Waits,
}

impl HardwareThread {
    /// The scheduled look at the store queue; a later one may have been replaced by an earlier one.
    pub(crate) fn stores_turn(&mut self, out: &mut impl Outside) {
        if self.store_event == Some(out.now()) {
            self.stores(out);
        }
    }

    /// Looks at the store queue: performs at most one store, starts as many misses as it may.
    pub(crate) fn stores(&mut self, out: &mut impl Outside) {
        let now = out.now();
        let in_order = out.shape().stores_in_order
            && !planted!(
                "core.tso-store-passes-store",
                "under TSO stores perform in program order"
            );
        self.store_event = None;
        let early = stores_pass_loads();
        let mut i = self.stores.first();
        while let Some(s) = self.stores.get(i) {
            let is_barrier = s.is_barrier();
            match s.state {
                // Younger ones are speculative too.
                StoreState::Speculative if !early => break,
                StoreState::Speculative if self.only_loads_before(s) && !self.must_wait(i, s) => {
                    let s = *s;
                    if let Tried::Performed = self.try_store(out, i, &s) {
                        self.store_done(out, i);
                        return;
                    }
                }
                StoreState::Committed(t) if t > now => {
                    self.wake_stores(out, t);
                    break;
                }
                StoreState::Committed(_) if !self.must_wait(i, s) => {
                    let s = *s;
                    if let Tried::Performed = self.try_store(out, i, &s) {
                        self.store_done(out, i);
                        return;
                    }
                }
                _ => {}
            }
            // Nothing passes a fence or a `clflush`.
            let passes = planted!("core.store-passes-fence", "no store passes a fence in the store queue");
            if in_order || is_barrier && !passes {
                break;
            }
            i += 1;
        }
    }

    /// Whether a store's operand is there, and of what is older only loads of other words have not completed.
    fn only_loads_before(&self, s: &QueuedStore) -> bool {
        let older = |i: &usize| (self.window[*i].id.wrapping_sub(s.id) as i32) < 0;
        let passed = |i: usize| {
            let e = &self.window[i];
            e.done() || e.op.kind == OpKind::Load && e.op.addr.word() != s.op.addr.word()
        };
        let at = (self.committed..self.window.end()).find(|i| self.window[*i].id == s.id);
        s.op.kind == OpKind::Store
            && at.is_some_and(|at| self.window[at].done())
            && (self.committed..self.window.end()).take_while(older).all(passed)
    }

    /// Same-line order; releases, fences and `clflush`es behind everything.
    fn must_wait(&self, i: usize, s: &QueuedStore) -> bool {
        let release = s.op.kind == OpKind::Unlock
            && !planted!(
                "core.release-overtakes",
                "a release performs after everything before it"
            );
        let line = !planted!(
            "core.same-line-store-passes",
            "stores to one line perform in program order"
        );
        i > self.stores.first() && (release || s.is_barrier() || line && self.stores.older_on_line(i))
    }

    /// The line a store waited for is in the L1 (or, for a non-temporal store, nowhere).
    pub(crate) fn store_arrived(&mut self, out: &mut impl Outside, id: u32) {
        let now = out.now();
        let Some((i, s)) = self.stores.by_id(id).map(|(i, s)| (i, *s)) else {
            return;
        };
        self.stores.set_state(i, StoreState::Committed(now));
        match self.try_store(out, i, &s) {
            Tried::Performed => self.store_done(out, i),
            Tried::Waits => {}
        }
    }

    pub(super) fn try_store(&mut self, out: &mut impl Outside, i: usize, s: &QueuedStore) -> Tried {
        let squashed = matches!(s.op.kind, OpKind::Store | OpKind::NtStore)
            && self.rolled_back()
            && !planted!(
                "core.dead-store-performs",
                "a thread that was rolled back stores nothing until it knows"
            );
        if squashed {
            return Tried::Performed;
        }
        let unsent = matches!(s.op.kind, OpKind::Flush(_))
            && planted!("core.flush-not-sent", "a flush looks through the caches");
        let done = match s.op.kind {
            OpKind::Flush(_) if unsent => Gate::Go,
            OpKind::Flush(kind) => out.instr(self.id, Instr::Flush(s.line(), kind)),
            OpKind::QueuedFence(kind) => out.instr(self.id, Instr::Fence(kind)),
            OpKind::NtStore => return self.try_nt_store(out, i, s),
            _ => return self.try_temporal(out, i, s),
        };
        match done {
            Gate::Go => {
                match s.op.kind {
                    OpKind::Flush(kind) => {
                        self.counters.flushes += 1;
                        self.record(out, TraceKind::Flush { line: s.line(), kind });
                        if let Some(r) = out.recorder() {
                            r.order.flush(self.id, s.id, s.line(), kind);
                        }
                        if kind == Flush::Clflush {
                            self.acknowledge_late(out);
                        }
                    }
                    OpKind::QueuedFence(kind) => {
                        self.fence_acted(out, kind, s.id);
                        self.acknowledge_late(out);
                    }
                    _ => {}
                }
                Tried::Performed
            }
            Gate::Wait(cause) => self.store_refused(i, cause),
        }
    }

    fn store_refused(&mut self, i: usize, cause: Cause) -> Tried {
        let h = &mut *self;
        h.stores.set_state(i, StoreState::Refused(cause));
        h.refuse(Refused::Stores);
        Tried::Waits
    }

    fn try_temporal(&mut self, out: &mut impl Outside, i: usize, s: &QueuedStore) -> Tried {
        if let Some(cause) = out.blocked(self.id) {
            return self.store_refused(i, cause);
        }
        if out.hooks().gate_stores
            && let Gate::Wait(cause) = out.may_access(self.id, s.line(), Access::Store)
        {
            return self.store_refused(i, cause);
        }
        let Lookup::Hit(way) = self.access(out, s.line(), true, Waiter::Store(self.id, s.id)) else {
            self.stores.set_state(i, StoreState::Fetching);
            return Tried::Waits;
        };
        let way = match self.version_way(out, way) {
            Ok(way) => way,
            Err(cause) => return self.store_refused(i, cause),
        };
        self.perform_store(out, s, way);
        if s.op.kind == OpKind::Unlock {
            self.unlocked(out, s.op.addr);
        }
        Tried::Performed
    }

    /// Where the design wants the store when the way is dirty: in place, or beside a frozen older version.
    #[inline]
    pub(super) fn version_way(&mut self, out: &mut impl Outside, way: WayRef) -> Result<WayRef, Cause> {
        match out.hooks().versions {
            true => out.place_store(self.id, way),
            false => Ok(way),
        }
    }
    /// A store becomes visible.
    pub(crate) fn perform_store(&mut self, out: &mut impl Outside, s: &QueuedStore, way: WayRef) {
        let line = s.line();
        let value = match s.op.access.width() {
            Width::B8 => s.op.value,
            width => width.insert(out.word(s.op.addr), s.op.addr.0, s.op.value),
        };
        if !matches!(s.op.kind, OpKind::Lock | OpKind::Unlock) {
            self.journal_performed(out, s.op.addr.word());
        }
        let in_order = out.shape().stores_in_order;
        let id = out.recorder().map(|r| {
            match s.op.kind {
                OpKind::Store => r.order.store(self.id, s.id, s.op.addr, in_order),
                OpKind::Unlock => r.order.release(self.id, s.id),
                _ => {}
            }
            let store = r.store(self.id, &s.op, value, s.tx);
            r.passages.stored(self.id, s.id, store);
            store
        });
        out.set_word(s.op.addr, value, id);
        if id.is_some() || !out.l1(self.id).is_settled(way) {
            out.store_in_l1(self.id, s.op.addr, way);
        }
        self.counters.stores += 1;
        out.performed(self.id, line, way, Access::Store);
    }

    fn try_nt_store(&mut self, out: &mut impl Outside, i: usize, s: &QueuedStore) -> Tried {
        let line = s.line();
        if decision!("core.store-to-held-line", out.held(line)) {
            out.drop_copies(line, Waiter::Store(self.id, s.id));
            self.stores.set_state(i, StoreState::Fetching);
            return Tried::Waits;
        }
        let mut data = out.line_data(line);
        let word = s.op.addr.word_in_line();
        data.words[word] = s.op.value;
        data.by[word] = out.recorder().and_then(|r| r.next_store());
        match out.nt_store(self.id, line, &data, 1 << word) {
            Gate::Wait(cause) => self.store_refused(i, cause),
            Gate::Go => {
                let id = out.recorder().map(|r| {
                    r.order.store(self.id, s.id, s.op.addr, false);
                    let store = r.store(self.id, &s.op, s.op.value, s.tx);
                    r.passages.stored(self.id, s.id, store);
                    store
                });
                self.journal_performed(out, s.op.addr.word());
                out.set_word(s.op.addr, s.op.value, id);
                self.counters.nt_stores += 1;
                Tried::Performed
            }
        }
    }

    #[inline]
    fn journal_performed(&mut self, out: &mut impl Outside, word: fencepost_kernel::Addr) {
        if !self.journalled {
            return;
        }
        let mut journal = self.journal.borrow_mut();
        if decision!("core.store-in-transaction", journal.in_transaction(self.id)) {
            let (old, by) = (out.word(word), out.writer(word));
            journal.perform(self.id, word, old, by);
        }
    }

    /// The store at a position of the queue has performed and leaves it: whoever waited for that goes on.
    fn store_done(&mut self, out: &mut impl Outside, i: usize) {
        let port = out.now() + out.shape().period;
        let h = &mut *self;
        (h.store_port, h.store_freed) = (port, out.now());
        let (kind, op) = h.stores.remove(i);
        let (id, now) = (h.id, out.now());
        if let Some(r) = out.recorder() {
            r.queued(id, now, 1);
            r.passages.left(id, op, now);
        }
        if let Some(t) = h.stores.next_committed() {
            self.wake_stores(out, t.max(port));
        }
        if kind.is_queued_full_fence() {
            self.leave_queued_fence(out);
        }
        let h = &*self;
        if h.head_wait.is_some_and(|w| w.0 == Cause::StoreDrain)
            && let Some(e) = h.oldest().filter(|e| e.progress == Progress::Acting)
            // Most fences wait for all older stores; other instructions may wait for one of them alone.
            && !(matches!(e.op.kind, OpKind::Fence(f) if out.shape().after_stores(f)) && h.stores.any_older(e.id))
        {
            self.head(out);
        }
        if self.stopped == Some(Stopped::StoreQueue) {
            self.dispatch(out);
        }
        self.check_finished(out);
    }

    /// Asks the design again about refused stores.
    pub(crate) fn retry_stores(&mut self, out: &mut impl Outside) {
        let now = out.now();
        let h = &mut *self;
        let mut any = false;
        for i in h.stores.positions() {
            if let Some(StoreState::Refused(cause)) = h.stores.get(i).map(|s| s.state) {
                h.queue_blame = Some(cause);
                h.stores.set_state(i, StoreState::Committed(now));
                any = true;
            }
        }
        if any {
            self.wake_stores(out, now);
        }
    }
}
