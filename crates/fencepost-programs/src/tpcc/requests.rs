//! What a terminal of TPC-C asks for: new orders, drawn as the standard has it.

use crate::draw::{below, between, customer, item};
use fencepost_kernel::rng;

fencepost_kernel::param_enum! {
    /// Which transactions run.
    pub enum Mix {
        /// New orders alone, as the papers have it.
        NewOrder = "new-order",
        /// All five in the standard's proportions (5.2.3): payments 43 %, order-status, delivery and stock-level 4 % each, else new orders.
        Standard = "standard",
        /// Those that write, for checks: as many payments as new orders, and 20 % deliveries.
        Writes = "writes",
    }
}

/// Cardinalities.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Scale {
    pub warehouses: u64,
    /// Per warehouse.
    pub districts: u64,
    /// Per district.
    pub customers: u64,
    /// Per district, before the run.
    pub orders: u64,
    pub items: u64,
}
impl Scale {
    /// The first order of a district that is not delivered before the run: the last three tenths are new (4.3.3.1).
    pub(super) fn first_new(&self) -> u64 {
        self.orders - self.orders * 3 / 10
    }
    /// Last names in use: all of the standard's 1,000, or one a customer.
    pub(super) fn names(&self) -> u64 {
        self.customers.min(1000)
    }
}

/// Lines of the largest order.
pub(super) const MOST_LINES: usize = 15;

/// One line of an order.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The item, from 0; an unused number on the last line of an order that must be rolled back.
    pub item: u64,
    /// The warehouse that supplies it.
    pub supply: u64,
    /// 1 to 10.
    pub quantity: u64,
}

/// A new order as the terminal enters it. Lines stand in the order of their stock rows, in which every terminal locks them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The warehouse, from 0.
    pub warehouse: u64,
    /// The district, numbered through all warehouses.
    pub district: u64,
    /// The customer, within the district.
    pub customer: u64,
    /// When it was entered: different for every order.
    pub entry_d: u64,
    /// How many lines.
    pub len: usize,
    /// The lines.
    pub lines: [Line; MOST_LINES],
}

/// How new orders are drawn.
#[derive(Clone, Debug)]
pub(super) struct Terminal {
    pub seed: u64,
    pub threads: u32,
    /// Operations of a thread.
    pub ops: u64,
    pub mix: Mix,
    pub scale: Scale,
    pub min_lines: u64,
    pub max_lines: u64,
    /// Whether the input is that of the reduced public variant: quantity 7, no rollbacks.
    pub reduced: bool,
}

impl Terminal {
    /// When operation `k` of `thread` was entered: unique, not 0.
    pub(super) fn entry_d(&self, thread: u32, k: u32) -> u64 {
        u64::from(k) * u64::from(self.threads) + u64::from(thread) + 1
    }
    /// The order of an operation (2.4.1).
    pub(super) fn new_order(&self, thread: u32, k: u32) -> NewOrder {
        let h = |salt: u64| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let s = &self.scale;
        // A terminal belongs to a warehouse.
        let warehouse = u64::from(thread) % s.warehouses;
        let len = between(h(1), self.min_lines, self.max_lines) as usize;
        let unused = below(h(2), 100) == 0 && !self.reduced;
        let mut lines = [Line::default(); MOST_LINES];
        for (i, line) in (0..).zip(&mut lines[..len]) {
            let h = |salt| rng::hash(&[h(3), i, salt]);
            let remote = s.warehouses > 1 && below(h(1), 100) == 0;
            let other = (warehouse + 1 + below(h(2), s.warehouses.max(2) - 1)) % s.warehouses;
            *line = Line {
                item: item(self.seed, h(3), s.items),
                supply: if remote { other } else { warehouse },
                quantity: if self.reduced { 7 } else { between(h(4), 1, 10) },
            };
        }
        lines[..len].sort_by_key(|l| (l.supply, l.item));
        if unused {
            lines[len - 1].item = s.items;
        }
        NewOrder {
            warehouse,
            district: warehouse * s.districts + below(h(4), s.districts),
            customer: customer(self.seed, h(5), s.customers),
            entry_d: self.entry_d(thread, k),
            len,
            lines,
        }
    }
}

