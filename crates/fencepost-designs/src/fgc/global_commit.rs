//! `global-commit`: clflush and a `pcommit` that closes the memory controller to every core.
//!
//! # Idea
//! Software flushes its lines out of the caches (`clflush`, which invalidates) and asks the controller to write all that it holds
//! to the medium (`pcommit`). While that lasts the controller takes no write of any core: all other threads stop committing.
//!
//! # Paper
//! The baseline of per-task committing (sections I and II-B, figure 2b).
//!
//! # Where order is kept
//! In the core, which waits for its own flushes (`mfence`) and for `pcommit`. `pcommit` is a primitive of this design's own: from
//! its arrival on the controller refuses every write, until its queue and the memory module are empty and the module has said so: one
//! read that the controller sends for it, the paper's synchronisation operation of a committing period (section IV-B). One thread commits at a time
//! (*all other running threads must stop data committing before current committing period is finished*); with `overlap = joined`
//! a `pcommit` that arrives meanwhile is answered with the one under way; writes that were on their way to the controller when it closed
//! may come in late and be its own, so that all wait until the controller is empty of those, too.
//!
//! # Durable at
//! The device; on a memory that is durable on acceptance the idiom is `clflush; mfence`.
//!
//! # Contract
//! `px86-pcommit` on a device-durable memory, `px86` on one that is durable on acceptance.
//!
//! # Hardware cost
//! A bit that says that a commit is under way; the paper counts none.
//!
//! # Deviations
//! The controller asks once, when the module is empty, where the NVM controller might hold the answer back until it is. Cores keep total store order as the paper's traces do; on relaxed cores locks
//! bring their own barriers.

use super::flushes::Flushes;
use super::params::{GlobalFault, GlobalParams, Overlap};
use super::synchronisation::Synchronisation;
use super::{FGC, HONOURS};
use crate::info::{
    CostItem, DesignInfo, Environment, MachineShape, ParamValues, PlantedFault, Promise, Scenario, configure,
};
use crate::persist_path::Waiting;
use crate::volatile::lock_fences;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params as _};
use fencepost_kernel::stats::{Seen, Sum};
use fencepost_kernel::{Dialect, Fence, Flush, HwThread, LineAddr, LineData, Logging, Ps};
use fencepost_machine::memory::ModuleSpec;
use fencepost_machine::seam::{
    Cause, ControllerParts, Cx, Design, DrainScope, Gate, Hooks, Instr, Statistics, Write, WriteId,
};
use std::collections::VecDeque;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "global-commit",
    summary: "clflush, and a pcommit that closes the controller to every core",
    source: include_str!("global_commit.rs"),
    paper: FGC,
    dialect,
    contract: |s| {
        if s.durable_on_accept {
            ContractKind::Px86
        } else {
            ContractKind::Px86Pcommit
        }
    },
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: HONOURS,
    },
    sound: |_| true,
    params: GlobalParams::fields,
    variants: &[&[("path", "90ns")], &[("overlap", "joined")]],
    smallest: &[],
    build: |values, shape| Ok(Box::new(GlobalCommit::new(configure(values)?, shape))),
    cost,
    faults: &[
        PlantedFault {
            // A machine with a memory module.
            scenario: Scenario::Program {
                program: "commitstore",
                machine: "fgc",
                sets: &[],
            },
            ..PlantedFault::order(
                "global-commit.module-ignored",
                "pcommit waits until the medium has stored every accepted write",
                &[("fault", "module-ignored")],
            )
        },
        PlantedFault::order(
            "global-commit.queue-stays-open",
            "the controller refuses every core's writes while a pcommit is under way",
            &[("fault", "queue-stays-open")],
        ),
    ],
    log: None,
};

fn dialect(environment: Environment) -> Dialect {
    let barrier: &[Fence] = match environment.durable_on_accept {
        true => &[Fence::Mfence],
        false => &[Fence::Mfence, Fence::Pcommit, Fence::Mfence],
    };
    Dialect {
        name: "global-commit",
        logging: Logging::Software,
        flush: Some(Flush::Clflush),
        order: barrier,
        log_to_data: barrier,
        durable: barrier,
        lock_acquire: lock_fences(environment),
        unlock_release: lock_fences(environment),
        order_is_durable: true,
        ..Dialect::PLAIN
    }
}

fn cost(values: ParamValues<'_>, _: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let _: GlobalParams = configure(values)?;
    Ok(vec![CostItem {
        what: "committing flag of the controller".into(),
        bits: 1,
        paper_bits: None,
        note: "the paper counts no storage".into(),
    }])
}

