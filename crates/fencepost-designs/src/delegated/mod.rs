//! `delegated`: delegated persist ordering, buffered strict persistency over relaxed consistency (RCBSP).
//!
//! # Idea
//! Execution does not wait for persists. Every store to persistent memory copies its line into a persist buffer beside
//! the L1; every FENCE leaves a marker there. Coherence traffic tells the buffers which of their entries depend on
//! entries of other cores, and together they hand the controller one queue of persists divided into epochs. The
//! controller schedules freely inside an epoch and never across.
//!
//! # Paper
//! Kolli et al., Delegated Persist Ordering, MICRO 2016, sections III and IV.
//!
//! # Where order is kept
//! *Buffer*, per core: at most `entries` entries, of them at most `fences` FENCEs. An entry has its type, line, bytes, id
//! {core:slot}, Youngest bit and at most one dependence per other core. A store joins the newest entry only if that is
//! the same line, has its Youngest bit set, and no dependence is waiting in AccumDP. A full buffer (entries or FENCE
//! slots) blocks the L1; nothing else stalls. *Dependences*: every bus request asks every other port, whether or not its cache
//! holds the line. A port answers with the id of its Youngest persist of the line (an invalidating request clears that
//! bit), and of its youngest FENCE since which it wrote (for invalidating requests: read or wrote) the line, for
//! volatile lines too; two Bloom filters per FENCE remember that. The requester gathers ids in AccumDP and gives
//! them to its next persist or FENCE; per core the newer id replaces the older. *Drain*: in order per core, once
//! every dependence of the oldest entry has drained; one entry per bus slot, arbitrated, seen by all ports, which drop
//! the id. A drained FENCE of any core closes the open epoch of the write queue; adjacent FENCEs make one boundary. With
//! `epoch_rule = gather` a FENCE drains only when no persist of any buffer can, and the FENCEs that then stand at the heads leave
//! together, so that unordered epochs of different buffers join one. Where the queue keeps no epochs, FENCEs drain in their turn.
//! `DSB` is the explicit drain: it passes as a FENCE and returns when every persist drained up to then is durable.
//!
//! Why copying the *whole* line is sound: words of the line that other cores stored came with it over the bus, and that
//! request collected a dependence on the buffer entry that holds them, if it had not drained; in-order drain keeps
//! every later entry of this core behind that dependence as well. Why accesses that make no bus request are sound: a hit on a
//! line means that no other core has written it since this core's last request for it, and what was to be learnt
//! was learnt by that request. One exception is handled here: a *read* can leave its core with the only copy, and the store
//! that follows upgrades silently, although another port still remembers reading the line or still holds its Youngest
//! entry. Such lines are remembered and the first store asks again (in hardware the port would assert "shared").
//! Likewise, when an invalidating request clears a Youngest bit and the line moves on before its new owner stores, the
//! entry still answers the next requester.
//!
//! # Durable at
//! The device. On a memory that is durable on acceptance the queue keeps no epochs and a persist is durable when it
//! enters the queue.
//!
//! # Contract
//! `rcbsp` under either consistency order of the cores: persist order is the order any observer of persistent memory
//! could see under ARMv7. Words persist atomically (8 bytes).
//!
//! # Hardware cost
//! Per core 8 entries of 72 B, 8 filters of 32 B and 64 B of AccumDP: 896 B by the paper's formula.
//!
//! # Deviations
//! The text of the paper loses a dependence that passes through a core which only loads and stores *volatile* lines without
//! a FENCE of its own (`x; FENCE; a` | `b = a` | `y = b`). With `forward` (default) a core hands on the undrained
//! FENCEs that it received, by one more pair of filters and one more register; `forward = false` is the literal text.
//! Persist-only dependences are not handed on in this way (`x` | `v = x` | `s = v; FENCE; y` may persist y first):
//! the paper's prose would order them, its hardware and the relational contract do not. Latency, rate and arbitration of
//! the persist path and the hash functions of the filters are ours. So is how `gather` joins epochs: the text says that they
//! join, not how long a FENCE waits for that; a core that stores without a FENCE for ever would hold up the FENCEs of others. An entry drains at the earliest one bus slot after
//! it was made. Non-temporal stores are stores. `DMB ST`, `sfence` and `mfence` are full FENCEs.

mod buffer;
mod cost;
mod deps;
mod drain;
mod explain;
mod explicit;
mod filter;
pub(crate) mod front;
mod mechanism;
mod merge;
mod params;
mod port;
mod region;
mod remote;
mod request;
pub(crate) mod stats;
mod summary;
#[cfg(test)]
mod tests;
mod tracker;

