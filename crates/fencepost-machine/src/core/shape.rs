//! What dispatch and commit need of a core's specification, ready for use.

use crate::seam::{FenceAction, FenceExecution};
use crate::spec::{MachineSpec, Pipeline, StoreOrder};
use fencepost_kernel::{Divider, Fence, Ps};

/// Sizes and rates of a core.
///
/// Dispatch positions count in units of 1 / (narrower of front end and dispatch x compute ipc) cycles, commit positions in units of
/// 1 / commit width cycles, so that both stay integers.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Reorder buffer entries; an in-order core has one instruction in flight.
    pub rob: u32,
    /// Load queue entries.
    pub load_queue: u32,
    /// Store queue entries.
    pub store_queue: u32,
    /// Entries that instructions streaming through an otherwise idle buffer hold at a time.
    pub streaming: u32,
    /// What each kind of fence does.
    fences: [FenceAction; Fence::COUNT],
    /// Whether stores perform in program order.
    pub stores_in_order: bool,
    /// Hit latency of the L1.
    pub l1_latency: Ps,
    /// Clock period.
    pub period: Ps,
    /// Picoseconds to cycles.
    pub to_cycles: Divider,
    /// Dispatch positions to cycles.
    pub to_dispatch: Divider,
    /// Dispatch units of a memory operation, and of one instruction of a compute site.
    pub units: u64,
    pub compute_units: u64,
    /// Instructions committed in a cycle.
    pub commit_width: u64,
    /// Commit positions to cycles.
    pub to_commit: Divider,
    /// Compute instructions finished in a cycle.
    pub ipc: Divider,
}

impl Shape {
    /// The shape of a validated core.
    pub(crate) fn new(spec: &MachineSpec, declared: impl Fn(Fence) -> FenceAction) -> Shape {
        let core = &spec.core;
        let (rob, load_queue, store_queue) = match core.pipeline {
            Pipeline::InOrder => (1, 1, 1),
            Pipeline::OutOfOrder => (core.rob, core.load_queue, core.store_queue),
        };
        let width = u64::from(core.dispatch_width.min(core.front_end_width));
        let ipc = u64::from(core.compute_ipc);
        Shape {
            rob,
            load_queue,
            store_queue,
            streaming: (rob / 4).max(1),
            fences: std::array::from_fn(|index| {
                let kind = Fence::at_index(index).unwrap_or_else(|| unreachable!("an index below the count"));
                let action = declared(kind);
                FenceAction {
                    execution: core.fence_execution.execution(action),
                    ..action
                }
            }),
            stores_in_order: core.store_order == StoreOrder::Tso,
            l1_latency: spec.l1.latency,
            period: core.clock.period(),
            to_cycles: Divider::new(core.clock.period().0),
            to_dispatch: Divider::new(width * ipc),
            units: ipc,
            compute_units: width.max(ipc),
            commit_width: core.commit_width.into(),
            to_commit: Divider::new(core.commit_width.into()),
            ipc: Divider::new(ipc),
        }
    }
    /// Whether the design is asked about a fence only after older stores have performed.
    pub(crate) fn after_stores(&self, kind: Fence) -> bool {
        self.fences[kind.index()].after_stores
    }
    /// Whether nothing behind a fence is dispatched before it commits.
    pub(crate) fn serializes(&self, kind: Fence) -> bool {
        self.fences[kind.index()].execution == FenceExecution::Serialize
    }
    /// Whether a fence waits in the store queue. One that does not wait for stores has no place there.
    pub(crate) fn is_buffered(&self, kind: Fence) -> bool {
        self.fences[kind.index()] == FenceAction::MARKER
    }
    /// Whether one instruction at a time is in flight.
    #[inline]
    pub(crate) fn in_order(&self) -> bool {
        self.rob == 1
    }
    /// A cycle as a dispatch position.
    #[inline]
    pub(crate) fn position(&self, cycle: u64) -> u64 {
        cycle * self.to_dispatch.divisor()
    }
    /// A time as a dispatch position.
    #[inline]
    pub(crate) fn position_at(&self, t: Ps) -> u64 {
        self.position(self.to_cycles.floor(t.0))
    }
    /// The first cycle that begins at `t` or later.
    #[inline]
    pub(crate) fn cycle(&self, t: Ps) -> u64 {
        self.to_cycles.ceil(t.0)
    }
    /// Rounds a time up to the clock.
    #[inline]
    pub(crate) fn align(&self, t: Ps) -> Ps {
        self.period * self.cycle(t)
    }
}
