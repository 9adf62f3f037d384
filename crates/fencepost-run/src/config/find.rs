//! Designs and programs by name.

use crate::error::BadInput;
use fencepost_designs::DesignInfo;
use fencepost_programs::About;

/// The design of this name, or the nearest ones.
pub fn find_design(name: &str) -> Result<&'static DesignInfo, BadInput> {
    let known = || fencepost_designs::all().iter().map(|d| d.name);
    fencepost_designs::find(name).ok_or_else(|| BadInput::unknown("design", name, known()))
}
/// The program of this name, or the nearest ones.
pub fn find_program(name: &str) -> Result<About, BadInput> {
    let all = fencepost_programs::programs();
    let known: Vec<&str> = all.iter().map(|p| p.name).collect();
    let found = all.iter().find(|p| p.name == name).cloned();
    found.ok_or_else(|| BadInput::unknown("program", name, known))
}
