//! What statements of several papers are tested with: runs that are held to their contract, a paper's machine,
//! litmus shapes, persist graphs.

pub(crate) mod conforming;
pub(crate) mod graph;
pub(crate) mod litmus;
pub(crate) mod preset;
