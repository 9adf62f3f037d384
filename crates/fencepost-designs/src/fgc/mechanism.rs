//! The hooks of per-task committing.

use super::allocations::Allocations;
use super::commits::{Commits, Settled};
use super::credits::{Credits, Shared};
use super::flushes::Flushes;
use super::params::{CommitFault, PerTaskParams};
use crate::info::MachineShape;
use fencepost_kernel::stats::{Seen, Sum};
use fencepost_kernel::{Bytes, HwThread, LineAddr, LineData, QueueId, Span, planted};
use fencepost_machine::memory::{LineRange, ModuleSpec, RegisterWrite};
use fencepost_machine::seam::{
    Bound, ControllerParts, Cx, Design, Gate, Hooks, Instr, QueuePlan, Ranges, Statistics, Write, WriteId,
};
use std::cell::RefCell;
use std::rc::Rc;

fencepost_kernel::stats! {
    /// Counters.
    pub(super) COUNTERS {
        /// Commits of one queue.
        COMMITS = "commits", "instructions";
        /// Reads that the controller sent for credits.
        SYNC_READS = "sync_reads", "reads";
        /// Credits that came back with the data of other reads.
        PIGGY_BACKED = "credits_with_data", "credits";
        /// Ranges for which no register was free, or that share lines with another one.
        NOT_BOUND = "ranges_not_bound", "ranges";
    }
}
fencepost_kernel::stats! {
    /// Histograms.
    pub(super) HISTOGRAMS {
        /// Time of a single commit, from the first attempt to lock the queue to the answer.
        COMMIT_TIME = "commit_time", "ps";
    }
}

/// What they add up to.
const SUMS: &[Sum] = &[
    Sum::of(&[COMMITS], Seen::QueueCommits),
    Sum::samples(&[COMMIT_TIME], Seen::QueueCommits),
    Sum::of(&[NOT_BOUND], Seen::Unbound),
    Sum::at_most(&[PIGGY_BACKED], Seen::Accepted),
];

/// What a thread changes about the registers, while it holds the lock of a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Change {
    /// The range gets a register, once the default queue holds no write to it; the answer.
    Bind(Span, QueueId),
    /// The range loses its register, once its queue holds no write.
    Release(Span, u8),
}

/// Per-task committing.
#[derive(Debug)]
pub(super) struct PerTask {
    params: PerTaskParams,
    /// A volatile cache in the memory module, besides what the machine has.
    dram_cache: Bytes,
    credits: Rc<RefCell<Credits>>,
    commits: Commits,
    flushes: Flushes,
    allocations: Allocations,
    /// By hardware thread.
    changes: Vec<Option<Change>>,
}

impl PerTask {
    /// The mechanism for a machine of this shape.
    pub(super) fn new(params: PerTaskParams, dram_cache: Bytes, shape: MachineShape) -> PerTask {
        let queues = params.queues + 1;
        let params = PerTaskParams {
            fault: params.fault.or_planted(),
            ..params
        };
        let credits = Rc::new(RefCell::new(
            Credits::new(queues, params.ask_at, params.fault).with_interval(params.interval),
        ));
        PerTask {
            commits: Commits::new(credits.clone(), queues, params.path, params.fault),
            credits,
            flushes: Flushes::new(shape.hw_threads),
            allocations: Allocations::new(params.queues, params.registers, shape.hw_threads),
            changes: vec![None; usize::from(shape.hw_threads)],
            dram_cache,
            params,
        }
    }
    /// The queue is closed and holds no write: registers can change, and then it opens.
    fn settled(&mut self, cx: &mut dyn Cx, settled: Option<Settled>) {
        let Some(Settled { hw_thread, queue }) = settled else {
            return;
        };
        let counted = self.credits.borrow_mut().take_synchronisations();
        cx.count(SYNC_READS, counted.reads);
        cx.count(PIGGY_BACKED, counted.with_data);
        match &mut self.changes[hw_thread.index()] {
            Some(Change::Bind(span, answer)) => {
                *answer = bind_now(&mut self.allocations, cx, (*span, hw_thread), self.params.fault);
            }
            Some(Change::Release(span, queue)) if self.allocations.release(*span) => {
                cx.write_register(RegisterWrite::Release(*queue, register(*span, self.params.fault)));
            }
            Some(Change::Release(..)) | None => {}
        }
        self.commits.open(cx, queue);
    }
}

/// What a register holds for a range.
fn register(span: Span, fault: CommitFault) -> LineRange {
    let mut range = LineRange::touched(span);
    if fault == CommitFault::FirstLineMissed {
        range.first.0 += 1;
        range.count -= 1;
    }
    range
}

/// Writes a range into a register, unless another thread did meanwhile.
fn bind_now(
    allocations: &mut Allocations,
    cx: &mut dyn Cx,
    (span, hw_thread): (Span, HwThread),
    fault: CommitFault,
) -> QueueId {
    if let Some(queue) = allocations.again(span) {
        return queue;
    }
    let Some(queue) = allocations.choose(span, hw_thread) else {
        // Another thread took the last register since it was asked for.
        cx.count(NOT_BOUND, 1);
        return QueueId::DEFAULT;
    };
    allocations.add(span, queue, hw_thread);
    let twice = planted!("ranges.bound-twice", "a range takes one register");
    for _ in 0..=u8::from(twice) {
        cx.write_register(RegisterWrite::Bind(queue, register(span, fault)));
    }
    QueueId(queue)
}

