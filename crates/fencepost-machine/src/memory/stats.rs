//! What a controller counts.

use fencepost_kernel::stats::StatInfo;

macro_rules! stats {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[doc = $doc:expr])* $field:ident : $unit:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[doc = $doc])* pub $field: u64),* }
        impl $name {
            /// Name, unit and meaning of every counter, in declaration order.
            pub const INFO: &'static [StatInfo] = &[$(StatInfo {
                name: stringify!($field),
                unit: $unit,
                doc: concat!($($doc),*).trim_ascii(),
            }),*];
            /// Every counter, in the order of `INFO`.
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$field),*]
            }
            /// What was counted since `earlier` was taken.
            pub fn since(&self, earlier: &$name) -> $name {
                $name { $($field: self.$field - earlier.$field),* }
            }
        }
    };
}

stats! {
    /// Counters of one controller, from the beginning of time; regions of interest are differences.
    pub struct MemStats {
        /// Lines read from the medium.
        reads: "lines",
        /// Lines written to the medium.
        writes: "lines",
        /// Reads answered from a queued write.
        forwarded: "reads",
        /// Writes merged into a queued write.
        coalesced: "writes",
        /// Column accesses to a row that was open.
        row_hits: "accesses",
        /// Column accesses whose bank had no open row.
        row_misses: "accesses",
        /// Column accesses for which another row had to be closed.
        row_conflicts: "accesses",
        /// Bytes moved over the data buses.
        bytes: "bytes",
        /// Time in which a data bus was transferring, summed over channels.
        busy: "ps",
        /// Times a channel changed from reading to writing.
        drain_switches: "switches",
        /// All-bank refreshes of a rank.
        refreshes: "refreshes",
        /// Pushes refused because a queue was full, gated or held an older write to the line in a later epoch. Writes of the
        /// machine that wait behind a refused one for the same queue are not pushed, unless lines choose their queues.
        refused: "requests",
        /// Writes that left the controller for the memory module.
        module_writes: "writes",
        /// Reads that ask the memory module for its free entries only.
        module_queries: "reads",
        /// Writes merged into a line parked in the module's cache.
        cache_merges: "writes",
        /// Lines written from the module's cache to the medium.
        cache_writebacks: "lines",
    }
}
