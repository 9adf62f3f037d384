//! The handle: all that a design may do.

use super::{Cause, CleanKind, DrainScope, Epoch, Level, Write, WriteId};
use crate::memory::RegisterWrite;
use fencepost_kernel::ledger::LedgerKind;
use fencepost_kernel::{Addr, CoreId, HwThread, LineAddr, LineData, Ps, TxId};

/// What the machine offers to a design. Every call returns at once; consequences arrive as hooks.
pub trait Cx {
    /// Current time.
    fn now(&self) -> Ps;
    /// Number of hardware threads.
    fn hw_threads(&self) -> u8;
    /// The core a thread belongs to.
    fn core_of(&self, hw_thread: HwThread) -> CoreId;
    /// Calls `Design::timer` with `tag` at `at` (not before now).
    fn timer(&mut self, at: Ps, tag: u64);
    /// Asks again for the instructions and accesses that were refused to this thread; `None`: for everything that was refused to anyone,
    /// lines in the caches included ([`Cx::release`]).
    fn kick(&mut self, hw_thread: Option<HwThread>);
    /// Asks again for lines that may not leave this core's caches, and for requests that may not take them; of requests that were refused
    /// when they were snooped, for all. `None`: for every core and the last cache.
    fn release(&mut self, core: Option<CoreId>);
    /// Blocks or unblocks every access of a hardware thread to its L1 (snoops are still answered, and its siblings go on).
    fn block_l1(&mut self, hw_thread: HwThread, cause: Option<Cause>);

    /// Walks the hierarchy for a dirty copy of `line` and sends it to memory (or as `kind` says).
    /// `Design::cleaned` follows with `tag` once the write is accepted (with the bytes), or, without bytes, when no
    /// dirty copy and no write-back in flight was found.
    fn clean(&mut self, hw_thread: HwThread, line: LineAddr, kind: CleanKind, tag: u64);
    /// Sets the design's mark of every line of one cache to zero.
    fn clear_meta(&mut self, level: Level);
    /// The bytes of a frozen version (`meta` names it), if the machine holds it.
    fn version(&self, level: Level, line: LineAddr, meta: u32) -> Option<LineData>;
    /// Forgets a frozen version and frees its way.
    fn drop_version(&mut self, level: Level, line: LineAddr, meta: u32);
    /// The newest performed bytes of a line, with their stores.
    fn coherent(&self, line: LineAddr) -> LineData;

    /// Hands a write to the persistent-memory controller; fails with a cause when its queue is full.
    fn write(&mut self, write: Write) -> Result<WriteId, Cause>;
    /// The newest write that was handed to a controller, by the design or by the caches, whether it was taken or refused.
    fn newest_write(&self) -> WriteId;
    /// Closes the open epoch of a queue if it holds any write, and returns the epoch now open.
    fn end_epoch(&mut self, queue: u8) -> Epoch;
    /// The oldest epoch of a queue that still holds writes that are not durable; the open one when all are.
    fn active_epoch(&self, queue: u8) -> Epoch;
    /// The epoch that is open for writes.
    fn open_epoch(&self, queue: u8) -> Epoch;
    /// Opens or closes a queue for new writes. A closed queue refuses them (`Cause::CommitPending`) and goes on to write what it
    /// has; who was refused is asked again, as by `queue_freed`, when it opens.
    fn open_queue(&mut self, queue: u8, open: bool);
    /// Whether the controller's queue holds no write, none on its way to it either. What went on to a memory module does not count.
    fn queue_is_empty(&self, queue: u8) -> bool;
    /// Whether the controller's queue takes no write at all now, whatever its line: it is full, or closed.
    fn queue_is_full(&self, queue: u8) -> bool;
    /// Writes or clears an address-range register of a queue (`QueuePlan::range_registers`), here and, by a special write that
    /// follows the writes sent before, in the memory module; false where no register is free, or none holds the range.
    fn write_register(&mut self, write: RegisterWrite) -> bool;
    /// Has the memory module write back every line that its volatile cache holds.
    fn write_back_module(&mut self);
    /// Calls `Design::drained` with `tag` when the scope is satisfied (possibly at this very time, never recursively).
    fn when_drained(&mut self, scope: DrainScope, tag: u64);
    /// Whether a line is being read in place of another ([`read_from`](super::Versions::read_from)): what is there must stay until that is over.
    /// [`Cx::write`] sees to that by itself.
    fn is_read_for_another(&self, line: LineAddr) -> bool;
    /// Reads a line from memory on the design's behalf; [`read_done`](super::Versions::read_done) follows.
    fn read(&mut self, line: LineAddr, tag: u64);
    /// Whether accepted writes are durable (persistent write queue, ADR).
    fn durable_on_accept(&self) -> bool;
    /// Records that these lines became durable as one atomic node, in this order: a log node whose parts were written with
    /// cause `LogPart` (which makes nothing durable by itself), or lines of a non-volatile cache. No crash state lies
    /// in between.
    fn durable_together(&mut self, lines: &[(LineAddr, LineData)]);

    /// Everything that came over a port of the network up to the end of this region is durable, and the adapter knows at `at` (not
    /// before now). Regions of a port are reported in order; one may stand for those before it.
    fn region_durable(&mut self, _port: HwThread, _region: u32, _at: Ps) {}

    /// Restores memory (what threads see, and what performed) to the state before transaction `tx` of `hw_thread` began, and has
    /// the thread re-run from that operation at its next transaction start; its plain stores until then are squashed.
    /// Call it when the thread commits or aborts ([`Transactions`](super::Transactions)): every store of the transaction has performed then.
    /// A commit that ends so is an abort.
    fn roll_back(&mut self, hw_thread: HwThread, tx: TxId);
    /// Transactions of `hw_thread` up to and including `tx` will never be rolled back: their undo information can go.
    fn retire(&mut self, _hw_thread: HwThread, _tx: TxId) {}
    /// Reserved region for a hardware log: first byte and length.
    fn log_area(&self) -> (Addr, u64);

    /// Whether this run keeps an account, so that there is a use in noting.
    fn keeps_account(&self) -> bool {
        false
    }
    /// Notes something in the account of a recorded run, for judges that know no design (`fencepost_kernel::ledger`).
    fn note(&mut self, _kind: LedgerKind) {}
    /// Adds to the design's counter number `stat` ([`Statistics`](super::Statistics)).
    fn count(&mut self, stat: usize, n: u64);
    /// Records a sample of the design's histogram number `histogram`, in picoseconds or as the design declares.
    fn sample(&mut self, histogram: usize, value: u64);
}
