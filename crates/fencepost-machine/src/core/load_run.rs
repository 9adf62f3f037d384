//! A run of loads that share an event.

use fencepost_kernel::Ps;

/// The run to which a load may be added, by the positions of its first and last load. Once its turn has begun, no event stands for it
/// any more, and nothing is added.
#[derive(Copy, Clone, Debug)]
pub(crate) struct LoadRun {
    /// When its turn is.
    pub(super) at: Ps,
    pub(super) first: usize,
    pub(super) last: usize,
}
impl Default for LoadRun {
    fn default() -> LoadRun {
        LoadRun {
            at: Ps(u64::MAX),
            first: 0,
            last: 0,
        }
    }
}
