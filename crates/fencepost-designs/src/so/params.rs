//! Parameters of synchronous ordering.

use fencepost_kernel::{Ps, planted};

fencepost_kernel::param_enum! {
    /// What a `pcommit` waits for.
    pub enum PcommitPolicy {
        /// The writes accepted when it arrives at the controller.
        Snapshot = "snapshot",
        /// Until the controller's queue holds no write at all.
        DrainEmpty = "drain-empty",
        /// One hardware thread's flushes and `pcommit` at a time.
        Exclusive = "exclusive",
    }
}
fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum SoFault {
        /// The mechanism as described.
        None = "none",
        /// `pcommit` waits for the hardware thread's own accepted writes only.
        PcommitIgnoresOthers = "pcommit-ignores-others",
        /// `sfence` does not wait for the hardware thread's own flushes.
        SfenceIgnoresFlushes = "sfence-ignores-flushes",
    }
}
impl SoFault {
    /// The parameter's fault, or the one that is planted for this thread.
    pub(super) fn or_planted(self) -> SoFault {
        let none = self == SoFault::None;
        let others_ignored = none
            && planted!(
                "so.pcommit-ignores-others",
                "pcommit waits for the accepted writes of every core"
            );
        if others_ignored {
            return SoFault::PcommitIgnoresOthers;
        }
        let flushes_ignored =
            none && planted!("so.sfence-ignores-flushes", "sfence waits for the thread's own flushes");
        if flushes_ignored {
            return SoFault::SfenceIgnoresFlushes;
        }
        self
    }
}
fencepost_kernel::params! {
    /// Parameters of synchronous ordering.
    pub struct SoParams {
        /// What a pcommit waits for (the paper does not say; all three are published).
        pcommit: PcommitPolicy = PcommitPolicy::Snapshot,
        /// One way between a core and the controller, for pcommit and its answer (ours).
        pcommit_path: Ps = Ps::from_ns(10),
        /// Under `exclusive`: how long a hardware thread keeps the right to commit between its fence and its pcommit (ours).
        exclusive_hold: Ps = Ps::from_ns(50),
        /// Planted fault, for tests of the checker only.
        fault: SoFault = SoFault::None,
    }
}