fencepost_kernel::stats! {
    /// Counters.
    COUNTERS {
        /// `pcommit` instructions.
        COMMITS = "commits", "instructions";
        /// Times the controller was closed and drained: what the paper counts as one synchronisation each.
        DRAINS = "drains", "drains";
    }
}
fencepost_kernel::stats! {
    /// Histograms.
    HISTOGRAMS {
        /// Time of a single commit, from `pcommit` to its answer.
        COMMIT_TIME = "commit_time", "ps";
    }
}

/// What they add up to.
const SUMS: &[Sum] = &[
    Sum::of(&[COMMITS], Seen::Fences(&[Fence::Pcommit])),
    Sum::samples(&[COMMIT_TIME], Seen::Fences(&[Fence::Pcommit])),
    Sum::at_most(&[DRAINS], Seen::Counter(COMMITS)),
];

/// How far the `pcommit` of a thread has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Commit {
    /// Another thread commits; since when it waits.
    InLine(Ps),
    /// On its way, or waiting for the drain; since when the thread wanted it.
    UnderWay(Ps),
    /// Answered; since when the thread wanted it.
    Done(Ps),
}

const ARRIVES: u64 = 0;
const ANSWERED: u64 = 1;

/// Global committing.
#[derive(Clone, Debug)]
struct GlobalCommit {
    params: GlobalParams,
    flushes: Flushes,
    /// By hardware thread.
    commits: Vec<Option<Commit>>,
    /// Threads that commit or wait to, the one whose turn it is first; unused where commits are joined.
    line: VecDeque<HwThread>,
    /// Threads whose `pcommit` the drain under way will answer.
    committers: Vec<HwThread>,
    /// The newest write when the controller was closed.
    closed: Option<WriteId>,
    /// Whether a write that was under way when the controller was closed came in after it had been found empty.
    came_late: bool,
    synchronisation: Synchronisation,
    waiting: Waiting,
    broken: Option<String>,
}

impl GlobalCommit {
    fn new(params: GlobalParams, shape: MachineShape) -> GlobalCommit {
        GlobalCommit {
            params,
            flushes: Flushes::new(shape.hw_threads),
            commits: vec![None; usize::from(shape.hw_threads)],
            line: VecDeque::new(),
            committers: Vec::new(),
            closed: None,
            came_late: false,
            synchronisation: Synchronisation::new(),
            waiting: Waiting::default(),
            broken: None,
        }
    }
    fn pcommit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        let now = cx.now();
        match self.commits[hw_thread.index()] {
            Some(Commit::Done(since)) => {
                self.commits[hw_thread.index()] = None;
                self.pass_on(cx);
                cx.count(COMMITS, 1);
                cx.sample(COMMIT_TIME, now.saturating_sub(since).0);
                return Gate::Go;
            }
            Some(Commit::UnderWay(_)) => {}
            Some(Commit::InLine(since)) if self.line.front() == Some(&hw_thread) => self.send(cx, hw_thread, since),
            Some(Commit::InLine(_)) => return self.waiting.wait(hw_thread, Cause::CommitExclusive),
            None if self.params.overlap == Overlap::Joined => self.send(cx, hw_thread, now),
            None => {
                self.line.push_back(hw_thread);
                if self.line.len() > 1 {
                    self.commits[hw_thread.index()] = Some(Commit::InLine(now));
                    return self.waiting.wait(hw_thread, Cause::CommitExclusive);
                }
                self.send(cx, hw_thread, now);
            }
        }
        self.waiting.wait(hw_thread, Cause::PcommitPending)
    }
    fn send(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, since: Ps) {
        self.commits[hw_thread.index()] = Some(Commit::UnderWay(since));
        cx.timer(cx.now() + self.params.path, ARRIVES << 8 | u64::from(hw_thread.0));
    }
    /// A commit has finished: the next in line has its turn.
    fn pass_on(&mut self, cx: &mut dyn Cx) {
        self.line.pop_front();
        if let Some(next) = self.line.front() {
            self.waiting.wake(cx, *next);
        }
    }
    /// `pcommit` reaches the controller, which closes until everything it holds is in the medium.
    fn arrives(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        self.committers.push(hw_thread);
        if self.closed.is_none() {
            self.closed = Some(cx.newest_write());
            if self.params.fault != GlobalFault::QueueStaysOpen {
                cx.open_queue(0, false);
            }
            cx.count(DRAINS, 1);
            cx.when_drained(DrainScope::Empty(None), 0);
        }
        if self.params.fault == GlobalFault::ModuleIgnored && cx.queue_is_empty(0) {
            self.answer(cx);
        }
    }
    /// The controller knows that the module is empty: it takes writes again.
    fn synchronised(&mut self, cx: &mut dyn Cx) {
        if std::mem::take(&mut self.came_late) && self.params.overlap == Overlap::Joined {
            // Whose write that is may have joined meanwhile: all wait until the controller is empty again.
            cx.when_drained(DrainScope::Empty(None), 0);
            return;
        }
        self.closed = None;
        cx.open_queue(0, true);
        self.answer(cx);
    }
    fn answer(&mut self, cx: &mut dyn Cx) {
        for hw_thread in self.committers.drain(..) {
            cx.timer(cx.now() + self.params.path, ANSWERED << 8 | u64::from(hw_thread.0));
        }
    }
}

