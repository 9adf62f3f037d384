//! The oracle of `tpcc`: a register for every district's next order number and for every stock row; orders follow from the numbers.

use super::model::{TpccAudit, TpccModel};
use super::tables::{D_NEXT_O_ID, DIST_WORDS, LINE, LINES, NEW_ORDER, S_ORDER_CNT, S_QUANTITY, S_REMOTE_CNT, S_YTD};
use super::{ORDERED, Tpcc};
use crate::oracle::Builder;
use fencepost_kernel::{Addr, At, Flow, Mem, OpRecord, Violation, Width, rng};
use std::collections::BTreeMap;

/// Registers from here on are stock rows; below, districts.
const STOCK: u64 = 1 << 32;

/// Counters of a stock row: quantity, ytd, order_cnt, remote_cnt.
type Counters = [u64; 4];

fn digest(c: &Counters) -> u64 {
    rng::hash(c)
}

impl Tpcc {
    /// Orders are replayed in the order of their locks; each must have been given the next number of its district.
    pub(super) fn replay(&self, ops: &[OpRecord]) -> TpccModel {
        let threads = ops.iter().map(|o| o.thread + 1).max().unwrap_or(0);
        let (mut b, t) = (Builder::new(threads, ops), &self.tables);
        let (mut stock, mut orders) = (
            BTreeMap::<u64, Counters>::new(),
            BTreeMap::<u64, Vec<(u32, u32)>>::new(),
        );
        let mut explained = true;
        for o in ops {
            let (op, order) = ((o.thread, o.k), self.terminal.new_order(o.thread, o.k));
            let lines = &order.lines[..order.len];
            let possible = lines.iter().all(|l| l.item < t.scale.items);
            explained &= possible == (o.outcome.kind == ORDERED);
            if !possible {
                continue;
            }
            let of_district = orders.entry(order.district).or_default();
            of_district.push(op);
            let next = t.scale.orders + of_district.len() as u64;
            explained &= next == o.outcome.words[0];
            b.initial(order.district, t.scale.orders);
            b.write(order.district, op, next);
            let mut total = 0;
            for l in lines {
                let s = l.supply * t.scale.items + l.item;
                let first = [t.first_quantity(s), 0, 0, 0];
                let c = stock.entry(s).or_insert(first);
                *c = [
                    Self::left(c[0], l.quantity, self.reduced),
                    c[1] + l.quantity,
                    c[2] + 1,
                    c[3] + u64::from(l.supply != order.warehouse),
                ];
                b.initial(STOCK + s, digest(&first));
                b.write(STOCK + s, op, digest(c));
                total += l.quantity * t.price(l.item);
            }
            // Discount and tax are at most 50 % and 40 %.
            explained &= (total / 2 - 1..=total * 14 / 10).contains(&o.outcome.words[1]);
        }
        let mut history = b.build();
        if !explained {
            history.set_fault("no order of the transactions explains the numbers they were given");
        }
        let registers = history.registers().collect();
        TpccModel {
            history,
            registers,
            orders,
        }
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
            self.read_order(model, m, register, state.orders.0 - 1)
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
            state.orders = (t.scale.orders, next.max(t.scale.orders));
            (
                at,
                next,
                "a district's next order number is that of no prefix of the orders",
            )
        } else {
            let at: At<()> = t.stock.at(register - STOCK);
            let counters = [S_QUANTITY, S_YTD, S_ORDER_CNT, S_REMOTE_CNT].map(|f| m.load_n(at.field(f), Width::B4).v);
            (at, digest(&counters), "a stock row is that of no prefix of the orders")
        };
        let seen = model.history.observe(&mut state.cut, register, value);
        seen.map_err(|_| Violation::at(at.addr, why))
    }
    /// An order that its district's number says is there: rows, lines and both index entries.
    fn read_order<M: Mem<Dep = ()>>(
        &self,
        model: &TpccModel,
        m: &mut M,
        district: u64,
        number: u64,
    ) -> Result<(), Violation> {
        let t = &self.tables;
        let wrong = |at: Addr, why: &str| Err(Violation::at(at, why));
        let at = district * t.orders_each + number;
        let index: At<()> = t.order_index.at(at);
        let of_district = model.orders.get(&district).map_or(&[][..], Vec::as_slice);
        let Some((thread, k)) = of_district.get((number - t.scale.orders) as usize) else {
            return wrong(index.addr, "an order is there that nobody placed");
        };
        let order = self.terminal.new_order(*thread, *k);
        let block = m.load(index);
        let new_order = m.load(t.new_order_index.at(at)).v;
        if !self.rt.pool().owns(Addr(block.v)) || new_order != block.v + NEW_ORDER {
            return wrong(index.addr, "an index does not lead to the order");
        }
        let block = block.ptr();
        let mut same = |at: At<()>, words: &[u64]| {
            let word = |(i, w): (usize, &u64)| m.load(at.field(8 * i as u64)).v == *w;
            words.iter().enumerate().all(word)
        };
        let rows =
            same(block, &Self::order_row(&order, number)) && same(block.field(NEW_ORDER), &[number + 1, district]);
        if !rows {
            return wrong(block.addr, "an order's row is not whole or is another's");
        }
        for (i, line) in order.lines[..order.len].iter().enumerate().filter(|_| !self.reduced) {
            let at = block.field(LINES + i as u64 * LINE);
            let words = Self::line_row(&order, number, i, t.price(line.item));
            let dist = t.dist(line.supply * t.scale.items + line.item, district % t.scale.districts);
            let tail = at.field(8 * words.len() as u64);
            debug_assert_eq!(dist.len() as u64, DIST_WORDS);
            if !same(at, &words) || !same(tail, &dist) {
                return wrong(at.addr, "an order line is not whole or is another's");
            }
        }
        Ok(())
    }
}
