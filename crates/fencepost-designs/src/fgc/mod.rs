//! Per-task (fine-grained) memory committing, the global committing that it replaces, and both cases of a hybrid memory.
//!
//! Read with the paper: [`per_task_commit`] has the interface and what happens when something runs out, `commits` the committing
//! flag and polls, `credits` the persistence credits of the two controllers, `allocations` the operating system's side.

pub mod adr_dram_cache;
mod allocations;
mod commits;
mod cost;
mod credits;
mod flushes;
pub mod global_commit;
mod mechanism;
mod params;
pub mod per_task_commit;
pub mod per_task_commit_dram_cache;
mod synchronisation;

use crate::info::{Honours, Paper};
use cost::cost;
pub use params::{CacheParams, CommitFault, GlobalFault, GlobalParams, Overlap, PerTaskParams};

/// The per-task-committing paper.
pub const FGC: Paper = Paper {
    short: "fgc",
    title: "Fine-grained (per-task) data committing for non-volatile main memory",
    venue: "-",
    bibtex: "",
};

/// What software may issue: x86's instructions. `clflush` is what the paper's programs use.
pub(crate) const HONOURS: Honours = Honours::X86;
