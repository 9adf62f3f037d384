//! The tables: where their tuples lie, what stands in them before the run, and what a recovered tuple must look like.

use crate::layout::{Layout, Rows};
use fencepost_kernel::{Addr, At, Mem, Span, Val, Violation, rng};

// Warehouse and district.
pub(super) const TAX: u64 = 0;
pub(super) const YTD: u64 = 8;
// District: the number of its next order, and the newest.
pub(super) const NEXT_ORDER: u64 = 16;
pub(super) const ORDERS: u64 = 24;
// Customer.
pub(super) const DISCOUNT: u64 = 0;
pub(super) const BALANCE: u64 = 8;
pub(super) const PAID: u64 = 16;
pub(super) const PAYMENTS: u64 = 24;
/// The customer's newest payment.
pub(super) const HISTORY: u64 = 32;
// Item.
pub(super) const PRICE: u64 = 0;
// Stock.
pub(super) const QUANTITY: u64 = 0;
pub(super) const SOLD: u64 = 8;
pub(super) const SALES: u64 = 16;
pub(super) const REMOTE: u64 = 24;
pub(super) const DISTRICT_INFO: u64 = 32;
// Order, new order, payment: the one before, then what it is.
pub(super) const OLDER: u64 = 0;
pub(super) const WHO: u64 = 8;
pub(super) const ID: u64 = 16;
pub(super) const CUSTOMER: u64 = 24;
pub(super) const LINES: u64 = 32;
pub(super) const AMOUNT: u64 = 40;
// Order line.
pub(super) const ITEM: u64 = 0;
pub(super) const SUPPLY: u64 = 8;
pub(super) const ORDERED: u64 = 16;
pub(super) const TOTAL: u64 = 24;
pub(super) const INFO: u64 = 32;
/// Words of a stock's information on a district.
pub(super) const INFO_WORDS: u64 = 3;
/// Changed part of a district, a customer, a stock.
pub(super) const CHANGED: u64 = 40;

/// A line of an order.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub item: u64,
    /// Warehouse that supplies it.
    pub supply: u64,
    pub quantity: u64,
}

/// How many of what.
#[derive(Copy, Clone, Debug)]
pub(super) struct Size {
    pub warehouses: u64,
    /// Per warehouse.
    pub districts: u64,
    /// Per district.
    pub customers: u64,
    pub items: u64,
    /// Operations per thread: slots of what is inserted.
    pub ops: u64,
}

/// The tables. Tuples have the sizes of the standard's rows, rounded up to lines.
#[derive(Copy, Clone, Debug)]
pub(super) struct Schema {
    pub size: Size,
    most_lines: u64,
    seed: u64,
    pub warehouses: Rows,
    pub districts: Rows,
    pub customers: Rows,
    pub items: Rows,
    pub stocks: Rows,
    pub orders: Rows,
    pub new_orders: Rows,
    lines: Rows,
    pub payments: Rows,
}

