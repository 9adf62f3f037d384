//! Dispatch: operations enter the reorder buffer as fast as width and space allow.

use super::{Entry, Hart, Progress, QueuedStore, Stopped, StoreState};
use crate::frontend::{Answer, Op, OpKind};
use crate::machine::{Ev, Machine};
use crate::seam::Cause;
use crate::spec::Pipeline;
use fencepost_kernel::{Divider, Fence, HartId, Ps, TraceKind};

impl OpKind {
    /// Whether the operation waits in the store queue.
    pub(crate) fn is_store(self) -> bool {
        matches!(
            self,
            OpKind::Store | OpKind::NtStore | OpKind::Unlock | OpKind::Flush(_)
        )
    }
    fn is_marker(self) -> bool {
        matches!(self, OpKind::OpBegin | OpKind::OpEnd | OpKind::Ack)
    }
    /// Whether the thread waits for the operation's answer.
    pub(crate) fn suspends(self) -> bool {
        use OpKind::*;
        matches!(
            self,
            Rmw(_) | LoadAcquire | StoreRelease | Lock | TxBegin | TxAbort | TxFlush | Bind
        )
    }
    /// Whether younger loads must wait for it.
    pub(crate) fn is_full_fence(self) -> bool {
        matches!(self, OpKind::Fence(Fence::Mfence | Fence::Dmb | Fence::Dsb))
    }
}

impl Machine {
    /// Dispatches until space, the store queue or the thread stops it.
    pub(crate) fn dispatch(&mut self, hart: HartId) {
        loop {
            let Some(op) = self.next_op(hart) else { return };
            let room = match op.kind {
                OpKind::Compute => self.compute_room(hart, op.value as u32),
                _ => self.room(hart, &op),
            };
            let h = &mut self.sys.harts[hart.index()];
            match room {
                Err(stop) => {
                    h.next_op = Some(op);
                    h.stopped = Some(stop);
                    return;
                }
                Ok(Room { instructions, space }) if op.kind == OpKind::Compute => {
                    let left = op.value - u64::from(instructions);
                    h.next_op = (left > 0).then_some(Op { value: left, ..op });
                    let piece = Op {
                        value: u64::from(instructions),
                        ..op
                    };
                    self.dispatch_one(hart, piece, space, left == 0);
                }
                Ok(room) => self.dispatch_one(hart, op, room.space, true),
            }
        }
    }

    fn next_op(&mut self, hart: HartId) -> Option<Op> {
        let clock = self.dispatch_clock();
        let h = &mut self.sys.harts[hart.index()];
        if h.stopped == Some(Stopped::Answer) {
            return None;
        }
        if h.stopped.take() == Some(Stopped::StoreQueue) {
            h.dispatch_pos = h.dispatch_pos.max(clock);
            h.held_up = Some(h.queue_blame.take().unwrap_or(Cause::StoreQueueFull));
        }
        loop {
            if let Some(op) = h.next_op.take().or_else(|| h.thread.next_op()) {
                return Some(op);
            }
            if !h.thread.alive() {
                return None;
            }
            h.thread.resume(Answer::default());
        }
    }

    /// Reorder buffer, load queue and store queue entries; an in-order core has one instruction in flight.
    fn window_sizes(&self) -> (u32, u32, u32) {
        let spec = &self.sys.spec.core;
        match spec.pipeline {
            Pipeline::InOrder => (1, 1, 1),
            Pipeline::OutOfOrder => (spec.rob, spec.load_queue, spec.store_queue),
        }
    }

