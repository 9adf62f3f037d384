//! What an audit of a replica found.

use fencepost_kernel::{EpochId, Ps};

/// What is wrong with a replica.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ReplicaViolation {
    /// Durable events before the power failure that shows it; `None` if no power failure is needed.
    pub events: Option<u64>,
    /// Time of the last of them.
    pub time: Option<Ps>,
    /// One sentence.
    pub why: String,
}

/// Without a power failure.
pub(super) fn wrong(why: String) -> ReplicaViolation {
    ReplicaViolation {
        events: None,
        time: None,
        why,
    }
}
/// An epoch, in words.
pub(super) fn name(id: EpochId) -> String {
    format!("epoch {} of transaction {} of client {}", id.epoch, id.tx, id.client)
}
