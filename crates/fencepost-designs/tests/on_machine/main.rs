//! The designs on the real machine: random multi-threaded programs held to each design's contract, planted faults
//! convicted, every queue at size one, and the hardware statements of the delegated-ordering paper.

mod conformance;
mod harness;
mod semantics;
