//! The hooks of synchronous ordering.

use super::exclusive::CommitRight;
use super::params::{PcommitPolicy, SoFault, SoParams};
use crate::info::MachineShape;
use crate::sync_flush::{Asked, SyncFlushes};
use fencepost_kernel::{Fence, Flush, HartId, LineAddr, LineData, Ps, WriteCause, planted};
use fencepost_machine::seam::{Cause, CleanKind, Cx, Design, DrainScope, Gate, Hooks, Instr, StatInfo, Write, WriteId};

/// What a timer or a clean of this design means; packed with the hart into the tag.
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
    fn pack(self, hart: HartId) -> u64 {
        let (kind, detail) = match self {
            Tag::CommitArrives => (0, 0),
            Tag::CommitAnswered => (1, 0),
            Tag::Lapse(generation) => (2, generation),
            Tag::Flush => (3, 0),
            Tag::SyncFlush(serial) => (4, serial),
        };
        kind << 40 | u64::from(detail) << 8 | u64::from(hart.0)
    }
    fn unpack(tag: u64) -> (Tag, HartId) {
        let kind = match tag >> 40 {
            0 => Tag::CommitArrives,
            1 => Tag::CommitAnswered,
            2 => Tag::Lapse((tag >> 8) as u32),
            3 => Tag::Flush,
            _ => Tag::SyncFlush((tag >> 8) as u32),
        };
        (kind, HartId(tag as u8))
    }
}

#[derive(Clone, Debug, Default)]
struct Hart {
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
    hart: HartId,
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

/// Synchronous ordering (also `so-adr`, whose dialect never issues `pcommit`).
#[derive(Clone, Debug)]
pub struct So {
    params: SoParams,
    harts: Vec<Hart>,
    right: CommitRight,
    own_writes: Vec<Vec<WriteId>>,
    own_commits: Vec<OwnCommit>,
}

impl So {
    /// The mechanism for a machine of this shape.
    pub fn new(params: SoParams, shape: MachineShape) -> So {
        let harts = usize::from(shape.harts);
        let params = SoParams {
            fault: params.fault.or_planted(),
            ..params
        };
        So {
            params,
            harts: vec![Hart::default(); harts],
            right: CommitRight::new(shape.harts),
            own_writes: vec![Vec::new(); harts],
            own_commits: Vec::new(),
        }
    }
    fn exclusive(&self, cx: &dyn Cx) -> bool {
        self.params.pcommit == PcommitPolicy::Exclusive && !cx.durable_on_accept()
    }
    fn wait(&mut self, hart: HartId, cause: Cause) -> Gate {
        self.harts[hart.index()].waiting = true;
        Gate::Wait(cause)
    }
    fn wake(&mut self, cx: &mut dyn Cx, hart: HartId) {
        if std::mem::take(&mut self.harts[hart.index()].waiting) {
            cx.kick(Some(hart));
        }
    }

    // ---- flushes

    fn flush(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, flush: Flush) -> Gate {
        let kind = match flush {
            Flush::Clwb | Flush::CvAp if planted!("so.clwb-keeps-permission", "clwb gives up write permission") => {
                CleanKind::KeepExclusive
            }
            Flush::Clwb | Flush::CvAp => CleanKind::KeepShared,
            Flush::ClflushOpt | Flush::Clflush => CleanKind::Invalidate,
        };
        self.harts[hart.index()].cvap |= flush == Flush::CvAp;
        // A `clflush` is complete when it is done; only weakly ordered flushes may be held back for the right to commit.
        if flush == Flush::Clflush {
            return self.sync_flush(cx, hart, line);
        }
        if self.exclusive(cx) {
            self.right.hold_back(hart, line, kind);
            return Gate::Go;
        }
        self.issue_flush(cx, hart, line, kind);
        Gate::Go
    }
    fn issue_flush(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, kind: CleanKind) {
        self.harts[hart.index()].flushes += 1;
        cx.count(FLUSHES, 1);
        cx.clean(hart, line, kind, Tag::Flush.pack(hart));
    }
    fn sync_flush(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr) -> Gate {
        let tag = |serial| Tag::SyncFlush(serial).pack(hart);
        match self.harts[hart.index()].sync.ask(cx, hart, line, tag) {
            Asked::Complete => return Gate::Go,
            Asked::SentOut => cx.count(FLUSHES, 1),
            Asked::UnderWay => {}
        }
        self.wait(hart, Cause::FlushPending)
    }

