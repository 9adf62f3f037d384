//! What the papers say of their mechanisms, each statement once, as a handwritten program.
//!
//! The test of the designs and the row of a scoreboard run the same function: the test on machines that are written out beside it, the
//! row on the paper's preset. Beside each statement stands the fault that breaks it and no other.

pub mod broi;
pub mod dpo;
pub mod fgc;
pub mod loc;
mod stage;
pub mod themis;
mod undo;

pub use stage::{Machines, Stage};

/// What a statement says when it holds, or what broke.
pub type Seen = Result<String, String>;

/// A rule of a mechanism that a paper states.
#[derive(Copy, Clone)]
pub struct Rule {
    /// Name, as tables of claims have it.
    pub name: &'static str,
    /// The planted fault that breaks it.
    pub broken_by: &'static str,
    /// Tries it on a machine.
    pub holds: fn(&dyn Machines) -> Seen,
}

/// A comparison that holds, with what to say; what was seen otherwise.
fn expect(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
