//! `so`: synchronous ordering, the persistency that `clwb`, `sfence` and `pcommit` imply.
//!
//! # Idea
//! Software orders persists by waiting for them: it writes lines back (`clwb`), waits until the controller has
//! accepted them (`sfence`), asks the controller to make accepted writes durable (`pcommit`) and waits for that
//! (`sfence`). Every ordering point puts the latency of persistent memory on the critical path.
//!
//! # Paper
//! Kolli et al., Delegated Persist Ordering, MICRO 2016, section II: the baseline that delegated ordering is measured
//! against. Parameters of this design whose values the paper does not state are ours: the `pcommit` policy, the path to
//! the controller and the hold time of the exclusive policy.
//!
//! # Where order is kept
//! In the core: `sfence` waits for the hardware thread's own flushes and for its own `pcommit`. The controller's
//! queue is volatile and may reorder, so without `pcommit` nothing is ordered at the device. `clwb` looks for a dirty
//! copy in every cache, leaves the line clean and gives up write permission: a later store pays a coherence
//! transaction again. `pcommit` waits for the accepted writes of *every* thread. What exactly it waits for is a
//! declared choice: `snapshot` (what was accepted when it arrives), `drain-empty` (until the queue is empty) or
//! `exclusive` (one hardware thread's flushes and `pcommit` at a time).
//!
//! # Durable at
//! The device; on a memory that is durable on acceptance (persistent write queue) the idiom is `clwb; sfence` and no
//! `pcommit` is issued.
//!
//! # Contract
//! `px86-pcommit` on a device-durable memory, `px86` on one that is durable on acceptance.
//!
//! # Hardware cost
//! Two counters per hardware thread (flushes and commits outstanding). The paper counts none.
//!
//! # Deviations
//! Every fence (also `dmb`) waits for the hardware thread's own flushes, which is stronger than Arm asks for.
//! `clflush` is synchronous. Under `exclusive`, flushes are held back until the next fence of the hardware thread, so
//! that a hardware thread never holds the right to commit while it waits for a lock; that right lapses if no
//! `pcommit` follows within `exclusive_hold`.

mod exclusive;
mod mechanism;
mod params;
#[cfg(test)]
mod tests;

pub use mechanism::So;
pub use params::{PcommitPolicy, SoFault, SoParams};

use crate::info::{
    CostItem, DesignInfo, Environment, Honours, MachineShape, Paper, ParamValues, PlantedFault, Promise, configure,
};
use crate::volatile::lock_fences;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params};
use fencepost_kernel::{Dialect, Fence, Flush, Logging};

/// The delegated-ordering paper, which also describes synchronous ordering.
pub const DPO: Paper = Paper {
    short: "dpo",
    title: "Delegated Persist Ordering",
    venue: "MICRO 2016",
    bibtex: "@inproceedings{kolli2016delegated,\n  title = {Delegated Persist Ordering},\n  author = {Kolli, Aasheesh and \
             Rosen, Jeff and Diestelhorst, Stephan and Saidi, Ali and Pelley, Steven and Liu, Sihang and Chen, Peter \
             M. and Wenisch, Thomas F.},\n  booktitle = {MICRO},\n  year = {2016}\n}",
};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "so",
    summary: "synchronous ordering: clwb, sfence, pcommit, sfence",
    source: include_str!("mod.rs"),
    paper: DPO,
    dialect,
    contract: |s| {
        if s.durable_on_accept {
            ContractKind::Px86
        } else {
            ContractKind::Px86Pcommit
        }
    },
    idiom_of: &[ContractKind::Px86Pcommit],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: HONOURS,
    },
    sound: |_| true,
    params: SoParams::fields,
    variants: &[&[("pcommit", "drain-empty")], &[("pcommit", "exclusive")]],
    smallest: &[],
    build: |values, shape| Ok(Box::new(So::new(configure(values)?, shape))),
    cost,
    faults: FAULTS,
    log: None,
};

/// What software may issue: x86's instructions and `pcommit`, and Arm's clean with its barrier.
pub(crate) const HONOURS: Honours = Honours {
    flushes: &[Flush::Clwb, Flush::ClflushOpt, Flush::Clflush, Flush::CvAp],
    fences: &[
        Fence::Sfence,
        Fence::Mfence,
        Fence::Pcommit,
        Fence::Dmb,
        Fence::DmbSt,
        Fence::Dsb,
    ],
    nt_stores: true,
    transactions: false,
};
/// A fence that does not wait for flushes.
pub(crate) const SFENCE_IGNORES_FLUSHES: PlantedFault = PlantedFault::order(
    "so.sfence-ignores-flushes",
    "sfence waits for the thread's own flushes",
    &[("fault", "sfence-ignores-flushes")],
);
/// The faults of the mechanism.
pub(crate) const FAULTS: &[PlantedFault] = &[
    PlantedFault::order(
        "so.pcommit-ignores-others",
        "pcommit waits for the accepted writes of every core",
        &[("fault", "pcommit-ignores-others")],
    ),
    SFENCE_IGNORES_FLUSHES,
];

fn dialect(environment: Environment) -> Dialect {
    let barrier: &[Fence] = match environment.durable_on_accept {
        true => &[Fence::Sfence],
        false => &[Fence::Sfence, Fence::Pcommit, Fence::Sfence],
    };
    Dialect {
        name: "so",
        logging: Logging::Software,
        flush: Some(Flush::Clwb),
        order: barrier,
        log_to_data: barrier,
        durable: barrier,
        lock_acquire: lock_fences(environment),
        unlock_release: lock_fences(environment),
        order_is_durable: true,
        ..Dialect::PLAIN
    }
}

/// Width of an outstanding-flush counter: enough for a reorder buffer of 512 flushes.
const COUNTER_BITS: u64 = 9;

pub(crate) fn cost(values: ParamValues<'_>, shape: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let _: SoParams = configure(values)?;
    let per_core = u64::from(shape.hw_threads.div_ceil(shape.cores.max(1)));
    Ok(vec![CostItem {
        what: "outstanding flush and commit counters, per core".into(),
        bits: per_core * 2 * COUNTER_BITS,
        paper_bits: None,
        note: format!(
            "2 counters of {COUNTER_BITS} bits for each of {per_core} hardware threads; the paper counts no storage"
        ),
    }])
}