pub use buffer::{Entry, Kind, Newness, PersistBuffer};
pub(crate) use cost::front_cost;
pub use deps::{Deps, Seq};
pub use explicit::ExplicitDrains;
pub use filter::{AccessSets, Bloom};
pub use mechanism::Delegated;
pub use params::{Arbitration, DelegatedParams, EpochRule, Fault};
pub(crate) use params::{checked, checked_without_gathering};
pub use port::{BufferPer, PortId, Ports};
pub use tracker::{Stored, Tracker};

use crate::info::{CostItem, DesignInfo, Environment, Honours, MachineShape, PlantedFault, Promise, Values, configure};
use crate::so::DPO;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::Params;
use fencepost_kernel::{Dialect, Fence, Logging};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "delegated",
    summary: "delegated ordering: persist buffers, every drained FENCE closes the epoch",
    source: include_str!("mod.rs"),
    paper: DPO,
    dialect: |environment| dialect("delegated", environment),
    contract: |_| ContractKind::Rcbsp,
    idiom_of: &[ContractKind::Rcbsp, ContractKind::Epoch, ContractKind::Strand],
    promise: Promise {
        buffered: None,
        persists_every_store: true,
        reorders: true,
        honours: Honours::ARM_BARRIERS,
    },
    sound: |_| true,
    params: DelegatedParams::fields,
    variants: RULES,
    smallest: SMALLEST,
    build: |values, shape| Ok(Box::new(Delegated::new(checked(configure(values)?)?, shape, false))),
    cost: |values, shape| Ok(cost::storage(&configure(values)?, shape, false)),
    faults: FAULTS,
    log: None,
};

/// Parameters that the paper leaves open change speed, never order.
pub(crate) const VARIANTS: &[Values] = &[
    &[("arbitration", "oldest-first")],
    &[("ordered_issue", "true")],
    &[("ordered_issue", "false")],
    &[("path_slot", "40ns")],
    &[("path_slot", "0ns")],
    &[("fences", "1")],
];
/// The same, with both epoch rules of this design.
const RULES: &[Values] = &[
    &[("arbitration", "oldest-first")],
    &[("ordered_issue", "true")],
    &[("epoch_rule", "close-any"), ("ordered_issue", "false")],
    &[("path_slot", "40ns")],
    &[("path_slot", "0ns")],
    &[("fences", "1")],
    &[("epoch_rule", "gather")],
    &[("epoch_rule", "gather"), ("ordered_issue", "true")],
    &[("epoch_rule", "gather"), ("path_slot", "40ns")],
];
/// One entry, one FENCE, the smallest filters.
pub(crate) const SMALLEST: Values = &[
    ("entries", "1"),
    ("fences", "1"),
    ("filter_bytes", "8"),
    ("filter_hashes", "1"),
];
/// The faults of the mechanism. A slow path keeps entries in the buffers, where dependences matter.
pub(crate) const FAULTS: &[PlantedFault] = &[
    PlantedFault::order(
        "delegated.read-clears-youngest",
        "only an invalidating request clears the Youngest bit",
        &[("fault", "read-clears-youngest"), ("path_slot", "60ns")],
    ),
    PlantedFault::order(
        "delegated.filter-misses-an-address",
        "every address accessed after a FENCE is in its sets",
        &[("fault", "filter-misses-an-address"), ("path_slot", "60ns")],
    ),
    PlantedFault::order(
        "delegated.drain-ignores-dependences",
        "an entry drains after everything that it depends on",
        &[("fault", "drain-ignores-dependences"), ("path_slot", "60ns")],
    ),
    PlantedFault::order(
        "delegated.coalesce-with-dependences",
        "a store joins the newest entry only while AccumDP is empty",
        &[("fault", "coalesce-with-dependences"), ("path_slot", "60ns")],
    ),
    PlantedFault::order(
        "delegated.epoch-boundary-skipped",
        "a drained FENCE closes the epoch",
        &[("fault", "epoch-boundary-skipped"), ("path_slot", "60ns")],
    ),
];

/// The storage that the merging variant adds.
pub(crate) fn merge_cost(params: &DelegatedParams, shape: MachineShape) -> Vec<CostItem> {
    cost::storage(params, shape, true)
}

/// What software writes on delegated ordering: no flush, one full barrier wherever persists are ordered, and around
/// locks in either consistency order, since the FENCE that the barrier leaves carries persist order.
pub(crate) fn dialect(name: &'static str, _: Environment) -> Dialect {
    Dialect {
        name,
        logging: Logging::Software,
        order: &[Fence::Dmb],
        log_to_data: &[Fence::Dmb],
        durable: &[Fence::Dsb],
        lock_acquire: &[Fence::Dmb],
        unlock_release: &[Fence::Dmb],
        ..Dialect::PLAIN
    }
}
