//! The memory interface under a dialect: programs say what they mean, the dialect says which instructions that takes.

use crate::dialect::{Dialect, LogPath, Logging};
use crate::fence::Fence;
use crate::lists::Lists;
use crate::mem::{At, Mem, Val};
use crate::ops::Outcome;
use crate::private::Private;
use crate::ranges::Ranges;
use crate::rare::RareCommits;
use crate::span::Span;
use crate::units::{Addr, LINE_BYTES, LineAddr};

/// What programs see: a back end plus a dialect.
pub struct Pm<'m, M: Mem> {
    /// The back end, for plain loads and stores.
    pub m: &'m mut M,
    /// The dialect in force, where the back end was not compiled for one: see [`Pm::idiom`].
    pub dialect: Dialect,
    /// Acknowledge every operation (`--ack every`): each ends with `durable`. Not in code for a fixed build.
    pub ack_every: bool,
    /// Whether the thread commits only now and then. Not in code for a fixed build.
    pub rare: RareCommits,
    /// What the thread's transaction runtime keeps in private memory.
    pub lists: Lists<M::Dep>,
    /// What the thread's program keeps in private memory.
    pub private: Private,
    /// The write sub-queues that the thread's memory is bound to.
    pub ranges: Ranges,
}

impl<'m, M: Mem> Pm<'m, M> {
    /// A program's view of `m` under `dialect`, acknowledging only where the dialect's `order` is durable.
    pub fn new(m: &'m mut M, dialect: Dialect) -> Self {
        Pm {
            m,
            dialect,
            ack_every: false,
            rare: RareCommits::default(),
            lists: Lists::default(),
            private: Private::default(),
            ranges: Ranges::default(),
        }
    }
    /// The dialect in force.
    #[inline(always)]
    pub fn idiom(&self) -> &Dialect {
        match M::FIXED {
            Some(build) => &build.dialect,
            None => &self.dialect,
        }
    }
    /// One of the dialect's fence sequences, free of the borrow of this view.
    #[inline(always)]
    fn fences(&self, pick: impl Fn(&Dialect) -> &'static [Fence]) -> &'static [Fence] {
        pick(self.idiom())
    }
    #[track_caller]
    #[inline(always)]
    fn fence_all(&mut self, pick: impl Fn(&Dialect) -> &'static [Fence]) {
        for f in self.fences(pick) {
            self.m.fence(*f);
        }
    }
    /// The fences that the dialect puts behind a lock's acquisition, for locks that programs build themselves.
    #[track_caller]
    #[inline(always)]
    pub fn acquire_fences(&mut self) {
        self.fence_all(|d| d.lock_acquire);
    }
    /// The fences that the dialect puts before a lock's release.
    #[track_caller]
    #[inline(always)]
    pub fn release_fences(&mut self) {
        self.fence_all(|d| d.unlock_release);
    }
    /// Starts the way to memory of the one line with this number.
    #[track_caller]
    #[inline(always)]
    pub fn persist_line(&mut self, line: u64) {
        if let Some(kind) = self.idiom().flush {
            if self.commits_rarely() {
                return self.rare.persisted(line);
            }
            self.m.flush(At::new(Addr(line * LINE_BYTES)), kind);
            self.persisted(line);
        }
    }
    /// Starts making the lines of `len` bytes from `at` persistent (one flush a line, where flushes exist).
    #[track_caller]
    #[inline(always)]
    pub fn persist(&mut self, at: At<M::Dep>, len: u64) {
        if let Some(kind) = self.idiom().flush {
            let mut line = at.addr.0 & !(LINE_BYTES - 1);
            while line < at.addr.0 + len.max(1) {
                if self.commits_rarely() {
                    self.rare.persisted(line / LINE_BYTES);
                    line += LINE_BYTES;
                    continue;
                }
                self.m.flush(
                    At {
                        addr: Addr(line),
                        dep: at.dep,
                    },
                    kind,
                );
                self.persisted(line / LINE_BYTES);
                line += LINE_BYTES;
            }
        }
    }
    /// Everything persisted before is durable before anything stored after.
    #[track_caller]
    #[inline(always)]
    pub fn order(&mut self) {
        if self.puts_off() {
            return;
        }
        self.fence_all(|d| d.order);
        self.commit_persisted();
    }
    /// Everything persisted before is durable now.
    #[track_caller]
    #[inline(always)]
    pub fn durable(&mut self) {
        if self.puts_off() {
            return;
        }
        self.fence_all(|d| d.durable);
        self.commit_persisted();
        if self.idiom().logging == Logging::Hardware {
            self.m.tx_flush();
        }
    }
    /// Writes one word of a log entry on the dialect's log path.
    #[track_caller]
    #[inline(always)]
    pub fn log_store(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        match self.idiom().log_path {
            LogPath::Temporal => self.m.store(at, v),
            LogPath::NonTemporal => self.m.nt_store(at, v),
        }
    }
    /// Writes one word past the caches, on a design where software flushes what it stores: the next barrier covers it.
    #[track_caller]
    #[inline(always)]
    pub fn nt_store(&mut self, at: At<M::Dep>, v: Val<M::Dep>) {
        self.m.nt_store(at, v);
        let line = at.addr.0 / LINE_BYTES;
        if self.commits_rarely() {
            return self.rare.persisted(line);
        }
        self.persisted(line);
    }
    /// Starts making log words persistent: flushes on the temporal path, nothing on the other.
    #[track_caller]
    #[inline(always)]
    pub fn log_persist(&mut self, at: At<M::Dep>, len: u64) {
        if self.idiom().log_path == LogPath::Temporal {
            self.persist(at, len);
        }
    }
    /// Log entries written before are durable before data stored after.
    #[track_caller]
    #[inline(always)]
    pub fn log_to_data(&mut self) {
        if self.puts_off() {
            return;
        }
        if let [before @ .., last] = self.fences(|d| d.log_to_data) {
            for f in before {
                self.m.fence(*f);
            }
            self.m.log_fence(*last);
        }
        self.commit_persisted();
    }
    /// Log records written before are durable before the link to them that is stored after.
    #[track_caller]
    #[inline(always)]
    pub fn log_link(&mut self) {
        let Some(fences) = self.idiom().log_link else {
            return self.order();
        };
        for f in fences {
            self.m.log_fence(*f);
        }
    }
    /// Whether lines are flushed and committed only now and then.
    #[inline(always)]
    fn commits_rarely(&self) -> bool {
        M::FIXED.is_none() && self.rare.every > 1
    }
    /// Puts this commit off, or flushes what the commits put off before have left to it.
    #[track_caller]
    #[inline(always)]
    fn puts_off(&mut self) -> bool {
        if !self.commits_rarely() {
            return false;
        }
        let Some(lines) = self.rare.due() else {
            return true;
        };
        if let Some(kind) = self.idiom().flush {
            for line in lines {
                self.m.flush(At::new(Addr(line * LINE_BYTES)), kind);
                self.persisted(line);
            }
        }
        false
    }
    /// The line with this number was flushed: the next commit covers its queue.
    #[inline(always)]
    fn persisted(&mut self, line: u64) {
        if self.idiom().ranges {
            self.ranges.persisted(LineAddr(line));
        }
    }
    /// Commits the queues of the lines persisted since the last time.
    #[track_caller]
    #[inline(always)]
    fn commit_persisted(&mut self) {
        if self.idiom().ranges {
            while let Some(queue) = self.ranges.next_to_commit() {
                self.m.commit_queue(queue);
            }
        }
    }
    /// `PersistenceMalloc` of memory that the program has laid out: binds it to a write sub-queue, where the design has them.
    #[track_caller]
    pub fn bind(&mut self, span: Span) {
        if self.idiom().ranges {
            let queue = self.m.bind(span.at, span.len);
            self.ranges.bound(span, queue);
        }
    }
    /// `PersistenceCommit`: flushes a range, whatever of it was persisted before, and returns when it is durable. Elsewhere
    /// the flushes and fences that mean the same.
    #[track_caller]
    pub fn commit(&mut self, span: Span) {
        self.persist(At::new(span.at), span.len);
        self.durable();
    }
    /// `PersistenceRelease`: makes durable what was persisted, then undoes one [`Pm::bind`] of the same range.
    #[track_caller]
    pub fn release(&mut self, span: Span) {
        if self.idiom().ranges {
            self.durable();
            self.m.release(span.at, span.len);
            self.ranges.released(span);
        }
    }
    /// Takes a lock, with the dialect's fences.
    #[track_caller]
    #[inline(always)]
    pub fn lock(&mut self, at: At<M::Dep>) {
        self.m.lock(at);
        self.fence_all(|d| d.lock_acquire);
    }
    /// Releases a lock, with the dialect's fences.
    #[track_caller]
    #[inline(always)]
    pub fn unlock(&mut self, at: At<M::Dep>) {
        self.fence_all(|d| d.unlock_release);
        self.m.unlock(at);
    }
    /// Ends operation `op`: acknowledges it where the dialect or `--ack every` says so.
    #[inline(always)]
    pub(crate) fn finish_op(&mut self, op: u32, outcome: Outcome) {
        let ack_every = M::OBSERVED && self.ack_every;
        if ack_every {
            self.durable();
        }
        self.m.op_end(op, outcome);
        let idiom = self.idiom();
        let logs = idiom.logging != Logging::None;
        if logs && (ack_every || idiom.order_is_durable) {
            self.m.ack(op);
        }
    }
}
