//! What a run leaves, by replaying it, and what recovered tuples must look like.

use super::input::{Kind, Transaction};
use super::schema::{
    AMOUNT, BALANCE, CUSTOMER, HISTORY, ID, LINES, NEXT_ORDER, ORDERS, PAID, PAYMENTS, QUANTITY, REMOTE, SALES, SOLD,
    Schema, WHO, YTD,
};
use crate::oracle::Builder;
use crate::registers::Registers;
use fencepost_kernel::{Addr, At, Mem, OpRecord, Violation};
use std::collections::BTreeMap;

const KINDS: u64 = 5;
// Registers: sums and counts that only grow.
const WAREHOUSE_YTD: u64 = 0;
const DISTRICT_YTD: u64 = 1;
const DISTRICT_ORDERS: u64 = 2;
const CUSTOMER_PAYMENTS: u64 = 3;
const STOCK_SALES: u64 = 4;

/// A stock after a sale.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Stock {
    quantity: u64,
    sold: u64,
    remote: u64,
}

/// What the oracle knows of a run: sums and counts, a register each; and what each count stands for, in order.
#[derive(Clone, Debug)]
pub struct TpccModel {
    pub(super) registers: Registers,
    orders: BTreeMap<u64, Vec<Transaction>>,
    payments: BTreeMap<u64, Vec<Transaction>>,
    stocks: BTreeMap<u64, Vec<Stock>>,
}

/// What is in stock once `quantity` has been sold: never less than ten, by a delivery of 91.
pub(super) fn sell(stock: u64, quantity: u64) -> u64 {
    if stock >= quantity + 10 {
        stock - quantity
    } else {
        stock + 91 - quantity
    }
}

fn amount(t: &Transaction) -> u64 {
    match t.kind {
        Kind::Payment { amount } => amount,
        Kind::NewOrder { .. } => 0,
    }
}