impl Design for GlobalCommit {
    fn hooks(&self) -> Hooks {
        Hooks {
            writes: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, flush) => self.flushes.flush(cx, hw_thread, line, flush),
            Instr::Fence(Fence::Pcommit) if !cx.durable_on_accept() => self.pcommit(cx, hw_thread),
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
        self.came_late = true;
        if self.closed.is_some_and(|newest| id > newest) {
            self.broken = Some("the controller took a write while a pcommit was under way".into());
        }
    }
    fn drained(&mut self, cx: &mut dyn Cx, _: u64) {
        self.came_late = false;
        if self.synchronisation.ask() {
            // Still closed: the controller does not know yet, and looks what it is to do.
            cx.open_queue(0, self.params.fault == GlobalFault::QueueStaysOpen);
        } else {
            self.synchronised(cx);
        }
    }
    fn controller(&self, machine: &ModuleSpec) -> ControllerParts {
        let with_module = || self.synchronisation.with_module(machine.entries);
        ControllerParts {
            flow_control: (machine.entries > 0).then(with_module),
            ..ControllerParts::of(machine)
        }
    }
    fn flow_changed(&mut self, cx: &mut dyn Cx) {
        self.synchronised(cx);
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        let hw_thread = HwThread(tag as u8);
        match (tag >> 8, self.commits[hw_thread.index()]) {
            (ARRIVES, _) => self.arrives(cx, hw_thread),
            (_, Some(Commit::UnderWay(since))) => {
                self.commits[hw_thread.index()] = Some(Commit::Done(since));
                self.waiting.wake(cx, hw_thread);
            }
            _ => {}
        }
    }
    fn drain(&mut self, _: &mut dyn Cx) -> bool {
        self.flushes.idle() && self.closed.is_none()
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            histograms: HISTOGRAMS,
            sums: SUMS,
            ..Statistics::of(COUNTERS)
        }
    }
    fn broken_rule(&self) -> Option<String> {
        self.broken.clone()
    }
    fn unsound(&self) -> Option<String> {
        if self.params.fault != GlobalFault::None {
            return None;
        }
        let waits = |h: &HwThread| matches!(self.commits[h.index()], Some(Commit::InLine(_)));
        let committing = self.commits.iter().flatten().count();
        let in_line = match self.params.overlap == Overlap::Joined {
            true => self.line.is_empty(),
            false => committing == self.line.len() && self.line.iter().skip(1).all(waits),
        };
        match () {
            () if !in_line => Some("who stands in line to commit".into()),
            () if self.closed.is_some() == self.committers.is_empty() => {
                Some("for whom the controller is closed".into())
            }
            () => None,
        }
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let waits = self.commits.get(hw_thread.index()).is_some_and(Option::is_some);
        waits.then(|| format!("waits for pcommit; {} threads are in line", self.line.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::MockCx;

    #[test]
    fn a_controller_that_is_closed_for_nobody_is_named() {
        let params = GlobalParams::default();
        let shape = MachineShape {
            hw_threads: 2,
            ..MachineShape::default()
        };
        let (mut design, mut cx) = (GlobalCommit::new(params, shape), MockCx::new(2, 1, 1, 8));
        let _ = [0, 1].map(|thread| design.pcommit(&mut cx, HwThread(thread)));
        design.arrives(&mut cx, HwThread(0));
        assert_eq!(design.unsound(), None);
        let mut other = design.clone();
        other.commits[1] = None;
        assert_eq!(other.unsound().as_deref(), Some("who stands in line to commit"));
        design.closed = None;
        assert_eq!(design.unsound().as_deref(), Some("for whom the controller is closed"));
    }
}
