//! The ways through each thread of a test.

pub(crate) mod exec;
pub mod path;
pub(crate) mod program;
