//! What a controller is asked: writes, drains, and the division of its write queue.

use fencepost_kernel::{HwThread, LineAddr, LineData, Ps, WriteCause};

/// An epoch of a write queue; later epochs have larger numbers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub u64);

/// A write accepted by the controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteId(pub u64);

/// A write on its way to memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The line.
    pub line: LineAddr,
    /// Its bytes and their stores.
    pub data: LineData,
    /// Write queue (see [`QueuePlan`]).
    pub queue: u8,
    /// Epoch it belongs to; `None` for writes outside any epoch.
    pub epoch: Option<Epoch>,
    /// Why it is written.
    pub cause: WriteCause,
    /// Hardware thread it is charged to, if one caused it.
    pub hw_thread: Option<HwThread>,
    /// Time between leaving the sender (a queue slot is reserved then) and arriving at the queue.
    pub delay: Ps,
}

/// Write queues a design wants at the persistent-memory controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct QueuePlan {
    /// Number of queues. With more than one, `entries_each` applies.
    pub queues: u8,
    /// Entries of each queue; `None` divides the controller's write queue evenly.
    pub entries_each: Option<u16>,
    /// Entries of queue 0, where they differ: the queue of everything that no other queue takes.
    pub default_entries: Option<u16>,
    /// Address-range registers of each queue but queue 0, which then say what queue a write takes (`Cx::write_register`).
    /// Without any, each write names its queue.
    pub range_registers: u8,
    /// Whether an epoch's writes may issue before the previous epoch is durable, provided none can complete first.
    pub ordered_issue: bool,
    /// The design's own scheduler keeps epochs in order; the controller counts them, and offers it every write.
    pub scheduler_orders: bool,
}
impl Default for QueuePlan {
    fn default() -> Self {
        QueuePlan {
            queues: 1,
            entries_each: None,
            default_entries: None,
            range_registers: 0,
            ordered_issue: false,
            scheduler_orders: false,
        }
    }
}

/// What a drain waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DrainScope {
    /// Every write accepted so far, in one queue or (`None`) in all.
    AcceptedSoFar(Option<u8>),
    /// Until the queues (one or all) hold no write at all.
    Empty(Option<u8>),
}
