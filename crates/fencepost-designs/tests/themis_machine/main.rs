//! The x86 family on the real machine: random programs held to the contracts, planted faults convicted, the statements
//! of the Themis paper, and an undo log that the fence-free ideal breaks.

mod harness;
mod random;
mod semantics;
mod undo;
