//! `per-task-commit`: write sub-queues for address ranges, each committed alone, with persistence credits.
//!
//! # Idea
//! The write queue of the memory controller is divided into sub-queues. Programs bind their memory to one (`PersistenceMalloc`),
//! and wait for the writes of that one only (`PersistenceCommit`): other threads' commits do not interfere. Whether the writes of
//! a queue are in the medium, the controller tells from its *persistence credits*: a write takes one when it is issued to the
//! memory module, and its completion gives it back.
//!
//! # Paper
//! Per-task (fine-grained) memory committing, section III. Queues of 8 entries, 4 address-range registers each and 64 entries of
//! the NVM controller are the paper's; how many queues there are is ours, so that 8 queues of 8 entries fit the 64, and so is their
//! maximum credit, by default as many as a queue has entries.
//!
//! # Where order is kept
//! In the core (`clflush; mfence`) and at two controllers. A write is routed by the address-range registers; lines in no range take
//! the default queue. It leaves for the module when its queue has a credit, and waits at 0. Completions travel back only with reads: with
//! the data of any read, or with a read that the controller sends for them, when a credit is at `ask_at` or below and while a queue
//! is being committed. A commit locks its queue and sets the committing flag: new writes are refused, buffered ones are sent. The
//! program polls; a poll is answered by the controller and asks the module nothing. When the credits are full and the queue is empty, the
//! flag is cleared.
//!
//! **When something runs out.** *Registers*: a range that finds none, or that shares a line with another range, is not bound; the
//! answer is the default queue, which can be committed as any other. *Queues*: several ranges share one; a commit then waits for
//! the others' writes too. *Credits*: writes wait in their sub-queue; a full sub-queue refuses writes, which wait in the write-back
//! path of the caches. **Two threads that commit one queue** do so one after the other. **A release** counts the bindings of its range;
//! the last waits until the queue holds no write, as a commit does, before the registers are cleared. **A binding** waits until no write to its
//! lines can be left in the default queue. **A range that straddles lines** covers every line it touches. **Which queue takes a range**: of those with a free register the
//! one that other threads use least, by what they write to it, then by what they bound to it.
//!
//! # Durable at
//! The device.
//!
//! # Contract
//! `commit`: a commit makes durable what the controller had accepted into its queue.
//!
//! # Hardware cost
//! Committing flags, credits and address-range registers at both controllers.
//!
//! # Deviations
//! Polls take time and count no instructions. The read that asks for credits takes the bus for a burst and needs no bank.

use super::mechanism::PerTask;
use super::params::PerTaskParams;
use super::{FGC, HONOURS, cost};
use crate::info::{
    Conviction, DesignInfo, Environment, MachineShape, PlantedFault, Promise, Scenario, Values, configure,
};
use crate::volatile::lock_fences;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params as _};
use fencepost_kernel::{Bytes, Dialect, Fence, Flush, Logging};
use fencepost_machine::seam::Design;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "per-task-commit",
    summary: "write sub-queues for address ranges, each committed alone by persistence credits",
    source: include_str!("per_task_commit.rs"),
    paper: FGC,
    dialect: |s| dialect("per-task-commit", s),
    contract: |_| ContractKind::Commit,
    idiom_of: &[ContractKind::Commit],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: HONOURS,
    },
    sound: |_| true,
    params: PerTaskParams::fields,
    variants: VARIANTS,
    smallest: &[
        ("queues", "1"),
        ("entries", "1"),
        ("registers", "1"),
        ("module_entries", "2"),
        ("credits", "1"),
    ],
    build: |values, shape| build(configure(values)?, Bytes(0), shape),
    cost,
    faults: FAULTS,
    log: None,
};

/// Few queues and registers, so that ranges share and find none; few credits; asking early.
pub(super) const VARIANTS: &[Values] = &[
    &[
        ("queues", "2"),
        ("registers", "1"),
        ("entries", "2"),
        ("module_entries", "3"),
        ("credits", "1"),
    ],
    &[
        ("queues", "3"),
        ("registers", "2"),
        ("module_entries", "8"),
        ("credits", "2"),
        ("ask_at", "1"),
        ("interval", "150ns"),
    ],
    // More credits than the module has entries.
    &[("path", "70ns"), ("module_entries", "16"), ("credits", "12")],
];

const fn small(name: &'static str, breaks: &'static str, values: Values) -> PlantedFault {
    PlantedFault::order(name, breaks, values)
}
/// Small queues show every fault soon.
pub(super) const FAULTS: &[PlantedFault] = &[
    PlantedFault {
        conviction: Conviction::Stuck,
        ..small(
            "commit.credit-lost",
            "every finished write gives its credit back",
            &[("fault", "credit-lost")],
        )
    },
    small(
        "commit.credit-twice",
        "every finished write gives one credit back",
        &[("fault", "credit-twice"), ("queues", "2")],
    ),
    small(
        "commit.credit-at-issue",
        "a credit comes back when its write is in the medium",
        &[("fault", "credit-at-issue")],
    ),
    small(
        "commit.issues-at-zero",
        "no write is issued at credit 0",
        &[
            ("fault", "issues-at-zero"),
            ("queues", "2"),
            ("module_entries", "3"),
            ("credits", "1"),
        ],
    ),
    small(
        "commit.poll-early",
        "a poll is answered when the credits are full",
        &[("fault", "poll-early")],
    ),
    PlantedFault {
        // A slow link keeps writes in the controller's queue.
        scenario: Scenario::Program {
            program: "commitstore",
            machine: "fgc",
            sets: &["pm.module.slot=200ns"],
        },
        ..small(
            "commit.ignores-queue",
            "a poll is answered when the queue is empty",
            &[("fault", "ignores-queue")],
        )
    },
    small(
        "commit.closed-queue-takes",
        "a queue that is being committed takes no write",
        &[("fault", "closed-queue-takes"), ("queues", "1")],
    ),
    small(
        "commit.flag-cleared-early",
        "the committing flag stays set until the credits are full",
        &[("fault", "flag-cleared-early"), ("queues", "1")],
    ),
    small(
        "commit.default-queue-closed",
        "writes in no range are not blocked by a commit",
        &[("fault", "default-queue-closed")],
    ),
    PlantedFault {
        // Below the controllers a volatile cache keeps what no register matches.
        scenario: Scenario::Program {
            program: "sps",
            machine: "fgc",
            sets: &["pm.module.dram_cache=64MiB"],
        },
        ..small(
            "commit.first-line-missed",
            "a register matches the first line of its range",
            &[("fault", "first-line-missed")],
        )
    },
    small(
        "ranges.last-line-missed",
        "a register holds every line of its range",
        &[],
    ),
    PlantedFault {
        conviction: Conviction::Stuck,
        ..small(
            "ranges.module-not-told",
            "the module has the same ranges as the controller",
            &[],
        )
    },
];

pub(super) fn build(
    params: PerTaskParams,
    dram_cache: Bytes,
    shape: MachineShape,
) -> Result<Box<dyn Design>, ParamError> {
    Ok(Box::new(PerTask::new(params, dram_cache, shape)))
}

pub(super) fn dialect(name: &'static str, environment: Environment) -> Dialect {
    // What is persisted is committed after the fence, range by range.
    let barrier: &[Fence] = &[Fence::Mfence];
    Dialect {
        name,
        logging: Logging::Software,
        flush: Some(Flush::Clflush),
        order: barrier,
        log_to_data: barrier,
        durable: barrier,
        lock_acquire: lock_fences(environment),
        unlock_release: lock_fences(environment),
        order_is_durable: true,
        ranges: true,
        ..Dialect::PLAIN
    }
}
