//! The oracle of `tpcc`: a register for every district's next order number, for every stock row, and for what payments and deliveries
//! change; orders follow from the numbers.

use super::accounts::{Books, OLDEST, keeps, look};
use super::mix::{Transaction, Who};
use super::model::{Delivery, TpccAudit, TpccModel};
use super::more::{FIRST_QUANTITY, More};
use super::requests::NewOrder;
use super::tables::{
    D_NEXT_O_ID, D_OLDEST, DELIVERED_SHIFT, DIST_WORDS, LINE, LINES, NEW_ORDER, O_CARRIER, OL_QUANTITY, S_ORDER_CNT,
    S_QUANTITY, S_REMOTE_CNT, S_YTD,
};
use super::{DELIVERED, ORDERED, PAID, READ, Tpcc};
use crate::oracle::Builder;
use fencepost_kernel::{Addr, At, Flow, Mem, OpRecord, Outcome, Violation, Width, rng};
use std::collections::BTreeMap;

/// Registers from here on are stock rows; below, districts.
const STOCK: u64 = 1 << 32;

/// Counters of a stock row: quantity, ytd, order_cnt, remote_cnt.
type Counters = [u64; 4];

fn digest(c: &Counters) -> u64 {
    rng::hash(c)
}

/// The state that the operations replayed so far leave.
struct Replayed {
    b: Builder,
    books: Books,
    stock: BTreeMap<u64, Counters>,
    orders: BTreeMap<u64, Vec<(u32, u32)>>,
    deliveries: BTreeMap<u64, Vec<Delivery>>,
    explained: bool,
}

