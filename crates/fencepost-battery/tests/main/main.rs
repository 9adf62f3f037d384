//! The battery of every design, a piece of the net, the toy design of `docs/extending.md`, and planted faults.

mod audits;
mod battery;
mod dictionary_example;
mod extending;
mod judged;
mod net;
mod own_instructions;
mod parameters;
mod planted;
