//! The commands that a memory controller sent, judged by the timing rules of the standard.
//!
//! A scheduler computes earliest times as it goes; a mistake in them makes memory too fast, and nothing else shows it. This module takes
//! the list of commands alone and a table of the medium's times by their names in the standard, and says of every pair of commands whether
//! it is far enough apart. It keeps no earliest times, and shares no code with the scheduler.
//!
//! The text form is that of DRAMsim3's command traces, so that the judge can be held against a controller that is not ours.

mod bank;
mod command;
mod judge;
mod rules;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use command::{Command, Kind};
pub use judge::{Judged, Tightest, Violation, judge};
pub use rules::{RULES, Rule};
pub use table::{Geometry, Rows, Table};
pub use text::{BadLine, Trace, parse};