impl Tpcc {
    /// Operations are replayed in the order of their locks; each must have been given what that order leaves.
    pub(super) fn replay(&self, ops: &[OpRecord]) -> TpccModel {
        let mut r = Replayed {
            b: Builder::new(ops),
            books: Books::default(),
            stock: BTreeMap::new(),
            orders: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            explained: true,
        };
        if self.more.is_some() {
            Books::declare(&self.tables, &mut r.b);
        }
        for o in ops {
            let op = (o.thread, o.k);
            match self.terminal.transaction(o.thread, o.k) {
                Transaction::NewOrder(order) => self.replay_order(&mut r, op, &o.outcome, &order),
                Transaction::Payment(p) => {
                    let first = p.home * self.tables.scale.customers;
                    let customer = match p.who {
                        Who::Number(c) => Some(first + c),
                        Who::Name(name) => More::named(&self.tables, p.home, name),
                    };
                    let (kind, found) = (o.outcome.kind, o.outcome.words[0]);
                    r.explained &= kind == PAID && customer.map(|c| c + 1) == Some(found);
                    if let Some(customer) = customer {
                        r.books.pay(&self.tables, &mut r.b, op, &p, customer);
                    }
                }
                Transaction::Delivery {
                    warehouse,
                    carrier,
                    date,
                } => {
                    let delivered = self.replay_delivery(&mut r, op, warehouse, Delivery { carrier, date });
                    r.explained &= o.outcome.kind == DELIVERED && o.outcome.words[0] == rng::hash(&delivered);
                }
                Transaction::OrderStatus { .. } | Transaction::StockLevel { .. } => {
                    r.explained &= o.outcome.kind == READ;
                }
            }
        }
        let history = r.b.build_if(
            r.explained,
            "no order of the transactions explains the numbers they were given",
        );
        let registers = history.registers().collect();
        TpccModel {
            history,
            registers,
            orders: r.orders,
            deliveries: r.deliveries,
        }
    }
    fn replay_order(&self, r: &mut Replayed, op: (u32, u32), outcome: &Outcome, order: &NewOrder) {
        let t = &self.tables;
        let lines = &order.lines[..order.len];
        let possible = lines.iter().all(|l| l.item < t.scale.items);
        r.explained &= possible == (outcome.kind == ORDERED);
        if !possible {
            return;
        }
        let of_district = r.orders.entry(order.district).or_default();
        of_district.push(op);
        let next = t.scale.orders + of_district.len() as u64;
        r.explained &= next == outcome.words[0];
        r.b.initial(order.district, t.scale.orders);
        r.b.write(order.district, op, next);
        for l in lines {
            let s = l.supply * t.scale.items + l.item;
            let first = [t.first_quantity(s), 0, 0, 0];
            let c = r.stock.entry(s).or_insert(first);
            *c = [
                Self::left(c[0], l.quantity, self.reduced),
                c[1] + l.quantity,
                c[2] + 1,
                c[3] + u64::from(l.supply != order.warehouse),
            ];
            r.b.initial(STOCK + s, digest(&first));
            r.b.write(STOCK + s, op, digest(c));
        }
        let total = self.amount(order);
        // Discount and tax are at most 50 % and 40 %.
        r.explained &= (total / 2 - 1..=total * 14 / 10).contains(&outcome.words[1]);
    }
    /// Amount of a new order's lines.
    fn amount(&self, order: &NewOrder) -> u64 {
        let lines = order.lines[..order.len].iter();
        lines.map(|l| l.quantity * self.tables.price(l.item)).sum()
    }
    /// The numbers of the orders delivered.
    fn replay_delivery(&self, r: &mut Replayed, op: (u32, u32), warehouse: u64, delivery: Delivery) -> Vec<u64> {
        let (t, mut delivered) = (&self.tables, Vec::new());
        let each = t.scale.districts;
        for d in warehouse * each..(warehouse + 1) * each {
            let orders = r.orders.get(&d).map_or(&[][..], Vec::as_slice);
            let deliveries = r.deliveries.entry(d).or_default();
            let number = t.scale.first_new() + deliveries.len() as u64;
            let first = d * t.scale.customers;
            let (customer, amount) = match number.checked_sub(t.scale.orders) {
                None => {
                    let at = d * t.orders_each + number;
                    let amount = (0..t.first_lines(at)).map(|i| More::first_line(t, at, i).1);
                    (first + number % t.scale.customers, amount.sum())
                }
                Some(i) => {
                    let Some((thread, k)) = orders.get(i as usize).copied() else {
                        continue;
                    };
                    let order = self.terminal.new_order(thread, k);
                    r.b.depends((thread, k), op);
                    (first + order.customer, self.amount(&order))
                }
            };
            deliveries.push(delivery);
            delivered.push(number);
            r.b.write(OLDEST + d, op, number + 1);
            r.books.deliver(&mut r.b, op, customer, amount);
        }
        delivered
    }
    /// One step: an order, or a register.
    pub(super) fn audit_step<M: Mem<Dep = ()>>(
        &self,
        model: &TpccModel,
        m: &mut M,
        mut state: TpccAudit,
    ) -> Flow<TpccAudit> {
        if let Some(fault) = model.history.fault() {
            return Flow::Done(Err(Violation {
                why: fault.into(),
                at: None,
            }));
        }
        let Some(register) = model.registers.get(state.next).copied() else {
            return Flow::Done(Ok(()));
        };
        let result = if state.orders.0 < state.orders.1 {
            state.orders.0 += 1;
            self.read_order(model, m, (register, state.oldest), state.orders.0 - 1)
        } else {
            self.read_register(model, m, register, &mut state)
        };
        if let Err(v) = result {
            return Flow::Done(Err(v));
        }
        // A district's orders follow its number.
        if state.orders.0 == state.orders.1 {
            state.next += 1;
            state.orders = (0, 0);
        }
        Flow::Next(state)
    }
    fn read_register<M: Mem<Dep = ()>>(
        &self,
        model: &TpccModel,
        m: &mut M,
        register: u64,
        state: &mut TpccAudit,
    ) -> Result<(), Violation> {
        let t = &self.tables;
        let (at, value, why) = if register < STOCK {
            let at: At<()> = t.districts.at(register).field(D_NEXT_O_ID);
            let next = m.load(at).v;
            if let Some(more) = &self.more {
                self.newest_are_right(model, m, (more, register, next))?;
            }
            state.orders = (t.scale.orders, next.max(t.scale.orders));
            if self.more.is_some() {
                let at = t.districts.at::<()>(register).field(D_OLDEST);
                let (first, oldest) = (t.scale.first_new(), m.load(at).v);
                let seen = model.history.observe(&mut state.cut, OLDEST + register, oldest);
                seen.map_err(|_| Violation::at(at.addr, "a district's oldest new order is that of no prefix"))?;
                (state.orders.0, state.oldest) = (first, oldest);
            }
            (
                at,
                next,
                "a district's next order number is that of no prefix of the orders",
            )
        } else if let Some(more) = self.more.as_ref().filter(|_| keeps(register)) {
            let (value, at) = look(t, more, m, register);
            let why = "a row that payments or deliveries change is that of no prefix of them";
            (At::new(at), value, why)
        } else if register >= OLDEST {
            let at = t.districts.at::<()>(register - OLDEST).field(D_OLDEST);
            (at, m.load(at).v, "a district's oldest new order is that of no prefix")
        } else {
            let at: At<()> = t.stock.at(register - STOCK);
            let counters = [S_QUANTITY, S_YTD, S_ORDER_CNT, S_REMOTE_CNT].map(|f| m.load_n(at.field(f), Width::B4).v);
            (at, digest(&counters), "a stock row is that of no prefix of the orders")
        };
        let seen = model.history.observe(&mut state.cut, register, value);
        seen.map_err(|_| Violation::at(at.addr, why))
    }
    /// An order that its district's number says is there: rows, lines and all index entries; and delivered if it is not new any more.
    fn read_order<M: Mem<Dep = ()>>(
        &self,
        model: &TpccModel,
        m: &mut M,
        (district, oldest): (u64, u64),
        number: u64,
    ) -> Result<(), Violation> {
        let t = &self.tables;
        let at = district * t.orders_each + number;
        let index: At<()> = t.order_index.at(at);
        let block = m.load(index);
        let first_new = t.scale.first_new();
        let by = match number.checked_sub(first_new) {
            Some(i) if number < oldest => model.deliveries.get(&district).and_then(|d| d.get(i as usize)),
            _ => None,
        };
        let new_order = m.load(t.new_order_index.at(at)).v;
        let expected = if by.is_some() { 0 } else { block.v + NEW_ORDER };
        let known = match number < t.scale.orders {
            true => block.v == t.orders.at::<()>(district * t.scale.orders + number).addr.0,
            false => self.rt.pool().owns(Addr(block.v)),
        };
        if !known || new_order != expected {
            return Err(Violation::at(index.addr, "an index does not lead to the order"));
        }
        let block = block.ptr();
        let date = by.map_or(0, |d| d.date) << DELIVERED_SHIFT;
        if self.more.is_some() && m.load(block.field(O_CARRIER)).v != by.map_or(0, |d| d.carrier) {
            return Err(Violation::at(block.addr, "an order's carrier is not who delivered it"));
        }
        let Some(i) = number.checked_sub(t.scale.orders) else {
            let same = |i: u64| m.load(block.field(LINES + i * LINE + OL_QUANTITY)).v == FIRST_QUANTITY | date;
            return match (0..t.first_lines(at)).all(same) {
                true => Ok(()),
                false => Err(Violation::at(block.addr, "an order is delivered in part")),
            };
        };
        let of_district = model.orders.get(&district).map_or(&[][..], Vec::as_slice);
        let Some((thread, k)) = of_district.get(i as usize) else {
            return Err(Violation::at(index.addr, "an order is there that nobody placed"));
        };
        let order = self.terminal.new_order(*thread, *k);
        self.read_rows(m, block, (&order, number, date))
    }
    /// Every customer who ordered during the run has the index entry that the orders before the next number leave.
    fn newest_are_right<M: Mem<Dep = ()>>(
        &self,
        model: &TpccModel,
        m: &mut M,
        (more, district, next): (&More, u64, u64),
    ) -> Result<(), Violation> {
        let t = &self.tables;
        let of_district = model.orders.get(&district).map_or(&[][..], Vec::as_slice);
        let mut newest = BTreeMap::new();
        for (number, (thread, k)) in (t.scale.orders..).zip(of_district) {
            let last = newest.entry(self.terminal.new_order(*thread, *k).customer).or_default();
            *last = if number < next { Some(number) } else { *last };
        }
        for (customer, number) in newest {
            let at: At<()> = more.newest.at(district * t.scale.customers + customer);
            let found = m.load(at);
            let right = match number {
                None => found.v == 0 || t.orders.owns(found.v),
                Some(number) => {
                    let words = [number + 1, district, customer + 1];
                    let mut same = (0..).zip(words).map(|(w, v)| m.load(found.ptr().field(8 * w)).v == v);
                    self.rt.pool().owns(Addr(found.v)) && same.all(|s| s)
                }
            };
            if !right {
                let why = "an index does not lead to a customer's newest order";
                return Err(Violation::at(at.addr, why));
            }
        }
        Ok(())
    }
    fn read_rows<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        block: At<()>,
        (order, number, date): (&NewOrder, u64, u64),
    ) -> Result<(), Violation> {
        let t = &self.tables;
        let mut same = |at: At<()>, words: &[u64]| {
            let word = |(i, w): (usize, &u64)| m.load(at.field(8 * i as u64)).v == *w;
            words.iter().enumerate().all(word)
        };
        let district = order.district;
        let rows =
            same(block, &Self::order_row(order, number)) && same(block.field(NEW_ORDER), &[number + 1, district]);
        if !rows {
            return Err(Violation::at(block.addr, "an order's row is not whole or is another's"));
        }
        for (i, line) in order.lines[..order.len].iter().enumerate().filter(|_| !self.reduced) {
            let at = block.field(LINES + i as u64 * LINE);
            let mut words = Self::line_row(order, number, i, t.price(line.item));
            words[3] |= date;
            let dist = t.dist(line.supply * t.scale.items + line.item, district % t.scale.districts);
            let tail = at.field(8 * words.len() as u64);
            debug_assert_eq!(dist.len() as u64, DIST_WORDS);
            if !same(at, &words) || !same(tail, &dist) {
                return Err(Violation::at(at.addr, "an order line is not whole or is another's"));
            }
        }
        Ok(())
    }
}
