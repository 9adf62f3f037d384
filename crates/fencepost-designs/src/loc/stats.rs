//! Counters of the transactional designs.

use fencepost_machine::seam::StatInfo;

macro_rules! stats {
    ($($variant:ident = $name:literal, $unit:literal, $doc:literal;)*) => {
        /// Index of a counter.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub enum Stat { $(#[doc = $doc] $variant),* }
        /// Every counter, in index order.
        pub const INFO: &[StatInfo] = &[$(StatInfo { name: $name, unit: $unit, doc: $doc }),*];
    };
}
stats! {
    Commits = "tx_commits", "transactions", "Transactions committed that wrote persistent lines.";
    Windows = "windows", "windows", "Speculation windows completed.";
    Blocks = "log_blocks", "blocks", "Data blocks written to the log, or lines moved into the non-volatile cache.";
    Groups = "log_groups", "groups", "Block groups written to the log, records included.";
    Merged = "blocks_merged", "blocks", "Blocks never written because a successor overwrote them within the window.";
    Overflows = "version_overflows", "blocks", "Older versions logged because no way could keep them.";
    Evicted = "evicted_to_log", "blocks", "Lines logged because the last-level cache evicted them.";
    Home = "home_writes", "lines", "Lines written to their home location by the checkpointing logic.";
    LogReads = "log_reads", "lines", "Log blocks read back to be written home.";
    ReadsLogged = "reads_from_log", "lines", "Demand reads answered from the log in memory.";
    ReadsBuffered = "reads_from_buffer", "lines", "Demand reads answered from blocks that wait for a group.";
    Aborts = "tx_aborts", "transactions", "Transactions aborted.";
    Doomed = "tx_aborted_with", "transactions", "Of those, successors of an aborted transaction.";
    Rescued = "blocks_rescued", "blocks", "Predecessors' versions that an abort made current again.";
    Expansions = "log_expansions", "times", "Doublings of a log area that running transactions filled.";
    TableFull = "table_full", "times", "Transaction starts that found the state table full.";
}
