//! `nstore-tpcc`: the two transactions of the order-entry benchmark that change most, on the tuple engine.
//!
//! *New order*: number an order in its district, insert it with its lines, take each line's quantity from stock; one in a hundred names an
//! item that does not exist and changes nothing. *Payment*: add to the sums of warehouse, district and customer and insert the
//! payment. Tuples are inserted in the slots of the executor's own partition; the index of orders by district and of payments by
//! customer is a list, newest first.
//!
//! Choices, row sizes and the rule of the stock are the standard's. WHISPER's copy has 1 warehouse, 2 districts and 1,000 items and all five
//! transactions (45 % new order, 43 % payment); it runs 10,000 to 40,000 transactions, broi 400,000, fgc a million. The default is 4
//! warehouses (one for each of its executors) with 10 districts, 120 customers each, and 1,000 items; nothing is ordered before the run.
//!
//! With `front=application` the procedure takes its parameters from a list, writes out and hashes a key for every tuple that it looks up,
//! takes the selected columns from a result, and builds a record for every tuple that it inserts (`front::procedure`).

mod input;
mod model;
mod schema;

pub use input::Transaction;
pub use model::TpccModel;

use super::SCHEMES;
use crate::choices::{Coupling, Scheme, Variant};
use crate::front::{Front, Procedure};
use crate::layout::{Footprint, Layout, Locks};
use crate::pool::Pool;
use crate::registers::RegisterAudit;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, params};
use input::{Kind, Mix, transaction};
use model::sell;
use schema::*;

