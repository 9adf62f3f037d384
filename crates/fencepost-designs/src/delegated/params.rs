//! Parameters of delegated ordering.

use fencepost_kernel::params::ParamError;
use fencepost_kernel::{Ps, planted};

fencepost_kernel::param_enum! {
    /// Who drains next when several persist buffers can.
    pub enum Arbitration {
        /// Cores in turn.
        RoundRobin = "round-robin",
        /// The entry that was appended first.
        OldestFirst = "oldest-first",
    }
}
fencepost_kernel::param_enum! {
    /// When a FENCE drains, which closes the open epoch for all cores.
    pub enum EpochRule {
        /// In its turn, as a persist does.
        CloseAny = "close-any",
        /// When no persist of any buffer can drain; the FENCEs that stand at the heads then leave together.
        Gather = "gather",
    }
}
fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum Fault {
        /// The mechanism as described.
        None = "none",
        /// A read request clears the Youngest bit, as only an invalidating one may.
        ReadClearsYoungest = "read-clears-youngest",
        /// The first address accessed after a FENCE is missing from its sets.
        FilterMissesAnAddress = "filter-misses-an-address",
        /// Entries drain without waiting for their dependences.
        DrainIgnoresDependences = "drain-ignores-dependences",
        /// A store joins the newest entry although AccumDP holds a dependence.
        CoalesceWithDependences = "coalesce-with-dependences",
        /// A drained FENCE makes no epoch boundary.
        EpochBoundarySkipped = "epoch-boundary-skipped",
    }
}
impl Fault {
    /// The parameter's fault, or the one that is planted for this thread.
    pub(super) fn or_planted(self) -> Fault {
        let none = self == Fault::None;
        let dependences_ignored = none
            && planted!(
                "delegated.drain-ignores-dependences",
                "an entry drains after everything that it depends on"
            );
        if dependences_ignored {
            return Fault::DrainIgnoresDependences;
        }
        let coalesces = none
            && planted!(
                "delegated.coalesce-with-dependences",
                "a store joins the newest entry only while AccumDP is empty"
            );
        if coalesces {
            return Fault::CoalesceWithDependences;
        }
        let boundary_skipped = none && planted!("delegated.epoch-boundary-skipped", "a drained FENCE closes the epoch");
        if boundary_skipped {
            return Fault::EpochBoundarySkipped;
        }
        self
    }
}
fencepost_kernel::params! {
    /// Parameters of delegated ordering.
    pub struct DelegatedParams {
        /// Entries of a persist buffer (paper: 8).
        entries: u8 = 8,
        /// FENCEs that a persist buffer holds at most (paper: 4).
        fences: u8 = 4,
        /// Size in bytes of one read or write filter (paper: 32).
        filter_bytes: u16 = 32,
        /// Hash functions of a filter (ours).
        filter_hashes: u8 = 2,
        /// Time from a persist buffer to the controller's queue (ours).
        path_latency: Ps = Ps::from_ns(10),
        /// Time one entry occupies the path that all persist buffers share (ours).
        path_slot: Ps = Ps::from_ns(1),
        /// Who drains next (ours).
        arbitration: Arbitration = Arbitration::RoundRobin,
        /// When a FENCE drains (one epoch pointer per core, as merging epochs have it, closes none for others).
        epoch_rule: EpochRule = EpochRule::CloseAny,
        /// Let an epoch issue before its predecessor is durable if none of its writes can complete first.
        ordered_issue: bool = false,
        /// Hand on received FENCE dependences through volatile lines (ours; false is the paper's text).
        forward: bool = true,
        /// Planted fault, for tests of the checker only.
        fault: Fault = Fault::None,
    }
}

/// Refuses sizes that no machine can have.
pub(crate) fn checked(params: DelegatedParams) -> Result<DelegatedParams, ParamError> {
    let bad = |name: &str, why: &str| {
        Err(ParamError::Value {
            name: name.into(),
            why: why.into(),
        })
    };
    match &params {
        p if p.entries == 0 => bad("entries", "a persist buffer needs at least 1 entry"),
        p if p.fences == 0 => bad("fences", "a persist buffer needs at least 1 FENCE slot"),
        p if p.filter_bytes == 0 || p.filter_bytes % 8 != 0 => {
            bad("filter_bytes", "expected a multiple of 8, at least 8")
        }
        p if p.filter_hashes == 0 => bad("filter_hashes", "a filter needs at least 1 hash function"),
        _ => Ok(params),
    }
}

/// The same, for a mechanism whose FENCEs close no epoch for others: there is nothing to gather for.
pub(crate) fn checked_without_gathering(params: DelegatedParams) -> Result<DelegatedParams, ParamError> {
    match params.epoch_rule {
        EpochRule::CloseAny => checked(params),
        EpochRule::Gather => Err(ParamError::Value {
            name: "epoch_rule".into(),
            why: "merging epochs gather nothing: a FENCE closes no epoch for other cores".into(),
        }),
    }
}
