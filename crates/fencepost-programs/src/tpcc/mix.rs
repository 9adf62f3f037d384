//! What terminals ask for besides new orders: the other four transactions of the standard, and how they are mixed.

use super::requests::{Mix, NewOrder, Terminal};
use crate::draw::{below, between, customer, last_name, percent};
use fencepost_kernel::rng;

/// How a customer of a district is named (2.5.1.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number, within the district.
    Number(u64),
    /// By last name: the one in the middle of those that have it.
    Name(u64),
}

/// A payment as the terminal enters it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Where it is paid, numbered through all warehouses.
    pub district: u64,
    /// The customer's district: in 15 % of the payments one of another warehouse.
    pub home: u64,
    /// The customer.
    pub who: Who,
    /// Hundredths.
    pub amount: u64,
    /// When: different for every operation.
    pub date: u64,
    /// Row of the history that it fills.
    pub slot: u64,
}

/// What an operation is given. Inputs are made ahead of the measured stretch, where a box would cost more than its size saves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant)]
pub enum Transaction {
    /// An order is placed (2.4).
    NewOrder(NewOrder),
    /// A customer pays (2.5).
    Payment(Payment),
    /// A customer's newest order is shown (2.6).
    OrderStatus {
        /// The customer's district.
        district: u64,
        /// The customer.
        who: Who,
    },
    /// The oldest new order of every district of a warehouse is delivered (2.7).
    Delivery {
        /// The warehouse.
        warehouse: u64,
        /// Who delivers: 1 to 10.
        carrier: u64,
        /// When: different for every operation.
        date: u64,
    },
    /// Items of a district's last 20 orders of which too few are in stock are counted (2.8).
    StockLevel {
        /// The district.
        district: u64,
        /// How many are enough: 10 to 20.
        threshold: u64,
    },
}

