//! Configuration, presets, runs and their checks, experiments, scoreboards and reports.

pub mod battery;
pub mod check;
pub mod cite;
pub mod claims;
pub mod compare;
pub mod config;
pub mod cost;
pub mod crash;
pub mod crash_witness;
mod error;
pub mod experiment;
pub mod external;
#[cfg(test)]
mod extremes;
pub mod histogram;
pub mod host;
pub mod input;
pub mod judge;
pub mod listing;
pub mod memtrace;
mod outcome;
pub mod persist_stats;
pub mod progress;
pub mod reference;
pub mod replay;
pub mod replay_key;
mod replicated;
mod replication;
pub mod report;
pub mod reproduce;
pub mod request;
pub mod result;
pub mod run;
pub mod semantics;
pub mod simulate;
pub mod source;
pub mod store;
pub mod variants;

pub mod native;

pub use error::{BadInput, LabError, nearest};
pub use fencepost_designs::all as designs;
