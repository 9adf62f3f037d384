//! The memory interface: one program source, many back ends (simulated machine, recorder, crash explorer, real CPU).

use crate::build::Build;
use crate::crash::Judged;
use crate::fence::Fence;
use crate::ops::{Flush, Outcome, QueueId, Rmw, Rollback, Site, TxId, Width};
use crate::span::Span;
use crate::units::{Addr, LineAddr};
use std::panic::Location;
use std::rc::Rc;

/// A byte address together with the operations its value came from.
///
/// `D` is `()` outside the simulator; there it names the producing load, so that dependent loads wait.
#[derive(Copy, Clone, Debug)]
pub struct At<D> {
    /// The byte address.
    pub addr: Addr,
    /// The operation that produced the address.
    pub dep: D,
}

/// A value together with the operation it came from.
#[derive(Copy, Clone, Debug)]
pub struct Val<D> {
    /// The value (narrow loads are zero-extended).
    pub v: u64,
    /// The operation that produced the value.
    pub dep: D,
}

impl<D: Copy> At<D> {
    /// The address as a value, to be stored as a pointer.
    #[inline(always)]
    pub fn pointer(self) -> Val<D> {
        Val {
            v: self.addr.0,
            dep: self.dep,
        }
    }
}
impl<D: Copy + Default> At<D> {
    /// An address known without loading anything.
    #[inline(always)]
    pub fn new(addr: Addr) -> Self {
        At {
            addr,
            dep: D::default(),
        }
    }
    /// The address `offset` bytes further, with the same provenance.
    #[inline(always)]
    pub fn field(self, offset: u64) -> Self {
        At {
            addr: Addr(self.addr.0 + offset),
            dep: self.dep,
        }
    }
    /// The line the address lies in.
    #[inline(always)]
    pub fn line(self) -> LineAddr {
        self.addr.line()
    }
}
impl<D: Copy + Default + Ord> Val<D> {
    /// A constant.
    #[inline(always)]
    pub fn lit(v: u64) -> Self {
        Val { v, dep: D::default() }
    }
    /// This value used as a byte address: the next access depends on the load that produced it.
    #[inline(always)]
    pub fn ptr(self) -> At<D> {
        At {
            addr: Addr(self.v),
            dep: self.dep,
        }
    }
    /// A value computed from this one.
    #[inline(always)]
    pub fn map(self, f: impl FnOnce(u64) -> u64) -> Self {
        Val {
            v: f(self.v),
            dep: self.dep,
        }
    }
    /// A value computed from two; it depends on the later producer (the approximation every back end shares).
    #[inline(always)]
    pub fn join(self, other: Self, f: impl FnOnce(u64, u64) -> u64) -> Self {
        Val {
            v: f(self.v, other.v),
            dep: self.dep.max(other.dep),
        }
    }
    /// `base + self * scale` as an address that depends on this value.
    #[inline(always)]
    pub fn index(self, base: Addr, scale: u64) -> At<D> {
        At {
            addr: Addr(base.0 + self.v * scale),
            dep: self.dep,
        }
    }
}

/// The primitive operations a dialect lowers to. Nothing here is persistence policy.
///
/// Contract: accesses are naturally aligned and never cross a word. Plain loads and stores must be free of
/// data races between threads; `rmw`, `load_acquire`, `store_release`, `lock` and `unlock` synchronise.
/// Between the end of a hardware transaction that was rolled back and the `tx_begin` that reports it, a thread's stores,
/// `store_release` and `rmw` included, have no effect; `lock` and `unlock` have. Locks built of `rmw` do not survive that.
pub trait Mem {
    /// Provenance of values: `()` everywhere but in the simulator.
    type Dep: Copy + Default + Ord + std::fmt::Debug + 'static;
    /// The dialect and the way of logging that this back end was compiled for; `None`: chosen when a run begins. Code for a
    /// fixed build is production code: no deliberate mistakes, no outcomes for an oracle.
    const FIXED: Option<&'static Build> = None;
    /// Whether an oracle looks at what operations report.
    const OBSERVED: bool = Self::FIXED.is_none();

