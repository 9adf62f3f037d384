//! Designs and programs by name.

use crate::error::BadInput;
use fencepost_designs::DesignInfo;
use fencepost_programs::About;
use std::sync::LazyLock;

/// Every program. The list is put together once: a sweep looks a name up for each of its runs.
static PROGRAMS: LazyLock<Vec<About>> = LazyLock::new(fencepost_programs::programs);

/// The design of this name, or the nearest ones.
pub fn find_design(name: &str) -> Result<&'static DesignInfo, BadInput> {
    let known = || fencepost_designs::all().iter().map(|d| d.name);
    fencepost_designs::find(name).ok_or_else(|| BadInput::unknown("design", name, known()))
}
/// The program of this name, or the nearest ones.
pub fn find_program(name: &str) -> Result<About, BadInput> {
    let found = PROGRAMS.iter().find(|p| p.name == name).cloned();
    found.ok_or_else(|| BadInput::unknown("program", name, PROGRAMS.iter().map(|p| p.name)))
}
