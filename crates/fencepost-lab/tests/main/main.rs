//! Tests of the lab on whole runs: the battery of every design, the toy design of `docs/extending.md`, planted faults, and what is special to
//! two families.

mod battery;
mod common;
mod extending;
mod loc;
mod measuring;
mod planted;
mod x86;
