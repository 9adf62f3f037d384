//! What hardware threads need of the rest of the machine.

use super::locks::Locks;
use super::shape::Shape;
use super::trace_recorder::TraceRecorder;
use crate::hierarchy::{Lookup, Tags, Waiter, WayRef};
use crate::seam::{Access, Bound, Cause, Gate, Hooks, Instr, TxStart};
use fencepost_kernel::{Addr, HwThread, LineAddr, LineData, Ps, QueueId, Span, StoreId, TxId};

/// What a thread does at a time that it chose ([`Outside::schedule`]).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Dispatch may go on.
    Dispatch,
    /// A load accesses the L1, the one at this position of the window (the lower half of it), and then those that do so in the same turn.
    Load(u32),
    /// The store queue may act.
    Stores,
    /// The oldest instruction acts.
    Head,
}

/// The time, the L1, the values of memory, the other threads and the design, as a hardware thread sees them.
pub(crate) trait Outside {
    /// The present.
    fn now(&self) -> Ps;
    /// Sizes and rates of the cores.
    fn shape(&self) -> &Shape;
    /// What the design wants to be asked.
    fn hooks(&self) -> Hooks;
    /// Gives a thread its turn at `at`.
    fn schedule(&mut self, at: Ps, hw_thread: HwThread, turn: Turn);
    /// Whether a scheduled turn is known to be the last of what happens at `at`: what follows it there can be done with it.
    fn is_last(&self, at: Ps, hw_thread: HwThread, turn: Turn) -> bool;

    /// The L1 of a thread's core. The core looks there by itself for a line that was used last of its set, which nearly every hit is.
    fn l1(&self, hw_thread: HwThread) -> &Tags;
    /// An access to a word will perform before long: has the host fetch into its caches what will be looked up then. Changes nothing.
    fn host_prefetch(&self, addr: Addr);
    /// Looks up a line that the core did not find so; on a miss the waiter is called when the line has arrived.
    fn access(&mut self, line: LineAddr, exclusive: bool, waiter: Waiter) -> Lookup;
    /// Why the design blocks the L1, if it does.
    fn blocked(&self, hw_thread: HwThread) -> Option<Cause>;
    /// Whether any cache holds the line.
    fn held(&self, line: LineAddr) -> bool;
    /// Takes the line out of every cache; the waiter is called when that is done.
    fn drop_copies(&mut self, line: LineAddr, waiter: Waiter);
    /// Where the design wants a store that hit a way.
    fn place_store(&mut self, hw_thread: HwThread, way: WayRef) -> Result<WayRef, Cause>;
    /// A store performs in a way of the L1; the word has its new value. Only the first since the line came or was cleaned concerns
    /// other parts ([`Tags::is_settled`]); in a checked run every one is told.
    fn store_in_l1(&mut self, hw_thread: HwThread, addr: Addr, way: WayRef);
    /// An access performed in a way of the L1: the design hears of it if it wants to.
    fn performed(&mut self, hw_thread: HwThread, line: LineAddr, way: WayRef, access: Access);

    /// The newest value of a word, performed stores only.
    fn word(&self, addr: Addr) -> u64;
    /// The store that wrote it, in a recorded run.
    fn writer(&self, addr: Addr) -> Option<StoreId>;
    /// A store performs.
    fn set_word(&mut self, addr: Addr, value: u64, by: Option<StoreId>);
    /// The newest bytes of a line.
    fn line_data(&self, line: LineAddr) -> LineData;

    /// See [`crate::seam::Design::instr`].
    fn instr(&mut self, hw_thread: HwThread, instr: Instr) -> Gate;
    /// See [`crate::seam::Design::queued`].
    fn queued(&mut self, hw_thread: HwThread, instr: Instr);
    /// See [`crate::seam::Design::may_access`].
    fn may_access(&mut self, hw_thread: HwThread, line: LineAddr, access: Access) -> Gate;
    /// See [`crate::seam::Transactions::begin`].
    fn tx_begin(&mut self, hw_thread: HwThread) -> TxStart;
    /// See [`crate::seam::Transactions::commit`].
    fn tx_commit(&mut self, hw_thread: HwThread, tx: TxId) -> Gate;
    /// See [`crate::seam::Transactions::abort`].
    fn tx_abort(&mut self, hw_thread: HwThread, tx: TxId) -> Gate;
    /// See [`crate::seam::Transactions::flush`].
    fn tx_flush(&mut self, hw_thread: HwThread) -> Gate;
    /// See [`crate::seam::Ranges::bind`].
    fn bind_range(&mut self, hw_thread: HwThread, range: Span) -> Bound;
    /// See [`crate::seam::Ranges::commit`].
    fn commit_queue(&mut self, hw_thread: HwThread, queue: QueueId) -> Gate;
    /// See [`crate::seam::Ranges::release`].
    fn release_range(&mut self, hw_thread: HwThread, range: Span) -> Gate;
    /// See [`crate::seam::Design::nt_store`].
    fn nt_store(&mut self, hw_thread: HwThread, line: LineAddr, data: &LineData, mask: u8) -> Gate;

    /// The locks of all threads.
    fn locks(&mut self) -> &mut Locks;
    /// The execution trace, if one is kept.
    fn recorder(&mut self) -> Option<&mut TraceRecorder>;
    /// A thread has finished the operations that precede the measured part; the last of them commits at `at`.
    fn warmed_up(&mut self, hw_thread: HwThread, at: Ps);
    /// A thread's program has returned and everything it did has performed.
    fn finished(&mut self);
}
