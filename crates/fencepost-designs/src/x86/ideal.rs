//! `x86-ideal`: the hardware of `x86-adr` without the fences between log entries and data. Not crash consistent.
//!
//! # Idea
//! An upper bound on what fence-less ordering can gain: software leaves out every `sfence` between a non-temporal log entry
//! and the temporal store that it protects, and hopes that the short path is the faster one. A list has two of them: before a record is
//! linked, and behind the link.
//!
//! # Paper
//! Themis, sections II-D and V-A, design (iii).
//!
//! # Where order is kept
//! Between log and data: nowhere. Everything else as in `x86-adr`.
//!
//! # Durable at
//! Acceptance by the controller.
//!
//! # Contract
//! `px86`. The hardware keeps it; the dialect asks for less than undo logging needs, so programs that log are broken by
//! crash states that the contract allows. A slowed write-combining buffer (`drain_delay`) shows the same in a run.
//!
//! # Hardware cost
//! None: everything exists in the processor.
//!
//! # Deviations
//! As `x86-adr`.

use super::{THEMIS, X86, X86Params, configured, cost, dialect};
use crate::info::{DesignInfo, Honours, Promise};
use fencepost_contract::ContractKind;
use fencepost_kernel::Dialect;
use fencepost_kernel::params::Params as _;

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "x86-ideal",
    summary: "x86 without the fences between log and data: an upper bound, not crash consistent",
    source: include_str!("ideal.rs"),
    paper: THEMIS,
    dialect: |s| {
        let d = dialect("x86-ideal", s, &[]);
        // In a list the fence between a record and the link to it is within the pair, too (II-D).
        Dialect {
            log_link: Some(d.log_to_data),
            ..d
        }
    },
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
    variants: super::VARIANTS,
    smallest: super::SMALLEST,
    build: |values, shape| Ok(Box::new(X86::new(configured(values)?, shape))),
    cost,
    faults: super::FAULTS,
    log: None,
};
