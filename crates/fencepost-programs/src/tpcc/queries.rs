//! The transactions that only read: order-status (2.6) and stock-level (2.8).

use super::mix::Who;
use super::more::More;
use super::tables::{C_BALANCE, C_LAST, D_NEXT_O_ID, LAST_WORDS, LINE, LINES, OL_AMOUNT, ORDER_WORDS, S_QUANTITY};
use super::{READ, Tpcc};
use crate::sites;
use crate::small::Small;
use fencepost_kernel::{At, Mem, Outcome, Pm, Rollback, Width};
use std::hint::black_box;

/// Orders that stock-level looks back, and the most lines that they have.
const RECENT: u64 = 20;
const MOST: usize = 20 * 15;
/// Item and warehouse in an ORDER_LINE row.
const OL_ITEM: u64 = 16;

fn read(answer: u64) -> Outcome {
    black_box(answer);
    Outcome {
        kind: READ,
        words: [0; 3],
    }
}

impl Tpcc {
    pub(super) fn order_status<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        more: &More,
        (district, who): (u64, Who),
    ) -> Result<Outcome, Rollback> {
        let Some(number) = self.find_customer(pm.m, more, district, who) else {
            return Ok(read(0));
        };
        let locks = [
            At::new(self.district_locks.addr(district)),
            more.customer_locks.of(number.v),
        ];
        locks.iter().for_each(|l| pm.lock(*l));
        let result = self.rt.begin(pm, thread, k).map(|mut tx| {
            let customer = self.tables.customer(number);
            let mut text = tx.read(customer.field(C_BALANCE)).v;
            (0..LAST_WORDS).for_each(|w| text ^= tx.read(customer.field(C_LAST + 8 * w)).v);
            let block = tx.read(more.newest.row(number));
            if block.v != 0 {
                let row = [0, 1, 2, 3, 4].map(|w: u64| tx.read(block.ptr().field(8 * w)).v);
                let lines = row[ORDER_WORDS - 1] & 0xffff_ffff;
                for i in 0..lines {
                    let line = block.ptr().field(LINES + i * LINE);
                    (OL_ITEM..=OL_AMOUNT)
                        .step_by(8)
                        .for_each(|o| text ^= tx.read(line.field(o)).v);
                    tx.compute(sites::ROW);
                }
            }
            tx.commit();
            text
        });
        locks.iter().rev().for_each(|l| pm.unlock(*l));
        result.map(read)
    }
    /// Reads what is committed (2.8.2.3): stock is read a row at a time, each under its lock.
    pub(super) fn stock_level<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        (district, threshold): (u64, u64),
    ) -> Result<Outcome, Rollback> {
        let t = &self.tables;
        let lock = At::new(self.district_locks.addr(district));
        pm.lock(lock);
        let result = self.rt.begin(pm, thread, k).map(|mut tx| {
            let mut items = Small::<u64, MOST>::new(0);
            let next = tx.read(t.districts.at(district).field(D_NEXT_O_ID)).v;
            for o in next.saturating_sub(RECENT)..next {
                let block = tx.read(t.order_index.at(district * t.orders_each + o)).ptr();
                let lines = tx.read(block.field(8 * (ORDER_WORDS as u64 - 1))).v & 0xffff_ffff;
                for i in 0..lines {
                    items.push(tx.read(block.field(LINES + i * LINE + OL_ITEM)).v & 0xffff_ffff);
                }
                tx.compute(sites::ROW);
            }
            tx.commit();
            items
        });
        pm.unlock(lock);
        let mut items = result?;
        items.as_mut_slice().sort_unstable();
        let (mut low, mut last) = (0, 0);
        for item in items.as_slice() {
            if std::mem::replace(&mut last, *item) == *item {
                continue;
            }
            let key = t.stock_key(district / t.scale.districts, item - 1);
            let Some(number) = t.stock_index.find(pm.m, key) else {
                continue;
            };
            let lock = At::new(self.stock_locks.addr(number.v / self.stock_each));
            pm.lock(lock);
            let quantity = pm.m.load_n(t.stock.row(number).field(S_QUANTITY), Width::B4).v;
            pm.unlock(lock);
            low += u64::from(quantity < threshold);
        }
        Ok(read(low))
    }
}
