//! Vocabulary of the seam.

pub use super::cause::{Cause, OwnCause};
pub use crate::memory::{DrainScope, Epoch, QueuePlan, Write, WriteId};
pub use fencepost_kernel::stats::StatInfo;

use fencepost_kernel::{CoreId, Fence, Flush, LineAddr, LineData, QueueId, TxId};

/// Answer to "may this happen now?".
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Gate {
    /// Yes; it happens now.
    Go,
    /// Not yet; counted as a stall of this cause, asked again after a kick.
    Wait(Cause),
}

/// Instructions that a design gives meaning to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Instr {
    /// Flush of a line; asked when every older store of the thread to the line has performed.
    Flush(LineAddr, Flush),
    /// A fence; asked when what [`crate::seam::Design::fence`] says has happened: by default, when every older load and store
    /// of the thread has performed and every older flush was issued.
    Fence(Fence),
    /// An atomic read-modify-write or a lock acquisition is about to act. The x86 family promises that it completes the
    /// flushes and non-temporal stores before it, as a fence does. May be asked several times for one instruction.
    Locked,
}

/// Answer to the beginning of a hardware transaction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TxStart {
    /// The transaction runs under this id.
    Go(TxId),
    /// Not yet.
    Wait(Cause),
}

/// Answer to the binding of a range to a write sub-queue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// To this queue; the default queue if nothing was bound.
    To(QueueId),
    /// Not yet.
    Wait(Cause),
}

/// Kind of an access to the L1.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Load,
    /// Write; also the write half of an atomic.
    Store,
}

/// Kind of a bus request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Snoop {
    /// Wants a shared copy.
    Read,
    /// Wants an exclusive copy with data.
    ReadExclusive,
    /// Has a shared copy and wants it exclusive.
    Upgrade,
}
impl Snoop {
    /// Whether the request invalidates other copies.
    pub const fn invalidates(self) -> bool {
        !matches!(self, Snoop::Read)
    }
}

/// A design's answer to a bus request, given for all of its ports at once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SnoopAnswer {
    /// Nothing to say.
    Pass,
    /// A port of the design holds the newest bytes and supplies them.
    Supply,
    /// The answer is delayed; the request is granted again after a kick.
    Wait(Cause),
}

/// A design's answer to a read that missed every cache.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ReadAnswer {
    /// Nothing to say: memory answers.
    Pass,
    /// A buffer of the design holds the newest bytes and supplies them.
    Supply,
    /// The same, and the design says which bytes these are: a checked run compares them with the newest ones.
    SupplyBytes(LineData),
}

/// A cache.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// First-level data cache of a core.
    L1(CoreId),
    /// Private second level of a core.
    L2(CoreId),
    /// The shared last level.
    Llc,
}

/// Why a line leaves a cache.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Chosen as a victim.
    Replaced,
    /// Written back by a flush or by the design's own `clean`.
    Cleaned,
    /// Invalidated by another core's write.
    TakenBy(CoreId),
    /// Made shared by another core's read.
    Downgraded(CoreId),
    /// A frozen version had to give way.
    VersionOverflow,
}

/// A cache way as the design may see it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The line.
    pub line: LineAddr,
    /// Modified with respect to the next level.
    pub dirty: bool,
    /// A mark of the design's own (Themis: buffer tail; LOC: transaction).
    pub meta: u32,
    /// A frozen older version of the line, not visible to loads.
    pub frozen: bool,
}

/// Where a store lands when the way is dirty.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the way.
    Here,
    /// The old bytes stay as a frozen version; the store goes to a new way.
    Fork,
    /// Not yet.
    Wait(Cause),
}

/// Where a dirty line goes that leaves a cache.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// To the next level (from the last: to memory).
    Down,
    /// To the next level or the requesting core, without the design's mark: it means nothing outside this cache.
    DownUnmarked,
    /// Nowhere: the design has the bytes, or guarantees they are elsewhere.
    Drop,
}

/// How far a clean goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CleanKind {
    /// Write back; copies stay, clean and without write permission (clwb).
    KeepShared,
    /// Write back; copies stay and keep their write permission.
    KeepExclusive,
    /// Write back and invalidate every copy (clflush).
    Invalidate,
    /// Move dirty copies of the private caches down into the last-level cache only (non-volatile last level).
    ToLlc,
}

/// Which hooks the machine must call at all. The volatile baseline sets none and costs nothing.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// `may_access` before loads.
    pub gate_loads: bool,
    /// `may_access` before stores, and the write half of atomics.
    pub gate_stores: bool,
    /// `queued`: flushes and fences that wait in the store queue.
    pub queued: bool,
    /// `performed` for loads.
    pub loads: bool,
    /// `performed` for stores.
    pub stores: bool,
    /// `performed` reads or writes the design's marks of ways.
    pub marks: bool,
    /// `snooped`.
    pub snoops: bool,
    /// `may_leave`: the design may keep lines in their cache.
    pub holds: bool,
    /// `leaving`.
    pub leaving: bool,
    /// `Versions::place`, `Versions::read_from`.
    pub versions: bool,
    /// `read_missed`.
    pub reads: bool,
    /// `accepted`, `issued`, `durable`.
    pub writes: bool,
}
impl Hooks {
    /// Every hook.
    pub const ALL: Hooks = Hooks {
        gate_loads: true,
        gate_stores: true,
        queued: true,
        loads: true,
        stores: true,
        marks: true,
        snoops: true,
        holds: true,
        leaving: true,
        versions: true,
        reads: true,
        writes: true,
    };

    /// Whether `may_access` is asked before an access of this kind.
    #[inline]
    pub const fn gates(self, access: Access) -> bool {
        match access {
            Access::Load => self.gate_loads,
            Access::Store => self.gate_stores,
        }
    }
}
