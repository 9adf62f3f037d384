//! How far the crash check of this process has come, for whoever wants to show it.

use std::sync::atomic::{AtomicU64, Ordering};

static DONE: AtomicU64 = AtomicU64::new(0);
static TOTAL: AtomicU64 = AtomicU64::new(0);

/// A check of so many crash points begins. Checks that run at the same time add up.
pub(crate) fn begin(points: u64) {
    TOTAL.fetch_add(points, Ordering::Relaxed);
}
/// A crash point was examined.
pub(crate) fn step() {
    DONE.fetch_add(1, Ordering::Relaxed);
}
/// Crash points examined so far, and how many there are at most.
pub fn crash_points() -> (u64, u64) {
    (DONE.load(Ordering::Relaxed), TOTAL.load(Ordering::Relaxed))
}