impl Design for PerTask {
    fn hooks(&self) -> Hooks {
        Hooks {
            writes: true,
            ..Hooks::default()
        }
    }
    fn ranges(&mut self) -> Option<&mut dyn Ranges> {
        Some(self)
    }
    fn controller(&self, machine: &ModuleSpec) -> ControllerParts {
        let entries = match machine.entries {
            0 => self.params.module_entries,
            n => n,
        };
        self.credits.borrow_mut().set_full(self.params.credits);
        ControllerParts {
            queues: QueuePlan {
                queues: self.params.queues + 1,
                entries_each: Some(self.params.entries),
                range_registers: self.params.registers,
                ..QueuePlan::default()
            },
            module: ModuleSpec {
                entries: entries.max(u16::from(self.params.queues) + 1),
                dram_cache: self.dram_cache.max(machine.dram_cache),
                ..machine.clone()
            },
            flow_control: Some(Box::new(Shared(self.credits.clone()))),
            ..ControllerParts::of(machine)
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, flush) => self.flushes.flush(cx, hw_thread, line, flush),
            Instr::Fence(fence) if fence.properties().orders_stores => self.flushes.fence(hw_thread),
            Instr::Locked => self.flushes.fence(hw_thread),
            Instr::Fence(_) => Gate::Go,
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        self.flushes.nt_store(cx, hw_thread, line, data)
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, tag: u64, _: Option<&LineData>) {
        self.flushes.cleaned(cx, hw_thread, tag);
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        self.flushes.queue_freed(cx);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        self.flushes.accepted(cx, write);
        self.commits.accepted(id, write.queue);
        self.allocations.wrote(write.queue, write.hw_thread);
    }
    fn flow_changed(&mut self, cx: &mut dyn Cx) {
        self.commits.credits_came(cx);
    }
    fn drained(&mut self, cx: &mut dyn Cx, tag: u64) {
        let settled = self.commits.drained(cx, tag);
        self.settled(cx, settled);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        let settled = self.commits.timer(cx, tag);
        self.settled(cx, settled);
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.flushes.idle()
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            histograms: HISTOGRAMS,
            sums: SUMS,
            ..Statistics::of(COUNTERS)
        }
    }
    fn broken_rule(&self) -> Option<String> {
        let credits = self.credits.borrow();
        self.commits.broken().or(credits.broken()).cloned()
    }
    fn unsound(&self) -> Option<String> {
        if self.params.fault != CommitFault::None {
            return None;
        }
        let own = || self.commits.unsound().or_else(|| self.allocations.unsound());
        self.credits.borrow().unsound().or_else(own)
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        self.commits.explain(hw_thread)
    }
}

impl Ranges for PerTask {
    /// `PersistenceMalloc`: the operating system chooses the queue and writes the registers of both controllers. Before, no write
    /// to the range may be left in the default queue: the module would take it for one of the new queue.
    fn bind(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, span: Span) -> Bound {
        if self.changes[hw_thread.index()].is_none() {
            if let Some(queue) = self.allocations.again(span) {
                return Bound::To(queue);
            }
            if self.allocations.choose(span, hw_thread).is_none() {
                cx.count(NOT_BOUND, 1);
                return Bound::To(QueueId::DEFAULT);
            }
            self.changes[hw_thread.index()] = Some(Change::Bind(span, QueueId::DEFAULT));
        }
        match self.commits.ask(cx, hw_thread, 0, false) {
            Err(cause) => Bound::Wait(cause),
            Ok(_) => match self.changes[hw_thread.index()].take() {
                Some(Change::Bind(_, queue)) => Bound::To(queue),
                _ => Bound::To(QueueId::DEFAULT),
            },
        }
    }
    /// `PersistenceCommit`. What the default queue holds may be in a volatile cache of the module, which is written back then.
    fn commit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, queue: QueueId) -> Gate {
        if queue.0 > self.params.queues {
            return Gate::Go;
        }
        match self.commits.ask(cx, hw_thread, queue.0, queue == QueueId::DEFAULT) {
            Err(cause) => Gate::Wait(cause),
            Ok(took) => {
                cx.count(COMMITS, 1);
                cx.sample(COMMIT_TIME, took.0);
                Gate::Go
            }
        }
    }
    /// `PersistenceRelease`. The last release of a range waits until its queue holds no write, so that none is left that the
    /// module would take for another queue's.
    fn release(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, span: Span) -> Gate {
        let change = self.changes[hw_thread.index()];
        let last = || self.allocations.last(span).map(|queue| Change::Release(span, queue));
        let Some(change @ Change::Release(_, queue)) = change.or_else(last) else {
            self.allocations.release(span);
            return Gate::Go;
        };
        self.changes[hw_thread.index()] = Some(change);
        match self.commits.ask(cx, hw_thread, queue, false) {
            Err(cause) => Gate::Wait(cause),
            Ok(_) => {
                self.changes[hw_thread.index()] = None;
                Gate::Go
            }
        }
    }
}
