//! Instructions that act only as the oldest of their thread: fences, atomics, locks, transactions.

use super::entry::Progress;
use super::outside::{Outside, Turn};
use super::state::HardwareThread;
use super::state::{Refused, Stopped};
use super::store_queue::{QueuedStore, StoreState};
use crate::frontend::{AT_ONCE, Answer, Op, OpKind};
use crate::hierarchy::{Lookup, Waiter};
use crate::seam::{Access, Bound, Cause, Gate, Instr, TxStart};
use fencepost_kernel::planted;
use fencepost_kernel::{Fence, HwThread, Span, TraceKind, TxId};

/// What an instruction at the head needs next.
enum Act {
    /// It acted; its result.
    Done(Answer),
    /// It waits, and something will call it back.
    Waits(Cause),
    /// It waits for the design.
    Refused(Cause),
}
impl Act {
    fn of(gate: Gate) -> Act {
        match gate {
            Gate::Go => Act::Done(Answer::default()),
            Gate::Wait(cause) => Act::Refused(cause),
        }
    }
}

impl HardwareThread {
    /// The oldest instruction acts, or finds out what it waits for.
    pub(crate) fn head(&mut self, out: &mut impl Outside) {
        let h = &*self;
        let Some(e) = h.oldest().filter(|e| e.progress == Progress::Acting) else {
            return;
        };
        let (op, id) = (e.op, e.id);
        let act = match self.stores.any_older(id) && self.must_drain(out, &op, id) {
            true => Act::Waits(Cause::StoreDrain),
            false => self.act(out, &op),
        };
        match act {
            Act::Waits(cause) => self.head_waits(out.now(), cause),
            Act::Refused(cause) => {
                self.head_waits(out.now(), cause);
                self.refuse(Refused::Head);
            }
            Act::Done(answer) => self.acted(out, &op, answer),
        }
    }

    /// Whether older stores must have performed first.
    fn must_drain(&self, out: &impl Outside, op: &Op, id: u32) -> bool {
        match op.kind {
            OpKind::Fence(kind) => {
                let after_stores = out.shape().after_stores(kind)
                    && !planted!("core.fence-before-stores", "a fence waits for the stores before it");
                after_stores || self.fences_hold_up(id)
            }
            OpKind::Rmw | OpKind::Lock => {
                // Arm atomics do not order older stores to other lines; x86 ones do.
                let early = planted!(
                    "core.atomic-before-stores",
                    "an x86 atomic waits for the stores before it"
                );
                out.shape().stores_in_order && !early || self.stores_hold_up(op, id)
            }
            OpKind::LoadAcquire => self.stores_hold_up(op, id),
            _ => true,
        }
    }

    /// Whether the store queue holds a store to the same word, or a fence.
    fn stores_hold_up(&self, op: &Op, id: u32) -> bool {
        let stores = &self.stores;
        stores.has_fence() || stores.forwarder(op.addr, id).is_some()
    }

    /// Whether an older fence waits in the store queue: fences of a thread act in program order, those too that wait for no store.
    fn fences_hold_up(&self, id: u32) -> bool {
        self.stores.fence_before(id)
            && !planted!(
                "core.fence-passes-fence",
                "a fence takes effect after the fences before it"
            )
    }

    /// A fence has taken effect.
    pub(super) fn fence_acted(&mut self, out: &mut impl Outside, kind: Fence, id: u32) {
        self.counters.fences += 1;
        if out.recorder().is_none() {
            return;
        }
        let stores = out.shape().after_stores(kind) || out.shape().is_buffered(kind);
        let loads = kind.properties().orders_loads;
        if let Some(r) = out.recorder() {
            r.order.fence(self.id, id, stores, loads);
            r.event(self.id, TraceKind::Fence(kind));
        }
    }

