//! Instructions that act only as the oldest of their hart: fences, atomics, locks, transactions.

use super::{QueuedStore, Refused, Stopped, StoreState};
use crate::bus::{Lookup, Waiter};
use crate::cache::WayRef;
use crate::frontend::{Answer, Op, OpKind};
use crate::machine::Machine;
use crate::seam::{Access, Cause, Gate, Instr, TxStart};
use crate::spec::StoreOrder;
use fencepost_kernel::{Fence, HartId, LineData, Rmw, TraceKind, TxId};

/// What an instruction at the head needs next.
enum Act {
    /// It acted; its result.
    Done(Answer),
    /// It waits, and something will call it back.
    Waits(Cause),
    /// It waits for the design.
    Refused(Cause),
}

impl Machine {
    /// The oldest instruction acts, or finds out what it waits for.
    pub(crate) fn head(&mut self, hart: HartId) {
        let h = &self.sys.harts[hart.index()];
        let Some(e) = h.head().filter(|e| e.progress == super::Progress::Acting) else {
            return;
        };
        let (op, id) = (e.op, e.id);
        let act = match self.must_drain(hart, &op, id) && self.sys.harts[hart.index()].stores.any_older(id) {
            true => Act::Waits(Cause::StoreDrain),
            false => self.act(hart, &op),
        };
        match act {
            Act::Waits(cause) => self.sys.head_waits(hart, cause),
            Act::Refused(cause) => {
                self.sys.head_waits(hart, cause);
                self.sys.harts[hart.index()].refuse(Refused::Head);
            }
            Act::Done(answer) => self.acted(hart, &op, answer),
        }
    }

    /// Whether older stores must have performed first.
    fn must_drain(&self, hart: HartId, op: &Op, id: u32) -> bool {
        match op.kind {
            OpKind::Fence(kind) => self.sys.shape.after_stores(kind),
            OpKind::Rmw | OpKind::Lock => {
                // Arm atomics do not order older stores to other lines; x86 ones do.
                self.sys.spec.core.store_order == StoreOrder::Tso || self.stores_hold_up(hart, op, id)
            }
            OpKind::LoadAcquire => self.stores_hold_up(hart, op, id),
            _ => true,
        }
    }

    /// Whether the store queue holds a store to the same word, or a fence.
    fn stores_hold_up(&self, hart: HartId, op: &Op, id: u32) -> bool {
        let stores = &self.sys.harts[hart.index()].stores;
        stores.has_fence() || stores.forwarder(op.addr, id).is_some()
    }

    /// A fence has taken effect.
    pub(super) fn fence_acted(&mut self, hart: HartId, kind: Fence) {
        self.sys.counters.fences += 1;
        self.record(hart, TraceKind::Fence(kind));
    }

    fn act(&mut self, hart: HartId, op: &Op) -> Act {
        if matches!(op.kind, OpKind::Rmw | OpKind::Lock)
            && let Gate::Wait(cause) = self.design.instr(&mut self.sys, hart, Instr::Locked)
        {
            return Act::Refused(cause);
        }
        match op.kind {
            OpKind::Fence(kind) => {
                let act = self.instruct(hart, Instr::Fence(kind));
                if matches!(act, Act::Done(_)) {
                    self.fence_acted(hart, kind);
                }
                act
            }
            OpKind::Rmw | OpKind::StoreRelease => self.act_exclusive(hart, op),
            OpKind::Lock => match self.sys.harts[hart.index()].lock_granted || self.sys.locks.take(op.addr, hart) {
                true => {
                    self.sys.harts[hart.index()].lock_granted = true;
                    self.act_exclusive(hart, op)
                }
                false => Act::Waits(Cause::LockWait),
            },
            OpKind::LoadAcquire => self.act_load(hart, op),
            OpKind::TxBegin => self.act_tx_begin(hart, op),
            OpKind::TxCommit => self.end_tx(hart, Instr::TxCommit, TraceKind::TxCommit),
            OpKind::TxAbort => self.end_tx(hart, Instr::TxAbort, TraceKind::TxAbort),
            OpKind::TxFlush => {
                let act = self.instruct(hart, Instr::TxFlush);
                if matches!(act, Act::Done(_)) {
                    self.record(hart, TraceKind::TxFlush);
                }
                act
            }
            OpKind::CommitQueue(queue) => {
                let act = self.instruct(hart, Instr::CommitQueue(queue));
                if matches!(act, Act::Done(_)) {
                    self.record(hart, TraceKind::CommitQueue(queue));
                }
                act
            }
            OpKind::ReleaseQueue(queue) => self.instruct(hart, Instr::ReleaseQueue(queue)),
            OpKind::Bind => {
                let queue = self.design.bind(&mut self.sys, hart, op.addr, op.value);
                self.record(
                    hart,
                    TraceKind::Bind {
                        base: op.addr,
                        len: op.value,
                        queue,
                    },
                );
                Act::Done(Answer {
                    value: u64::from(queue.0),
                    rolled_back: None,
                })
            }
            _ => Act::Done(Answer::default()),
        }
    }