impl Terminal {
    /// The transaction of an operation.
    pub(super) fn transaction(&self, thread: u32, k: u32) -> Transaction {
        let h = |salt: u64| rng::hash(&[self.seed, u64::from(thread), u64::from(k), 64 + salt]);
        let s = &self.scale;
        let warehouse = u64::from(thread) % s.warehouses;
        let district = warehouse * s.districts + below(h(1), s.districts);
        let (date, draw) = (self.entry_d(thread, k), below(h(2), 100));
        match (self.mix, draw) {
            (Mix::Standard, 0..43) | (Mix::Writes, 0..40) => {
                let other = (warehouse + 1 + below(h(3), s.warehouses.max(2) - 1)) % s.warehouses;
                let abroad = s.warehouses > 1 && percent(h(4), 15);
                let home = match abroad {
                    true => other * s.districts + below(h(5), s.districts),
                    false => district,
                };
                Transaction::Payment(Payment {
                    district,
                    home,
                    who: self.who(h(6)),
                    amount: between(h(7), 100, 500_000),
                    date,
                    slot: u64::from(thread) * self.ops + u64::from(k),
                })
            }
            (Mix::Standard, 43..47) | (Mix::Writes, 40..60) => Transaction::Delivery {
                warehouse,
                carrier: between(h(3), 1, 10),
                date,
            },
            (Mix::Standard, 47..51) => Transaction::OrderStatus {
                district,
                who: self.who(h(6)),
            },
            (Mix::Standard, 51..55) => Transaction::StockLevel {
                district,
                threshold: between(h(3), 10, 20),
            },
            _ => Transaction::NewOrder(self.new_order(thread, k)),
        }
    }
    /// 60 % are named by their last name.
    fn who(&self, h: u64) -> Who {
        let s = &self.scale;
        match percent(rng::mix(h ^ 3), 60) {
            true => Who::Name(last_name(self.seed, h, s.names())),
            false => Who::Number(customer(self.seed, h, s.customers)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn transactions_are_mixed_as_the_standard_has_it() {
        let terminal = Terminal::of_four(Mix::Standard);
        let (mut seen, mut abroad, mut named) = ([0u32; 5], 0, 0);
        for k in 0..20_000 {
            let kind = match terminal.transaction(k % 4, k / 4) {
                Transaction::NewOrder(_) => 0,
                Transaction::Payment(p) => {
                    assert!((100..=500_000).contains(&p.amount) && p.home < 40 && p.district / 10 == u64::from(k % 4));
                    abroad += u32::from(p.home / 10 != p.district / 10);
                    named += u32::from(matches!(p.who, Who::Name(n) if n < 1000));
                    1
                }
                Transaction::OrderStatus { .. } => 2,
                Transaction::Delivery { carrier, .. } => {
                    assert!((1..=10).contains(&carrier));
                    3
                }
                Transaction::StockLevel { threshold, .. } => {
                    assert!((10..=20).contains(&threshold));
                    4
                }
            };
            seen[kind] += 1;
        }
        for (seen, percent) in seen.into_iter().zip([45, 43, 4, 4, 4]) {
            assert!(seen.abs_diff(percent * 200) < 200, "{seen} of 20,000, not {percent} %");
        }
        assert!((abroad * 100 / seen[1]).abs_diff(15) < 2 && (named * 100 / seen[1]).abs_diff(60) < 2);
    }

    /// Each input reaches both ends of its range, belongs to the terminal's warehouse, and has a date and a row of the history of its own.
    #[test]
    fn transactions_reach_the_whole_of_their_ranges() {
        use std::collections::BTreeSet;
        for (mix, shares) in [(Mix::Standard, [45, 43, 4, 4, 4]), (Mix::Writes, [40, 40, 0, 20, 0])] {
            let terminal = Terminal::of_four(mix);
            let (mut slots, mut dates, mut homes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let (mut carriers, mut thresholds, mut districts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            let (mut seen, mut amounts) = ([0u64; 5], 0);
            for i in 0..20_000u32 {
                let (thread, k) = (i % 4, i / 4);
                let own = u64::from(thread);
                let (kind, district) = match terminal.transaction(thread, k) {
                    Transaction::NewOrder(order) => {
                        assert_eq!(order, terminal.new_order(thread, k));
                        (0, None)
                    }
                    Transaction::Payment(p) => {
                        assert!(slots.insert(p.slot) && dates.insert(p.date));
                        assert!(p.slot < 20_000 && p.slot / 5000 == own);
                        assert!(p.home / 10 != own || p.home == p.district);
                        homes.insert((own, p.home));
                        amounts += p.amount;
                        (1, Some(p.district))
                    }
                    Transaction::OrderStatus { district, who } => {
                        assert!(matches!(who, Who::Name(0..1000) | Who::Number(0..3000)));
                        (2, Some(district))
                    }
                    Transaction::Delivery {
                        warehouse,
                        carrier,
                        date,
                    } => {
                        assert!(warehouse == own && dates.insert(date));
                        carriers.insert(carrier);
                        (3, None)
                    }
                    Transaction::StockLevel { district, threshold } => {
                        thresholds.insert(threshold);
                        (4, Some(district))
                    }
                };
                seen[kind] += 1;
                assert!(district.is_none_or(|d| d / 10 == own));
                districts.extend(district);
            }
            assert!(
                seen.iter().zip(shares).all(|(n, s)| n.abs_diff(s * 200) < 300),
                "{seen:?}"
            );
            assert!(carriers.into_iter().eq(1..=10) && districts.into_iter().eq(0..40));
            assert_eq!(homes.len(), 160, "customers of every district pay everywhere");
            // Uniform between 1 and 5,000: half of the sum on average.
            assert!((amounts / seen[1]).abs_diff(250_050) < 10_000);
            assert!(mix == Mix::Writes || thresholds.into_iter().eq(10..=20));
        }
    }
    #[test]
    fn a_single_warehouse_has_no_customers_elsewhere() {
        let mut terminal = Terminal::of_four(Mix::Writes);
        terminal.scale.warehouses = 1;
        for i in 0..4000 {
            if let Transaction::Payment(p) = terminal.transaction(i % 4, i / 4) {
                assert!(p.district < 10 && p.home == p.district);
            }
        }
    }
}
