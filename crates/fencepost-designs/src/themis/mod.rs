//! `themis`: a non-temporal store persists before later temporal stores of its core, without a fence.
//!
//! # Idea
//! The path past the caches is short and the way through them is long, so a log entry nearly always reaches the controller
//! before the data it protects is written back. Themis makes that a guarantee: a dirty line remembers how far the
//! write-combining buffer had been filled when it was last stored to, and does not leave the L1 before those entries
//! are acknowledged. Undo logging loses the `sfence` between each log entry and its data.
//!
//! # Paper
//! Themis, sections III and IV.
//!
//! # Where order is kept
//! In the L1 and its write-back buffer. The write-combining buffer is a ring with 6-bit pointers (4 bits of index, 2 of
//! wrap): tail (next free), head (next to send), headACK (oldest not acknowledged), and an ACK bit per entry. A store to
//! persistent memory tags its line with the tail. A dirty persistent line that is replaced, flushed or asked for by another
//! core waits until headACK has reached its tag; other cores are answered then. A line stored to again while its older
//! version waits takes its tag along. When the pointers have counted four full uses, the buffer is drained,
//! all acknowledgements are awaited, pointers and tags are cleared, and meanwhile stores to persistent memory wait.
//! Volatile lines never wait. Coherence and consistency are as before.
//!
//! # Durable at
//! Acceptance by the controller.
//!
//! # Contract
//! `themis`: px86, and a non-temporal store persists before every later temporal store of the same thread. Across threads
//! the first thread still needs a fence.
//!
//! # Hardware cost
//! One tail pointer per L1 line (6 bits of 512: 1.2 %), one drainable-after pointer per write-back buffer entry, a copy of
//! headACK, and the wrap bits of three pointers.
//!
//! # Deviations
//! As `x86-adr`. Threads of one core share its write-combining buffer, so a tag also waits for a sibling's entries. The
//! machine's write-back buffer is its `l1.writeback_buffer`. Tags that the hardware clears are told apart by a number of
//! the reset that is part of the model's tag, not of the hardware.

pub mod llc;
mod mechanism;
mod params;
mod parked;
#[cfg(test)]
mod tests;

pub use mechanism::Themis;
pub(crate) use params::configured;
pub use params::{ThemisFault, ThemisParams};

use crate::info::{CostItem, DesignInfo, Honours, MachineShape, ParamValues, PlantedFault, Promise, Values};
use crate::x86::{THEMIS, dialect};
use fencepost_contract::ContractKind;
use fencepost_kernel::params::{ParamError, Params};

/// The registry entry.
pub const INFO: DesignInfo = DesignInfo {
    name: "themis",
    summary: "non-temporal before temporal without a fence, enforced at the L1",
    source: include_str!("mod.rs"),
    paper: THEMIS,
    dialect: |s| dialect("themis", s, &[]),
    contract: |_| ContractKind::Themis,
    idiom_of: &[ContractKind::Themis],
    promise: Promise {
        buffered: None,
        persists_every_store: false,
        reorders: true,
        honours: Honours::X86,
    },
    sound: |s| s.durable_on_accept,
    params: ThemisParams::fields,
    variants: VARIANTS,
    smallest: SMALLEST,
    build: |values, shape| Ok(Box::new(Themis::new(configured(values)?, shape))),
    cost,
    faults: FAULTS,
    log: None,
};

/// What the paper leaves open, a slow buffer, and pointers that run out soon.
pub(crate) const VARIANTS: &[Values] = &[
    &[("clwb_keeps", "shared")],
    &[("flush_holds", "true")],
    &[("drain_delay", "700ns")],
    &[("pointer_bits", "4")],
    &[("ack_latency", "90ns"), ("drain_gap", "30ns"), ("wcb_entries", "2")],
];
/// One entry, and the narrowest pointers.
pub(crate) const SMALLEST: Values = &[("wcb_entries", "1"), ("pointer_bits", "1")];
/// The faults of the mechanism; a small slow buffer and narrow pointers show them soon.
pub(crate) const FAULTS: &[PlantedFault] = &[
    PlantedFault::order(
        "themis.restore-keeps-tag",
        "a store to a line that has a tag renews it",
        &[
            ("fault", "restore-keeps-tag"),
            ("wcb_entries", "2"),
            ("drain_delay", "60ns"),
            ("pointer_bits", "2"),
        ],
    ),
    PlantedFault::order(
        "themis.overflow-forgets-wbb",
        "when the pointers run out, waiting write-backs still wait for the drain",
        &[
            ("fault", "overflow-forgets-wbb"),
            ("wcb_entries", "2"),
            ("drain_delay", "60ns"),
            ("pointer_bits", "2"),
        ],
    ),
    PlantedFault::order(
        "themis.transfer-skips-wbb",
        "a line that another core asks for waits for older non-temporal stores",
        &[
            ("fault", "transfer-skips-wbb"),
            ("wcb_entries", "2"),
            ("drain_delay", "60ns"),
            ("pointer_bits", "2"),
        ],
    ),
];

/// Entries of the write-back buffer that the storage cost assumes (paper: 16).
const WBB_ENTRIES: u64 = 16;

/// What the pointers cost beside the tags: the same wherever order is enforced.
fn pointer_cost(params: &ThemisParams) -> CostItem {
    let (bits, wrap) = (
        u64::from(params.pointer_bits),
        u64::from(params.pointer_bits - params.index_bits()),
    );
    CostItem {
        what: "drainable-after pointers, headACK copy and wrap bits, per core".into(),
        bits: WBB_ENTRIES * bits + bits + 3 * wrap,
        paper_bits: None,
        note: format!(
            "{WBB_ENTRIES} write-back buffer entries and one copy of headACK of {bits} bits; {wrap} wrap bits on each of 3 \
             pointers; the pointers' index bits and the ACK bits exist"
        ),
    }
}

fn cost(values: ParamValues<'_>, shape: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let params = configured(values)?;
    let (lines, bits) = (u64::from(shape.l1_lines), u64::from(params.pointer_bits));
    Ok(vec![
        CostItem {
            what: "tail pointers, per L1 data cache".into(),
            bits: lines * bits,
            paper_bits: Some(lines * bits),
            note: format!("{lines} lines of {bits} bits: {:.2} % of the data", bits as f64 / 5.12),
        },
        pointer_cost(&params),
    ])
}
