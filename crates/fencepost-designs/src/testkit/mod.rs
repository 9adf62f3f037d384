//! A machine-free bench for designs.
//!
//! [`MockCx`] is the handle: it records every call and holds controller queues as small as a test likes. It never calls
//! a design back, as the seam demands; [`Bench`] owns a design and a handle and lets the test decide what happens
//! next: a timer, a clean, a write arriving or becoming durable. [`Recorder`] wraps a design and logs every hook.

mod bench;
mod mini;
mod mock;
mod recorder;

pub use bench::{Bench, dram_line, filled, pm_line};
pub use mini::{Mini, Op, Order, random_programs};
pub use mock::{Call, CleanRequest, MockCx, MockWrite, WriteState};
pub use recorder::{Hook, Recorder};
