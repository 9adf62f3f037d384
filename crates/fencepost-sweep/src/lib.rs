//! Many runs: grids of configurations, an engine that runs what is not finished, and their results as a table.

pub mod engine;
pub mod grid;
pub mod keep;
pub mod matrix;
pub mod sweep;
pub mod tables;
