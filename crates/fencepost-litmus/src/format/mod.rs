//! Tests as they are written: instructions, conditions, and the reader of the files.

pub mod condition;
pub mod op;
pub(crate) mod parse;
pub mod test;
