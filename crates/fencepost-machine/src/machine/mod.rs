//! The composition: threads, hierarchy, memory controllers and design put together; the event loop; a run from start to
//! report.
//!
//! Every event belongs to one component, which acts and leaves what follows: further events, charges, arrived lines. The
//! composition carries answers between components and asks the design for them, with the handle that they allow.

mod agenda;
mod build;
mod compose;
mod handle;
mod hierarchy;
mod memory;
mod network;
mod resident;
mod run;
mod run_report;
mod sleepers;
mod stuck;
mod summary;
mod system;
mod threads;
mod workload;
mod world;

pub use compose::Machine;
pub use resident::Resident;
pub use run_report::{Before, Counters, RunReport, ThreadReport};
pub use stuck::Stuck;
pub use workload::{RunError, Workload};
