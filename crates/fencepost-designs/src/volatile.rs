//! `volatile`: no persistence at all, the baseline of every slowdown.
//!
//! # Idea
//! Programs run their data structure and their locks and nothing else: no log, no flush, no persist barrier. Lines
//! reach memory when caches evict them.
//!
//! # Paper
//! The baseline that the delegated-ordering paper (MICRO 2016, section II-B) calls Volatile; the others have the same.
//!
//! # Where order is kept
//! Nowhere. On relaxed cores lock and unlock keep their full barrier (`dmb`), as synchronisation needs it with or
//! without persistence; on total-store-order cores the atomic operation is barrier enough.
//!
//! # Durable at
//! Whenever an evicted line happens to reach the memory's point of durability.
//!
//! # Contract
//! `none`: any subset of lines may have survived. A crash check of a program on this design must find a violation.
//!
//! # Hardware cost
//! None: zero bits.
//!
//! # Deviations
//! None known.

use crate::info::{CostItem, DesignInfo, Environment, Honours, MachineShape, Paper, ParamValues, Promise, no_params};
use fencepost_contract::ContractKind;
use fencepost_kernel::params::ParamError;
use fencepost_kernel::{Dialect, Fence, Flush};
use fencepost_machine::seam::Design;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "volatile",
    summary: "no persistence: structure and locks only, the baseline",
    source: include_str!("volatile.rs"),
    paper: Paper {
        short: "-",
        title: "",
        venue: "",
        bibtex: "",
    },
    dialect,
    contract: |_| ContractKind::None,
    idiom_of: &[],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: Honours {
            flushes: &[Flush::Clwb, Flush::ClflushOpt, Flush::Clflush, Flush::CvAp],
            fences: &[Fence::Sfence, Fence::Mfence, Fence::Dmb, Fence::DmbSt, Fence::Dsb],
            nt_stores: true,
            transactions: false,
        },
    },
    sound: |_| true,
    params: Vec::new,
    variants: &[],
    smallest: &[],
    build,
    cost,
    faults: &[],
    log: None,
};

/// The mechanism: no hook at all.
#[derive(Copy, Clone, Debug, Default)]
pub struct Volatile;
impl Design for Volatile {}

/// Fences around locks: relaxed cores need a full barrier, total store order does not.
pub(crate) const fn lock_fences(environment: Environment) -> &'static [Fence] {
    if environment.tso { &[] } else { &[Fence::Dmb] }
}

fn dialect(environment: Environment) -> Dialect {
    Dialect {
        name: "volatile",
        lock_acquire: lock_fences(environment),
        unlock_release: lock_fences(environment),
        ..Dialect::PLAIN
    }
}
fn build(values: ParamValues<'_>, _: MachineShape) -> Result<Box<dyn Design>, ParamError> {
    no_params(values)?;
    Ok(Box::new(Volatile))
}
fn cost(values: ParamValues<'_>, _: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    no_params(values)?;
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_machine::seam::Hooks;

    #[test]
    fn wants_no_hook_and_costs_nothing() {
        assert_eq!(Volatile.hooks(), Hooks::default());
        assert_eq!(cost(&[], MachineShape::default()), Ok(Vec::new()));
    }
}
