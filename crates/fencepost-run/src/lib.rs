//! What one run needs: request, configuration, presets, simulation, check, crash exploration, replay, results on disk. No experiment.

mod base;
pub mod cite;
pub mod config;
pub mod cost;
mod crashes;
#[cfg(test)]
mod extremes;
pub mod listing;
pub mod litmus;
pub mod memtrace;
pub mod reference;
pub mod run;
mod simulated;
pub mod timeline;

pub use base::error::{BadInput, LabError, nearest};
pub use base::panic_text::panic_text;
pub use base::short::short;
pub(crate) use base::{error, medium_table};
pub use base::{histogram, host, input, progress, request, source, states, store, verdict, whole};
pub use crashes::{check, crash, fire, judge, picture, replay_witness as replay, variants};
pub use fencepost_contract::ContractKind;
pub use fencepost_designs::{DesignInfo, all as designs};
pub use fencepost_kernel::fault;
pub(crate) use simulated::replication;
pub use simulated::{
    functional, host_memory, kept, outcome, persist_stats, replay_key, result, simulate, sizes, witness,
};
