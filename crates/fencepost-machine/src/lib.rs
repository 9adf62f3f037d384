//! Floor 1: the machine. Cores, caches, coherence, the persist seam, memory controllers and media.
//!
//! A [`Machine`] is built from a [`MachineSpec`], a [`seam::Design`] and a [`Workload`]; [`Machine::run`] gives a
//! [`RunReport`]. Time is integer picoseconds, one event queue drives everything, components are woken and never
//! polled, and the same inputs give the same run to the byte.

mod core;
pub mod frontend;
mod hierarchy;
mod machine;
pub mod memory;
pub mod seam;
mod spec;

pub use core::Account;
pub use frontend::{SimMem, ThreadBody};
pub use machine::{Counters, HartReport, Machine, RunError, RunReport, Stuck, Workload};
pub use spec::{BusSpec, CacheSpec, CoreSpec, Fences, MachineSpec, MemorySpec, Pipeline, SpecError, StoreOrder};
