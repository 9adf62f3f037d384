//! Tables of TPC-C: where rows lie, how they are found, what they hold before the run.
//!
//! Row sizes are those of the lineage's code. WAREHOUSE and DISTRICT are found by number, CUSTOMER, ITEM and STOCK through hash indexes.
//! What an order inserts (ORDER, NEW_ORDER and its ORDER_LINE rows) lies together, clustered by order; two indexes lead to it from
//! (district, o_id), one for ORDER and one for NEW_ORDER.

use super::requests::Scale;
use crate::draw::{between, last_name};
use crate::index::HashIndex;
use crate::layout::{Layout, Rows};
use fencepost_kernel::{Mem, Span, Val, rng};

// WAREHOUSE and DISTRICT: two lines.
const WAREHOUSE: u64 = 128;
pub(super) const W_TAX: u64 = 8;
pub(super) const W_YTD: u64 = 16;
/// Name and address, of warehouses and of districts.
pub(super) const ADDRESS: u64 = 64;
pub(super) const ADDRESS_WORDS: u64 = 8;
pub(super) const WAREHOUSE_BYTES: u64 = WAREHOUSE;
const DISTRICT: u64 = 128;
pub(super) const D_NEXT_O_ID: u64 = 8;
pub(super) const D_TAX: u64 = 16;
pub(super) const D_YTD: u64 = 24;
/// The oldest order of the district that was not delivered, counted like the next: where the index of new orders begins.
pub(super) const D_OLDEST: u64 = 32;
pub(super) const DISTRICT_BYTES: u64 = DISTRICT;

const CUSTOMER: u64 = 704;
pub(super) const C_DISCOUNT: u64 = 8;
pub(super) const C_CREDIT: u64 = 16;
pub(super) const C_LAST: u64 = 24;
/// Words of a name.
pub(super) const LAST_WORDS: u64 = 2;
pub(super) const C_BALANCE: u64 = 40;
pub(super) const C_YTD: u64 = 48;
pub(super) const C_PAYMENTS: u64 = 56;
pub(super) const C_DELIVERIES: u64 = 64;
/// The four words above.
pub(super) const C_SUMS: u64 = 32;
pub(super) const C_DATA: u64 = 128;
/// Words of c_data, 500 letters, and of what a payment writes at its head.
pub(super) const C_DATA_WORDS: usize = 62;
pub(super) const PAID_WORDS: usize = 6;
pub(super) const CUSTOMER_BYTES: u64 = CUSTOMER;
/// Credit of customers whose payments are written down in their rows.
pub(super) const BAD_CREDIT: u64 = u64::from_le_bytes(*b"BC\0\0\0\0\0\0");
const GOOD_CREDIT: u64 = u64::from_le_bytes(*b"GC\0\0\0\0\0\0");

/// A row of the history: a line of memory.
pub(super) const HISTORY: u64 = 64;

const ITEM: u64 = 128;
pub(super) const I_PRICE: u64 = 8;
pub(super) const I_NAME: u64 = 16;
pub(super) const NAME_WORDS: u64 = 3;
pub(super) const I_DATA: u64 = 40;
/// Words of i_data and s_data.
pub(super) const DATA_WORDS: usize = 7;

// STOCK: five lines. The four counters are fields of 4 bytes beside one another.
pub(super) const STOCK: u64 = 320;
pub(super) const S_QUANTITY: u64 = 8;
pub(super) const S_YTD: u64 = 12;
pub(super) const S_ORDER_CNT: u64 = 16;
pub(super) const S_REMOTE_CNT: u64 = 20;
pub(super) const S_COUNTERS: u64 = 16;
pub(super) const S_DIST: u64 = 24;
/// Words of s_dist_01 to s_dist_10, each.
pub(super) const DIST_WORDS: u64 = 3;
pub(super) const S_DATA: u64 = 264;

// What an order inserts: ORDER, NEW_ORDER, ORDER_LINE, a line of memory each.
pub(super) const NEW_ORDER: u64 = 64;
pub(super) const LINES: u64 = 128;
pub(super) const LINE: u64 = 64;
pub(super) const ORDER_WORDS: usize = 5;
/// Who delivered it: 0 as long as nobody did.
pub(super) const O_CARRIER: u64 = 40;
/// Quantity of an order line, and in the upper half when it was delivered.
pub(super) const OL_QUANTITY: u64 = 24;
pub(super) const OL_AMOUNT: u64 = 32;
pub(super) const DELIVERED_SHIFT: u32 = 32;
pub(super) const LINE_WORDS: usize = 8;
/// Bytes of an order with its new-order row and 15 lines.
pub(super) const ORDER: u64 = LINES + 15 * LINE;

