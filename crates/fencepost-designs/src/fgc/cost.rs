//! Storage of per-task committing.

use super::params::PerTaskParams;
use crate::info::{CostItem, MachineShape, ParamValues, configure};
use fencepost_kernel::params::ParamError;

/// Bits of a line number, and of a length in lines.
fn range_bits(shape: &MachineShape) -> u64 {
    2 * (u64::from(shape.address_bits) - 6)
}

/// Registers, credits and flags; the queues' entries exist without it.
pub(super) fn cost(values: ParamValues<'_>, shape: MachineShape) -> Result<Vec<CostItem>, ParamError> {
    let p: PerTaskParams = configure(values)?;
    let (queues, registers) = (u64::from(p.queues), u64::from(p.registers));
    let credits = u64::from(p.credits);
    let credit_bits = u64::from(64 - credits.leading_zeros());
    let per_controller = queues * registers * range_bits(&shape);
    Ok(vec![
        CostItem {
            what: "address-range registers, both controllers".into(),
            bits: 2 * per_controller,
            paper_bits: None,
            note: format!(
                "2 x {queues} queues x {registers} registers x {} bits",
                range_bits(&shape)
            ),
        },
        CostItem {
            what: "persistence credits, both controllers".into(),
            bits: 2 * (queues + 1) * credit_bits,
            paper_bits: None,
            note: format!("2 x {} queues x {credit_bits} bits for {credits} credits", queues + 1),
        },
        CostItem {
            what: "committing flags".into(),
            bits: queues + 1,
            paper_bits: None,
            note: "one bit a queue; the paper counts no storage".into(),
        },
    ])
}

/// Two controllers with three queues of five registers each: a line number and a length of 42 bits, and credits up to 7 for each queue and the
/// default one.
#[test]
fn every_queue_of_both_controllers_has_its_registers_and_credits() {
    use fencepost_kernel::params::Raw;
    let set = |(key, value): (&str, i64)| (key.to_owned(), Raw::Int(value));
    let values = [("queues", 3), ("registers", 5), ("credits", 7)].map(set);
    let items = cost(&values, MachineShape::default()).expect("these can be built");
    let bits: Vec<u64> = items.iter().map(|i| i.bits).collect();
    assert_eq!(bits, [2 * 3 * 5 * 84, 2 * 4 * 3, 4]);
}
