//! What a transaction is given: the standard's choices, at any size.

use super::schema::{Line, Size};
use crate::draw;
use crate::small::Small;
use fencepost_kernel::rng;

/// What the transaction does. Inputs are made ahead of the measured stretch, where a box would cost more than its size saves.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant)]
pub(super) enum Kind {
    /// An order of these lines. `unused`: its last item is none, so that nothing may come of it.
    NewOrder { lines: Small<Line, 15>, unused: bool },
    /// A payment of this many cents.
    Payment { amount: u64 },
}

/// What an operation is given. Rows are numbered from 0 in the whole table.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub(super) warehouse: u64,
    pub(super) district: u64,
    pub(super) customer: u64,
    /// Writer and number of the operation.
    pub(super) who: u64,
    /// Slot of the tables that it inserts into.
    pub(super) slot: u64,
    pub(super) kind: Kind,
}

/// How transactions are mixed, in percent.
#[derive(Copy, Clone, Debug)]
pub(super) struct Mix {
    pub payments: u64,
    pub most_lines: u64,
}

/// Transaction `k` of a thread.
pub(super) fn transaction(seed: u64, size: Size, mix: Mix, thread: u32, k: u32) -> Transaction {
    let mut salt = 0;
    let mut word = || {
        salt += 1;
        rng::hash(&[seed, u64::from(thread), u64::from(k), salt])
    };
    let warehouse = draw::below(word(), size.warehouses);
    let district = warehouse * size.districts + draw::below(word(), size.districts);
    let payment = draw::below(word(), 100) < mix.payments;
    // 15 % of payments are made by a customer of another warehouse.
    let mut home = district;
    if payment && draw::below(word(), 100) < 15 && size.warehouses > 1 {
        let other = (warehouse + 1 + draw::below(word(), size.warehouses - 1)) % size.warehouses;
        home = other * size.districts + draw::below(word(), size.districts);
    }
    let customer = home * size.customers + draw::customer(seed, word(), size.customers);
    let kind = if payment {
        Kind::Payment {
            amount: 100 + draw::below(word(), 499_901),
        }
    } else {
        let least = mix.most_lines.min(5);
        let count = least + draw::below(word(), mix.most_lines - least + 1);
        let mut lines = Small::new(Line::default());
        for _ in 0..count {
            let item = draw::item(seed, word(), size.items);
            let remote = draw::below(word(), 100) < 1 && size.warehouses > 1;
            let other = if remote {
                1 + draw::below(word(), size.warehouses - 1)
            } else {
                0
            };
            let (supply, quantity) = ((warehouse + other) % size.warehouses, 1 + draw::below(word(), 10));
            lines.push(Line { item, supply, quantity });
        }
        let unused = draw::below(word(), 100) < 1;
        Kind::NewOrder { lines, unused }
    };
    Transaction {
        warehouse,
        district,
        customer,
        who: (u64::from(thread) + 1) << 32 | (u64::from(k) + 1),
        slot: u64::from(thread) * size.ops + u64::from(k),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn choices_are_within_the_tables_and_of_the_standards_frequencies() {
        let size = Size {
            warehouses: 4,
            districts: 10,
            customers: 300,
            items: 1000,
            ops: 10_000,
        };
        let mix = Mix {
            payments: 49,
            most_lines: 15,
        };
        let (mut payments, mut unused, mut lines, mut remote, mut abroad) = (0, 0, 0, 0, 0);
        for k in 0..10_000 {
            let t = transaction(3, size, mix, 1, k);
            assert!(t.district / 10 == t.warehouse && t.warehouse < 4 && t.customer < 12_000);
            match t.kind {
                Kind::Payment { amount } => {
                    assert!((100..=500_000).contains(&amount));
                    payments += 1;
                    abroad += u32::from(t.customer / 3000 != t.warehouse);
                }
                Kind::NewOrder {
                    lines: own,
                    unused: none,
                } => {
                    unused += u32::from(none);
                    assert!((5..=15).contains(&own.as_slice().len()));
                    for l in own.as_slice() {
                        assert!(l.item < 1000 && l.supply < 4 && (1..=10).contains(&l.quantity));
                        lines += 1;
                        remote += u32::from(l.supply != t.warehouse);
                    }
                }
            }
        }
        let orders = 10_000 - payments;
        let near = |part: u32, of: u32, percent: f64, within: f64| {
            let found = f64::from(part) * 100.0 / f64::from(of);
            assert!((found - percent).abs() < within, "{found} percent, not {percent}");
        };
        near(payments, 10_000, 49.0, 2.0);
        near(unused, orders, 1.0, 0.5);
        near(remote, lines, 1.0, 0.3);
        near(abroad, payments, 15.0, 2.0);
        near(lines, orders, 1000.0, 20.0);
        let all = |payments| {
            let of = |k| transaction(3, size, Mix { payments, ..mix }, 1, k).kind;
            (0..1000).filter(|k| matches!(of(*k), Kind::Payment { .. })).count()
        };
        assert_eq!((all(0), all(100)), (0, 1000));
    }
}
