//! A machine-free bench for designs.
//!
//! [`MockCx`] is the handle: it records every call and holds controller queues as small as a test likes. It never calls
//! a design back, as the seam demands; [`Bench`] owns a design and a handle and lets the test decide what happens
//! next: a timer, a clean, a write arriving or becoming durable. [`Mini`] adds threads and caches that run random programs, as
//! strict with a design as the machine is, and [`Kit`] judges such runs: what a new design is tried with first. [`HookRecorder`]
//! wraps a design and logs every hook. Hardware transactions and frozen versions are tried on the machine only.

mod bench;
mod controller;
mod hierarchy;
mod hook_recorder;
mod kit;
mod mini;
mod mock;
mod outgoing;
mod programs;

pub use bench::{Bench, dram_line, filled, pm_line};
pub use controller::Scheduled;
pub use hierarchy::{Hierarchy, NotYet};
pub use hook_recorder::{Hook, HookRecorder};
pub use kit::{Kit, Mistake};
pub use mini::{Mini, Order};
pub use mock::{Call, CleanRequest, MockCx, MockWrite, WriteState};
pub use programs::{Mix, Op, random_programs};
