//! Dialects: how the intents "persist", "order" and "durable" become instructions on one design.
//!
//! The type lives here so that native runs, the explorer and the simulator share it; the values live with the designs.

use crate::fence::Fence;
use crate::ops::Flush;

/// Who logs.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Logging {
    /// Nobody: structure and locks only. Not crash-consistent, the baseline of every slowdown.
    None,
    /// The software transaction runtime (undo, redo, iDO or raw).
    Software,
    /// The hardware: `tx_begin` / `tx_commit` bracket plain stores.
    Hardware,
}

/// Which path log entries take to memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum LogPath {
    /// Ordinary stores (and flushes, where the dialect has any).
    Temporal,
    /// Non-temporal stores; they need no flush.
    NonTemporal,
}

/// One design's instruction idioms. Plain data.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Short name, for tables.
    pub name: &'static str,
    /// Who logs.
    pub logging: Logging,
    /// Instruction that starts the write-back of a line, if the design needs one.
    pub flush: Option<Flush>,
    /// Orders everything persisted before against everything after.
    pub order: &'static [Fence],
    /// Path of log entries.
    pub log_path: LogPath,
    /// Orders log entries before the data stores they protect.
    pub log_to_data: &'static [Fence],
    /// Orders a record of a linked log before the link that puts it into the list, where that is not `order`.
    pub log_link: Option<&'static [Fence]>,
    /// Returns only when everything persisted before is durable.
    pub durable: &'static [Fence],
    /// Fences after taking a lock.
    pub lock_acquire: &'static [Fence],
    /// Fences before releasing a lock.
    pub unlock_release: &'static [Fence],
    /// Whether `order` already makes its stores durable, so that an operation that ends with it is acknowledged.
    pub order_is_durable: bool,
    /// Per-task committing: programs bind their memory to write sub-queues, and after their fences `order`, `durable` and
    /// `log_to_data` commit the queues of the lines persisted since the last time.
    pub ranges: bool,
}

impl Dialect {
    /// No flush, no fence, nobody logs: where a design's dialect begins, which names what it has and takes the rest with `..`.
    pub const PLAIN: Dialect = Dialect {
        name: "plain",
        logging: Logging::None,
        flush: None,
        order: &[],
        log_path: LogPath::Temporal,
        log_to_data: &[],
        log_link: None,
        durable: &[],
        lock_acquire: &[],
        unlock_release: &[],
        order_is_durable: false,
        ranges: false,
    };
}
