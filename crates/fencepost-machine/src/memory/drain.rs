//! A drain that somebody waits for.

use super::request::DrainScope;

/// Somebody waits for writes to be in the medium.
#[derive(Copy, Clone, Debug)]
pub(super) struct Drain {
    pub(super) scope: DrainScope,
    pub(super) tag: u64,
    /// Arrivals up to this one count (`AcceptedSoFar`).
    pub(super) upto: u64,
    pub(super) remaining: u32,
}
