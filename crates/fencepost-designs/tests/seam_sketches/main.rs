//! SKETCHES, not designs: the awkward part of each paper against the seam, to show that the hooks suffice.
//!
//! Each sketch does just enough of its mechanism to touch the hooks that the paper needs; nothing here is registered or
//! simulated. (Delegated ordering, the fifth paper, has its real room.) `every_hook` drives every hook of the trait
//! through the recording double.

mod caches;
mod controller;
mod every_hook;

use fencepost_kernel::{HartId, LineAddr, LineData, Ps, WriteCause};
use fencepost_machine::seam::Write;

fn write(line: LineAddr, data: LineData, queue: u8, cause: WriteCause, hart: Option<HartId>) -> Write {
    Write {
        line,
        data,
        queue,
        epoch: None,
        cause,
        hart,
        delay: Ps::ZERO,
    }
}
