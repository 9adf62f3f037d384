//! The storage that the designs add (section IV-B, Figure 5).

use super::config::{Config, PAIR_BYTES};
use super::format::{DATA_BLOCKS, GROUP_LINES};
use crate::info::{CostItem, MachineShape};

fn bits_for(n: u64) -> u64 {
    u64::from(u64::BITS - n.saturating_sub(1).leading_zeros()).max(1)
}

/// Share of the log that is metadata.
pub fn metadata_share() -> f64 {
    1.0 - DATA_BLOCKS as f64 / GROUP_LINES as f64
}

/// Tag bits of a block in a private cache, and in the last level: hart within its core and transaction; below also the
/// core and the transactional dirty flag.
pub fn tag_bits(cfg: &Config, shape: MachineShape) -> (u64, u64) {
    let threads = u64::from(shape.harts.div_ceil(shape.cores.max(1)));
    // The paper's 9 bits are 7 of the transaction and 2 of the thread.
    let private = bits_for(u64::from(cfg.entries)) + bits_for(threads).max(2);
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

/// Everything a design adds. `log_bytes` is memory, not on the chip.
pub fn storage(cfg: &Config, shape: MachineShape, log_bytes: u64) -> Vec<CostItem> {
    let (private, last) = tag_bits(cfg, shape);
    let lines = u64::from(shape.l1_lines) * u64::from(shape.cores) + u64::from(shape.l2_lines);
    let entries = u64::from(cfg.entries);
    let item = |what: String, bits: u64, paper_bits: Option<u64>, note: String| CostItem {
        what,
        bits,
        paper_bits,
        note,
    };
    let mut items = vec![
        item(
            "transaction tags of the private caches".into(),
            private * lines,
            Some(9 * lines),
            format!("{private} bits for each of {lines} lines; the paper: 9 (TID and TxID)"),
        ),
        item(
            "transaction tags of the last level".into(),
            last * u64::from(shape.llc_lines),
            Some(12 * u64::from(shape.llc_lines)),
            format!(
                "{last} bits for each of {} lines; the paper: 12 (also CID and TxDirty)",
                shape.llc_lines
            ),
        ),
        item(
            "Tx State Table".into(),
            entry_bits(cfg, shape) * entries,
            Some(48 * entries),
            format!(
                "{} bits for each of {entries} entries; the paper: 48",
                entry_bits(cfg, shape)
            ),
        ),
    ];
    if cfg.degree > 1 && !cfg.non_volatile {
        let bits = u64::from(cfg.pairs) * PAIR_BYTES * 8;
        let note = format!("{} dependency pairs of {PAIR_BYTES} bytes", cfg.pairs);
        items.push(item(
            "volatile buffer for dependency pairs".into(),
            bits,
            Some(bits),
            note,
        ));
    }
    if !cfg.non_volatile {
        let note = format!(
            "in persistent memory, not on the chip; {:.1} % of it is metadata, one block of {GROUP_LINES}",
            metadata_share() * 100.0
        );
        items.push(item(
            "memory log area".into(),
            log_bytes * 8,
            Some((32 << 20) * 8),
            note,
        ));
    }
    items
}
