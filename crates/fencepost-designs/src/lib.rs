//! Persist-ordering designs: what a design declares ([`info`]), a module for each, and on top the [`registry`] that lists them.
//!
//! A design has five parts: *dialect* (what software writes), *mechanism* (the [`Design`] implementation that the machine calls
//! through the persist seam), *contract* (which persist orders it promises), *recovery* (what the hardware does to a crash image)
//! and *cost* (bits of storage, from its parameters). The doc comment of a design's module is its page; the line in the registry
//! makes everything else.
//!
//! [`Design`]: fencepost_machine::seam::Design

pub mod broi;
pub mod delegated;
pub mod delegated_merge;
pub mod fgc;
pub mod info;
pub mod loc;
pub mod net_bsp;
pub mod net_sync;
pub mod page;
pub mod persist_buffer;
pub mod persist_path;
pub mod registry;
pub mod so;
pub mod so_adr;
pub mod statements;
mod sync_flush;
pub mod testkit;
pub mod themis;
pub mod volatile;
pub mod volatile_logged;
pub mod x86;

pub use info::{
    Conviction, CostItem, DesignInfo, Environment, Honours, MachineShape, Paper, PlantedFault, Promise, Scenario,
};
pub use registry::{all, find};
