//! Counters of persist buffers, and the index of each.

use fencepost_kernel::stats::{Seen, Sum};

fencepost_kernel::stats! {
    /// Counters.
    pub COUNTERS {
        /// Persists appended to persist buffers.
        PERSISTS = "persists", "entries";
        /// Stores that joined the newest persist of their buffer.
        COALESCED = "coalesced", "stores";
        /// FENCEs appended to persist buffers.
        FENCES = "fences", "entries";
        /// Dependences returned with coherence answers.
        DEPENDENCES = "dependences", "ids";
        /// Requests for whose line a persist buffer held the newest bytes.
        SUPPLIED = "supplied", "requests";
        /// Dirty persistent lines that the last level evicted and nobody wrote.
        DROPPED = "dropped", "lines";
        /// Stores that performed although their buffer was full; must be 0.
        OVERFLOWS = "overflows", "entries";
        /// Entries appended with a dependence that had not drained.
        DEPENDENT = "dependent", "entries";
        /// Barrier regions from the network that became durable.
        REGIONS = "remote_regions", "regions";
    }
}

/// What they add up to.
pub(crate) const SUMS: &[Sum] = &[
    Sum::of(&[PERSISTS], Seen::Entries),
    Sum::of(&[FENCES], Seen::Barriers),
    Sum::of(&[PERSISTS, COALESCED], Seen::Stores),
    Sum::of(&[OVERFLOWS], Seen::Zero),
];
