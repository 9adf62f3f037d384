//! The hooks of synchronous ordering.

use super::exclusive::CommitRight;
use super::params::{PcommitPolicy, SoFault, SoParams};
use crate::info::MachineShape;
use crate::sync_flush::{Asked, SyncFlushes};
use fencepost_kernel::stats::{Seen, Sum};
use fencepost_kernel::{Fence, Flush, HwThread, LineAddr, LineData, Ps, WriteCause, planted};
use fencepost_machine::seam::{
    Cause, CleanKind, Cx, Design, DrainScope, Gate, Hooks, Instr, Statistics, Write, WriteId,
};

/// What a timer or a clean of this design means; packed with the hardware thread into the tag.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Tag {
    /// `pcommit` reaches the controller.
    CommitArrives,
    /// Its answer reaches the core.
    CommitAnswered,
    /// The right to commit of this generation may lapse.
    Lapse(u32),
    /// A weakly ordered flush.
    Flush,
    /// A `clflush`, by its number.
    SyncFlush(u32),
}
impl Tag {
    fn pack(self, hw_thread: HwThread) -> u64 {
        let (kind, detail) = match self {
            Tag::CommitArrives => (0, 0),
            Tag::CommitAnswered => (1, 0),
            Tag::Lapse(generation) => (2, generation),
            Tag::Flush => (3, 0),
            Tag::SyncFlush(serial) => (4, serial),
        };
        kind << 40 | u64::from(detail) << 8 | u64::from(hw_thread.0)
    }
    fn unpack(tag: u64) -> (Tag, HwThread) {
        let kind = match tag >> 40 {
            0 => Tag::CommitArrives,
            1 => Tag::CommitAnswered,
            2 => Tag::Lapse((tag >> 8) as u32),
            3 => Tag::Flush,
            _ => Tag::SyncFlush((tag >> 8) as u32),
        };
        (kind, HwThread(tag as u8))
    }
}

#[derive(Clone, Debug, Default)]
struct PerThread {
    /// Flushes issued and not yet accepted (or found clean).
    flushes: u32,
    /// Commits started and not yet answered.
    commits: u32,
    /// Non-temporal stores that have not reached the controller.
    nt_stores: u32,
    sync: SyncFlushes,
    /// A flush to the point of persistence (`DC CVAP`) was issued since the last `DSB`.
    cvap: bool,
    /// The machine was told to wait.
    waiting: bool,
}

/// For the planted fault only: a commit that waits for some writes, not for all accepted ones.
#[derive(Clone, Debug)]
struct OwnCommit {
    hw_thread: HwThread,
    waits_for: Vec<WriteId>,
}

fencepost_kernel::stats! {
    /// Counters.
    pub(super) COUNTERS {
        /// Line flushes issued to the caches.
        FLUSHES = "flushes", "instructions";
        /// Flushes that found no dirty copy anywhere.
        NOTHING_DIRTY = "flushes_nothing_dirty", "instructions";
        /// Commits sent to the persistent-memory controller.
        PCOMMITS = "pcommits", "instructions";
    }
}

/// What they add up to.
const SUMS: &[Sum] = &[
    Sum::at_most(&[NOTHING_DIRTY], Seen::Counter(FLUSHES)),
    Sum::at_most(&[PCOMMITS], Seen::Fences(&[Fence::Pcommit, Fence::Dsb])),
];

/// Synchronous ordering (also `so-adr`, whose dialect never issues `pcommit`).
#[derive(Clone, Debug)]
pub struct So {
    params: SoParams,
    hw_threads: Vec<PerThread>,
    right: CommitRight,
    own_writes: Vec<Vec<WriteId>>,
    own_commits: Vec<OwnCommit>,
}

impl So {
    /// The mechanism for a machine of this shape.
    pub fn new(params: SoParams, shape: MachineShape) -> So {
        let hw_threads = usize::from(shape.hw_threads);
        let params = SoParams {
            fault: params.fault.or_planted(),
            ..params
        };
        So {
            params,
            hw_threads: vec![PerThread::default(); hw_threads],
            right: CommitRight::new(shape.hw_threads),
            own_writes: vec![Vec::new(); hw_threads],
            own_commits: Vec::new(),
        }
    }
    fn exclusive(&self, cx: &dyn Cx) -> bool {
        self.params.pcommit == PcommitPolicy::Exclusive && !cx.durable_on_accept()
    }
    fn wait(&mut self, hw_thread: HwThread, cause: Cause) -> Gate {
        self.hw_threads[hw_thread.index()].waiting = true;
        Gate::Wait(cause)
    }
    fn wake(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        if std::mem::take(&mut self.hw_threads[hw_thread.index()].waiting) {
            cx.kick(Some(hw_thread));
        }
    }