    fn act(&mut self, out: &mut impl Outside, op: &Op) -> Act {
        if matches!(op.kind, OpKind::Rmw | OpKind::Lock)
            && let Gate::Wait(cause) = out.instr(self.id, Instr::Locked)
        {
            return Act::Refused(cause);
        }
        match op.kind {
            OpKind::Fence(kind) => {
                let act = Act::of(out.instr(self.id, Instr::Fence(kind)));
                if matches!(act, Act::Done(_)) {
                    let id = self.head_id();
                    self.fence_acted(out, kind, id);
                }
                act
            }
            OpKind::Rmw | OpKind::StoreRelease => self.act_exclusive(out, op),
            OpKind::Lock if op.value == AT_ONCE => self.act_exclusive(out, op),
            OpKind::Lock => match out.locks().take(op.addr, self.id) {
                true => self.act_exclusive(out, op),
                false => Act::Waits(Cause::LockWait),
            },
            OpKind::LoadAcquire => self.act_load(out, op),
            OpKind::TxBegin => self.act_tx_begin(out, op),
            OpKind::TxCommit => self.end_tx(out, |out, h, tx| out.tx_commit(h, tx), TraceKind::TxCommit),
            OpKind::TxAbort => self.end_tx(out, |out, h, tx| out.tx_abort(h, tx), TraceKind::TxAbort),
            OpKind::TxFlush => {
                let gate = out.tx_flush(self.id);
                self.answered(out, gate, TraceKind::TxFlush)
            }
            OpKind::CommitQueue(queue) => {
                let gate = out.commit_queue(self.id, queue);
                self.answered(out, gate, TraceKind::CommitQueue(queue))
            }
            OpKind::Bind => self.act_bind(out, range(op)),
            OpKind::Release => {
                let Span { at: base, len } = range(op);
                let gate = out.release_range(self.id, range(op));
                self.answered(out, gate, TraceKind::Release { base, len })
            }
            _ => Act::Done(Answer::default()),
        }
    }

    fn act_bind(&mut self, out: &mut impl Outside, range: Span) -> Act {
        match out.bind_range(self.id, range) {
            Bound::Wait(cause) => Act::Refused(cause),
            Bound::To(queue) => {
                let Span { at: base, len } = range;
                self.record(out, TraceKind::Bind { base, len, queue });
                Act::Done(Answer {
                    value: u64::from(queue.0),
                    rolled_back: None,
                })
            }
        }
    }

    /// An instruction that the design let act, or not: the former is an event of the run.
    fn answered(&mut self, out: &mut impl Outside, gate: Gate, event: TraceKind) -> Act {
        if gate == Gate::Go {
            self.record(out, event);
        }
        Act::of(gate)
    }

    fn end_tx<O: Outside>(
        &mut self,
        out: &mut O,
        end: fn(&mut O, HwThread, TxId) -> Gate,
        event: fn(TxId) -> TraceKind,
    ) -> Act {
        let Some(tx) = self.open_tx else {
            return Act::Done(Answer::default());
        };
        let act = Act::of(end(out, self.id, tx));
        if matches!(act, Act::Done(_)) {
            self.open_tx = None;
            // A commit that the design answered by rolling the transaction back is an abort.
            let aborted = self.rolled_back();
            self.record(out, if aborted { TraceKind::TxAbort(tx) } else { event(tx) });
        }
        act
    }

    fn act_tx_begin(&mut self, out: &mut impl Outside, op: &Op) -> Act {
        let pending = || self.journal.borrow_mut().take_pending(self.id);
        let rolled_back = if self.journalled { pending() } else { None };
        if rolled_back.is_some() {
            return Act::Done(Answer { value: 0, rolled_back });
        }
        match out.tx_begin(self.id) {
            TxStart::Wait(cause) => Act::Refused(cause),
            TxStart::Go(tx) => {
                self.journal.borrow_mut().begin(self.id, tx, op.value as u32);
                self.journalled |= tx != TxId(0);
                let h = &mut *self;
                h.tx = Some(tx);
                h.open_tx = Some(tx);
                self.record(out, TraceKind::TxBegin(tx));
                Act::Done(Answer {
                    value: u64::from(tx.0),
                    rolled_back: None,
                })
            }
        }
    }

    fn act_load(&mut self, out: &mut impl Outside, op: &Op) -> Act {
        if let Some(cause) = self.gate_head(out, op, Access::Load) {
            return cause;
        }
        match self.access(out, op.addr.line(), false, Waiter::Head(self.id)) {
            Lookup::Missed => Act::Waits(Cause::LoadCache),
            Lookup::Hit(way) => {
                let id = self.head_id();
                self.observed(out, op, id);
                if let Some(r) = out.recorder() {
                    r.order.acquire(self.id, id);
                    r.order.load(self.id, id, op.addr);
                }
                out.performed(self.id, op.addr.line(), way, Access::Load);
                Act::Done(Answer {
                    value: out.word(op.addr),
                    rolled_back: None,
                })
            }
        }
    }

    /// The number of the operation that acts.
    fn head_id(&self) -> u32 {
        self.oldest().map_or(0, |e| e.id)
    }

    fn gate_head(&mut self, out: &mut impl Outside, op: &Op, access: Access) -> Option<Act> {
        if let Some(cause) = out.blocked(self.id) {
            return Some(Act::Refused(cause));
        }
        if out.hooks().gates(access)
            && let Gate::Wait(cause) = out.may_access(self.id, op.addr.line(), access)
        {
            return Some(Act::Refused(cause));
        }
        None
    }

