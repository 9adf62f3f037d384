//! The delivery transaction (2.7): the oldest new order of every district of a warehouse, all in one.

use super::more::More;
use super::tables::{
    C_BALANCE, C_DATA, C_DELIVERIES, D_NEXT_O_ID, D_OLDEST, DELIVERED_SHIFT, DISTRICT_BYTES, LINE, LINES, O_CARRIER,
    OL_AMOUNT, OL_QUANTITY,
};
use super::{DELIVERED, Tpcc};
use crate::sites;
use crate::small::Small;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Outcome, Pm, Rollback, Val, rng};

/// Offsets in an ORDER row.
const O_CUSTOMER: u64 = 16;
const O_LINES: u64 = 32;

/// An order that is delivered.
#[derive(Copy, Clone)]
struct Found<D> {
    district: At<D>,
    /// Its number in the district.
    number: Val<D>,
    /// Its entry in the index of new orders.
    index: At<D>,
    block: At<D>,
    lines: u64,
    /// The customer, numbered through all districts.
    customer: Val<D>,
}

impl Tpcc {
    pub(super) fn deliver<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        op: (u32, u32),
        more: &More,
        (warehouse, carrier, date): (u64, u64, u64),
    ) -> Result<Outcome, Rollback> {
        let each = self.tables.scale.districts;
        let districts = warehouse * each..(warehouse + 1) * each;
        for d in districts.clone() {
            pm.lock(At::new(self.district_locks.addr(d)));
        }
        let none = Found {
            district: At::new(Addr(0)),
            number: Val::lit(0),
            index: At::new(Addr(0)),
            block: At::new(Addr(0)),
            lines: 0,
            customer: Val::lit(0),
        };
        let mut found = Small::<Found<M::Dep>, 10>::new(none);
        for d in districts.clone() {
            if let Some(order) = self.oldest(pm.m, d) {
                found.push(order);
            }
        }
        let found = found.as_slice();
        let stripes = more.customer_locks.stripes(found.iter().map(|f| f.customer.v));
        more.customer_locks.lock_all(pm, stripes.as_slice());
        let result = self.deliver_locked(pm, op, found, (carrier, date));
        more.customer_locks.unlock_all(pm, stripes.as_slice());
        for d in districts.rev() {
            pm.unlock(At::new(self.district_locks.addr(d)));
        }
        result?;
        let numbers = found.iter().map(|f| f.number.v);
        let digest = |numbers: Vec<u64>| rng::hash(&numbers);
        Ok(Outcome {
            kind: DELIVERED,
            words: [if M::OBSERVED { digest(numbers.collect()) } else { 0 }, 0, 0],
        })
    }
    /// The oldest new order of a district, if it has one.
    fn oldest<M: Mem>(&self, m: &mut M, d: u64) -> Option<Found<M::Dep>> {
        let t = &self.tables;
        let district = t.districts.at::<M::Dep>(d);
        let number = m.load(district.field(D_OLDEST));
        let next = m.load(district.field(D_NEXT_O_ID));
        if number.v == next.v {
            return None;
        }
        let at = number.map(|n| d * t.orders_each + n);
        let block = m.load(t.order_index.row(at)).ptr();
        let customer = m.load(block.field(O_CUSTOMER));
        let lines = m.load(block.field(O_LINES)).v & 0xffff_ffff;
        m.compute(sites::ROW);
        Some(Found {
            district,
            number,
            index: t.new_order_index.row(at),
            block,
            lines,
            customer: customer.map(|c| d * t.scale.customers + c - 1),
        })
    }
    fn deliver_locked<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        found: &[Found<M::Dep>],
        (carrier, date): (u64, u64),
    ) -> Result<(), Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        for f in found {
            self.announce_delivery(&mut tx, f);
        }
        if !found.is_empty() {
            tx.backed_up();
        }
        for f in found {
            tx.write(f.index, Val::lit(0));
            tx.write(f.district.field(D_OLDEST), f.number.map(|n| n + 1));
            tx.write(f.block.field(O_CARRIER), Val::lit(carrier));
            let mut sum = 0;
            for i in 0..f.lines {
                let line = f.block.field(LINES + i * LINE);
                sum += tx.read(line.field(OL_AMOUNT)).v;
                let quantity = tx.read(line.field(OL_QUANTITY));
                tx.write(line.field(OL_QUANTITY), quantity.map(|q| q | date << DELIVERED_SHIFT));
            }
            let customer = self.tables.customer(f.customer);
            for (field, n) in [(C_BALANCE, sum), (C_DELIVERIES, 1)] {
                let before = tx.read(customer.field(field));
                tx.write(customer.field(field), before.map(|v| v.wrapping_add(n)));
            }
            tx.compute(sites::ROW);
        }
        if !found.is_empty() {
            tx.drop_backups();
        }
        tx.commit();
        Ok(())
    }
    fn announce_delivery<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, f: &Found<M::Dep>) {
        let customer = self.tables.customer(f.customer);
        tx.protect(f.index, 8);
        tx.protect(f.district.field(D_OLDEST), 8);
        tx.protect(f.block.field(O_CARRIER), 8);
        for i in 0..f.lines {
            tx.protect(f.block.field(LINES + i * LINE + OL_QUANTITY), 8);
        }
        tx.protect(customer.field(C_BALANCE), 8);
        tx.protect(customer.field(C_DELIVERIES), 8);
        tx.back_up(f.index, 8);
        tx.back_up(f.district, DISTRICT_BYTES);
        tx.back_up(f.block, LINES + f.lines * LINE);
        tx.back_up(customer, C_DATA);
    }
}
