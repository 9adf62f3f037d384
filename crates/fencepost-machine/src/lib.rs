//! Floor 1: the machine. Cores, caches, coherence, the persist seam, memory controllers and media.
//!
//! A [`Machine`] is built from a [`MachineSpec`], a [`seam::Design`] and a [`Workload`]; [`Machine::run`] gives a
//! [`RunReport`]. Time is integer picoseconds, one event queue drives everything, components are woken and never
//! polled, and the same inputs give the same run to the byte.

mod bus;
mod cache;
pub mod frontend;
mod hart;
mod machine;
pub mod memory;
pub mod seam;
mod spec;

pub use frontend::{SimMem, ThreadBody};
pub use hart::Account;
pub use machine::{Counters, HartReport, Machine, RunError, RunReport, Stuck, System, Workload};
pub use spec::{BusSpec, CacheSpec, CoreSpec, Fences, MachineSpec, MemorySpec, Pipeline, SpecError, StoreOrder};
