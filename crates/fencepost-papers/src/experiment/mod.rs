//! Experiments: planned as data, run in parallel, resumed, measured, scored.

mod along;
pub mod best;
pub mod claims;
pub mod counted;
pub mod diagnostics;
pub(crate) mod embedded;
pub mod engine;
pub mod figures;
pub mod implied;
pub mod interval;
pub mod kinds;
pub mod measure;
pub mod measured;
pub mod metrics;
mod rank;
pub mod readings;
pub mod real_cpu;
pub mod rule;
pub mod runs;
pub mod score;
pub mod scoreboard;
pub mod spec;
pub mod statement;
mod value;

#[cfg(test)]
mod tests;

/// A made-up run of so many picoseconds, for tests of what is measured on runs.
#[cfg(test)]
pub(crate) fn made_up(time_ps: u64) -> fencepost_run::result::RunResult {
    tests::result(time_ps, 0)
}
