//! The x86 family on the machine: the statements of the Themis paper, and an undo log that the fence-free ideal breaks.

mod baseline;
mod harness;
mod semantics;
mod undo;
