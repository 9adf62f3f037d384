//! `delegated-merge`: delegated ordering with one epoch pointer per core.
//!
//! # Idea
//! The plain rule closes the open epoch of all cores whenever a FENCE of any core drains. Here epochs of different cores
//! that are not ordered against one another share one epoch of the write queue, so fewer boundaries are made.
//!
//! # Paper
//! Kolli et al., Delegated Persist Ordering, MICRO 2016, section IV-B: "epochs from different persist buffers that are
//! unordered with respect to one another join a single epoch". How that is done is not described; this is our reading.
//!
//! # Where order is kept
//! As `delegated`, but a persist joins epoch max(pointer of its core, active epoch), a FENCE advances the pointer of its core behind
//! the active epoch and behind every epoch its core has persisted in, and a dependence raises the dependent: to the epoch of
//! the persist, or past the FENCE. A drained FENCE is not forgotten until its epoch is active: until then its read and write
//! sets linger, and a request that conflicts with them raises the requester, who would otherwise fall behind it.
//!
//! # Durable at
//! As `delegated`: the device, or acceptance where the memory says so (then there are no epochs and both rules are one).
//!
//! # Contract
//! `rcbsp`, as `delegated`: merging removes only order that the contract does not ask for.
//!
//! # Hardware cost
//! That of `delegated`, one epoch pointer per core, two epochs per entry, and up to `fences` more pairs of filters.
//!
//! # Deviations
//! The lingering filters are ours: without them a core whose pointer is behind could persist too early after reading what
//! followed a drained FENCE. With more lingering FENCEs than `fences`, the two oldest share one pair (more order, never less).

use crate::delegated::{
    Delegated, DelegatedParams, FAULTS, SMALLEST, VARIANTS, checked_without_gathering, dialect, merge_cost,
};
use crate::info::{DesignInfo, Honours, Promise, configure};
use crate::so::DPO;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::Params as _;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "delegated-merge",
    summary: "delegated ordering with merged epochs: one epoch pointer per core",
    source: include_str!("delegated_merge.rs"),
    paper: DPO,
    dialect: |environment| dialect("delegated-merge", environment),
    contract: |_| ContractKind::Rcbsp,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: true,
        reorders: true,
        honours: Honours::ARM_BARRIERS,
    },
    sound: |_| true,
    params: DelegatedParams::fields,
    variants: VARIANTS,
    smallest: SMALLEST,
    build: |values, shape| {
        Ok(Box::new(Delegated::new(
            checked_without_gathering(configure(values)?)?,
            shape,
            true,
        )))
    },
    cost: |values, shape| Ok(merge_cost(&configure(values)?, shape)),
    faults: FAULTS,
    log: None,
};
