//! The Tx Dirty Block Table: which versions of each line exist, whose they are, and where their bytes lie.
//!
//! A line's chain of versions is oldest first; loads see the last. A version leaves the chain when its home location
//! has it or something newer, when a committed successor overwrites it before it was logged (a dependency pair), or when
//! it is aborted. Several running transactions that store to one line (different words) share a version; it belongs to
//! the one that commits last.

use super::txs::Key;
use fencepost_kernel::{LineAddr, LineData};
use fencepost_machine::seam::Level;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A version's bytes in the log.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Transaction whose block it is.
    pub by: Key,
    /// Where the block lies or will lie; `None` while it waits for a group.
    pub at: Option<LineAddr>,
    /// The bytes.
    pub data: LineData,
}

/// One version of a line.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// Transactions whose stores it holds and that have not been merged into another.
    pub owners: Vec<Key>,
    /// The owner that committed last.
    pub last: Option<Key>,
    /// Position of that owner in commit order.
    pub order: Option<u64>,
    /// Its log block.
    pub captured: Option<Captured>,
    /// Where its bytes are kept, if a newer version took its way.
    pub frozen: Option<(Level, u32)>,
}

/// Why a line is being read or cleaned.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Moving {
    /// It is not.
    #[default]
    No,
    /// Its dirty copy is on its way home; stores wait.
    Home,
    /// Its log block is being read, to be written home.
    FromLog,
    /// Its dirty copy is on its way to the non-volatile last level.
    ToLlc,
}

/// What is known of a line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Versions, oldest first.
    pub chain: Vec<Version>,
    /// Writes of the line on their way home, in order: the position of each one's version in commit order, `None` where
    /// the line left with nothing of a transaction that is not home already (an aborted one dirtied it, say).
    pub homing: VecDeque<Option<u64>>,
    /// How many of those have reached the controller's queue.
    pub arrived: usize,
    /// Whether it is being moved.
    pub moving: Moving,
}
impl Line {
    /// Whether nothing need be remembered.
    pub fn idle(&self) -> bool {
        self.chain.is_empty() && self.homing.is_empty() && self.moving == Moving::No
    }
    /// Index of the newest version committed at or before `order` that the log holds.
    pub fn logged(&self, order: u64) -> Option<usize> {
        let is = |v: &Version| v.captured.is_some() && v.order.is_some_and(|o| o <= order);
        self.chain.iter().rposition(is)
    }
}

/// Every line with versions.
pub type Lines = FxHashMap<LineAddr, Line>;
