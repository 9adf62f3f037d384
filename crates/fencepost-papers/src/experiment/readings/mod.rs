//! Readings: what a paper leaves open, as declared inputs.
//!
//! A paper fixes some inputs of its experiment and leaves others open. Each open input has *readings*, one of them
//! primary. A claim then has a value under the primaries, a range over all readings that were run, and the input that
//! decides it. `experiments/<paper>/readings.toml` declares the inputs ([`spec`]), [`choice`] says which reading of each is
//! taken and what that changes in the experiment, [`effects`] turns the values of many choices into ranges.

pub mod choice;
pub mod effects;
pub mod quote;
pub mod spec;

pub use choice::Choice;
pub use effects::{Outcome, Spread, spread};
pub use quote::Quote;
pub use spec::{Calibration, Input, Reading, Readings, Settled};