    /// Makes room for one operation, or says what it must wait for.
    fn room(&mut self, hart: HartId, op: &Op) -> Result<Room, Stopped> {
        let (rob, lq, sq) = self.window_sizes();
        let (units, to_cycles) = (self.sys.to_dispatch.divisor(), self.sys.to_cycles);
        let h = &mut self.sys.harts[hart.index()];
        let is_load = op.kind == OpKind::Load;
        let space = weight(op);
        while (h.occupancy + space > rob || (is_load && h.loads >= lq)) && !h.window.is_empty() {
            if h.committed == 0 {
                return Err(Stopped::Window);
            }
            retire_oldest(h, units, to_cycles);
        }
        if (op.kind.is_store() && h.stores.len() >= sq as usize) || (rob == 1 && !h.stores.is_empty()) {
            return Err(Stopped::StoreQueue);
        }
        Ok(Room { instructions: 1, space })
    }

    /// Makes room for as many of `n` instructions as can enter now.
    ///
    /// Behind an unfinished instruction they enter up to the free entries. When everything older has (or is known to
    /// have) completed, they stream through: all of them enter, and stand for the few entries they hold at a time.
    fn compute_room(&mut self, hart: HartId, n: u32) -> Result<Room, Stopped> {
        let (rob, _, _) = self.window_sizes();
        let (units, to_cycles) = (self.sys.to_dispatch.divisor(), self.sys.to_cycles);
        let h = &mut self.sys.harts[hart.index()];
        if rob == 1 && !h.stores.is_empty() {
            return Err(Stopped::StoreQueue);
        }
        let streams = h.committed == h.window.len();
        let want = n.min(if streams { (rob / 4).max(1) } else { rob });
        while h.occupancy + want > rob && h.committed > 0 {
            retire_oldest(h, units, to_cycles);
        }
        match (streams, rob.saturating_sub(h.occupancy).min(n)) {
            (true, _) => Ok(Room {
                instructions: n,
                space: want,
            }),
            (false, 0) => Err(Stopped::Window),
            (false, free) => Ok(Room {
                instructions: free,
                space: free,
            }),
        }
    }

    fn dispatch_one(&mut self, hart: HartId, op: Op, space: u32, last: bool) {
        let core = &self.sys.spec.core;
        let (width, ipc) = (u64::from(core.dispatch_width), u64::from(core.compute_ipc));
        let (period, to_dispatch) = (self.sys.period, self.sys.to_dispatch);
        let h = &mut self.sys.harts[hart.index()];
        let id = h.next_id;
        // The pieces of a long compute share its number.
        h.next_id = id.wrapping_add(u32::from(last));
        h.dispatch_pos += match op.kind {
            OpKind::Compute => op.value * width.max(ipc),
            k if k.is_marker() => 0,
            _ => ipc,
        };
        let dispatched = period * to_dispatch.floor(h.dispatch_pos);
        let entry = Entry {
            op,
            id,
            weight: weight(&op),
            space,
            dispatched,
            ready: None,
            committed_at: Ps::ZERO,
            cause: h.held_up.take().unwrap_or(Cause::Execute),
            progress: Progress::Issued,
            awaited: false,
        };
        h.occupancy += space;
        h.loads += u32::from(op.kind == OpKind::Load);
        h.memory_ops += u64::from(!matches!(op.kind, OpKind::Compute) && !op.kind.is_marker());
        h.window.push_back(entry);
        self.start(hart);
    }

    /// The present time as a dispatch position.
    pub(crate) fn dispatch_clock(&self) -> u64 {
        let core = &self.sys.spec.core;
        self.sys.to_cycles.floor(self.sys.now().0) * u64::from(core.dispatch_width) * u64::from(core.compute_ipc)
    }

