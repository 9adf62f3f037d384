//! Exit codes. A defect of ours has its own, which the error knows.

/// Nothing wrong was found.
pub(crate) const CLEAN: u8 = 0;
/// A violation was found.
pub(crate) const VIOLATION: u8 = 1;
/// Usage or input is wrong.
pub(crate) const BAD_INPUT: u8 = 2;
/// Nothing wrong was found, but not everything was covered, and that was asked for.
pub(crate) const INCOMPLETE: u8 = 4;
