//! The storage that the designs add, whatever the store (section IV-B, Figure 5).

use super::config::Config;
use crate::info::{CostItem, MachineShape};

fn bits_for(n: u64) -> u64 {
    u64::from(u64::BITS - n.saturating_sub(1).leading_zeros()).max(1)
}

/// One line of the table.
pub fn item(what: &str, bits: u64, paper_bits: Option<u64>, note: String) -> CostItem {
    CostItem {
        what: what.into(),
        bits,
        paper_bits,
        note,
    }
}

/// Tag bits of a block in a private cache, and in the last level: hardware thread within its core and transaction; below also
/// the core and the transactional dirty flag.
pub fn tag_bits(cfg: &Config, shape: MachineShape) -> (u64, u64) {
    let threads = u64::from(shape.hw_threads.div_ceil(shape.cores.max(1)));
    // The paper's 9 bits are 7 of the transaction and 2 of the thread.
    let private = bits_for(u64::from(cfg.tx.tx_entries)) + bits_for(threads).max(2);
    (private, private + bits_for(u64::from(shape.cores)).max(2) + 1)
}

/// Bits of a Tx State Table entry: CID, TID, TxID, TxCnt, State, Phase, Wrts.
pub fn entry_bits(cfg: &Config, shape: MachineShape) -> u64 {
    let (private, last) = tag_bits(cfg, shape);
    let ids = last - 1;
    debug_assert!(ids > private);
    let counts = 2 * 16;
    ids + counts + 2 + 2
}

/// Tags and table.
pub fn storage(cfg: &Config, shape: MachineShape) -> Vec<CostItem> {
    let (private, last) = tag_bits(cfg, shape);
    let lines = u64::from(shape.l1_lines) * u64::from(shape.cores) + u64::from(shape.l2_lines);
    let llc = u64::from(shape.llc_lines);
    let (entries, entry) = (u64::from(cfg.tx.tx_entries), entry_bits(cfg, shape));
    vec![
        item(
            "transaction tags of the private caches",
            private * lines,
            Some(9 * lines),
            format!("{private} bits for each of {lines} lines; the paper: 9 (TID and TxID)"),
        ),
        item(
            "transaction tags of the last level",
            last * llc,
            Some(12 * llc),
            format!("{last} bits for each of {llc} lines; the paper: 12 (also CID and TxDirty)"),
        ),
        item(
            "Tx State Table",
            entry * entries,
            Some(48 * entries),
            format!("{entry} bits for each of {entries} entries; the paper: 48"),
        ),
    ]
}
