//! Counters of the transactional designs, and the index of each.

use fencepost_kernel::stats::{Seen, Sum};

fencepost_kernel::stats! {
    /// Counters of every design of the family.
    pub COUNTERS {
        /// Transactions committed that wrote persistent lines.
        COMMITS = "tx_commits", "transactions";
        /// Speculation windows completed.
        WINDOWS = "windows", "windows";
        /// Data blocks written to the log, or lines moved into the non-volatile cache.
        BLOCKS = "log_blocks", "blocks";
        /// Block groups written to the log, records included.
        GROUPS = "log_groups", "groups";
        /// Blocks never written because a successor overwrote them within the window.
        MERGED = "blocks_merged", "blocks";
        /// Older versions logged because no way could keep them.
        OVERFLOWS = "version_overflows", "blocks";
        /// Lines logged because the last-level cache evicted them.
        EVICTED = "evicted_to_log", "blocks";
        /// Lines written to their home location by the checkpointing logic.
        HOME = "home_writes", "lines";
        /// Log blocks read back to be written home.
        LOG_READS = "log_reads", "lines";
        /// Demand reads answered from the log in memory.
        READS_LOGGED = "reads_from_log", "lines";
        /// Demand reads answered from blocks that wait for a group.
        READS_BUFFERED = "reads_from_buffer", "lines";
        /// Transactions aborted.
        ABORTS = "tx_aborts", "transactions";
        /// Of those, successors of an aborted transaction.
        DOOMED = "tx_aborted_with", "transactions";
        /// Predecessors' versions that an abort made current again.
        RESCUED = "blocks_rescued", "blocks";
        /// Doublings of a log area that running transactions filled.
        EXPANSIONS = "log_expansions", "times";
        /// Transaction starts that found the state table full.
        TABLE_FULL = "table_full", "times";
    }
}

/// What they add up to.
pub(super) const SUMS: &[Sum] = &[
    Sum::at_most(&[COMMITS], Seen::Commits),
    Sum::of(&[ABORTS], Seen::Aborts),
    Sum::at_most(&[DOOMED], Seen::Counter(ABORTS)),
    Sum::at_most(&[WINDOWS], Seen::Counter(COMMITS)),
];