    // ---- fences

    fn fence(&mut self, cx: &mut dyn Cx, hart: HartId, fence: Fence) -> Gate {
        if self.exclusive(cx) && self.right.has_held_back(hart) {
            if !self.right.acquire(hart) {
                return self.wait(hart, Cause::CommitExclusive);
            }
            for (line, kind) in self.right.take_held_back(hart) {
                self.issue_flush(cx, hart, line, kind);
            }
        }
        let ignore_flushes = self.params.fault == SoFault::SfenceIgnoresFlushes;
        if self.harts[hart.index()].flushes > 0 && !ignore_flushes {
            return self.wait(hart, Cause::FlushPending);
        }
        if self.harts[hart.index()].nt_stores > 0 {
            return self.wait(hart, Cause::WcbPending);
        }
        // A flush to the point of persistence ends at the device, not at the controller's queue.
        if fence == Fence::Dsb && std::mem::take(&mut self.harts[hart.index()].cvap) && !cx.durable_on_accept() {
            self.start_commit(cx, hart);
        }
        if self.harts[hart.index()].commits > 0 {
            return self.wait(hart, Cause::PcommitPending);
        }
        if self.right.holder() == Some(hart) {
            let generation = self.right.start_lapsing();
            cx.timer(cx.now() + self.params.exclusive_hold, Tag::Lapse(generation).pack(hart));
        }
        Gate::Go
    }
    fn pcommit(&mut self, cx: &mut dyn Cx, hart: HartId) -> Gate {
        if cx.durable_on_accept() {
            return Gate::Go;
        }
        if self.exclusive(cx) && !self.right.acquire(hart) {
            return self.wait(hart, Cause::CommitExclusive);
        }
        self.start_commit(cx, hart);
        Gate::Go
    }

    // ---- commits: to the controller, drain, back

