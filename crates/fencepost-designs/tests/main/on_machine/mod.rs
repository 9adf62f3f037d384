//! The hardware statements of the delegated-ordering paper, on the machine.

mod harness;
mod range_commit;
mod semantics;
