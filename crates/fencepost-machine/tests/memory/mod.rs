//! The memory controller and its media, driven alone.

mod events;
mod flow;
mod jedec;
mod module;
mod order;
mod policy;
mod rows_ahead;
mod scheduler;
mod timing;
mod trace;
mod traffic;
mod util;
mod write_pulses;
