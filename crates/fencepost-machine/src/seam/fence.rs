//! What a fence does in the core.

fencepost_kernel::param_enum! {
    /// What instructions behind a fence may do before it completes.
    pub enum FenceExecution {
        /// Execute, but not retire; loads wait behind full fences only. The fence waits at the head of the reorder buffer.
        Retire = "retire",
        /// Nothing: they are not dispatched before the fence commits, as behind a `dsb` of Arm.
        Serialize = "serialize",
        /// Execute and retire. The fence waits in the store queue: younger stores perform after it, and loads wait behind
        /// full fences only.
        Buffered = "buffered",
    }
}

/// What the core does with a fence before it asks the design ([`super::Instr::Fence`]).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FenceAction {
    /// Whether older stores and flushes of the thread have left the store queue when the design is asked. A buffered fence
    /// always waits for them, in the store queue.
    pub after_stores: bool,
    /// How the fence executes. The machine's `core.fence_execution` may say otherwise, but of a marker.
    pub execution: FenceExecution,
}
impl FenceAction {
    /// Waits for older stores at the head of the reorder buffer; nothing behind it retires before the design lets it go.
    pub const AFTER_STORES: FenceAction = FenceAction {
        after_stores: true,
        execution: FenceExecution::Retire,
    };
    /// Asks the design as soon as the fence is the oldest instruction, whatever the store queue holds.
    pub const AT_ONCE: FenceAction = FenceAction {
        after_stores: false,
        execution: FenceExecution::Retire,
    };
    /// A marker among the stores: it enters the store queue, the thread goes on, and the design is asked when every older
    /// store has performed and no younger one has. It stalls a thread only by holding an entry of the store queue.
    pub const MARKER: FenceAction = FenceAction {
        after_stores: true,
        execution: FenceExecution::Buffered,
    };
}
