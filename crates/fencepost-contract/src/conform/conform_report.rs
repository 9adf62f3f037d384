//! What is asked of a run, and what a conforming run showed.

use super::refusal::StoreAt;
use std::fmt;

/// What to demand beyond order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Demands {
    /// The run drained: every store to persistent memory must be durable at the end.
    pub complete: bool,
}

/// Two stores that became durable against the order in which they performed, as the contract permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reordering {
    /// The older store, durable later (or never).
    pub older: StoreAt,
    /// The younger store, durable earlier.
    pub younger: StoreAt,
}

/// What a conforming run showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConformReport {
    /// Stores to persistent memory.
    pub stores: u64,
    /// Line writes in the durable order.
    pub records: u64,
    /// Stores that became durable by their own bytes.
    pub persisted: u64,
    /// Stores never seen in memory because a younger store to the word was written instead.
    pub coalesced: u64,
    /// Stores not durable when the trace ended.
    pub pending: u64,
    /// Must-sets that had to hold, and did.
    pub musts: u64,
    /// Stores durable while an older store of any thread was not.
    pub reordered: u64,
    /// Stores durable while an older store of the *same thread* was not.
    pub reordered_in_thread: u64,
    /// The first of them.
    pub example: Option<Reordering>,
}

impl fmt::Display for ConformReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} stores, {} line writes: {} persisted, {} coalesced, {} pending; {} must-sets held; {} reordered ({} within a thread)",
            self.stores,
            self.records,
            self.persisted,
            self.coalesced,
            self.pending,
            self.musts,
            self.reordered,
            self.reordered_in_thread
        )
    }
}
