//! Storage of persist buffers with BROI entries: Table II of the paper beside a count of bits.

use super::params::BroiParams;
use crate::delegated::front_cost;
use crate::info::{CostItem, MachineShape};

/// Bits of a barrier index register: it names one of the units.
fn register(p: &BroiParams) -> u64 {
    u64::from(p.units.next_power_of_two().trailing_zeros()).max(1)
}
/// Bits of a unit: which entry of the persist buffer, and whether it is in use.
fn unit(p: &BroiParams) -> u64 {
    u64::from(p.entries.next_power_of_two().trailing_zeros()) + 1
}

/// What it adds.
pub(crate) fn storage(p: &BroiParams, shape: MachineShape) -> Vec<CostItem> {
    let ports = p.ports(shape);
    let (local, remote, units) = (u64::from(ports.local), u64::from(ports.remote), u64::from(p.units));
    let item = |what: &str, bits, paper_bits, note: String| CostItem {
        what: what.into(),
        bits,
        paper_bits,
        note,
    };
    let mut items = front_cost(&p.buffer_params(), ports.physical() + ports.remote);
    items.push(item(
        "local BROI queues",
        local * units * unit(p),
        Some(local * units * 4),
        format!(
            "{local} entries of {units} units of {} bits; the table says per core",
            unit(p)
        ),
    ));
    items.push(item(
        "barrier index registers, per local entry",
        u64::from(p.barriers) * register(p),
        Some(u64::from(p.barriers) * 3),
        format!("{} of {} bits", p.barriers, register(p)),
    ));
    items.push(item(
        "remote BROI queues",
        remote * units * unit(p),
        None,
        format!(
            "{remote} entries of {units} units of {} bits; the paper states 4 B",
            unit(p)
        ),
    ));
    items.push(item(
        "barrier index registers, per remote entry",
        u64::from(p.remote_barriers) * register(p),
        None,
        "the text gives a remote entry one register, the table two".into(),
    ));
    let line = u64::from(shape.address_bits) - 6;
    items.push(item(
        "remote address range and length counter, per channel",
        line + 16,
        Some(64),
        format!("a line address of {line} bits and a counter of 16; the paper counts 8 B"),
    ));
    if ports.share_caches() {
        let threads = u64::from(shape.hw_threads.div_ceil(shape.cores.max(1)));
        items.push(item(
            "threads that know a line, per L1",
            u64::from(shape.l1_lines) * threads,
            None,
            format!("{threads} bits per line: a sibling's hit is a conflict; not in the paper"),
        ));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegated::BufferPer;

    /// The machine of Table III: 4 cores of 2 threads.
    fn shape() -> MachineShape {
        MachineShape {
            hw_threads: 8,
            cores: 4,
            ..MachineShape::default()
        }
    }
    fn find(items: &[CostItem], what: &str) -> CostItem {
        items
            .iter()
            .find(|i| i.what == what)
            .expect("an item of the table")
            .clone()
    }

    /// Table II: 320 B of dependency tracking, 72 B an entry, 32 B of local queues, 2 x 3 bits of registers.
    #[test]
    fn the_papers_formulas_give_the_papers_numbers() {
        let items = storage(&BroiParams::default(), shape());
        let paper = |what| find(&items, what).paper_bits.expect("stated by the paper");
        assert_eq!(paper("dependency tracking, per persist buffer"), 320 * 8);
        assert_eq!(paper("persist buffer entry"), 72 * 8);
        assert_eq!(paper("local BROI queues"), 32 * 8);
        assert_eq!(paper("barrier index registers, per local entry"), 2 * 3);
    }

    #[test]
    fn a_remote_entry_has_its_own_registers() {
        let bits = |remote_barriers: u8| {
            let params = BroiParams {
                remote_barriers,
                ..BroiParams::default()
            };
            find(&storage(&params, shape()), "barrier index registers, per remote entry").bits
        };
        // Eight units have names of three bits.
        assert_eq!([bits(1), bits(2)], [3, 6]);
    }

    /// First principles: ten buffers of 8 entries. An entry is 1 + 42 + 512 + 7 (four bits of buffer, three of slot) + 1 + 9 x 4 bits.
    #[test]
    fn first_principles_stand_beside_them() {
        let of_threads = BroiParams {
            buffers: BufferPer::Thread,
            ..BroiParams::default()
        };
        let items = storage(&of_threads, shape());
        assert_eq!(find(&items, "persist buffer entry").bits, 599);
        assert_eq!(
            find(&items, "dependency tracking, per persist buffer").bits,
            8 * 256 + 36
        );
        assert_eq!(find(&items, "local BROI queues").bits, 8 * 8 * 4);
        assert_eq!(
            find(&items, "remote BROI queues").bits,
            8 * 8,
            "8 B where the paper states 4"
        );
        let half = BroiParams {
            units: 4,
            barriers: 1,
            ..of_threads
        };
        assert_eq!(find(&storage(&half, shape()), "local BROI queues").bits, 8 * 4 * 4);
    }
}
