//! The payment transaction (2.5): sums of warehouse, district and customer, and a row of the history.

use super::mix::{Payment, Who};
use super::more::More;
use super::tables::{
    ADDRESS, ADDRESS_WORDS, BAD_CREDIT, C_BALANCE, C_CREDIT, C_DATA, C_DATA_WORDS, C_LAST, C_PAYMENTS, C_SUMS, C_YTD,
    CUSTOMER_BYTES, D_YTD, DISTRICT_BYTES, HISTORY, LAST_WORDS, PAID_WORDS, W_YTD, WAREHOUSE_BYTES,
};
use super::{PAID, Tpcc};
use crate::choices::Variant;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{At, Mem, Outcome, Pm, Rollback, Val};

/// Words of a row of the history.
pub(super) const HISTORY_WORDS: usize = 5;

/// The rows that a payment changes.
struct Paid<D> {
    warehouse: At<D>,
    district: At<D>,
    customer: At<D>,
    history: At<D>,
}

impl Tpcc {
    /// Finds a customer of a district, numbered through all districts.
    pub(super) fn find_customer<M: Mem>(&self, m: &mut M, more: &More, district: u64, who: Who) -> Option<Val<M::Dep>> {
        match who {
            Who::Number(c) => self
                .tables
                .customer_index
                .find(m, self.tables.customer_key(district, c)),
            Who::Name(name) => more.find_by_name(m, district, name),
        }
    }
    pub(super) fn pay<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        op: (u32, u32),
        more: &More,
        p: &Payment,
    ) -> Result<Outcome, Rollback> {
        let t = &self.tables;
        let Some(customer) = self.find_customer(pm.m, more, p.home, p.who) else {
            return Ok(Outcome::default());
        };
        let warehouse = p.district / t.scale.districts;
        let locks = [
            more.warehouse_locks.of(warehouse),
            At::new(self.district_locks.addr(p.district)),
            more.customer_locks.of(customer.v),
        ];
        locks.iter().for_each(|l| pm.lock(*l));
        let rows = Paid {
            warehouse: t.warehouses.at(warehouse),
            district: t.districts.at(p.district),
            customer: t.customer(customer),
            history: more.history.at(p.slot),
        };
        let result = self.pay_locked(pm, op, p, (customer.v, &rows));
        locks.iter().rev().for_each(|l| pm.unlock(*l));
        result.map(|()| Outcome {
            kind: PAID,
            words: [customer.v + 1, 0, 0],
        })
    }
    fn pay_locked<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        p: &Payment,
        (number, rows): (u64, &Paid<M::Dep>),
    ) -> Result<(), Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let mut text = 0;
        for row in [rows.warehouse, rows.district] {
            (0..ADDRESS_WORDS).for_each(|w| text ^= tx.read(row.field(ADDRESS + 8 * w)).v);
        }
        (0..LAST_WORDS).for_each(|w| text ^= tx.read(rows.customer.field(C_LAST + 8 * w)).v);
        let bad = tx.read(rows.customer.field(C_CREDIT)).v == BAD_CREDIT;
        let split = tx.slip(Variant::NonAtomicUpdate);
        tx.protect(rows.warehouse.field(W_YTD), 8);
        tx.protect(rows.district.field(D_YTD), 8);
        tx.protect(rows.history, 8 * HISTORY_WORDS as u64);
        tx.back_up(rows.warehouse, WAREHOUSE_BYTES);
        tx.back_up(rows.district, DISTRICT_BYTES);
        tx.back_up(rows.history, HISTORY);
        if !split {
            announce_customer(&mut tx, rows.customer, bad);
        }
        tx.backed_up();
        for at in [rows.warehouse.field(W_YTD), rows.district.field(D_YTD)] {
            let sum = tx.read(at);
            tx.write(at, sum.map(|s| s + p.amount));
        }
        for (w, word) in (0..).zip(history_row(p, number)) {
            tx.write(rows.history.field(8 * w), Val::lit(word));
        }
        tx.compute(sites::ROW);
        if split {
            // The mistake: the customer's part in a transaction of its own.
            tx.drop_backups();
            tx.commit();
            tx = self.rt.begin_part(pm, thread, k, 1)?;
            announce_customer(&mut tx, rows.customer, bad);
            tx.backed_up();
        }
        let mut add = |field, n: u64| {
            let before = tx.read(rows.customer.field(field));
            tx.write(rows.customer.field(field), before.map(|v| v.wrapping_add(n)));
        };
        add(C_BALANCE, p.amount.wrapping_neg());
        add(C_YTD, p.amount);
        add(C_PAYMENTS, 1);
        if bad {
            let data = rows.customer.field(C_DATA);
            let mut words = [Val::lit(0); C_DATA_WORDS];
            let (head, tail) = words.split_at_mut(PAID_WORDS);
            head.iter_mut()
                .zip(paid_words(p, number))
                .for_each(|(to, w)| *to = Val::lit(w));
            for (w, to) in (0..).zip(tail) {
                *to = tx.read(data.field(8 * w));
            }
            for (w, word) in (0..).zip(words) {
                tx.write(data.field(8 * w), word);
            }
        }
        tx.compute(sites::ROW);
        tx.drop_backups();
        tx.commit();
        std::hint::black_box(text);
        Ok(())
    }
}

fn announce_customer<M: Mem>(tx: &mut Tx<'_, '_, M>, customer: At<M::Dep>, bad: bool) {
    tx.protect(customer.field(C_BALANCE), C_SUMS);
    if bad {
        tx.protect(customer.field(C_DATA), 8 * C_DATA_WORDS as u64);
        tx.back_up(customer, CUSTOMER_BYTES);
    } else {
        tx.back_up(customer, C_DATA);
    }
}
/// What a payment leaves in the history.
pub(super) fn history_row(p: &Payment, customer: u64) -> [u64; HISTORY_WORDS] {
    [p.date, customer + 1, p.home, p.district, p.amount]
}
/// What a payment writes at the head of the data of a customer with bad credit: customer, its district, district, amount, date.
pub(super) fn paid_words(p: &Payment, customer: u64) -> [u64; PAID_WORDS] {
    [customer + 1, p.home, 0, p.district, p.amount, p.date]
}
