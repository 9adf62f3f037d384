//! Floor 3: configuration, presets, runs and their checks, experiments, scoreboards and reports.

pub mod check;
pub mod claims;
pub mod config;
mod error;
pub mod experiment;
pub mod host;
pub mod reference;
pub mod report;
pub mod request;
pub mod result;
pub mod run;
pub mod sites;
pub mod store;

pub use error::{BadInput, LabError, nearest};