    fn instruct(&mut self, hart: HartId, instr: Instr) -> Act {
        match self.design.instr(&mut self.sys, hart, instr) {
            Gate::Go => Act::Done(Answer::default()),
            Gate::Wait(cause) => Act::Refused(cause),
        }
    }

    fn end_tx(&mut self, hart: HartId, instr: fn(TxId) -> Instr, event: fn(TxId) -> TraceKind) -> Act {
        let Some(tx) = self.sys.harts[hart.index()].open_tx else {
            return Act::Done(Answer::default());
        };
        let act = self.instruct(hart, instr(tx));
        if matches!(act, Act::Done(_)) {
            self.sys.harts[hart.index()].open_tx = None;
            // A commit that the design answered by rolling the transaction back is an abort.
            let aborted = self.sys.journal.borrow().rolled_back(hart);
            self.record(hart, if aborted { TraceKind::TxAbort(tx) } else { event(tx) });
        }
        act
    }

    fn act_tx_begin(&mut self, hart: HartId, op: &Op) -> Act {
        let rolled_back = self.sys.journal.borrow_mut().take_pending(hart);
        if rolled_back.is_some() {
            return Act::Done(Answer { value: 0, rolled_back });
        }
        match self.design.tx_begin(&mut self.sys, hart) {
            TxStart::Wait(cause) => Act::Refused(cause),
            TxStart::Go(tx) => {
                self.sys.journal.borrow_mut().begin(hart, tx, op.value as u32);
                let h = &mut self.sys.harts[hart.index()];
                h.tx = Some(tx);
                h.open_tx = Some(tx);
                self.record(hart, TraceKind::TxBegin(tx));
                Act::Done(Answer {
                    value: u64::from(tx.0),
                    rolled_back: None,
                })
            }
        }
    }

    fn act_load(&mut self, hart: HartId, op: &Op) -> Act {
        if let Some(cause) = self.gate_head(hart, op, Access::Load) {
            return cause;
        }
        match self.access(op.addr.line(), false, Waiter::Head(hart)) {
            Lookup::Missed => Act::Waits(Cause::LoadCache),
            Lookup::Hit(way) => {
                let id = self.head_id(hart);
                self.observed(hart, op, id);
                self.notify_access(hart, op, way, Access::Load);
                Act::Done(Answer {
                    value: self.sys.coherent.word(op.addr),
                    rolled_back: None,
                })
            }
        }
    }

    /// The number of the operation that acts.
    fn head_id(&self, hart: HartId) -> u32 {
        self.sys.harts[hart.index()].head().map_or(0, |e| e.id)
    }

    fn gate_head(&mut self, hart: HartId, op: &Op, access: Access) -> Option<Act> {
        if let Some(cause) = self.blocked(hart) {
            return Some(Act::Refused(cause));
        }
        if self.hooks.gates
            && let Gate::Wait(cause) = self.design.may_access(&mut self.sys, hart, op.addr.line(), access)
        {
            return Some(Act::Refused(cause));
        }
        None
    }

    /// Tells the design that an access performed, if it wants to know.
    pub(super) fn notify_access(&mut self, hart: HartId, op: &Op, way: WayRef, access: Access) {
        if (access == Access::Load && self.hooks.loads) || (access == Access::Store && self.hooks.stores) {
            let (line, core) = (op.addr.line(), self.sys.core_index(hart));
            let data = match access {
                Access::Load => LineData::default(),
                Access::Store => self.sys.line_data(line),
            };
            let mut meta = self.sys.cores[core].l1.meta(way);
            self.design
                .performed(&mut self.sys, hart, line, access, &data, &mut meta);
            self.sys.cores[core].l1.set_meta(way, meta);
        }
    }