/// "ORIGINAL", which marks brands in i_data and s_data (4.3.3.1).
const ORIGINAL: &[u8] = b"ORIGINAL";
/// Letters of i_data and s_data.
const TEXT: usize = 50;

/// The tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    seed: u64,
    pub scale: Scale,
    pub warehouses: Rows,
    pub districts: Rows,
    pub customer_index: HashIndex,
    pub customers: Rows,
    pub item_index: HashIndex,
    items: Rows,
    pub stock_index: HashIndex,
    pub stock: Rows,
    /// Orders present before the run.
    pub orders: Rows,
    /// ORDER and NEW_ORDER by (district, o_id): addresses.
    pub order_index: Rows,
    pub new_order_index: Rows,
    /// Orders that a district can hold.
    pub orders_each: u64,
}

impl Tables {
    /// Reserves the tables; a district may get `more` orders.
    pub(super) fn new(layout: &mut Layout, seed: u64, scale: Scale, more: u64) -> Tables {
        let districts = scale.warehouses * scale.districts;
        let (customers, stock) = (districts * scale.customers, scale.warehouses * scale.items);
        let orders_each = scale.orders + more;
        Tables {
            seed,
            warehouses: Rows::new(layout, WAREHOUSE, scale.warehouses),
            districts: Rows::new(layout, DISTRICT, districts),
            customer_index: HashIndex::new(layout, customers),
            customers: Rows::new(layout, CUSTOMER, customers),
            item_index: HashIndex::new(layout, scale.items),
            items: Rows::new(layout, ITEM, scale.items),
            stock_index: HashIndex::new(layout, stock),
            stock: Rows::new(layout, STOCK, stock),
            orders: Rows::new(layout, ORDER, districts * scale.orders),
            order_index: Rows::new(layout, 8, districts * orders_each),
            new_order_index: Rows::new(layout, 8, districts * orders_each),
            orders_each,
            scale,
        }
    }
    /// Key of a customer: all keys count from 1, because 0 stands for none.
    #[inline(always)]
    pub(super) fn customer_key(&self, district: u64, c: u64) -> u64 {
        district << 32 | (c + 1)
    }
    /// Key of an item's stock in a warehouse.
    #[inline(always)]
    pub(super) fn stock_key(&self, w: u64, item: u64) -> u64 {
        w << 32 | (item + 1)
    }
    pub(super) fn draw(&self, table: u64, row: u64, what: u64) -> u64 {
        rng::hash(&[self.seed, table, row, what])
    }
    /// Price of an item: 1 to 100, in hundredths.
    pub(super) fn price(&self, item: u64) -> u64 {
        between(self.draw(1, item, 0), 100, 10_000)
    }
    /// Quantity of a stock row before the run: 10 to 100.
    pub(super) fn first_quantity(&self, stock: u64) -> u64 {
        between(self.draw(2, stock, 0), 10, 100)
    }
    /// District information of a stock row for an order of this district (of the warehouse).
    pub(super) fn dist(&self, stock: u64, district: u64) -> [u64; DIST_WORDS as usize] {
        let row = rng::hash(&[self.seed, 3, stock]);
        [0, 1, 2].map(|w| letters(rng::hash_on(row, &[district * DIST_WORDS + w])))
    }
    /// i_data or s_data: one row in ten holds "ORIGINAL" somewhere.
    fn data(&self, table: u64, row: u64) -> [u64; DATA_WORDS] {
        let mut bytes = [0u8; 8 * DATA_WORDS];
        let row = rng::hash(&[self.seed, table, row]);
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&letters(rng::hash_on(row, &[1 + i as u64])).to_le_bytes());
        }
        let h = rng::hash_on(row, &[9]);
        if h.is_multiple_of(10) {
            let at = (h >> 32) as usize % (TEXT - ORIGINAL.len());
            bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        bytes[TEXT..].fill(0);
        let mut words = [0; DATA_WORDS];
        for (w, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
            *w = chunk.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        }
        words
    }
    /// Fills the tables.
    pub(super) fn fill<M: Mem>(&self, m: &mut M) {
        for w in 0..self.warehouses.count() {
            m.store(self.warehouses.at(w), Val::lit(w + 1));
            let tax = Val::lit(between(self.draw(4, w, 0), 0, 2000));
            m.store(self.warehouses.at(w).field(W_TAX), tax);
        }
        for item in 0..self.scale.items {
            let row = self.items.at(item);
            self.item_index.insert(m, item + 1, item);
            m.store(row, Val::lit(item + 1));
            m.store(row.field(I_PRICE), Val::lit(self.price(item)));
            for w in 0..NAME_WORDS {
                m.store(row.field(I_NAME + 8 * w), Val::lit(letters(self.draw(5, item, w))));
            }
            for (w, data) in (0..).zip(self.data(6, item)) {
                m.store(row.field(I_DATA + 8 * w), Val::lit(data));
            }
        }
        (0..self.stock.count()).for_each(|s| self.fill_stock(m, s));
        (0..self.districts.count()).for_each(|d| self.fill_district(m, d));
    }
    fn fill_stock<M: Mem>(&self, m: &mut M, s: u64) {
        let (w, item, row) = (s / self.scale.items, s % self.scale.items, self.stock.at(s));
        self.stock_index.insert(m, self.stock_key(w, item), s);
        m.store(row, Val::lit(w << 32 | (item + 1)));
        m.store(row.field(S_QUANTITY), Val::lit(self.first_quantity(s)));
        for district in 0..self.scale.districts.min(10) {
            for (i, word) in (0..).zip(self.dist(s, district)) {
                let offset = S_DIST + (district * DIST_WORDS + i) * 8;
                m.store(row.field(offset), Val::lit(word));
            }
        }
        for (i, data) in (0..).zip(self.data(7, s)) {
            m.store(row.field(S_DATA + 8 * i), Val::lit(data));
        }
    }
    fn fill_district<M: Mem>(&self, m: &mut M, d: u64) {
        let row = self.districts.at(d);
        m.store(row, Val::lit(d + 1));
        m.store(row.field(D_NEXT_O_ID), Val::lit(self.scale.orders));
        m.store(row.field(D_TAX), Val::lit(between(self.draw(8, d, 0), 0, 2000)));
        for c in 0..self.scale.customers {
            let number = d * self.scale.customers + c;
            let row = self.customers.at(number);
            self.customer_index.insert(m, self.customer_key(d, c), number);
            m.store(row, Val::lit(c + 1));
            m.store(
                row.field(C_DISCOUNT),
                Val::lit(between(self.draw(9, number, 0), 0, 5000)),
            );
            let bad = self.has_bad_credit(number);
            let credit = if bad { BAD_CREDIT } else { GOOD_CREDIT };
            m.store(row.field(C_CREDIT), Val::lit(credit));
            for (w, letters) in (0..).zip(last_name_text(self.last_name(number))) {
                m.store(row.field(C_LAST + 8 * w), Val::lit(letters));
            }
        }
        // Delivered and undelivered orders of before: the last three tenths are new (4.3.3.1).
        for o in 0..self.scale.orders {
            let (block, at) = (self.orders.at(d * self.scale.orders + o), d * self.orders_each + o);
            let lines = self.first_lines(at);
            for (i, word) in (0..).zip([o + 1, d, 1 + o % self.scale.customers, 0, lines]) {
                m.store(block.field(8 * i), Val::lit(word));
            }
            for line in 0..lines {
                m.store(block.field(LINES + line * LINE), Val::lit(o + 1));
                m.store(block.field(LINES + line * LINE + 8), Val::lit(d << 8 | line));
            }
            m.store(self.order_index.at(at), block.pointer());
            if o >= self.scale.first_new() {
                m.store(block.field(NEW_ORDER), Val::lit(o + 1));
                m.store(block.field(NEW_ORDER + 8), Val::lit(d));
                m.store(self.new_order_index.at(at), block.field(NEW_ORDER).pointer());
            }
        }
    }
    /// Whether a customer, counted through all districts, has bad credit: one in ten.
    pub(super) fn has_bad_credit(&self, number: u64) -> bool {
        self.draw(9, number, 1).is_multiple_of(10)
    }
    /// Last name of a customer (4.3.3.1): the first of a district have all names, the others are drawn.
    pub(super) fn last_name(&self, number: u64) -> u64 {
        let (c, names) = (number % self.scale.customers, self.scale.names());
        if c < names {
            c
        } else {
            last_name(self.seed, self.draw(9, number, 2), names)
        }
    }
    /// Lines of an order that stands before the run.
    pub(super) fn first_lines(&self, at: u64) -> u64 {
        between(self.draw(10, at, 0), 5, 15)
    }
    #[inline(always)]
    pub(super) fn customer<D: Copy + Default + Ord>(&self, number: Val<D>) -> fencepost_kernel::At<D> {
        self.customers.row(number)
    }
    #[inline(always)]
    pub(super) fn item<D: Copy + Default + Ord>(&self, number: Val<D>) -> fencepost_kernel::At<D> {
        self.items.row(number)
    }
    /// What stays in caches, hottest first.
    pub(super) fn spans(&self) -> Vec<Span> {
        let rows = [self.warehouses, self.districts].map(|r| r.span());
        let indexes = [&self.item_index, &self.stock_index, &self.customer_index].map(HashIndex::span);
        let large = [self.items, self.stock, self.customers].map(|r| r.span());
        [&rows[..], &indexes[..], &large[..]].concat()
    }
}

