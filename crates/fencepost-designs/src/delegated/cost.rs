//! Storage of delegated ordering: the paper's formula and a count of bits.

use super::params::DelegatedParams;
use crate::info::{CostItem, MachineShape};

/// Bits needed to name one of `n` things.
fn bits_for(n: u64) -> u64 {
    u64::from(n.max(1).next_power_of_two().trailing_zeros())
}

/// What it adds, per core; `merge` adds what merging epochs keep.
pub(super) fn storage(p: &DelegatedParams, shape: MachineShape, merge: bool) -> Vec<CostItem> {
    let (entries, fences, filter) = (u64::from(p.entries), u64::from(p.fences), u64::from(p.filter_bytes) * 8);
    let others = u64::from(shape.cores).saturating_sub(1);
    let id = bits_for(u64::from(shape.cores)) + bits_for(entries);
    // A dependence is an id and a valid bit; its core is its position, so only the slot is stored.
    let deps = others * (bits_for(entries) + 1);
    let line = u64::from(shape.address_bits) - 6;
    let entry = 1 + line + 512 + id + 1 + deps;
    let item = |what: &str, bits, paper_bits, note: String| CostItem {
        what: format!("{what}, per core"),
        bits,
        paper_bits,
        note,
    };
    let mut items = vec![
        item(
            "persist buffer entries",
            entries * entry,
            Some(entries * 72 * 8),
            format!(
                "{entries} x {entry} bits (type 1, line {line}, data 512, id {id}, Youngest 1, dependences {deps}); \
                 the paper counts 72 B each, its Figure 4 shows 56 bits and a block (71 B)"
            ),
        ),
        item(
            "read and write filters",
            2 * fences * filter,
            Some(2 * fences * filter),
            format!("2 x {fences} filters of {} B", p.filter_bytes),
        ),
        item(
            "AccumDP register",
            deps,
            Some(64 * 8),
            format!("{others} dependences; the paper counts 64 B"),
        ),
    ];
    if p.forward {
        items.push(item(
            "inherited dependences and their filters",
            2 * filter + deps,
            None,
            "one more pair of filters and one more register, not in the paper".into(),
        ));
    }
    if merge {
        let epoch = 16;
        items.push(item(
            "epoch pointer and lingering filters",
            2 * fences * filter + fences * epoch + 2 * epoch * (entries + 2),
            None,
            format!("filters of up to {fences} drained FENCEs with their {epoch}-bit epochs, two epochs per entry"),
        ));
    }
    items
}

/// Persist buffers and dependency tracking of any design that has them: per entry, and per buffer.
pub(crate) fn front_cost(p: &DelegatedParams, buffers: u8) -> Vec<CostItem> {
    let shape = MachineShape {
        cores: buffers,
        ..MachineShape::default()
    };
    let all = storage(p, shape, false);
    let (entries, per_buffer) = (u64::from(p.entries), |what: &str| format!("{what}, per persist buffer"));
    let of = |i: usize| (all[i].bits, all[i].paper_bits.unwrap_or(0));
    let ((filters, filters_paper), (accum, accum_paper)) = (of(1), of(2));
    let mut items = vec![
        CostItem {
            what: "persist buffer entry".into(),
            bits: of(0).0 / entries,
            paper_bits: Some(of(0).1 / entries),
            note: format!("{entries} entries in each of {buffers} persist buffers; the paper counts 72 B"),
        },
        CostItem {
            what: per_buffer("dependency tracking"),
            bits: filters + accum,
            paper_bits: Some(filters_paper + accum_paper),
            note: format!("{} and {}", all[1].note, all[2].note),
        },
    ];
    items.extend(all.into_iter().skip(3).map(|i| CostItem {
        what: per_buffer("inherited dependences and their filters"),
        ..i
    }));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPO-HW1..5: 72 B per entry, 32 B filters, 64 B AccumDP, 896 B per core.
    #[test]
    fn the_papers_formula_gives_the_papers_numbers() {
        let items = storage(&DelegatedParams::default(), MachineShape::default(), false);
        let paper: Vec<_> = items.iter().filter_map(|i| i.paper_bits).map(|b| b / 8).collect();
        assert_eq!(paper, [8 * 72, 8 * 32, 64]);
        assert_eq!(paper.iter().sum::<u64>(), 896);
    }

    /// First principles: 8 cores, 8 entries, 48-bit addresses. 1 + 42 + 512 + 6 + 1 + 7 x 4 = 590 bits an entry.
    #[test]
    fn first_principles_stand_beside_them() {
        let items = storage(&DelegatedParams::default(), MachineShape::default(), false);
        assert_eq!(items[0].bits, 8 * 590);
        assert_eq!(items[1].bits, 8 * 256);
        assert_eq!(items[2].bits, 28);
        // What is handed on: two filters of 32 bytes and a register.
        assert_eq!(items[3].bits, 2 * 256 + 28);
        let literal = DelegatedParams {
            forward: false,
            ..DelegatedParams::default()
        };
        assert_eq!(storage(&literal, MachineShape::default(), false).len(), 3);
    }

    #[test]
    fn merging_adds_to_the_same_storage() {
        let (params, shape) = (DelegatedParams::default(), MachineShape::default());
        let bits = |items: Vec<CostItem>| items.iter().map(|i| i.bits).sum::<u64>();
        let merging = super::super::merge_cost(&params, shape);
        assert!(bits(merging) >= bits(storage(&params, shape, false)));
    }

    #[test]
    fn the_storage_follows_the_parameters() {
        let half = DelegatedParams {
            entries: 4,
            fences: 2,
            ..DelegatedParams::default()
        };
        let paper: u64 = storage(&half, MachineShape::default(), false)
            .iter()
            .filter_map(|i| i.paper_bits)
            .sum();
        assert_eq!(paper / 8, 4 * 72 + 4 * 32 + 64);
    }
}