params! {
    /// Parameters of `nstore-tpcc`.
    pub struct TpccParams {
        /// Warehouses.
        #[range(1..=1 << 10)]
        warehouses: u64 = 4,
        /// Districts of a warehouse.
        #[range(1..=10)]
        districts: u64 = 10,
        /// Customers of a district.
        #[range(1..=3_000)]
        customers: u64 = 120,
        /// Items, each in stock in every warehouse.
        #[range(1..=100_000)]
        items: u64 = 1_000,
        /// Percentage of transactions that are payments; the others are new orders.
        #[range(0..=100)]
        payment_percent: u8 = 49,
        /// Most lines of an order; at least five, or this many.
        #[range(1..=15)]
        most_lines: u64 = 15,
        /// Lock stripes over the tuples.
        #[range(1..=1 << 20)]
        locks: u64 = 4_096,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

/// Columns of a tuple that is inserted, and those that a look-up selects.
const COLUMNS: u64 = 8;
const SELECTED: u64 = 3;
const NOTHING: u8 = 0;
const ORDERED_ITEMS: u8 = 1;
const PAID_MONEY: u8 = 2;

/// The program.
#[derive(Clone, Debug)]
pub struct Tpcc {
    rt: Runtime,
    seed: u64,
    schema: Schema,
    mix: Mix,
    locks: Locks,
    front: Option<Procedure>,
    footprint: Footprint,
}

impl Described for Tpcc {
    const NAME: &'static str = "nstore-tpcc";
    const ABOUT: &'static str = "tuple engine with a write-ahead log: new orders and payments";
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("warehouses", "2"),
        ("districts", "1"),
        ("customers", "2"),
        ("items", "3"),
        ("payment_percent", "30"),
        ("most_lines", "2"),
        ("locks", "8"),
    ];

    fn fields() -> Vec<Field> {
        TpccParams::fields()
    }
    fn build(s: &Settings) -> Result<Tpcc, ProgramError> {
        let p: TpccParams = read_params::<Tpcc, _>(s)?;
        let size = Size {
            warehouses: p.warehouses,
            districts: p.districts,
            customers: p.customers,
            items: p.items,
            ops: s.ops.into(),
        };
        if u64::from(s.ops) * u64::from(s.threads) > 1 << 30 {
            return Err(impossible::<Tpcc>(
                "ops times threads exceeds 1073741824 slots for orders",
            ));
        }
        let mut layout = Layout::default();
        let schema = Schema::new(&mut layout, size, p.most_lines, s.threads, s.seed);
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        // Order, new order and district; a line and a stock each.
        let rt = Runtime::new(&mut layout, s, p.coupling, 16 + p.most_lines * 12, pool);
        let locks = Locks::new(&mut layout, p.locks);
        let front = p.front.then(|| Procedure::new(&mut layout, s.threads, 1, COLUMNS));
        let mix = Mix {
            payments: p.payment_percent.into(),
            most_lines: p.most_lines,
        };
        Ok(Tpcc {
            rt,
            seed: s.seed,
            schema,
            mix,
            locks,
            front,
            footprint: layout.footprint(),
        })
    }
}

impl Tpcc {
    /// What the procedure does with strings: its parameters, a key and a result for each tuple that it looks up, a record for each
    /// that it inserts.
    #[inline(always)]
    fn look_up<M: Mem>(&self, front: &Procedure, m: &mut M, thread: u32, t: &Transaction) {
        let customer = [t.customer, t.district, t.warehouse];
        match &t.kind {
            Kind::Payment { amount } => {
                front.parameters(m, thread, customer.into_iter().chain([*amount]));
                for place in 0..3 {
                    front.key(m, thread, &customer[place..]);
                    front.result(m, thread, SELECTED, *amount);
                }
                front.record(m, thread, *amount);
            }
            Kind::NewOrder { lines, .. } => {
                let lines = lines.as_slice();
                let drawn = lines.iter().flat_map(|l| [l.item, l.supply, l.quantity]);
                front.parameters(m, thread, customer.into_iter().chain(drawn));
                for place in 0..3 {
                    front.key(m, thread, &customer[place..]);
                    front.result(m, thread, SELECTED, t.who);
                }
                for l in lines {
                    front.key(m, thread, &[l.item]);
                    front.result(m, thread, SELECTED, l.item);
                    front.key(m, thread, &[l.item, l.supply]);
                    front.result(m, thread, SELECTED + INFO_WORDS, l.supply);
                }
                // The order, its entry among the new ones, and its lines.
                (0..2 + lines.len()).for_each(|_| front.record(m, thread, t.who));
            }
        }
    }
    /// The locks of everything that a transaction changes.
    #[inline(always)]
    fn stripes(&self, t: &Transaction) -> Small<u64, 16> {
        let s = &self.schema;
        let district = s.warehouses.count() + t.district;
        let customer = s.warehouses.count() + s.districts.count();
        let stock = customer + s.customers.count();
        match &t.kind {
            Kind::Payment { .. } => self
                .locks
                .stripes([t.warehouse, district, customer + t.customer].into_iter()),
            Kind::NewOrder { lines, .. } => {
                let stocks = lines.as_slice().iter().map(|l| stock + s.stock(l));
                self.locks.stripes([district].into_iter().chain(stocks))
            }
        }
    }
    #[inline(always)]
    fn new_order<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        t: &Transaction,
        (lines, unused): (&[Line], bool),
    ) -> Result<Outcome, Rollback> {
        let s = &self.schema;
        let mut tx = self.rt.begin(pm, thread, k)?;
        let district = s.districts.at::<M::Dep>(t.district);
        tx.read(s.warehouses.at(t.warehouse).field(TAX));
        tx.read(district.field(TAX));
        tx.read(s.customers.at(t.customer).field(DISCOUNT));
        let number = tx.read(district.field(NEXT_ORDER));
        tx.compute(sites::ROW);
        if unused {
            tx.commit();
            let (kind, words) = (NOTHING, [0; 3]);
            return Ok(Outcome { kind, words });
        }
        tx.protect(district, CHANGED);
        for l in lines {
            tx.protect_once(s.stocks.at(s.stock(l)), CHANGED);
        }
        let (order, newest) = (s.orders.at::<M::Dep>(t.slot), tx.read(district.field(ORDERS)));
        tx.fresh(order.field(OLDER), newest);
        for (field, v) in [(WHO, t.who), (CUSTOMER, t.customer), (LINES, lines.len() as u64)] {
            tx.fresh(order.field(field), Val::lit(v));
        }
        tx.fresh(order.field(ID), number);
        let new_order = s.new_orders.at::<M::Dep>(t.slot);
        tx.fresh(new_order.field(WHO), Val::lit(t.who));
        tx.fresh(new_order.field(ID), number);
        (0..).zip(lines).for_each(|(i, l)| self.insert_line(&mut tx, t, i, l));
        tx.write(district.field(NEXT_ORDER), number.map(|n| n + 1));
        tx.write(district.field(ORDERS), order.pointer());
        if tx.slip(Variant::NonAtomicUpdate) {
            tx.commit();
            tx = self.rt.begin_part(pm, thread, k, 1)?;
            for l in lines {
                tx.protect_once(s.stocks.at(s.stock(l)), CHANGED);
            }
        }
        lines.iter().for_each(|l| self.take_from_stock(&mut tx, t, l));
        tx.commit();
        let (kind, words) = (ORDERED_ITEMS, [number.v, 0, 0]);
        Ok(Outcome { kind, words })
    }
    #[inline(always)]
    fn insert_line<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, t: &Transaction, i: u64, l: &Line) {
        let s = &self.schema;
        let (line, stock) = (s.line::<M::Dep>(t.slot, i), s.stocks.at::<M::Dep>(s.stock(l)));
        let price = tx.read(s.items.at(l.item).field(PRICE));
        for (field, v) in [(ITEM, l.item), (SUPPLY, l.supply), (ORDERED, l.quantity)] {
            tx.fresh(line.field(field), Val::lit(v));
        }
        tx.fresh(line.field(TOTAL), price.map(|p| p * l.quantity));
        for w in 0..INFO_WORDS {
            let info = tx.read(stock.field(s.info_at(t.district) + w * 8));
            tx.fresh(line.field(INFO + w * 8), info);
        }
        tx.compute(sites::ROW);
    }
    #[inline(always)]
    fn take_from_stock<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, t: &Transaction, l: &Line) {
        let stock = self.schema.stocks.at::<M::Dep>(self.schema.stock(l));
        let add = |tx: &mut Tx<'_, '_, M>, field, n| {
            let before = tx.read(stock.field(field));
            tx.write(stock.field(field), before.map(|v| v + n));
        };
        add(tx, SOLD, l.quantity);
        add(tx, SALES, 1);
        if l.supply != t.warehouse {
            add(tx, REMOTE, 1);
        }
        // The mistake of logic: what is sold stays in stock.
        if !tx.slip(Variant::SemanticMistake) {
            let before = tx.read(stock.field(QUANTITY));
            tx.write(stock.field(QUANTITY), before.map(|q| sell(q, l.quantity)));
        }
        tx.compute(sites::ROW);
    }
    #[inline(always)]
    fn payment<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        t: &Transaction,
        amount: u64,
    ) -> Result<Outcome, Rollback> {
        let s = &self.schema;
        let mut tx = self.rt.begin(pm, thread, k)?;
        let (warehouse, district) = (
            s.warehouses.at::<M::Dep>(t.warehouse),
            s.districts.at::<M::Dep>(t.district),
        );
        let (customer, payment) = (s.customers.at::<M::Dep>(t.customer), s.payments.at::<M::Dep>(t.slot));
        tx.protect(warehouse.field(YTD), 8);
        tx.protect(district, CHANGED);
        tx.protect(customer, CHANGED);
        let newest = tx.read(customer.field(HISTORY));
        tx.fresh(payment.field(OLDER), newest);
        for (field, v) in [(WHO, t.who), (ID, t.district), (CUSTOMER, t.customer), (AMOUNT, amount)] {
            tx.fresh(payment.field(field), Val::lit(v));
        }
        let mut change = |at: At<M::Dep>, by: u64| {
            let before = tx.read(at);
            tx.write(at, before.map(|v| v.wrapping_add(by)));
            before.v
        };
        change(warehouse.field(YTD), amount);
        change(district.field(YTD), amount);
        change(customer.field(BALANCE), amount.wrapping_neg());
        change(customer.field(PAID), amount);
        let payments = change(customer.field(PAYMENTS), 1) + 1;
        tx.write(customer.field(HISTORY), payment.pointer());
        tx.compute(sites::ROW);
        tx.commit();
        let (kind, words) = (PAID_MONEY, [payments, 0, 0]);
        Ok(Outcome { kind, words })
    }
}

