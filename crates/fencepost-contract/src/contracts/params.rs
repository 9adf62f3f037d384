//! What may be varied about a contract, and what its rules share.

use crate::graph::Grain;
use fencepost_kernel::{StoreId, TraceKind};

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
