//! Steps of the threads that run beside a test or around its own instructions, and the lines that they go to.

use fencepost_kernel::Addr;
use fencepost_machine::frontend::{OpKind, Step};

/// Lines this far apart share a set in every cache of the presets, and a bank where rows fill banks.
const STRIDE: u64 = 1 << 20;
/// Where the first thread's lines begin that conflict with a word: behind all that tests and their padding use.
const FIRST: u64 = 16;
/// Such lines of a thread: more than the ways of any cache.
pub(super) const LINES: u64 = 20;

/// A line that conflicts with a word; `owner` is whose, so that no two threads write one.
pub(super) fn conflicting(word: Addr, owner: u64, n: u64) -> Addr {
    Addr(word.line().base().0 + STRIDE * (FIRST + owner * LINES + n % LINES))
}

/// A step without operands.
pub(super) fn step(kind: OpKind) -> Step {
    Step {
        kind,
        addr: Addr(0),
        value: Some(0),
        dep: 0,
    }
}
