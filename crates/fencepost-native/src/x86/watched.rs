//! Native memory that records outcomes and counts what persists: the dialect is chosen when a run begins, and deliberate mistakes
//! exist. For checks, never for times.

use super::memory::Raw;
use super::progress::Progress;
use fencepost_kernel::{At, Fence, Flush, Mem, Outcome, Rmw, Val, Width};

/// What one thread executed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Fences, those between log and data included.
    pub fences: u64,
    /// Fences between log and data.
    pub log_fences: u64,
    /// Flushes.
    pub flushes: u64,
    /// Non-temporal stores.
    pub nt_stores: u64,
}
impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        all.fold(Counts::default(), |a, b| Counts {
            fences: a.fences + b.fences,
            log_fences: a.log_fences + b.log_fences,
            flushes: a.flushes + b.flushes,
            nt_stores: a.nt_stores + b.nt_stores,
        })
    }
}

/// The memory as one thread sees it.
pub(super) struct Watched<'p> {
    raw: Raw,
    progress: Option<&'p Progress>,
    thread: u32,
    /// The running operation; none during setup, or where nobody looks.
    op: Option<u32>,
    /// So far.
    pub counts: Counts,
}
impl<'p> Watched<'p> {
    /// The view of `thread`; what operations do goes to `progress`, if an oracle looks.
    pub(super) fn new(raw: Raw, progress: Option<&'p Progress>, thread: u32) -> Watched<'p> {
        Watched {
            raw,
            progress,
            thread,
            op: None,
            counts: Counts::default(),
        }
    }
    /// The operation comes after all that took their place before now.
    fn stamps(&self) {
        if let (Some(p), Some(k)) = (self.progress, self.op) {
            p.stamp(self.thread, k);
        }
    }
    /// The operation is about to let others see what it did.
    fn shows(&self) {
        if let (Some(p), Some(k)) = (self.progress, self.op) {
            p.release(self.thread, k);
        }
    }
}

impl Mem for Watched<'_> {
    type Dep = ();

    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        Val::lit(self.raw.load(at.addr, width))
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.raw.store(at.addr, v.v, width);
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.counts.nt_stores += 1;
        self.raw.nt_store(at.addr, v.v);
    }
    fn flush(&mut self, at: At<()>, _: Flush) {
        self.counts.flushes += 1;
        self.raw.flush(at.addr);
    }
    fn fence(&mut self, kind: Fence) {
        self.counts.fences += 1;
        self.raw.fence(kind);
    }
    fn log_fence(&mut self, kind: Fence) {
        self.counts.log_fences += 1;
        self.fence(kind);
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        self.shows();
        Val::lit(self.raw.rmw(at.addr, op))
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        let v = self.raw.load_acquire(at.addr);
        // Whatever was released before it comes before this operation.
        self.stamps();
        Val::lit(v)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.shows();
        self.raw.store_release(at.addr, v.v);
    }
    fn lock(&mut self, at: At<()>) {
        if let (Some(p), Some(k)) = (self.progress, self.op) {
            p.wait(self.thread, k);
        }
        self.raw.lock(at.addr);
        self.stamps();
    }
    fn unlock(&mut self, at: At<()>) {
        self.shows();
        self.raw.unlock(at.addr);
    }
    fn op_begin(&mut self, op: u32) {
        self.op = Some(op);
        if let Some(p) = self.progress {
            p.begin(self.thread, op);
        }
    }
    fn op_end(&mut self, op: u32, outcome: Outcome) {
        if let Some(p) = self.progress {
            p.end(self.thread, op, outcome);
        }
    }
}