    // ---- flushes

    fn flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, flush: Flush) -> Gate {
        let keeps_permission = matches!(flush, Flush::Clwb | Flush::CvAp)
            && planted!("so.clwb-keeps-permission", "clwb gives up write permission");
        let kind = match flush {
            Flush::Clwb | Flush::CvAp if keeps_permission => CleanKind::KeepExclusive,
            Flush::Clwb | Flush::CvAp => CleanKind::KeepShared,
            Flush::ClflushOpt | Flush::Clflush => CleanKind::Invalidate,
        };
        self.hw_threads[hw_thread.index()].cvap |= flush == Flush::CvAp;
        // A `clflush` is complete when it is done; only weakly ordered flushes may be held back for the right to commit.
        if flush == Flush::Clflush {
            return self.sync_flush(cx, hw_thread, line);
        }
        if self.exclusive(cx) {
            self.right.hold_back(hw_thread, line, kind);
            return Gate::Go;
        }
        self.issue_flush(cx, hw_thread, line, kind);
        Gate::Go
    }
    fn issue_flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, kind: CleanKind) {
        self.hw_threads[hw_thread.index()].flushes += 1;
        cx.count(FLUSHES, 1);
        cx.clean(hw_thread, line, kind, Tag::Flush.pack(hw_thread));
    }
    fn sync_flush(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr) -> Gate {
        let tag = |serial| Tag::SyncFlush(serial).pack(hw_thread);
        match self.hw_threads[hw_thread.index()].sync.ask(cx, hw_thread, line, tag) {
            Asked::Complete => return Gate::Go,
            Asked::SentOut => cx.count(FLUSHES, 1),
            Asked::UnderWay => {}
        }
        self.wait(hw_thread, Cause::FlushPending)
    }

    // ---- fences

    fn fence(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, fence: Fence) -> Gate {
        if self.exclusive(cx) && self.right.has_held_back(hw_thread) {
            if !self.right.acquire(hw_thread) {
                return self.wait(hw_thread, Cause::CommitExclusive);
            }
            for (line, kind) in self.right.take_held_back(hw_thread) {
                self.issue_flush(cx, hw_thread, line, kind);
            }
        }
        let ignore_flushes = self.params.fault == SoFault::SfenceIgnoresFlushes;
        if self.hw_threads[hw_thread.index()].flushes > 0 && !ignore_flushes {
            return self.wait(hw_thread, Cause::FlushPending);
        }
        if self.hw_threads[hw_thread.index()].nt_stores > 0 {
            return self.wait(hw_thread, Cause::WcbPending);
        }
        // A flush to the point of persistence ends at the device, not at the controller's queue.
        if fence == Fence::Dsb
            && std::mem::take(&mut self.hw_threads[hw_thread.index()].cvap)
            && !cx.durable_on_accept()
        {
            self.start_commit(cx, hw_thread);
        }
        if self.hw_threads[hw_thread.index()].commits > 0 {
            return self.wait(hw_thread, Cause::PcommitPending);
        }
        if self.right.holder() == Some(hw_thread) {
            let generation = self.right.start_lapsing();
            cx.timer(
                cx.now() + self.params.exclusive_hold,
                Tag::Lapse(generation).pack(hw_thread),
            );
        }
        Gate::Go
    }
    fn pcommit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) -> Gate {
        if cx.durable_on_accept() {
            return Gate::Go;
        }
        if self.exclusive(cx) && !self.right.acquire(hw_thread) {
            return self.wait(hw_thread, Cause::CommitExclusive);
        }
        self.start_commit(cx, hw_thread);
        Gate::Go
    }

    // ---- commits: to the controller, drain, back

    fn start_commit(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        self.hw_threads[hw_thread.index()].commits += 1;
        cx.count(PCOMMITS, 1);
        cx.timer(cx.now() + self.params.pcommit_path, Tag::CommitArrives.pack(hw_thread));
    }
    fn commit_arrives(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        if self.params.fault == SoFault::PcommitIgnoresOthers {
            let waits_for = self.own_writes[hw_thread.index()].clone();
            self.own_commits.push(OwnCommit { hw_thread, waits_for });
            return self.finish_own_commits(cx);
        }
        let scope = match self.params.pcommit {
            PcommitPolicy::Snapshot | PcommitPolicy::Exclusive => DrainScope::AcceptedSoFar(None),
            PcommitPolicy::DrainEmpty => DrainScope::Empty(None),
        };
        cx.when_drained(scope, u64::from(hw_thread.0));
    }
    fn commit_drained(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        cx.timer(cx.now() + self.params.pcommit_path, Tag::CommitAnswered.pack(hw_thread));
    }
    fn commit_answered(&mut self, cx: &mut dyn Cx, hw_thread: HwThread) {
        let h = &mut self.hw_threads[hw_thread.index()];
        h.commits -= 1;
        if h.commits > 0 {
            return;
        }
        if self.right.holder() == Some(hw_thread) {
            self.pass_right(cx);
        }
        self.wake(cx, hw_thread);
    }
    fn pass_right(&mut self, cx: &mut dyn Cx) {
        if let Some(next) = self.right.release() {
            self.wake(cx, next);
        }
    }
    fn finish_own_commits(&mut self, cx: &mut dyn Cx) {
        while let Some(i) = self.own_commits.iter().position(|c| c.waits_for.is_empty()) {
            let done = self.own_commits.remove(i);
            self.commit_drained(cx, done.hw_thread);
        }
    }
}

