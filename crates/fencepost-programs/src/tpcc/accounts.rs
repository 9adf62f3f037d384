//! What payments and deliveries leave: the oracle's own books.

use super::mix::Payment;
use super::more::{FIRST_D_YTD, FIRST_SUMS, FIRST_W_YTD, More};
use super::payment::{history_row, paid_words};
use super::tables::{
    C_BALANCE, C_DATA, C_DATA_WORDS, C_DELIVERIES, C_PAYMENTS, C_YTD, D_YTD, PAID_WORDS, Tables, W_YTD,
};
use crate::oracle::Builder;
use fencepost_kernel::{Addr, At, Mem, rng};
use std::collections::BTreeMap;

// Registers: each table's begin at one of these.
pub(super) const OLDEST: u64 = 1 << 34;
const WAREHOUSE: u64 = 1 << 35;
const DISTRICT: u64 = 1 << 36;
const CUSTOMER: u64 = 1 << 37;
const HISTORY: u64 = 1 << 38;

/// Sums and data of a customer.
#[derive(Clone)]
struct Account {
    sums: [u64; 4],
    data: [u64; C_DATA_WORDS],
}
impl Account {
    const FIRST: Account = Account {
        sums: FIRST_SUMS,
        data: [0; C_DATA_WORDS],
    };
    fn digest(&self) -> u64 {
        rng::hash(&[&self.sums[..], &self.data[..]].concat())
    }
}

/// The books as the operations replayed so far leave them.
#[derive(Default)]
pub(super) struct Books {
    sums: BTreeMap<u64, u64>,
    customers: BTreeMap<u64, Account>,
}

impl Books {
    /// Declares what stands there before the run.
    pub(super) fn declare(t: &Tables, b: &mut Builder) {
        for d in 0..t.districts.count() {
            b.initial(d, t.scale.orders);
            b.initial(OLDEST + d, t.scale.first_new());
        }
    }
    fn add(&mut self, b: &mut Builder, op: (u32, u32), (register, first): (u64, u64), amount: u64) {
        let sum = self.sums.entry(register).or_insert(first);
        *sum += amount;
        b.initial(register, first);
        b.write(register, op, *sum);
    }
    fn account(&mut self, b: &mut Builder, op: (u32, u32), customer: u64, change: impl FnOnce(&mut Account)) {
        let account = self.customers.entry(customer).or_insert(Account::FIRST);
        change(account);
        b.initial(CUSTOMER + customer, Account::FIRST.digest());
        b.write(CUSTOMER + customer, op, account.digest());
    }
    /// A payment of this customer, numbered through all districts.
    pub(super) fn pay(&mut self, t: &Tables, b: &mut Builder, op: (u32, u32), p: &Payment, customer: u64) {
        let warehouse = p.district / t.scale.districts;
        self.add(b, op, (WAREHOUSE + warehouse, FIRST_W_YTD), p.amount);
        self.add(b, op, (DISTRICT + p.district, FIRST_D_YTD), p.amount);
        self.account(b, op, customer, |a| {
            a.sums[0] = a.sums[0].wrapping_sub(p.amount);
            a.sums[1] += p.amount;
            a.sums[2] += 1;
            if t.has_bad_credit(customer) {
                a.data.copy_within(..C_DATA_WORDS - PAID_WORDS, PAID_WORDS);
                a.data[..PAID_WORDS].copy_from_slice(&paid_words(p, customer));
            }
        });
        b.write(HISTORY + p.slot, op, rng::hash(&history_row(p, customer)));
    }
    /// A delivery to this customer of an order of this amount.
    pub(super) fn deliver(&mut self, b: &mut Builder, op: (u32, u32), customer: u64, amount: u64) {
        self.account(b, op, customer, |a| {
            a.sums[0] = a.sums[0].wrapping_add(amount);
            a.sums[3] += 1;
        });
    }
}

/// What memory holds in one of these registers, and where.
pub(super) fn look<M: Mem<Dep = ()>>(t: &Tables, more: &More, m: &mut M, register: u64) -> (u64, Addr) {
    let mut words =
        |at: At<()>, offsets: &[u64]| -> Vec<u64> { offsets.iter().map(|o| m.load(at.field(*o)).v).collect() };
    match register {
        r if r >= HISTORY => {
            let row: At<()> = more.history.at(r - HISTORY);
            let found = words(row, &[0, 8, 16, 24, 32]);
            let none = found.iter().all(|w| *w == 0);
            (if none { 0 } else { rng::hash(&found) }, row.addr)
        }
        r if r >= CUSTOMER => {
            let row: At<()> = t.customers.at(r - CUSTOMER);
            let data = (0..C_DATA_WORDS as u64).map(|w| C_DATA + 8 * w);
            let offsets = [C_BALANCE, C_YTD, C_PAYMENTS, C_DELIVERIES].into_iter().chain(data);
            (rng::hash(&words(row, &offsets.collect::<Vec<_>>())), row.addr)
        }
        r if r >= DISTRICT => {
            let row: At<()> = t.districts.at(r - DISTRICT);
            (words(row, &[D_YTD])[0], row.field(D_YTD).addr)
        }
        r => {
            let row: At<()> = t.warehouses.at(r - WAREHOUSE);
            (words(row, &[W_YTD])[0], row.field(W_YTD).addr)
        }
    }
}
/// Whether a register is one of these, the oldest new orders aside.
pub(super) fn keeps(register: u64) -> bool {
    register >= WAREHOUSE
}

#[cfg(test)]
mod tests {
    use super::super::mix::Who;
    use super::super::requests::Scale;
    use super::*;
    use crate::layout::Layout;
    use fencepost_kernel::{OpRecord, Outcome};

    /// 2.5.2.2: of a customer with bad credit the newest payment stands before the older ones, and what no longer fits is gone; of others the
    /// text stays.
    #[test]
    fn data_of_bad_credit_are_its_payments_newest_first() {
        let scale = Scale {
            warehouses: 1,
            districts: 1,
            customers: 100,
            items: 1,
            orders: 1,
        };
        let (t, mut books) = (Tables::new(&mut Layout::default(), 3, scale, 40), Books::default());
        let credit = |bad| (0..100).find(|c| t.has_bad_credit(*c) == bad).expect("there are both");
        for (customer, bad) in [(credit(true), true), (credit(false), false)] {
            let (mut text, mut paid) = (vec![0; C_DATA_WORDS], 0);
            for n in 0..2 * (C_DATA_WORDS / PAID_WORDS) as u64 {
                let payment = Payment {
                    district: 0,
                    home: 0,
                    who: Who::Number(customer),
                    amount: 100 + n,
                    date: 7 + n,
                    slot: n,
                };
                let op = OpRecord {
                    thread: 0,
                    k: 0,
                    stamp: 0,
                    outcome: Outcome::default(),
                };
                books.pay(&t, &mut Builder::new(&[op]), (0, 0), &payment, customer);
                paid += payment.amount;
                if bad {
                    text.splice(0..0, paid_words(&payment, customer));
                    text.truncate(C_DATA_WORDS);
                }
                let account = &books.customers[&customer];
                assert_eq!(account.data[..], text[..], "{} payments", n + 1);
                let [balance, sum, count, deliveries] = FIRST_SUMS;
                assert_eq!(
                    account.sums,
                    [balance.wrapping_sub(paid), sum + paid, count + n + 1, deliveries]
                );
            }
        }
    }
}
