//! What waits to be written home.

use super::txs::Key;
use fencepost_kernel::{LineAddr, LineData};
use std::collections::{BTreeSet, VecDeque};

/// A window whose transactions are committed and logged.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub keys: Vec<Key>,
    pub lines: Vec<LineAddr>,
    /// Position of its last transaction.
    pub last: u64,
}

/// Windows that are logged and not yet home.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkpoint {
    pub windows: VecDeque<Window>,
    /// Lines of the oldest window that are not home, while it is being written; and its last position.
    pub pending: Option<(BTreeSet<LineAddr>, u64)>,
    /// Lines that could not set out, because no version of theirs was committed and logged or its place in the log is not
    /// known; tried again while the run ends.
    pub stalled: BTreeSet<LineAddr>,
    /// Lines read back from the log, on their way home.
    pub queue: VecDeque<(LineAddr, u64, LineData)>,
}
impl Checkpoint {
    /// Whether nothing waits to go home.
    pub(super) fn idle(&self) -> bool {
        self.windows.is_empty() && self.pending.is_none() && self.queue.is_empty()
    }
}
