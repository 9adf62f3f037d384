//! Lines that are in the caches when a run begins, kept for the next runs of the same program, with the caches that hold them.

use super::shelf::Shelf;
use fencepost_kernel::{HwThread, LineAddr};
use fencepost_machine::Resident;
use std::sync::Mutex;

/// Bytes of the host that what is kept may take, together.
const KEPT: u64 = 256 << 20;
/// Bytes for a line, at most: its number and thread, its way in a cache, and what the bus knows of it.
const EACH: u64 = 64;

static SHELF: Mutex<Shelf<Resident>> = Mutex::new(Shelf::new());

/// The resident lines of a run, in a cache of so many; `name` says everything that they depend on.
pub(super) fn resident(name: String, lines: u64, make: impl FnOnce() -> Vec<(HwThread, LineAddr)>) -> Resident {
    let made = Shelf::of(&SHELF, name, lines * EACH, KEPT);
    made.get_or_init(|| make().into_iter().collect()).clone()
}