/// A last name of three syllables (4.3.2.3).
fn last_name_text(name: u64) -> [u64; LAST_WORDS as usize] {
    const SYLLABLES: [&str; 10] = [
        "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
    ];
    let mut text = [0u8; 8 * LAST_WORDS as usize];
    let digits = [name / 100 % 10, name / 10 % 10, name % 10];
    let letters = digits.iter().flat_map(|d| SYLLABLES[*d as usize].bytes());
    text.iter_mut().zip(letters).for_each(|(to, letter)| *to = letter);
    [0, 1].map(|w| {
        text[8 * w..8 * w + 8]
            .iter()
            .rev()
            .fold(0, |word, b| word << 8 | u64::from(*b))
    })
}
/// Eight letters.
pub(super) fn letters(h: u64) -> u64 {
    let bytes = h.to_le_bytes().map(|b| b'a' + b % 26);
    u64::from_le_bytes(bytes)
}
/// Whether the text of 50 letters holds "ORIGINAL".
#[inline(always)]
pub(super) fn is_original(text: &[u64; DATA_WORDS]) -> bool {
    let mut bytes = [0u8; 8 * DATA_WORDS];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(text) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes[..TEXT].windows(8).any(|window| window == ORIGINAL)
}

#[cfg(test)]
mod filled;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::Words;

    /// A line of an order of before names its order, its district and its place in the order.
    #[test]
    fn lines_of_orders_name_where_they_belong() {
        let scale = Scale {
            warehouses: 1,
            districts: 3,
            customers: 3,
            items: 10,
            orders: 10,
        };
        let (tables, mut m) = (Tables::new(&mut Layout::default(), 1, scale, 0), Words::default());
        for d in 1..3 {
            tables.fill_district(&mut m, d);
            for o in 0..scale.orders {
                let block = tables.orders.at::<()>(d * scale.orders + o);
                for line in 0..tables.first_lines(d * scale.orders + o) {
                    let word = |i| block.field(LINES + line * LINE + i);
                    assert_eq!(m.load(word(0)).v, o + 1);
                    assert_eq!(m.load(word(8)).v, d * 256 + line);
                }
            }
        }
    }
    #[test]
    fn one_text_in_ten_is_original_wherever_the_mark_stands() {
        let scale = Scale {
            items: 10,
            ..Scale::default()
        };
        let tables = Tables::new(&mut Layout::default(), 1, scale, 0);
        let mut marked = 0;
        for row in 0..10_000 {
            let text = tables.data(7, row);
            let bytes: Vec<u8> = text.iter().flat_map(|w| w.to_le_bytes()).collect();
            let there = bytes.windows(8).any(|w| w == b"ORIGINAL");
            assert_eq!(is_original(&text), there);
            marked += u32::from(there);
        }
        assert!((900..1100).contains(&marked), "{marked}");
    }
}