    /// Atomics, releases and lock acquisitions: act when the line is exclusively held.
    fn act_exclusive(&mut self, out: &mut impl Outside, op: &Op) -> Act {
        if let Some(act) = self.gate_head(out, op, Access::Store) {
            return act;
        }
        let Lookup::Hit(way) = self.access(out, op.addr.line(), true, Waiter::Head(self.id)) else {
            return Act::Waits(if op.kind == OpKind::Lock {
                Cause::LockWait
            } else {
                Cause::Atomic
            });
        };
        let old = out.word(op.addr);
        let new = self.new_value(op, old);
        let way = match new.map_or(Ok(way), |_| self.version_way(out, way)) {
            Ok(way) => way,
            Err(cause) => return Act::Refused(cause),
        };
        let from = out.writer(op.addr);
        let reads = op.kind != OpKind::StoreRelease;
        if reads {
            out.performed(self.id, op.addr.line(), way, Access::Load);
        }
        let mut store = None;
        if let Some(value) = new {
            let before = out.recorder().and_then(|r| r.next_store());
            let tx = self.tx;
            let s = QueuedStore {
                op: Op { value, ..*op },
                id: 0,
                tx,
                state: StoreState::Committed(out.now()),
            };
            if let Some(r) = out.recorder() {
                r.hold_next(reads);
            }
            self.perform_store(out, &s, way);
            if op.kind != OpKind::Lock && self.journalled {
                let old = self.functional.borrow().word(op.addr);
                self.journal.borrow_mut().issue(self.id, op.addr.word(), old);
            }
            self.functional.borrow_mut().set_word(op.addr, value, None);
            store = before;
        }
        let (id, in_order) = (self.head_id(), out.shape().stores_in_order);
        if let Some(r) = out.recorder() {
            if let Some(store) = store {
                r.passages.stored(self.id, id, store);
            }
            match op.kind {
                OpKind::Lock => r.order.acquire(self.id, id),
                OpKind::StoreRelease => r.order.release(self.id, id),
                _ => {}
            }
        }
        if let Some(r) = out.recorder().filter(|_| reads) {
            let addr = op.addr.word();
            r.order.atomic(self.id, id, addr, in_order);
            r.read(self.id, id, op.dep, TraceKind::Rmw { addr, from, store });
        }
        if op.kind == OpKind::Lock {
            let stamp = out.locks().stamp();
            out.locks().entered(self.id);
            let h = &mut *self;
            h.stamp = Some(stamp);
        }
        Act::Done(Answer {
            value: old,
            rolled_back: None,
        })
    }

    /// What an exclusive access writes, if anything. Until a thread that was rolled back learns of it, its atomics and
    /// releases are squashed as its plain stores are: what they would write or publish no longer exists, and the operation
    /// that runs again repeats them. Locks do act, so that they can be released.
    fn new_value(&self, op: &Op, old: u64) -> Option<u64> {
        let squashable = matches!(op.kind, OpKind::Rmw | OpKind::StoreRelease);
        let squashed = squashable
            && self.rolled_back()
            && !planted!(
                "core.dead-release-performs",
                "a thread that was rolled back publishes nothing"
            );
        match op.kind {
            _ if squashed => None,
            OpKind::Rmw => self.thread.rmw()?.applied(old),
            OpKind::Lock => Some(1),
            _ => Some(op.value),
        }
    }

    /// A lock was released: the longest waiter gets it.
    pub(super) fn unlocked(&mut self, out: &mut impl Outside, addr: fencepost_kernel::Addr) {
        self.functional.borrow_mut().set_word(addr, 0, None);
        if let Some(next) = out.locks().release(addr) {
            let now = out.now();
            out.schedule(now, next, Turn::Head);
        }
    }

    fn acted(&mut self, out: &mut impl Outside, op: &Op, answer: Answer) {
        let now = out.now();
        self.charge_head(out.now());
        let at = self.committed;
        let suspends = op.kind.suspends();
        let clock = out.shape().position_at(now);
        self.complete(out, at, out.shape().cycle(now));
        let h = &mut *self;
        if suspends && h.stopped == Some(Stopped::Answer) {
            h.stopped = None;
            h.dispatch_pos = h.dispatch_pos.max(clock);
            h.thread.resume(answer);
        } else if h.stopped == Some(Stopped::Fence) {
            h.stopped = None;
            h.dispatch_pos = h.dispatch_pos.max(clock);
        }
        self.dispatch(out);
        self.check_finished(out);
    }
}

/// The range that a binding, or its release, is about.
fn range(op: &Op) -> Span {
    Span {
        at: op.addr,
        len: op.value,
    }
}
