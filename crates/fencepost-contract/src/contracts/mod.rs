//! Contracts: what a design promises about the order in which stores become durable.
//!
//! Each contract is a set of [`Rules`] that watches an execution event by event and adds nodes, edges and must-sets
//! to a [`SpaceBuilder`]. A new contract is one more implementation; the explorer and the conformance test take it
//! as it is: [`SpaceBuilder::run`] makes its crash space, [`crate::conform::conform_to_space`] judges runs by it.
//!
//! Rules see events in the order in which they took effect. Three things they rely on beyond the description of
//! [`Trace`](fencepost_kernel::Trace): a store to a line comes before a flush of that line that is later in its thread;
//! non-temporal stores appear in program order with the other stores of their thread (what leaves for the
//! write-combining buffer, not when it arrives); and a fence appears when it completes.

mod build;
mod commit;
mod dependences;
mod epochs;
mod px86;
mod registry;
mod strict;
mod transactions;

pub use build::SpaceBuilder;
pub use registry::{Contract, ContractKind, UnknownContract};

use fencepost_kernel::{StoreId, TraceEvent, TraceKind};

use crate::graph::Grain;

/// Whether stores to one cache line become durable in coherence order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum LineOrder {
    /// They do: a line leaves the caches whole, so an older store is never missing when a newer one is there.
    Fifo,
    /// They do not; only stores to one word are ordered.
    Unordered,
}

/// What may be varied about a contract. `None` takes the contract's own default.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct ContractParams {
    /// Persist order within a cache line.
    pub line_order: Option<LineOrder>,
    /// The unit in which memory becomes durable. Line grain implies line order.
    pub grain: Grain,
    /// Whether persists may lag behind fences (Pelley, ISCA'14, section 4). Where they may, only a drain (`dsb`,
    /// `pcommit`) says what is durable; otherwise every fence that orders persists does. No effect on the x86 family.
    pub buffered: Option<bool>,
}

/// A contract at work: consumes an execution's events in effect order.
pub trait Rules {
    /// Takes one event into account. Called for every event but those of operations (begin, end, acknowledgement)
    /// and of durability, which the builder handles.
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>);
}

/// The store that an event performs, if any.
pub(crate) fn store_of(kind: TraceKind) -> Option<StoreId> {
    match kind {
        TraceKind::Store(id) => Some(id),
        TraceKind::Rmw { store, .. } => store,
        _ => None,
    }
}

/// The per-thread entry of a table that grows on demand.
pub(crate) fn entry<T: Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if table.len() <= index {
        table.resize_with(index + 1, T::default);
    }
    &mut table[index]
}