impl Design for So {
    fn hooks(&self) -> Hooks {
        Hooks {
            writes: true,
            ..Hooks::default()
        }
    }
    fn instr(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, flush) => self.flush(cx, hw_thread, line, flush),
            Instr::Fence(Fence::Pcommit) => self.pcommit(cx, hw_thread),
            Instr::Fence(f) if f.properties().orders_stores => self.fence(cx, hw_thread, f),
            Instr::Locked => self.fence(cx, hw_thread, Fence::Mfence),
            Instr::Fence(_) => Gate::Go,
        }
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HwThread, tag: u64, found: Option<&LineData>) {
        if found.is_none() {
            cx.count(NOTHING_DIRTY, 1);
        }
        let (kind, hw_thread) = Tag::unpack(tag);
        let h = &mut self.hw_threads[hw_thread.index()];
        match kind {
            Tag::SyncFlush(serial) => h.sync.finished(serial),
            _ => h.flushes -= 1,
        }
        if matches!(kind, Tag::SyncFlush(_)) || h.flushes == 0 {
            self.wake(cx, hw_thread);
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, line: LineAddr, data: &LineData, _: u8) -> Gate {
        let write = Write {
            line,
            data: *data,
            queue: 0,
            epoch: None,
            cause: WriteCause::NonTemporal,
            hw_thread: Some(hw_thread),
            delay: Ps::ZERO,
        };
        match cx.write(write) {
            Ok(_) => {
                self.hw_threads[hw_thread.index()].nt_stores += 1;
                Gate::Go
            }
            Err(cause) => self.wait(hw_thread, cause),
        }
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        cx.kick(None);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        let Some(hw_thread) = write.hw_thread else { return };
        if write.cause == WriteCause::NonTemporal {
            let h = &mut self.hw_threads[hw_thread.index()];
            h.nt_stores -= 1;
            if h.nt_stores == 0 {
                self.wake(cx, hw_thread);
            }
        }
        if self.params.fault == SoFault::PcommitIgnoresOthers {
            self.own_writes[hw_thread.index()].push(id);
        }
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        if self.params.fault != SoFault::PcommitIgnoresOthers {
            return;
        }
        if let Some(hw_thread) = write.hw_thread {
            self.own_writes[hw_thread.index()].retain(|w| *w != id);
        }
        for commit in &mut self.own_commits {
            commit.waits_for.retain(|w| *w != id);
        }
        self.finish_own_commits(cx);
    }
    fn drained(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.commit_drained(cx, HwThread(tag as u8));
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        match Tag::unpack(tag) {
            (Tag::CommitArrives, hw_thread) => self.commit_arrives(cx, hw_thread),
            (Tag::CommitAnswered, hw_thread) => self.commit_answered(cx, hw_thread),
            (Tag::Lapse(generation), _) if self.right.has_lapsed(generation) => self.pass_right(cx),
            _ => {}
        }
    }
    /// Flushes that were held back for a fence that never came are issued now.
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        for k in 0..self.hw_threads.len() {
            let hw_thread = HwThread(k as u8);
            for (line, kind) in self.right.take_held_back(hw_thread) {
                self.issue_flush(cx, hw_thread, line, kind);
            }
        }
        self.hw_threads.iter().all(|h| h.flushes == 0 && h.commits == 0)
    }
    fn statistics(&self) -> Statistics {
        Statistics {
            sums: SUMS,
            ..Statistics::of(COUNTERS)
        }
    }
    fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let h = self.hw_threads.get(hw_thread.index())?;
        let right = match self.right.holder() {
            Some(holder) if self.exclusive_policy() => {
                format!("; the right to commit is held by hardware thread {}", holder.0)
            }
            _ => String::new(),
        };
        h.waiting.then(|| {
            format!(
                "waits for {} flushes and {} commits of its own{right}",
                h.flushes, h.commits
            )
        })
    }
}
impl So {
    fn exclusive_policy(&self) -> bool {
        self.params.pcommit == PcommitPolicy::Exclusive
    }
}