impl Program for Tpcc {
    type Input = Transaction;
    type Audit = RegisterAudit;
    type Model = TpccModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.schema.plant(m);
    }
    fn resident(&self) -> Vec<Span> {
        self.schema.spans()
    }
    fn input(&self, thread: u32, k: u32) -> Transaction {
        transaction(self.seed, self.schema.size, self.mix, thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Transaction) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        if let Some(front) = &self.front {
            self.look_up(front, pm.m, thread, input);
        }
        let stripes = self.stripes(input);
        self.locks.lock_all(pm, stripes.as_slice());
        let result = match &input.kind {
            Kind::NewOrder { lines, unused } => self.new_order(pm, thread, k, input, (lines.as_slice(), *unused)),
            Kind::Payment { amount } => self.payment(pm, thread, k, input, *amount),
        };
        self.locks.unlock_all(pm, stripes.as_slice());
        pm.m.compute(sites::EPILOGUE);
        result
    }
    fn model(&self, ops: &[OpRecord]) -> TpccModel {
        TpccModel::new(&self.schema, ops, |thread, k| self.input(thread, k))
    }
    fn audit_start(&self, model: &TpccModel, crash: &CrashPoint) -> RegisterAudit {
        model.registers.start(crash)
    }
    /// One sum or count a step, with the tuples that it stands for.
    fn audit<M: Mem<Dep = ()>>(&self, model: &TpccModel, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "a sum or a count is that of no prefix of the transactions";
        let read = |register| model.read(&self.schema, m, register);
        model.registers.step(state, why, read)
    }
}