#[cfg(test)]
impl Terminal {
    /// Four terminals at the standard's sizes.
    pub(super) fn of_four(mix: Mix) -> Terminal {
        Terminal {
            seed: 5,
            threads: 4,
            ops: 5000,
            mix,
            scale: Scale {
                warehouses: 4,
                districts: 10,
                customers: 3000,
                orders: 3000,
                items: 100_000,
            },
            min_lines: 5,
            max_lines: 15,
            reduced: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn orders_have_the_standards_shape() {
        let terminal = Terminal::of_four(Mix::NewOrder);
        let (mut lines, mut remote, mut unused) = (0, 0, 0);
        for k in 0..5000 {
            let order = terminal.new_order(k % 4, k);
            let used = &order.lines[..order.len];
            assert_eq!(order.district / 10, u64::from(k % 4));
            assert!(used.is_sorted_by_key(|l| (l.supply, l.item)) || used[order.len - 1].item == 100_000);
            lines += order.len;
            remote += used.iter().filter(|l| l.supply != order.warehouse).count();
            unused += used.iter().filter(|l| l.item >= 100_000).count();
        }
        assert!((48_500..51_500).contains(&lines), "10 on average: {lines}");
        assert!((400..600).contains(&remote), "1 % of the lines: {remote}");
        assert!((30..75).contains(&unused), "1 % of the orders: {unused}");
    }

    /// Lengths, quantities, districts and suppliers reach both ends of their ranges; orders of a terminal are dated in their order.
    #[test]
    fn orders_reach_the_whole_of_their_ranges() {
        use std::collections::BTreeSet;
        let terminal = Terminal::of_four(Mix::NewOrder);
        let (mut lengths, mut quantities, mut districts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut suppliers, mut dates) = (BTreeSet::new(), BTreeSet::new());
        for i in 0..20_000u32 {
            let (thread, k) = (i % 4, i / 4);
            let order = terminal.new_order(thread, k);
            assert_eq!(order.warehouse, u64::from(thread));
            assert!(order.customer < 3000);
            assert!(order.entry_d > 0 && dates.insert(order.entry_d));
            assert_eq!(order.entry_d, terminal.entry_d(thread, k));
            lengths.insert(order.len);
            districts.insert(order.district);
            for line in &order.lines[..order.len] {
                quantities.insert(line.quantity);
                suppliers.insert((order.warehouse, line.supply));
            }
            assert!(order.lines[order.len..].iter().all(|l| *l == Line::default()));
            // Only the last line may name no item.
            assert!(order.lines[..order.len - 1].iter().all(|l| l.item < 100_000));
        }
        assert!(lengths.into_iter().eq(5..=15) && quantities.into_iter().eq(1..=10));
        assert!(districts.into_iter().eq(0..40));
        assert_eq!(
            suppliers.len(),
            16,
            "every warehouse supplies every other: {suppliers:?}"
        );
        assert!(suppliers.iter().all(|s| s.1 < 4));
    }
    /// The public variant: quantity 7, nothing rolled back; where there is one warehouse it supplies everything.
    #[test]
    fn reduced_orders_and_single_warehouses_are_plain() {
        let mut terminal = Terminal::of_four(Mix::NewOrder);
        terminal.reduced = true;
        terminal.scale.warehouses = 1;
        for i in 0..2000 {
            let order = terminal.new_order(i % 4, i / 4);
            assert!(order.warehouse == 0 && order.district < 10);
            let plain = |l: &Line| l.quantity == 7 && l.supply == 0 && l.item < 100_000;
            assert!(order.lines[..order.len].iter().all(plain));
        }
    }
    #[test]
    fn three_tenths_are_new_and_names_are_a_thousand_at_most() {
        let scale = |orders, customers| Scale {
            customers,
            orders,
            ..Scale::default()
        };
        assert_eq!([10, 3000, 20, 1].map(|o| scale(o, 1).first_new()), [7, 2100, 14, 1]);
        assert_eq!([1, 999, 1000, 3000].map(|c| scale(1, c).names()), [1, 999, 1000, 1000]);
    }
}
