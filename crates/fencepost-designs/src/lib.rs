//! Floor 2: one room per persist-ordering design, and the registry that lists them.
//!
//! A room owns the five faces of its design: *dialect* (what software writes), *mechanism* (the [`Design`]
//! implementation that the machine calls through the persist seam), *contract* (the word of what it promises),
//! *recovery* (what the hardware does to a crash image) and *cost* (bits of storage, from its parameters). The
//! doc comment of a room is the design's page; the registry line makes everything else.
//!
//! [`Design`]: fencepost_machine::seam::Design

pub mod delegated;
pub mod delegated_merge;
pub mod loc;
pub mod registry;
pub mod so;
pub mod so_adr;
mod sync_flush;
pub mod testkit;
pub mod themis;
pub mod volatile;
pub mod x86;

pub use registry::{CostItem, DesignInfo, MachineShape, Paper, Setting, all, find};
