//! `x86-adr`: x86 with two paths to persistence and a durable controller, as software uses it today.
//!
//! # Idea
//! Data takes the temporal path (store, `clwb`), logs take the non-temporal one, through a write-combining buffer past the
//! caches. Either is durable once the memory controller has accepted it (asynchronous DRAM refresh); `sfence` waits
//! for both. Undo logging needs one `sfence` between each log entry and its data.
//!
//! # Paper
//! The baseline of Themis (sections II-B, II-C and V-A): 16-entry write-combining buffer, 20 ns to the controller.
//!
//! # Where order is kept
//! In the core: `sfence`, `mfence` and locked instructions wait until the hardware thread's own flushes are accepted
//! and its core's write-combining buffer has acknowledged everything that the hardware thread put there. The buffer
//! sends entries in the order of their allocation; a store is combined into an entry of its line that has not been
//! sent, which is how later non-temporal stores overtake earlier ones. Temporal stores overtake non-temporal ones
//! whenever a line is written back while an entry is still on its way.
//!
//! # Durable at
//! Acceptance by the controller. On a memory that is durable only at the device the dialect's fences order nothing.
//!
//! # Contract
//! `px86`: flush and fence, with the controller in the persistence domain.
//!
//! # Hardware cost
//! None: everything exists in the processor.
//!
//! # Deviations
//! A line is either cached or in one write-combining buffer: a non-temporal store sends cached copies home first, and an
//! access to a line with unsent bytes waits until they are sent. The controller accepts an entry at the end of `ack_latency`,
//! and the acknowledgement is back `ack_return` later. An entry stays `drain_gap` before it is sent (the time one line takes on the path), so
//! that the stores of one log record are combined; the paper does not say how eagerly the buffer drains. One buffer
//! serves all threads of a core. What `clwb` leaves behind is a parameter, and whether its line can be accessed meanwhile another. On relaxed cores, where program order does not
//! make stores perform in order, the dialect puts a store barrier where x86 needs nothing.

mod design;
mod explain;
mod held;
pub mod ideal;
mod params;
pub mod paths;
mod sound;
pub mod stat;
#[cfg(test)]
mod tests;
mod waiters;
pub mod wcb;

pub use design::{Policy, TwoPaths, Unordered, X86};
pub use params::{ClwbKeeps, X86Fault, X86Params};
pub use paths::Paths;
pub use wcb::Wcb;

use crate::info::{
    CostItem, DesignInfo, Environment, Honours, MachineShape, Paper, ParamValues, PlantedFault, Promise, Values,
    configure,
};
use crate::volatile::lock_fences;
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params};
use fencepost_kernel::{Dialect, Fence, Flush, LogPath, Logging};

/// The Themis paper, which also describes the baseline.
pub const THEMIS: Paper = Paper {
    short: "themis",
    title: "Themis: fence-less non-temporal to temporal ordering on x86",
    venue: "-",
    bibtex: "",
};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "x86-adr",
    summary: "x86 today: logs past the caches, clwb for data, sfence between them",
    source: include_str!("mod.rs"),
    paper: THEMIS,
    dialect: |s| dialect("x86-adr", s, &[Fence::Sfence]),
    contract: |_| ContractKind::Px86,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: Honours::X86,
    },
    sound: |s| s.durable_on_accept,
    params: X86Params::fields,
    variants: VARIANTS,
    smallest: SMALLEST,
    build: |values, shape| Ok(Box::new(X86::new(configured(values)?, shape))),
    cost,
    faults: FAULTS,
    log: None,
};

/// What the paper leaves open, and a slow buffer.
pub(crate) const VARIANTS: &[Values] = &[
    &[("clwb_keeps", "shared")],
    &[("flush_holds", "true")],
    &[("drain_delay", "700ns")],
    &[("ack_latency", "1ns"), ("ack_return", "0ns"), ("drain_gap", "0ns")],
    &[("ack_latency", "90ns"), ("drain_gap", "30ns"), ("wcb_entries", "2")],
];
/// One entry.
pub(crate) const SMALLEST: Values = &[("wcb_entries", "1")];
/// The faults of the mechanism; a small slow buffer shows them soon.
pub(crate) const FAULTS: &[PlantedFault] = &[
    PlantedFault::order(
        "x86.sfence-ignores-flushes",
        "sfence waits for the thread's own flushes",
        &[
            ("fault", "sfence-ignores-flushes"),
            ("wcb_entries", "2"),
            ("drain_delay", "60ns"),
        ],
    ),
    PlantedFault::order(
        "x86.sfence-ignores-wcb",
        "sfence waits for the thread's own non-temporal stores",
        &[
            ("fault", "sfence-ignores-wcb"),
            ("wcb_entries", "2"),
            ("drain_delay", "60ns"),
        ],
    ),
];

fn configured(values: ParamValues<'_>) -> Result<X86Params, ParamError> {
    let params: X86Params = configure(values)?;
    params.check()?;
    Ok(params)
}

/// The dialect of the family; `log_to_data` is what total store order needs between a log entry and its data.
pub(crate) fn dialect(name: &'static str, environment: Environment, log_to_data: &'static [Fence]) -> Dialect {
    let program_order: &[Fence] = if environment.tso { &[] } else { &[Fence::DmbSt] };
    Dialect {
        name,
        logging: Logging::Software,
        flush: Some(Flush::Clwb),
        order: &[Fence::Sfence],
        log_path: LogPath::NonTemporal,
        log_to_data: if log_to_data.is_empty() {
            program_order
        } else {
            log_to_data
        },
        durable: &[Fence::Sfence],
        lock_acquire: lock_fences(environment),
        unlock_release: lock_fences(environment),
        order_is_durable: true,
        ..Dialect::PLAIN
    }
}

fn cost(values: ParamValues<'_>, _: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    configured(values).map(|_| Vec::new())
}
