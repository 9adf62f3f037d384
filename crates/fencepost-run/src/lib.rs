//! What one run needs: request, configuration, presets, simulation, check, crash exploration, replay, results on disk. No experiment.

pub mod check;
pub mod cite;
pub mod config;
pub mod cost;
pub mod crash;
mod error;
#[cfg(test)]
mod extremes;
pub mod histogram;
pub mod host;
pub mod host_memory;
pub mod input;
pub mod judge;
pub mod kept;
pub mod listing;
pub mod memtrace;
pub mod outcome;
mod panic_text;
pub mod persist_stats;
pub mod progress;
pub mod reference;
pub mod replay;
pub mod replay_key;
mod replicated;
mod replication;
pub mod request;
pub mod result;
pub mod run;
mod short;
pub mod simulate;
pub mod sizes;
pub mod source;
pub mod states;
pub mod store;
pub mod variants;
pub mod verdict;
pub mod witness;

pub use error::{BadInput, LabError, nearest};
pub use fencepost_designs::all as designs;
pub use fencepost_kernel::fault;
pub use panic_text::panic_text;
pub use short::short;
