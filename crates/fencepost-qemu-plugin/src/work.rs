//! How far whoever has the turn has come.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Instructions executed by whoever has the turn.
pub(crate) static EXECUTED: AtomicU64 = AtomicU64::new(0);
/// Whether whoever has the turn is in a system call that may last, and nobody else may go on meanwhile.
pub(crate) static KEPT: AtomicBool = AtomicBool::new(false);

/// Changes whenever a thread works.
pub(crate) fn progress() -> Option<u64> {
    (!KEPT.load(Relaxed)).then(|| EXECUTED.load(Relaxed))
}
