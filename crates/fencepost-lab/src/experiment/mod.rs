//! Experiments: planned as data, run in parallel, resumed, measured, scored.

pub mod diagnostics;
pub mod engine;
mod histograms;
pub mod implied;
pub mod kept;
pub mod kinds;
pub mod measure;
pub mod measured;
mod metrics;
mod orders;
mod rates;
pub mod readings;
pub mod rule;
pub mod runs;
pub mod score;
pub mod scoreboard;
pub mod semantics;
pub mod spec;

#[cfg(test)]
mod tests;
