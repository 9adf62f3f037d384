//! Executions as pictures, with the cycle of the axiom that forbids them, or with what a power failure leaves of them.

mod crash;
mod draw;
mod visible;

pub use crash::crash_witness;
pub use draw::Picture;
pub use visible::witness;
