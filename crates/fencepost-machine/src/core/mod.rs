//! Hardware threads: dispatch, reorder buffer, store queue, fences, commit, and the account of where time went.
//!
//! A [`HardwareThread`] takes operations of its program thread ([`crate::frontend::Thread`]) and owns everything between
//! their dispatch and their performing in the L1. It acts when a turn that it scheduled comes ([`Turn`]), when a line that
//! it waited for arrives, or when the design lets go of what it refused; what it needs of the rest of the machine it asks
//! through [`Outside`]. Most hits it finds by itself, in the L1 that the hierarchy shows it.
//!
//! Reading order: `state`, `outside`, then an operation's way: `dispatch` (into the reorder buffer), `operands` (what it
//! waits for there), `loads`, `head` (what acts only as the oldest instruction), `commit`, `stores` (committed stores perform).

mod account;
mod commit;
mod dispatch;
mod entry;
mod head;
mod load_run;
mod load_turns;
mod loads;
mod locks;
mod operands;
mod outside;
mod passages;
mod program_order;
mod retry;
mod ring;
mod shape;
mod sleepers;
mod state;
mod store_queue;
mod stores;
#[cfg(test)]
mod tests;
mod trace_recorder;

pub use account::{Account, Stalled};
pub(crate) use locks::Locks;
pub(crate) use outside::{Outside, Turn};
pub use passages::Passage;
pub use program_order::Disorder;
pub(crate) use shape::Shape;
pub(crate) use state::{CoreCounters, HardwareThread, ThreadProgress};
pub(crate) use store_queue::StoreState;
pub use trace_recorder::Race;
pub(crate) use trace_recorder::TraceRecorder;
