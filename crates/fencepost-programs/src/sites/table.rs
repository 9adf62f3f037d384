//! Not yet measured.
pub(super) const INSTRUCTIONS: &[(&str, u32)] = &[];
