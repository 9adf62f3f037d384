//! Counters of the x86 family, and the index of each.

use fencepost_kernel::stats::{Seen, Sum};

fencepost_kernel::stats! {
    /// Counters of every design of the family; the last four stay zero where nothing is held back.
    pub STATS {
        /// Line flushes issued to the caches.
        FLUSHES = "flushes", "instructions";
        /// Flushes that found no dirty copy anywhere.
        NOTHING_DIRTY = "flushes_nothing_dirty", "instructions";
        /// Entries allocated in write-combining buffers.
        NT_ENTRIES = "nt_entries", "entries";
        /// Non-temporal stores combined into an entry that had not been sent.
        NT_COALESCED = "nt_coalesced", "stores";
        /// Temporal stores to persistent memory that follow a non-temporal one with no fence in between: each is a place
        /// where the baseline needs an sfence.
        UNFENCED = "unfenced_switches", "stores";
        /// Forced drains of a write-combining buffer because its pointers ran out.
        WRAPS = "wcb_wraps", "resets";
        /// Dirty persistent lines that left the cache where order is enforced.
        WRITEBACKS = "writebacks", "lines";
        /// Those that waited for older non-temporal stores first.
        WRITEBACKS_DELAYED = "writebacks_delayed", "lines";
        /// Requests of other cores that waited for a line for the same reason.
        TRANSFERS_DELAYED = "transfers_delayed", "lines";
    }
}

/// What they add up to.
pub const SUMS: &[Sum] = &[
    Sum::at_most(&[NOTHING_DIRTY], Seen::Counter(FLUSHES)),
    Sum::of(&[NT_ENTRIES, NT_COALESCED], Seen::NtStores),
    Sum::at_most(&[UNFENCED], Seen::Stores),
    Sum::at_most(&[WRAPS], Seen::NtStores),
    Sum::at_most(&[WRITEBACKS_DELAYED], Seen::Counter(WRITEBACKS)),
];
