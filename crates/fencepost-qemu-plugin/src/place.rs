//! Instructions of the program.

use fencepost_record::Class;
use std::sync::OnceLock;

/// An instruction that may be recorded.
pub(crate) struct Place {
    /// Its address.
    pub at: u64,
    /// The address after it.
    pub next: u64,
    /// What it is.
    pub class: Class,
    /// Its name in journals, once it was asked for.
    pub name: OnceLock<String>,
}
