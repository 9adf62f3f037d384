//! Floor 3: configuration, presets, runs and their checks, experiments, scoreboards and reports.

pub mod claims;
pub mod config;
mod error;
pub mod host;
pub mod store;

pub use error::{BadInput, LabError, nearest};