    /// Starts the entry dispatched last.
    fn start(&mut self, hart: HartId) {
        let period = self.sys.period;
        let h = &mut self.sys.harts[hart.index()];
        let at = h.window.len() - 1;
        let e = h.window[at];
        match e.op.kind {
            OpKind::Compute => self.complete(hart, at, e.dispatched + period),
            k if k.is_marker() => {
                if k == OpKind::OpBegin {
                    self.record(hart, TraceKind::OpBegin(e.op.value as u32));
                }
                self.complete(hart, at, e.dispatched);
            }
            OpKind::Load | OpKind::Store | OpKind::NtStore | OpKind::Unlock | OpKind::Flush(_) => {
                if e.op.kind.is_store() {
                    let tx = h.tx;
                    h.stores.push(QueuedStore {
                        op: e.op,
                        id: e.id,
                        tx,
                        state: StoreState::Speculative,
                    });
                }
                self.with_operands(hart, at);
            }
            _ => {
                h.window[at].progress = Progress::AtHead;
                if e.op.kind.is_full_fence() {
                    h.open_fences += 1;
                }
                if e.op.kind.suspends() {
                    h.stopped = Some(Stopped::Answer);
                }
                if matches!(e.op.kind, OpKind::TxCommit | OpKind::TxAbort) {
                    h.tx = None;
                }
                if at == h.committed {
                    self.reach_head(hart);
                }
            }
        }
    }

    /// The entry's operands may be ready: issue it, or leave it waiting.
    pub(crate) fn with_operands(&mut self, hart: HartId, at: usize) {
        let (now, period) = (self.sys.now(), self.sys.period);
        let h = &mut self.sys.harts[hart.index()];
        let (id, dep, kind, dispatched) = (
            h.window[at].id,
            h.window[at].op.dep,
            h.window[at].op.kind,
            h.window[at].dispatched,
        );
        let Some(operand) = h.result_time(dep) else {
            h.window[at].progress = Progress::Operand;
            if let Some(p) = h.position(dep) {
                h.window[p].awaited = true;
            }
            return;
        };
        let start = dispatched.max(operand);
        if kind.is_store() {
            self.complete(hart, at, start + period);
        } else if h.open_fences > 0
            && h.window
                .iter()
                .take(at)
                .any(|e| e.op.kind.is_full_fence() && e.ready.is_none())
        {
            h.window[at].progress = Progress::Fence;
        } else {
            h.window[at].progress = Progress::Issued;
            let at = self.sys.align(start.max(now));
            self.sys.events.schedule(at, Ev::Load(hart, id));
        }
    }

    /// The result of an entry is (or will be) available at `ready`.
    pub(crate) fn complete(&mut self, hart: HartId, at: usize, ready: Ps) {
        let h = &mut self.sys.harts[hart.index()];
        let e = &mut h.window[at];
        e.ready = Some(ready);
        e.progress = Progress::Done;
        let (awaited, id, fence) = (e.awaited, e.id, e.op.kind.is_full_fence());
        if fence {
            h.open_fences -= 1;
            for i in at + 1..h.window.len() {
                let e = &self.sys.harts[hart.index()].window[i];
                if e.op.kind.is_full_fence() && e.ready.is_none() {
                    break;
                }
                if e.progress == Progress::Fence {
                    self.with_operands(hart, i);
                }
            }
        }
        if awaited {
            for i in at + 1..self.sys.harts[hart.index()].window.len() {
                let e = &self.sys.harts[hart.index()].window[i];
                if e.progress == Progress::Operand && e.op.dep == id {
                    self.with_operands(hart, i);
                }
            }
        }
        if at == self.sys.harts[hart.index()].committed {
            self.commit(hart);
        }
    }
}

/// What may enter the window now.
struct Room {
    instructions: u32,
    space: u32,
}

/// Instructions an operation stands for.
fn weight(op: &Op) -> u32 {
    match op.kind {
        OpKind::Compute => op.value as u32,
        k if k.is_marker() => 0,
        _ => 1,
    }
}

/// Drops the oldest committed entry; what enters in its place dispatches no earlier than it committed.
fn retire_oldest(h: &mut Hart, units: u64, to_cycles: Divider) {
    let Some(e) = h.window.pop_front() else { return };
    h.committed -= 1;
    h.occupancy -= e.space;
    h.loads -= u32::from(e.op.kind == OpKind::Load);
    h.dispatch_pos = h.dispatch_pos.max(to_cycles.floor(e.committed_at.0) * units);
}