    /// Loads `width` bytes.
    #[track_caller]
    fn load_n(&mut self, at: At<Self::Dep>, width: Width) -> Val<Self::Dep>;
    /// Stores the low `width` bytes of `v`.
    #[track_caller]
    fn store_n(&mut self, at: At<Self::Dep>, v: Val<Self::Dep>, width: Width);
    /// Loads an 8-byte word.
    #[track_caller]
    fn load(&mut self, at: At<Self::Dep>) -> Val<Self::Dep> {
        self.load_n(at, Width::B8)
    }
    /// Stores an 8-byte word.
    #[track_caller]
    fn store(&mut self, at: At<Self::Dep>, v: Val<Self::Dep>) {
        self.store_n(at, v, Width::B8);
    }
    /// Stores an 8-byte word on the non-temporal path (through the write-combining buffer, past the caches).
    #[track_caller]
    fn nt_store(&mut self, at: At<Self::Dep>, v: Val<Self::Dep>);
    /// Flushes the line of `at`.
    #[track_caller]
    fn flush(&mut self, at: At<Self::Dep>, kind: Flush);
    /// Executes a fence.
    #[track_caller]
    fn fence(&mut self, kind: Fence);
    /// Executes a fence that stands between log entries and the data they protect: the kind that a design which orders the
    /// two paths by itself makes unnecessary. Back ends that do not tell it apart treat it as any fence.
    #[track_caller]
    fn log_fence(&mut self, kind: Fence) {
        self.fence(kind);
    }
    /// Atomic read-modify-write of a word; acts when the timing model performs it.
    #[track_caller]
    fn rmw(&mut self, at: At<Self::Dep>, op: Rmw) -> Val<Self::Dep>;
    /// Load-acquire of a word; acts when performed.
    #[track_caller]
    fn load_acquire(&mut self, at: At<Self::Dep>) -> Val<Self::Dep>;
    /// Store-release of a word; acts when performed.
    #[track_caller]
    fn store_release(&mut self, at: At<Self::Dep>, v: Val<Self::Dep>);
    /// Acquires the lock whose word is at `at` (0 = free); blocks the thread.
    #[track_caller]
    fn lock(&mut self, at: At<Self::Dep>);
    /// Releases the lock at `at`; everything before it performed first.
    #[track_caller]
    fn unlock(&mut self, at: At<Self::Dep>);

    /// Starts a hardware transaction, or reports that the hardware rolled this thread back.
    fn tx_begin(&mut self) -> Result<TxId, Rollback> {
        Ok(TxId(0))
    }
    /// Commits the running hardware transaction atomically (not necessarily durably).
    fn tx_commit(&mut self) {}
    /// Aborts the running hardware transaction. The next `tx_begin` reports the rollback.
    fn tx_abort(&mut self) {}
    /// Waits until every committed transaction of this thread is durable.
    fn tx_flush(&mut self) {}

    /// Per-task committing, `PersistenceMalloc`: binds the lines of a range to a write sub-queue of the memory controller.
    ///
    /// Returns the queue; a range that is bound already keeps its own, and must be released as often as it was bound. Where no
    /// address-range register is free, or the range shares lines with another one, nothing is bound and
    /// [`QueueId::DEFAULT`] is returned, the queue of all lines outside the ranges.
    #[track_caller]
    fn bind(&mut self, _base: Addr, _len: u64) -> QueueId {
        QueueId::DEFAULT
    }
    /// Per-task committing, the second half of `PersistenceCommit`: returns when the writes are durable that the controller
    /// had accepted into the queue. What is to be committed is flushed and fenced first.
    #[track_caller]
    fn commit_queue(&mut self, _queue: QueueId) {}
    /// Per-task committing, `PersistenceRelease`: undoes one [`Mem::bind`] of the same range; the last one waits until the
    /// queue holds no write any more. A range that is not bound is left alone.
    #[track_caller]
    fn release(&mut self, _base: Addr, _len: u64) {}

    /// What follows, up to the next call, is work of a library for this line of the program, or the program's own (`None`). Returns what
    /// was said before, to be said again when the library returns. Stores are then named by both lines ([`Place`](crate::Place)).
    #[inline(always)]
    fn work_for(&mut self, _line: Option<&'static Location<'static>>) -> Option<&'static Location<'static>> {
        None
    }
    /// The instructions of `site` between two memory operations.
    fn compute(&mut self, _site: Site) {}
    /// For audits: the lines of `span`, ascending, that may hold something else than the program's set-up left there; all others hold
    /// just that, in whichever crash state this is. `None`: not known, everything has to be read.
    fn changed_since_setup(&mut self, _span: Span) -> Option<Vec<LineAddr>> {
        None
    }
    /// For audits: an earlier crash point that was found right, and what may have changed since. What has not, and means the same at both
    /// crash points, needs no reading ([`Mem::relies_on`]). `None`: everything has to be read.
    fn judged(&mut self) -> Option<Rc<Judged>> {
        None
    }
    /// For audits: the verdict holds for memory that has in `span` what it has now, though not all of it was loaded.
    fn relies_on(&mut self, _span: Span) {}
    /// Merge point for recovery written as plain Rust: `live` hashes every local that is read later.
    fn cut(&mut self, _live: u64) {}
    /// Operation `op` of this thread begins.
    fn op_begin(&mut self, _op: u32) {}
    /// Operation `op` of this thread has executed.
    fn op_end(&mut self, _op: u32, _outcome: Outcome) {}
    /// Operation `op` (and every earlier one of this thread) is acknowledged as durable once all earlier
    /// instructions of the thread have completed.
    fn ack(&mut self, _op: u32) {}
}