    /// Atomics, releases and lock acquisitions: act when the line is exclusively held.
    fn act_exclusive(&mut self, hart: HartId, op: &Op) -> Act {
        if let Some(act) = self.gate_head(hart, op, Access::Store) {
            return act;
        }
        let Lookup::Hit(way) = self.access(op.addr.line(), true, Waiter::Head(hart)) else {
            return Act::Waits(if op.kind == OpKind::Lock {
                Cause::LockWait
            } else {
                Cause::Atomic
            });
        };
        let old = self.sys.coherent.word(op.addr);
        let new = self.new_value(hart, op, old);
        let way = match new.map_or(Ok(way), |_| self.version_way(hart, way)) {
            Ok(way) => way,
            Err(cause) => return Act::Refused(cause),
        };
        let from = self.sys.coherent.writer(op.addr);
        let reads = op.kind != OpKind::StoreRelease;
        if reads {
            self.notify_access(hart, op, way, Access::Load);
        }
        let mut store = None;
        if let Some(value) = new {
            let before = self.sys.recorder.as_ref().and_then(|r| r.next_store());
            let tx = self.sys.harts[hart.index()].tx;
            let s = QueuedStore {
                op: Op { value, ..*op },
                id: 0,
                tx,
                state: StoreState::Committed(self.sys.now()),
            };
            if let Some(r) = &mut self.sys.recorder {
                r.hold_next(reads);
            }
            self.perform_store(hart, &s, way);
            if op.kind != OpKind::Lock {
                let old = self.sys.functional.borrow().word(op.addr);
                self.sys.journal.borrow_mut().issue(hart, op.addr.word(), old);
            }
            self.sys.functional.borrow_mut().set_word(op.addr, value, None);
            store = before;
        }
        let id = self.head_id(hart);
        if let Some(r) = self.sys.recorder.as_mut().filter(|_| reads) {
            let addr = op.addr.word();
            r.read(hart, id, op.dep, TraceKind::Rmw { addr, from, store });
        }
        if op.kind == OpKind::Lock {
            let stamp = self.sys.locks.stamp();
            let h = &mut self.sys.harts[hart.index()];
            h.lock_granted = false;
            h.stamp.get_or_insert(stamp);
        }
        Act::Done(Answer {
            value: old,
            rolled_back: None,
        })
    }

    /// What an exclusive access writes, if anything.
    fn new_value(&self, hart: HartId, op: &Op, old: u64) -> Option<u64> {
        match op.kind {
            OpKind::Rmw => match self.sys.harts[hart.index()].thread.rmw()? {
                Rmw::Add(n) => Some(old.wrapping_add(n)),
                Rmw::Swap(n) => Some(n),
                Rmw::Cas { expect, new } => (old == expect).then_some(new),
            },
            OpKind::Lock => Some(1),
            _ => Some(op.value),
        }
    }

    /// A lock's word was cleared: the longest waiter gets it.
    pub(crate) fn unlocked(&mut self, addr: fencepost_kernel::Addr) {
        self.sys.functional.borrow_mut().set_word(addr, 0, None);
        if let Some(next) = self.sys.locks.release(addr) {
            self.sys.harts[next.index()].lock_granted = true;
            let now = self.sys.now();
            self.sys.events.schedule(now, crate::machine::Ev::Head(next));
        }
    }

    fn acted(&mut self, hart: HartId, op: &Op, answer: Answer) {
        let now = self.sys.now();
        self.sys.charge_head(hart);
        let at = self.sys.harts[hart.index()].committed;
        let suspends = op.kind.suspends();
        let clock = self.dispatch_clock();
        self.complete(hart, at, self.sys.shape.cycle(now));
        let h = &mut self.sys.harts[hart.index()];
        if suspends && h.stopped == Some(Stopped::Answer) {
            h.stopped = None;
            h.dispatch_pos = h.dispatch_pos.max(clock);
            h.thread.resume(answer);
        } else if h.stopped == Some(Stopped::Fence) {
            h.stopped = None;
            h.dispatch_pos = h.dispatch_pos.max(clock);
        }
        self.dispatch(hart);
        self.check_finished(hart);
    }
}