    fn start_commit(&mut self, cx: &mut dyn Cx, hart: HartId) {
        self.harts[hart.index()].commits += 1;
        cx.count(PCOMMITS, 1);
        cx.timer(cx.now() + self.params.pcommit_path, Tag::CommitArrives.pack(hart));
    }
    fn commit_arrives(&mut self, cx: &mut dyn Cx, hart: HartId) {
        if self.params.fault == SoFault::PcommitIgnoresOthers {
            let waits_for = self.own_writes[hart.index()].clone();
            self.own_commits.push(OwnCommit { hart, waits_for });
            return self.finish_own_commits(cx);
        }
        let scope = match self.params.pcommit {
            PcommitPolicy::Snapshot | PcommitPolicy::Exclusive => DrainScope::AcceptedSoFar(None),
            PcommitPolicy::DrainEmpty => DrainScope::Empty(None),
        };
        cx.when_drained(scope, u64::from(hart.0));
    }
    fn commit_drained(&mut self, cx: &mut dyn Cx, hart: HartId) {
        cx.timer(cx.now() + self.params.pcommit_path, Tag::CommitAnswered.pack(hart));
    }
    fn commit_answered(&mut self, cx: &mut dyn Cx, hart: HartId) {
        let h = &mut self.harts[hart.index()];
        h.commits -= 1;
        if h.commits > 0 {
            return;
        }
        if self.right.holder() == Some(hart) {
            self.pass_right(cx);
        }
        self.wake(cx, hart);
    }
    fn pass_right(&mut self, cx: &mut dyn Cx) {
        if let Some(next) = self.right.release() {
            self.wake(cx, next);
        }
    }
    fn finish_own_commits(&mut self, cx: &mut dyn Cx) {
        while let Some(i) = self.own_commits.iter().position(|c| c.waits_for.is_empty()) {
            let done = self.own_commits.remove(i);
            self.commit_drained(cx, done.hart);
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
    fn instr(&mut self, cx: &mut dyn Cx, hart: HartId, instr: Instr) -> Gate {
        match instr {
            Instr::Flush(line, flush) => self.flush(cx, hart, line, flush),
            Instr::Fence(Fence::Pcommit) => self.pcommit(cx, hart),
            Instr::Fence(f) if f.properties().orders_stores => self.fence(cx, hart, f),
            Instr::Locked => self.fence(cx, hart, Fence::Mfence),
            _ => Gate::Go,
        }
    }
    fn cleaned(&mut self, cx: &mut dyn Cx, _: HartId, tag: u64, found: Option<&LineData>) {
        if found.is_none() {
            cx.count(NOTHING_DIRTY, 1);
        }
        let (kind, hart) = Tag::unpack(tag);
        let h = &mut self.harts[hart.index()];
        match kind {
            Tag::SyncFlush(serial) => h.sync.finished(serial),
            _ => h.flushes -= 1,
        }
        if matches!(kind, Tag::SyncFlush(_)) || h.flushes == 0 {
            self.wake(cx, hart);
        }
    }
    fn nt_store(&mut self, cx: &mut dyn Cx, hart: HartId, line: LineAddr, data: &LineData, _: u8) -> Gate {
        let write = Write {
            line,
            data: *data,
            queue: 0,
            epoch: None,
            cause: WriteCause::NonTemporal,
            hart: Some(hart),
            delay: Ps::ZERO,
        };
        match cx.write(write) {
            Ok(_) => {
                self.harts[hart.index()].nt_stores += 1;
                Gate::Go
            }
            Err(cause) => self.wait(hart, cause),
        }
    }
    fn queue_freed(&mut self, cx: &mut dyn Cx, _: u8) {
        cx.kick(None);
    }
    fn accepted(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        let Some(hart) = write.hart else { return };
        if write.cause == WriteCause::NonTemporal {
            let h = &mut self.harts[hart.index()];
            h.nt_stores -= 1;
            if h.nt_stores == 0 {
                self.wake(cx, hart);
            }
        }
        if self.params.fault == SoFault::PcommitIgnoresOthers {
            self.own_writes[hart.index()].push(id);
        }
    }
    fn durable(&mut self, cx: &mut dyn Cx, id: WriteId, write: &Write) {
        if self.params.fault != SoFault::PcommitIgnoresOthers {
            return;
        }
        if let Some(hart) = write.hart {
            self.own_writes[hart.index()].retain(|w| *w != id);
        }
        for commit in &mut self.own_commits {
            commit.waits_for.retain(|w| *w != id);
        }
        self.finish_own_commits(cx);
    }
    fn drained(&mut self, cx: &mut dyn Cx, tag: u64) {
        self.commit_drained(cx, HartId(tag as u8));
    }
    fn timer(&mut self, cx: &mut dyn Cx, tag: u64) {
        match Tag::unpack(tag) {
            (Tag::CommitArrives, hart) => self.commit_arrives(cx, hart),
            (Tag::CommitAnswered, hart) => self.commit_answered(cx, hart),
            (Tag::Lapse(generation), _) if self.right.has_lapsed(generation) => self.pass_right(cx),
            _ => {}
        }
    }
    /// Flushes that were held back for a fence that never came are issued now.
    fn drain(&mut self, cx: &mut dyn Cx) -> bool {
        for k in 0..self.harts.len() {
            let hart = HartId(k as u8);
            for (line, kind) in self.right.take_held_back(hart) {
                self.issue_flush(cx, hart, line, kind);
            }
        }
        self.harts.iter().all(|h| h.flushes == 0 && h.commits == 0)
    }
    fn stats(&self) -> &'static [StatInfo] {
        COUNTERS
    }
    fn explain(&self, hart: HartId) -> Option<String> {
        let h = self.harts.get(hart.index())?;
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