impl Schema {
    pub(super) fn new(layout: &mut Layout, size: Size, most_lines: u64, threads: u32, seed: u64) -> Schema {
        let districts = size.warehouses * size.districts;
        let slots = u64::from(threads) * size.ops;
        let mut rows = |bytes, count| Rows::new(layout, bytes, count);
        Schema {
            size,
            most_lines,
            seed,
            warehouses: rows(128, size.warehouses),
            districts: rows(128, districts),
            customers: rows(704, districts * size.customers),
            items: rows(128, size.items),
            stocks: rows(320, size.warehouses * size.items),
            orders: rows(64, slots),
            new_orders: rows(64, slots),
            lines: rows(64, slots * most_lines),
            payments: rows(64, slots),
        }
    }
    fn drawn(&self, table: u64, row: u64, n: u64) -> u64 {
        rng::hash(&[self.seed, table, row]) % n
    }
    pub(super) fn price(&self, item: u64) -> u64 {
        100 + self.drawn(1, item, 9_901)
    }
    /// Quantity in stock before the run.
    pub(super) fn first_quantity(&self, stock: u64) -> u64 {
        10 + self.drawn(2, stock, 91)
    }
    fn info(&self, stock: u64, district: u64) -> u64 {
        self.drawn(3, stock * self.size.districts + district, u64::MAX)
    }
    pub(super) fn stock(&self, line: &Line) -> u64 {
        line.supply * self.size.items + line.item
    }
    /// Offset of a stock's information on a district.
    pub(super) fn info_at(&self, district: u64) -> u64 {
        DISTRICT_INFO + (district % self.size.districts) * INFO_WORDS * 8
    }
    /// Line `i` of the order in a slot.
    #[inline(always)]
    pub(super) fn line<D: Copy + Default>(&self, slot: u64, i: u64) -> At<D> {
        self.lines.at(slot * self.most_lines + i)
    }
    /// Writes everything but zeroes: no orders and no payments yet.
    pub(super) fn plant<M: Mem>(&self, m: &mut M) {
        let mut put = |at: At<M::Dep>, v| m.store(at, Val::lit(v));
        for (table, rows) in [(4, self.warehouses), (5, self.districts)] {
            (0..rows.count()).for_each(|i| put(rows.at(i).field(TAX), self.drawn(table, i, 2_001)));
        }
        (0..self.districts.count()).for_each(|i| put(self.districts.at(i).field(NEXT_ORDER), 1));
        (0..self.customers.count()).for_each(|i| put(self.customers.at(i).field(DISCOUNT), self.drawn(6, i, 5_001)));
        (0..self.items.count()).for_each(|i| put(self.items.at(i).field(PRICE), self.price(i)));
        for i in 0..self.stocks.count() {
            let stock = self.stocks.at::<M::Dep>(i);
            put(stock.field(QUANTITY), self.first_quantity(i));
            for d in 0..self.size.districts {
                (0..INFO_WORDS).for_each(|w| put(stock.field(self.info_at(d) + w * 8), self.info(i, d)));
            }
        }
    }
    /// The slots of a list of inserted tuples, newest first, each with its writer: at most `most`.
    pub(super) fn list<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        first: At<()>,
        rows: &Rows,
        most: usize,
    ) -> Result<Vec<u64>, Violation> {
        let (mut found, mut tuple) = (Vec::new(), m.load(first).v);
        while tuple != 0 {
            let at = At::<()>::new(Addr(tuple));
            if !rows.owns(tuple) || found.len() >= most {
                return Err(Violation::at(
                    first.addr,
                    "a list leads to a tuple that nobody inserted",
                ));
            }
            found.push(tuple);
            tuple = m.load(at.field(OLDER)).v;
        }
        Ok(found)
    }
    /// Whether the lines of the order in a slot are these.
    pub(super) fn has_lines<M: Mem<Dep = ()>>(&self, m: &mut M, slot: u64, district: u64, lines: &[Line]) -> bool {
        lines.iter().enumerate().all(|(i, l)| {
            let at = self.line::<()>(slot, i as u64);
            let info = self.info(self.stock(l), district % self.size.districts);
            let total = self.price(l.item) * l.quantity;
            let fields = [
                (ITEM, l.item),
                (SUPPLY, l.supply),
                (ORDERED, l.quantity),
                (TOTAL, total),
            ];
            fields.iter().all(|(f, v)| m.load(at.field(*f)).v == *v)
                && (0..INFO_WORDS).all(|w| m.load(at.field(INFO + w * 8)).v == info)
        })
    }
    /// What is read most, hottest first.
    pub(super) fn spans(&self) -> Vec<Span> {
        let all = [self.warehouses, self.districts, self.items, self.stocks, self.customers];
        all.iter().map(Rows::span).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_there_before_the_run_is_drawn_row_by_row() {
        let size = Size {
            warehouses: 2,
            districts: 10,
            customers: 30,
            items: 1000,
            ops: 10,
        };
        let of = |seed| Schema::new(&mut Layout::default(), size, 15, 2, seed);
        let prices = |seed| (0..1000).map(|i| of(seed).price(i)).collect::<Vec<_>>();
        let different = |of: &[u64]| of.iter().collect::<BTreeSet<_>>().len();
        // A thousand draws of 9,901 prices: some 950 different ones.
        assert!(prices(1).iter().all(|p| (100..=10_000).contains(p)));
        assert!((900..1000).contains(&different(&prices(1))));
        assert_ne!(prices(1), prices(2), "another seed, other prices");
        let quantities: Vec<u64> = (0..2000).map(|s| of(1).first_quantity(s)).collect();
        assert!(quantities.iter().all(|q| (10..=100).contains(q)));
        assert_eq!(different(&quantities), 91);
    }
}