impl TpccModel {
    pub(super) fn new(schema: &Schema, ops: &[OpRecord], input: impl Fn(u32, u32) -> Transaction) -> TpccModel {
        let mut b = Builder::new(ops);
        let (mut orders, mut payments) = (BTreeMap::<u64, Vec<Transaction>>::new(), BTreeMap::new());
        let (mut stocks, mut sums) = (BTreeMap::<u64, Vec<Stock>>::new(), BTreeMap::<u64, u64>::new());
        let mut explained = true;
        for o in ops {
            let (t, op) = (input(o.thread, o.k), (o.thread, o.k));
            let mut write = |kind: u64, row: u64, value| b.write(row * KINDS + kind, op, value);
            let counted = match &t.kind {
                Kind::NewOrder { unused: true, .. } => 0,
                Kind::NewOrder { lines, .. } => {
                    for l in lines.as_slice() {
                        let list = stocks.entry(schema.stock(l)).or_default();
                        let first = || Stock {
                            quantity: schema.first_quantity(schema.stock(l)),
                            sold: 0,
                            remote: 0,
                        };
                        let before = list.last().copied().unwrap_or_else(first);
                        list.push(Stock {
                            quantity: sell(before.quantity, l.quantity),
                            sold: before.sold + l.quantity,
                            remote: before.remote + u64::from(l.supply != t.warehouse),
                        });
                        write(STOCK_SALES, schema.stock(l), list.len() as u64);
                    }
                    let list = orders.entry(t.district).or_default();
                    list.push(t.clone());
                    write(DISTRICT_ORDERS, t.district, list.len() as u64);
                    list.len() as u64
                }
                Kind::Payment { amount } => {
                    for (kind, row) in [(WAREHOUSE_YTD, t.warehouse), (DISTRICT_YTD, t.district)] {
                        let sum = sums.entry(row * KINDS + kind).or_default();
                        *sum += amount;
                        write(kind, row, *sum);
                    }
                    let list: &mut Vec<Transaction> = payments.entry(t.customer).or_default();
                    list.push(t.clone());
                    write(CUSTOMER_PAYMENTS, t.customer, list.len() as u64);
                    list.len() as u64
                }
            };
            explained &= o.outcome.words[0] == counted;
        }
        let history = b.build_if(
            explained,
            "what the transactions counted is not what the locks' order of them leaves",
        );
        TpccModel {
            registers: Registers::new(history),
            orders,
            payments,
            stocks,
        }
    }
    /// The value of a register in a recovered memory, or what is wrong with the tuples that it stands for.
    pub(super) fn read<M: Mem<Dep = ()>>(
        &self,
        s: &Schema,
        m: &mut M,
        register: u64,
    ) -> Result<(u64, Addr), Violation> {
        let row = register / KINDS;
        match register % KINDS {
            WAREHOUSE_YTD => Ok(word(m, s.warehouses.at(row), YTD)),
            DISTRICT_YTD => Ok(word(m, s.districts.at(row), YTD)),
            DISTRICT_ORDERS => self.orders(s, m, row),
            CUSTOMER_PAYMENTS => self.payments(s, m, row),
            _ => self.sales(s, m, row),
        }
    }
    fn orders<M: Mem<Dep = ()>>(&self, s: &Schema, m: &mut M, row: u64) -> Result<(u64, Addr), Violation> {
        let known = self.orders.get(&row).map_or(&[][..], |l| l);
        let district = s.districts.at::<()>(row);
        let found = s.list(m, district.field(ORDERS), &s.orders, known.len())?;
        for (i, (order, t)) in found.iter().rev().zip(known).enumerate() {
            let at = At::<()>::new(Addr(*order));
            let Kind::NewOrder { lines, .. } = &t.kind else {
                continue;
            };
            let fields = [
                (WHO, t.who),
                (ID, i as u64 + 1),
                (CUSTOMER, t.customer),
                (LINES, lines.as_slice().len() as u64),
            ];
            let is = |m: &mut M, at: At<()>| fields.iter().all(|(f, v)| m.load(at.field(*f)).v == *v);
            let new_order = s.new_orders.at::<()>(t.slot);
            let announced = m.load(new_order.field(ID)).v == i as u64 + 1 && m.load(new_order.field(WHO)).v == t.who;
            if !is(m, at) || !announced || !s.has_lines(m, t.slot, row, lines.as_slice()) {
                return Err(Violation::at(at.addr, "an order is not the one that was placed"));
            }
        }
        let count = m.load(district.field(NEXT_ORDER)).v.wrapping_sub(1);
        if count != found.len() as u64 {
            return Err(Violation::at(
                district.addr,
                "a district has other orders than it counts",
            ));
        }
        Ok((count, district.field(NEXT_ORDER).addr))
    }
    fn payments<M: Mem<Dep = ()>>(&self, s: &Schema, m: &mut M, row: u64) -> Result<(u64, Addr), Violation> {
        let known = self.payments.get(&row).map_or(&[][..], |l| l);
        let customer = s.customers.at::<()>(row);
        let found = s.list(m, customer.field(HISTORY), &s.payments, known.len())?;
        let mut sum = 0;
        for (payment, t) in found.iter().rev().zip(known) {
            let at = At::<()>::new(Addr(*payment));
            let fields = [
                (WHO, t.who),
                (CUSTOMER, t.customer),
                (ID, t.district),
                (AMOUNT, amount(t)),
            ];
            if fields.iter().any(|(f, v)| m.load(at.field(*f)).v != *v) {
                return Err(Violation::at(at.addr, "a payment is not the one that was made"));
            }
            sum += amount(t);
        }
        let fields = [
            (PAYMENTS, found.len() as u64),
            (PAID, sum),
            (BALANCE, 0u64.wrapping_sub(sum)),
        ];
        if fields.iter().any(|(f, v)| m.load(customer.field(*f)).v != *v) {
            return Err(Violation::at(
                customer.addr,
                "a customer's sums are not those of the payments",
            ));
        }
        Ok((found.len() as u64, customer.addr))
    }
    fn sales<M: Mem<Dep = ()>>(&self, s: &Schema, m: &mut M, row: u64) -> Result<(u64, Addr), Violation> {
        let known = self.stocks.get(&row).map_or(&[][..], |l| l);
        let at = s.stocks.at::<()>(row);
        let sales = m.load(at.field(SALES)).v;
        let first = Stock {
            quantity: s.first_quantity(row),
            sold: 0,
            remote: 0,
        };
        let expected = match sales.checked_sub(1) {
            None => Some(&first),
            Some(i) => known.get(i as usize),
        };
        let found = Stock {
            quantity: m.load(at.field(QUANTITY)).v,
            sold: m.load(at.field(SOLD)).v,
            remote: m.load(at.field(REMOTE)).v,
        };
        match expected == Some(&found) {
            true => Ok((sales, at.addr)),
            false => Err(Violation::at(at.addr, "a stock is not what its sales leave")),
        }
    }
}

fn word<M: Mem<Dep = ()>>(m: &mut M, tuple: At<()>, field: u64) -> (u64, Addr) {
    (m.load(tuple.field(field)).v, tuple.field(field).addr)
}

/// TPC-C 2.4.2.2.
#[test]
fn stock_is_refilled_before_it_falls_below_ten() {
    assert_eq!([sell(20, 5), sell(15, 5), sell(14, 5), sell(10, 10)], [15, 10, 100, 91]);
}
