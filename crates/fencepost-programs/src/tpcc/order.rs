//! The new-order transaction itself: what it finds, locks, reads, changes and inserts.

use super::requests::MOST_LINES;
use super::tables::{
    C_CREDIT, C_DISCOUNT, C_LAST, D_NEXT_O_ID, D_TAX, DATA_WORDS, DIST_WORDS, DISTRICT_BYTES, I_DATA, I_NAME, I_PRICE,
    LAST_WORDS, LINE, LINE_WORDS, LINES, NAME_WORDS, NEW_ORDER, O_CARRIER, ORDER_WORDS, S_COUNTERS, S_DATA, S_DIST,
    S_ORDER_CNT, S_QUANTITY, S_REMOTE_CNT, S_YTD, STOCK, W_TAX, is_original,
};
use super::{NewOrder, Tpcc};
use crate::choices::Variant;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Pm, Rollback, Val, Width};

/// A line's rows.
#[derive(Copy, Clone)]
pub(super) struct Found<D> {
    item: At<D>,
    stock: At<D>,
    lock: u64,
}

/// An order that is being placed: its block and its number.
struct Placing<'o, D> {
    order: &'o NewOrder,
    block: At<D>,
    number: Val<D>,
}

/// What the terminal shows.
#[derive(Default)]
pub(super) struct Answer {
    pub number: u64,
    pub total: u64,
    /// Lines whose item is of a brand of the house: both texts hold "ORIGINAL".
    pub brands: u64,
    text: u64,
}

