//! What transactions other than new orders need besides the tables of these: the history, and two more indexes.

use super::tables::{
    ADDRESS, ADDRESS_WORDS, C_BALANCE, C_DELIVERIES, C_PAYMENTS, C_YTD, D_OLDEST, D_YTD, HISTORY, LINE, LINES,
    O_CARRIER, OL_AMOUNT, OL_QUANTITY, Tables, W_YTD, letters,
};
use crate::draw::{below, between};
use crate::index::HashIndex;
use crate::layout::{Layout, Locks, Rows};
use fencepost_kernel::{At, Mem, Span, Val};

/// Sums before the run, in hundredths (4.3.3.1).
pub(super) const FIRST_W_YTD: u64 = 30_000_000;
pub(super) const FIRST_D_YTD: u64 = 3_000_000;
/// c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt before the run; balances may be negative.
pub(super) const FIRST_SUMS: [u64; 4] = [1000u64.wrapping_neg(), 1000, 1, 0];
/// Quantity of every line of an order before the run.
pub(super) const FIRST_QUANTITY: u64 = 5;
/// Locks over the customers.
const CUSTOMER_LOCKS: u64 = 4096;
/// Bits of a place in the list of names that count customers of one name.
const COUNT_BITS: u32 = 24;

/// The history and the indexes.
#[derive(Copy, Clone, Debug)]
pub(super) struct More {
    pub history: Rows,
    /// From district and last name to the customers that have it: where they stand in `by_name`, and how many.
    name_index: HashIndex,
    /// Customers by district, last name and first name.
    by_name: Rows,
    /// Every customer's newest order.
    pub newest: Rows,
    pub warehouse_locks: Locks,
    pub customer_locks: Locks,
}

impl More {
    pub(super) fn new(layout: &mut Layout, t: &Tables, history: u64) -> More {
        let customers = t.customers.count();
        More {
            history: Rows::new(layout, HISTORY, history),
            name_index: HashIndex::new(layout, t.districts.count() * t.scale.names()),
            by_name: Rows::new(layout, 8, customers),
            newest: Rows::new(layout, 8, customers),
            warehouse_locks: Locks::new(layout, t.warehouses.count()),
            customer_locks: Locks::new(layout, customers.min(CUSTOMER_LOCKS)),
        }
    }
    fn name_key(district: u64, name: u64) -> u64 {
        district << 32 | (name + 1)
    }
    /// Finds the customer in the middle of those of a district that have a last name (2.5.2.2), numbered through all districts.
    #[inline(always)]
    pub(super) fn find_by_name<M: Mem>(&self, m: &mut M, district: u64, name: u64) -> Option<Val<M::Dep>> {
        let place = self.name_index.find(m, Self::name_key(district, name))?;
        let middle = place.map(|p| (p >> COUNT_BITS) + Self::middle(p & ((1 << COUNT_BITS) - 1)));
        Some(m.load(self.by_name.row(middle)))
    }
    /// Position n/2, rounded up, counted from 1.
    fn middle(count: u64) -> u64 {
        count.div_ceil(2) - 1
    }
    /// The customers of a district by last and first name.
    fn sorted(t: &Tables, district: u64) -> Vec<u64> {
        let first = district * t.scale.customers;
        let mut all: Vec<u64> = (first..first + t.scale.customers).collect();
        all.sort_by_cached_key(|c| (t.last_name(*c), t.draw(9, *c, 3), *c));
        all
    }
    /// What [`More::find_by_name`] finds, for the oracle.
    pub(super) fn named(t: &Tables, district: u64, name: u64) -> Option<u64> {
        let same: Vec<u64> = Self::sorted(t, district)
            .into_iter()
            .filter(|c| t.last_name(*c) == name)
            .collect();
        same.get(Self::middle(same.len().max(1) as u64) as usize).copied()
    }
    /// Line `i` of an order of before the run that is not delivered: its item and its amount.
    pub(super) fn first_line(t: &Tables, at: u64, i: u64) -> (u64, u64) {
        let item = below(t.draw(10, at, 2 * i + 1), t.scale.items);
        (item, between(t.draw(10, at, 2 * i + 2), 1, 999_999))
    }
    pub(super) fn fill<M: Mem>(&self, t: &Tables, m: &mut M) {
        let address = |m: &mut M, row: At<M::Dep>| {
            let word = |w| letters(t.draw(11, row.addr.0, w));
            (0..ADDRESS_WORDS).for_each(|w| m.store(row.field(ADDRESS + 8 * w), Val::lit(word(w))));
        };
        for w in 0..t.warehouses.count() {
            m.store(t.warehouses.at(w).field(W_YTD), Val::lit(FIRST_W_YTD));
            address(m, t.warehouses.at(w));
        }
        for d in 0..t.districts.count() {
            m.store(t.districts.at(d).field(D_YTD), Val::lit(FIRST_D_YTD));
            m.store(t.districts.at(d).field(D_OLDEST), Val::lit(t.scale.first_new()));
            address(m, t.districts.at(d));
            self.fill_names(t, m, d);
            (0..t.scale.orders).for_each(|o| self.fill_order(t, m, d, o));
        }
        for c in 0..t.customers.count() {
            let row = t.customers.at(c);
            for (field, v) in [C_BALANCE, C_YTD, C_PAYMENTS, C_DELIVERIES].into_iter().zip(FIRST_SUMS) {
                m.store(row.field(field), Val::lit(v));
            }
        }
    }
    fn fill_names<M: Mem>(&self, t: &Tables, m: &mut M, district: u64) {
        let (all, first) = (Self::sorted(t, district), district * t.scale.customers);
        let mut from = 0;
        while from < all.len() {
            let name = t.last_name(all[from]);
            let to = from + all[from..].partition_point(|c| t.last_name(*c) == name);
            let place = (first + from as u64) << COUNT_BITS | (to - from) as u64;
            self.name_index.insert(m, Self::name_key(district, name), place);
            from = to;
        }
        for (i, c) in (first..).zip(all) {
            m.store(self.by_name.at(i), Val::lit(c));
        }
    }
    fn fill_order<M: Mem>(&self, t: &Tables, m: &mut M, district: u64, o: u64) {
        let (block, at) = (
            t.orders.at::<M::Dep>(district * t.scale.orders + o),
            district * t.orders_each + o,
        );
        let delivered = o < t.scale.first_new();
        let carrier = between(t.draw(10, at, 100), 1, 10);
        m.store(block.field(O_CARRIER), Val::lit(if delivered { carrier } else { 0 }));
        for i in 0..t.first_lines(at) {
            let line: At<M::Dep> = block.field(LINES + i * LINE);
            let (item, amount) = Self::first_line(t, at, i);
            m.store(
                line.field(16),
                Val::lit((item + 1) | (district / t.scale.districts) << 32),
            );
            // What was delivered long ago has the amount 0 (4.3.3.1), and its quantity is never read.
            if !delivered {
                m.store(line.field(OL_QUANTITY), Val::lit(FIRST_QUANTITY));
                m.store(line.field(OL_AMOUNT), Val::lit(amount));
            }
        }
        let customer = district * t.scale.customers + o % t.scale.customers;
        m.store(self.newest.at(customer), block.pointer());
    }
    /// What stays in caches besides: indexes, then the newest orders.
    pub(super) fn spans(&self, t: &Tables) -> Vec<Span> {
        let rows = [self.by_name, self.newest, t.new_order_index, t.order_index, t.orders];
        let rows = rows.iter().map(Rows::span).filter(|s| s.len > 0);
        [self.name_index.span()].into_iter().chain(rows).collect()
    }
}
