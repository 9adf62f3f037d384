//! `broi`: delegated ordering with a controller that schedules barrier regions for bank-level parallelism.
//!
//! # Idea
//! Threads are mostly independent, so the order of their barrier epochs at the controller is free. Instead of merging epochs
//! to the largest size, the controller keeps a queue entry for each thread and serves, bank by bank, the thread whose progress
//! brings the most banks into play.
//!
//! # Paper
//! Persistence Parallelism Optimization: A Holistic Approach from Memory Bus to RDMA Network, MICRO 2018, section IV.
//!
//! # Where order is kept
//! *Persist buffers*: those of delegated ordering, one per hardware thread, or one per core (`buffers`), plus one per RDMA channel. An
//! entry that no open dependence holds back is sent, in order, to the BROI entry of its thread, and stays in the buffer until the
//! medium has stored it (`release`); entries are freed in order, and what depends on one is released then. So requests at the
//! controller are never in conflict. *Siblings*: a hit in a shared L1 makes no bus request; where the thread has not used the line since it came, or
//! since its sibling stored to it, the hit counts as one. *BROI entry*: `units` requests; a FENCE is a position in a
//! barrier index register. The requests in front of the first barrier are the SubReady-SET, those up to the second the
//! Next-SET. When the last request of the first set is complete its barrier is passed: it orders its own entry only. *Scheduler*: in
//! every bank the request of the SubReady-SET with the highest priority BLP(R - R_i + N_i) - sigma * size(R_i), where R are the
//! first sets of local entries, or of all (`ready`), and a request leaves its set when it is put out, or when it is complete
//! (`leaves`). *Controller's queue* (`hand_over`): with `bank` the choice is made when a bank can take a request: among equals first
//! ready, first come, first served, one request per bank at most, and one for which the bank has begun to change its row stays. With
//! `queue` the choices of all banks, one Sch-SET after the other, go to a write queue of `queue` entries as long as it has one, and the
//! controller serves what is there: first ready, first come, first served. A request whose line has an older write outside the queue
//! waits outside, too. *Remote requests* wait for local ones of their bank, and until no more than `low_utilisation` percent of the
//! write queue are in use (with `bank`: as if it held what stands in the local entries); blocked for `starvation`, they go first.
//!
//! # Durable at
//! The device, or acceptance where the memory says so; then only banks matter, and barriers hold nothing back.
//!
//! # Contract
//! `rcbsp`, as delegated ordering.
//!
//! # Hardware cost
//! Per persist buffer 72 B an entry and 320 B of dependency tracking; 8 units of 4 bits and two registers of 3 bits per BROI entry.
//!
//! # Deviations
//! With `bank` the BROI queues are the controller's write queue, divided. With `queue`, which requests of a Sch-SET go first when it has
//! fewer entries is not said: those of the highest priority. The machine `broi` sets what its experiments take as primary.
//! The paper has one buffer for all remote requests; here each channel has its own, so that one cannot hold up the other. A dependence
//! names the newest entry of a buffer, so it is released when everything before that entry is durable too. The path from the buffers,
//! sigma and both thresholds are ours, and so is what delegated ordering leaves open.

mod banks;
mod cost;
mod entry;
pub mod epoch;
mod epoch_first;
pub mod example;
mod feed;
mod hand_over;
mod mechanism;
mod outgoing;
mod params;
mod priority;
mod queues;
mod scheduler;
mod siblings;
#[cfg(test)]
mod tests;

pub(crate) use cost::storage;
pub use entry::{BroiEntry, Unit};
pub use epoch_first::EpochScheduler;
pub use mechanism::{Broi, Schedules};
pub(crate) use params::checked;
pub use params::{BarrierScope, BroiFault, BroiParams, HandOver, LeavesSet, ReadyOver, Release};
pub use priority::Priorities;
pub use queues::{BroiQueues, Tally};
pub use scheduler::BroiScheduler;

use crate::delegated;
use crate::info::{DesignInfo, Honours, Paper, PlantedFault, Promise, Scenario, Values, configure};
use fencepost_contract::ContractKind;
use fencepost_kernel::params::Params as _;

/// The paper.
pub(crate) const PAPER: Paper = Paper {
    short: "broi",
    title: "Persistence Parallelism Optimization: A Holistic Approach from Memory Bus to RDMA Network",
    venue: "MICRO 2018",
    bibtex: "@inproceedings{broi, title = {Persistence Parallelism Optimization: A Holistic Approach from Memory Bus to RDMA \
             Network}, booktitle = {MICRO}, year = {2018}}",
};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "broi",
    summary: "delegated ordering, and a controller that schedules barrier regions by bank-level parallelism",
    source: include_str!("mod.rs"),
    paper: PAPER,
    dialect: |environment| delegated::dialect("broi", environment),
    contract: |_| ContractKind::Rcbsp,
    idiom_of: &[],
    promise: PROMISE,
    sound: |_| true,
    params: BroiParams::fields,
    variants: &[
        &[("buffers", "core")],
        &[("buffers", "shared")],
        &[("buffers", "thread"), ("hand_over", "bank")],
        &[("hand_over", "queue")],
        &[
            ("hand_over", "queue"),
            ("queue", "2"),
            ("leaves", "complete"),
            ("ready", "all"),
        ],
        &[("sigma", "0")],
        &[("sigma", "1000")],
        &[("barrier", "all")],
        &[("release", "drain")],
        &[("units", "1")],
        &[("barriers", "1")],
        &[("path_slot", "40ns")],
    ],
    smallest: SMALLEST,
    build: |values, shape| {
        let params = params::checked(configure(values)?, shape)?;
        Ok(Box::new(Broi::new(params, shape, Schedules::BankParallel)))
    },
    cost: |values, shape| Ok(cost::storage(&configure(values)?, shape)),
    faults: FAULTS,
    log: None,
};

const PROMISE: Promise = Promise {
    buffered: None,
    persists_every_store: true,
    reorders: true,
    honours: Honours::ARM_BARRIERS,
};

/// One entry, one FENCE, one unit, one register, the smallest filters.
const SMALLEST: Values = &[
    ("entries", "1"),
    ("fences", "1"),
    ("units", "1"),
    ("barriers", "1"),
    ("filter_bytes", "8"),
    ("filter_hashes", "1"),
];

/// A fault of the controller's part: it shows where lines lie in several banks, as they do not in small random programs.
const fn at_the_controller(name: &'static str, breaks: &'static str, values: Values) -> PlantedFault {
    PlantedFault {
        scenario: Scenario::Program {
            program: "sps",
            machine: "broi",
            sets: &[],
        },
        ..PlantedFault::order(name, breaks, values)
    }
}

/// One fault for each rule that the order rests on.
const FAULTS: &[PlantedFault] = &[
    at_the_controller(
        "broi.barrier-index-off-by-one",
        "a barrier index register holds the position of its barrier",
        &[("fault", "barrier-index-off-by-one")],
    ),
    at_the_controller(
        "broi.set-ready-too-early",
        "the next set becomes ready when the last request before its barrier is complete",
        &[("fault", "set-ready-too-early")],
    ),
    at_the_controller(
        "broi.scheduler-ignores-sets",
        "the scheduler chooses among the requests of the first sets",
        &[("fault", "scheduler-ignores-sets")],
    ),
    PlantedFault::order(
        "broi.released-when-sent",
        "an entry is freed, and its dependants released, when it is durable",
        &[("fault", "released-when-sent")],
    ),
    PlantedFault::order(
        "broi.sibling-hit-unseen",
        "a sibling's hit in the shared L1 is a conflict",
        &[("fault", "sibling-hit-unseen")],
    ),
];
