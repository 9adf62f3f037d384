//! Candidate executions, and which of them a consistency model allows.

pub(crate) mod execution;
pub mod models;
pub(crate) mod outcome;
pub mod relation;
