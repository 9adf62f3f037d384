//! The battery of every design, the toy design of `docs/extending.md`, and planted faults.

mod battery;
mod extending;
mod own_instructions;
mod planted;
