//! The cache hierarchy: private caches, miss registers, the coherence bus, the shared cache, write-back buffers, cleans,
//! and the interfaces through which lines leave for the memory controllers.
//!
//! The bus grants one request at a time; a grant snoops every cache and every port of the design at once and moves
//! all coherence state, so it is the atomic order point. Data follows after its latency, and until it has arrived the
//! line is busy: later requests for it queue up behind.
//!
//! Caches hold tags and states only. Bytes live in the machine's coherent image, because at any moment all valid copies
//! of a line hold the same bytes; only frozen versions (of designs that keep several) carry bytes of their own. A checked
//! run does not take that on trust: it keeps the bytes of every copy and compares them (`bytes`).
//!
//! [`Hierarchy`] owns all of that state. A core looks by itself in its L1 ([`Hierarchy::l1`]) for the line that was used last of its
//! set, which nearly every hit is; what it does not find so it asks for ([`Hierarchy::access`]), and of its stores the hierarchy hears
//! of the first to a line ([`Hierarchy::store`]). Besides these it takes steps that it scheduled ([`Step`]) and answers of the
//! controllers; what it needs of the rest of the machine it asks through [`Outside`]. An access that misses is answered later, by what
//! [`Hierarchy::fill`] returns.
//!
//! Reading order: `private`, `state`, `outside`, then the way of a miss (`miss`, `grant`, `peers`, `read`, `fill`) and the way of a dirty line
//! (`leave`, `clean`, `expel`, `outgoing`).

mod bytes;
mod clean;
mod directory;
mod expel;
mod explain;
mod fill;
mod grant;
mod held;
mod leave;
mod lines;
mod miss;
mod notify;
mod outgoing;
mod outside;
mod peers;
mod private;
mod read;
mod registers;
mod remote;
mod sets;
mod sleepers;
mod sound;
mod state;
mod tags;
#[cfg(test)]
mod tests;
mod versions;
mod waiting_writes;
mod warm;
mod wide;

pub use held::StaleBytes;
pub(crate) use held::Words;
pub(crate) use outside::Outside;
pub(crate) use private::Waiter;
pub(crate) use state::{Hierarchy, HierarchyCounters, Lookup, ReadFor, Side, Step};
pub(crate) use tags::{Tags, WayRef};
pub(crate) use warm::WarmCaches;
