//! Which interleaving is recorded, and why a recorded thread hands over.

use corosensei::Yielder;
use fencepost_kernel::Addr;
use std::panic::Location;
use std::time::Instant;

/// Where another thread may be switched to. Waiting for a lock switches always.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Granularity {
    /// Between operations.
    Operation,
    /// Also at locks, unlocks, read-modify-writes, load-acquires and store-releases. Enough for programs without
    /// data races: what happens in between cannot be told apart by other threads.
    #[default]
    Lock,
    /// Also before every load, store, flush and fence.
    Access,
}

/// When the stores of a thread become visible to the others.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// At once: sequential consistency.
    #[default]
    Sequential,
    /// When they leave the thread's store buffer, in program order and at a moment of the scheduler's choice: total store
    /// order, as on x86. Full fences, read-modify-writes and locks empty the buffer.
    StoreBuffers,
}

/// Which of the possible interleavings to record.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Schedule {
    /// Seed of the scheduler's choices.
    pub seed: u64,
    /// Where it may choose.
    pub granularity: Granularity,
    /// When stores become visible.
    pub order: Order,
    /// When the recording must be over: [`super::RecordError::OutOfTime`] if it is not.
    pub until: Option<Instant>,
}

/// Why a thread hands over.
pub(super) enum Pause {
    /// Another may run.
    Switch,
    /// It waits for a lock.
    Lock {
        /// The lock word.
        at: Addr,
        /// The line that waits.
        source: &'static Location<'static>,
    },
    /// It loads the same again and again: it waits for a store of another thread.
    Spin {
        /// What it loads.
        at: Addr,
        /// The line that loads.
        source: &'static Location<'static>,
        /// How many stores there are.
        stores: usize,
    },
    /// The recording takes too long.
    OutOfTime,
}
pub(super) type Yielding = Yielder<(), Pause>;