impl Tpcc {
    /// Finds the rows of every line, unless an item does not exist.
    #[inline(always)]
    pub(super) fn find<M: Mem>(&self, m: &mut M, order: &NewOrder) -> Option<[Found<M::Dep>; MOST_LINES]> {
        let none = At::new(Addr(0));
        let mut found = [Found {
            item: none,
            stock: none,
            lock: 0,
        }; MOST_LINES];
        for (f, line) in found.iter_mut().zip(&order.lines[..order.len]) {
            let item = self.tables.item_index.find(m, line.item + 1)?;
            let stock = self
                .tables
                .stock_index
                .find(m, self.tables.stock_key(line.supply, line.item))?;
            *f = Found {
                item: self.tables.item(item),
                stock: self.tables.stock.row(stock),
                lock: stock.v / self.stock_each,
            };
        }
        Some(found)
    }
    /// Takes the locks of the lines, a shared one once: they ascend.
    #[inline(always)]
    pub(super) fn lock<M: Mem>(&self, pm: &mut Pm<'_, M>, lines: &[Found<M::Dep>]) {
        let mut last = u64::MAX;
        for f in lines {
            if f.lock != last {
                last = f.lock;
                pm.lock(At::new(self.stock_locks.addr(last)));
            }
        }
    }
    #[inline(always)]
    pub(super) fn unlock<M: Mem>(&self, pm: &mut Pm<'_, M>, lines: &[Found<M::Dep>]) {
        let mut last = u64::MAX;
        for f in lines {
            if f.lock != last {
                last = f.lock;
                pm.unlock(At::new(self.stock_locks.addr(last)));
            }
        }
    }
    /// The transaction, under its locks.
    #[inline(always)]
    pub(super) fn transact<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        order: &NewOrder,
        lines: &[Found<M::Dep>],
    ) -> Result<Answer, Rollback> {
        let t = &self.tables;
        let mut tx = self.rt.begin(pm, thread, k)?;
        let mut answer = Answer::default();
        let warehouse = t.warehouses.at::<M::Dep>(order.warehouse);
        let district = t.districts.at::<M::Dep>(order.district);
        let tax = tx.read(warehouse.field(W_TAX)).v + tx.read(district.field(D_TAX)).v;
        let number = tx.read(district.field(D_NEXT_O_ID));
        let (discount, customer) = self.read_customer(&mut tx, order, &mut answer);
        let newest = self.more.map(|more| more.newest.row(customer));
        let at = number.map(|n| order.district * t.orders_each + n);
        let (index, new_index) = (t.order_index.row(at), t.new_order_index.row(at));

        // Everything that will change is announced before the first store.
        tx.protect(district.field(D_NEXT_O_ID), 8);
        tx.protect(index, 8);
        tx.protect(new_index, 8);
        tx.back_up(district, DISTRICT_BYTES);
        if let Some(newest) = newest {
            tx.protect(newest, 8);
            tx.back_up(newest, 8);
        }
        for f in lines {
            tx.protect(f.stock.field(S_QUANTITY), S_COUNTERS);
            tx.back_up(f.stock, STOCK);
        }
        tx.backed_up();

        tx.write(district.field(D_NEXT_O_ID), number.map(|n| n + 1));
        let block = tx.alloc();
        let placing = Placing { order, block, number };
        self.insert_order(&mut tx, &placing);
        tx.write(index, block.pointer());
        tx.write(new_index, block.field(NEW_ORDER).pointer());
        if let Some(newest) = newest {
            tx.write(newest, block.pointer());
        }
        let split = tx.slip(Variant::NonAtomicUpdate);
        if split {
            // The mistake: stock and lines in a transaction of their own.
            tx.drop_backups();
            tx.commit();
            tx = self.rt.begin_part(pm, thread, k, 1)?;
            for f in lines {
                tx.protect(f.stock.field(S_QUANTITY), S_COUNTERS);
                tx.back_up(f.stock, STOCK);
            }
            tx.backed_up();
        }
        for (i, f) in lines.iter().enumerate() {
            let forgets = tx.slip(Variant::SemanticMistake) && k % 4 == 1;
            self.sell(&mut tx, &placing, (i, f), &mut answer, forgets);
        }
        tx.drop_backups();
        tx.commit();
        answer.number = number.v + 1;
        answer.total = answer.total * (10_000 - discount) / 10_000 * (10_000 + tax) / 10_000;
        Ok(answer)
    }
    /// Discount, name and credit of the customer, and its number through all districts.
    #[inline(always)]
    fn read_customer<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        order: &NewOrder,
        answer: &mut Answer,
    ) -> (u64, Val<M::Dep>) {
        let key = self.tables.customer_key(order.district, order.customer);
        let Some(number) = self.tables.customer_index.find(tx.pm.m, key) else {
            return (0, Val::lit(0));
        };
        let customer = self.tables.customer(number);
        answer.text ^= tx.read(customer.field(C_CREDIT)).v;
        for w in 0..LAST_WORDS {
            answer.text ^= tx.read(customer.field(C_LAST + 8 * w)).v;
        }
        (tx.read(customer.field(C_DISCOUNT)).v, number)
    }
    /// Words of an ORDER row.
    #[inline(always)]
    pub(super) fn order_row(order: &NewOrder, number: u64) -> [u64; ORDER_WORDS] {
        let lines = &order.lines[..order.len];
        let local = lines.iter().all(|l| l.supply == order.warehouse);
        [
            number + 1,
            order.district,
            order.customer + 1,
            order.entry_d,
            order.len as u64 | u64::from(local) << 32,
        ]
    }
    /// The first words of an ORDER_LINE row; the district's information follows.
    #[inline(always)]
    pub(super) fn line_row(
        order: &NewOrder,
        number: u64,
        i: usize,
        price: u64,
    ) -> [u64; LINE_WORDS - DIST_WORDS as usize] {
        let line = &order.lines[i];
        [
            number + 1,
            order.district << 8 | i as u64,
            (line.item + 1) | line.supply << 32,
            line.quantity,
            line.quantity * price,
        ]
    }
    #[inline(always)]
    fn insert_order<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, placing: &Placing<'_, M::Dep>) {
        let Placing { order, block, number } = *placing;
        let row = Self::order_row(order, number.v);
        tx.fresh(block, number.map(|_| row[0]));
        for (i, word) in (0..).zip(row).skip(1) {
            tx.fresh(block.field(8 * i), Val::lit(word));
        }
        if self.more.is_some() {
            // Blocks are taken once, so the word is 0 already where nobody asks who delivered.
            tx.fresh(block.field(O_CARRIER), Val::lit(0));
        }
        tx.fresh(block.field(NEW_ORDER), number.map(|_| row[0]));
        tx.fresh(block.field(NEW_ORDER + 8), Val::lit(order.district));
        tx.compute(sites::ROW);
    }
    /// One line: item, stock, order line.
    #[inline(always)]
    fn sell<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        placing: &Placing<'_, M::Dep>,
        (i, f): (usize, &Found<M::Dep>),
        answer: &mut Answer,
        forgets: bool,
    ) {
        let Placing { order, block, number } = *placing;
        let line = &order.lines[i];
        let price = tx.read(f.item.field(I_PRICE));
        for w in 0..NAME_WORDS {
            answer.text ^= tx.read(f.item.field(I_NAME + 8 * w)).v;
        }
        let (item_text, stock_text) = (text(tx, f.item.field(I_DATA)), text(tx, f.stock.field(S_DATA)));
        answer.brands += u64::from(is_original(&item_text) && is_original(&stock_text));

        let narrow = |tx: &mut Tx<'_, '_, M>, field| tx.read_n(f.stock.field(field), Width::B4);
        let quantity = narrow(tx, S_QUANTITY);
        let left = quantity.map(|q| Self::left(q, line.quantity, self.reduced));
        tx.write_n(f.stock.field(S_QUANTITY), left, Width::B4);
        let ytd = narrow(tx, S_YTD).map(|n| n + line.quantity);
        tx.write_n(f.stock.field(S_YTD), ytd, Width::B4);
        if !forgets {
            let count = narrow(tx, S_ORDER_CNT).map(|n| n + 1);
            tx.write_n(f.stock.field(S_ORDER_CNT), count, Width::B4);
        }
        if line.supply != order.warehouse {
            let remote = narrow(tx, S_REMOTE_CNT).map(|n| n + 1);
            tx.write_n(f.stock.field(S_REMOTE_CNT), remote, Width::B4);
        }
        let words = Self::line_row(order, number.v, i, price.v);
        answer.total += words[4];
        if !self.reduced {
            let at = block.field(LINES + i as u64 * LINE);
            let dist = f
                .stock
                .field(S_DIST + order.district % self.tables.scale.districts * DIST_WORDS * 8);
            for (w, word) in (0..).zip(words) {
                let dep = if w == 4 { price.dep } else { M::Dep::default() };
                tx.fresh(at.field(8 * w), Val { v: word, dep });
            }
            for w in 0..DIST_WORDS {
                let of_district = tx.read(dist.field(8 * w));
                tx.fresh(at.field(8 * (w + 5)), of_district);
            }
        }
        tx.compute(sites::ROW);
    }
    /// Quantity left (2.4.2.2): refilled by 91 where fewer than 10 would be left.
    #[inline(always)]
    pub(super) fn left(quantity: u64, ordered: u64, reduced: bool) -> u64 {
        let enough = quantity >= ordered + 10 + u64::from(reduced);
        if enough {
            quantity - ordered
        } else {
            quantity + 91 - ordered
        }
    }
}

/// Reads i_data or s_data.
#[inline(always)]
fn text<M: Mem>(tx: &mut Tx<'_, '_, M>, at: At<M::Dep>) -> [u64; DATA_WORDS] {
    let mut words = [0; DATA_WORDS];
    for (i, w) in (0..).zip(&mut words) {
        *w = tx.read(at.field(8 * i)).v;
    }
    words
}

/// TPC-C 2.4.2.2: less what is ordered if ten or more are left, or else 91 more than that. The mistake refills one too early.
#[test]
fn stock_is_refilled_before_it_falls_below_ten() {
    let left = |quantity, ordered| Tpcc::left(quantity, ordered, false);
    assert_eq!([left(20, 5), left(15, 5), left(14, 5), left(10, 10)], [15, 10, 100, 91]);
    assert_eq!([Tpcc::left(16, 5, true), Tpcc::left(15, 5, true)], [11, 101]);
}
