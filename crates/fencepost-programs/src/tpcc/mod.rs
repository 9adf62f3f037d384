//! `tpcc`: TPC-C (revision 5.11) on its tables: new orders alone (2.4), as the papers run it, or all five transactions (`mix=standard`).
//!
//! A terminal enters an order of 5 to 15 lines: tax rates, the customer and the district's next order number are read, the number is
//! incremented, ORDER and NEW_ORDER rows are inserted, and per line an item is read, its stock changes and an ORDER_LINE is inserted.
//! Customers and items are chosen non-uniformly, 1 % of the lines are supplied by another warehouse, 1 % of the orders name an unused
//! item and change nothing: they are found out before the first store. Lines are entered in the order of their stock rows, so locks
//! (the district's, then one for each range of stock) are taken in one order by all.
//!
//! With all five there are a history and two more indexes, from last names to customers and from customers to their newest orders, which new
//! orders keep. Locks are taken in the order warehouse, district, customer, stock. A delivery is one transaction over the
//! districts of its warehouse; stock-level reads what is committed, a stock row at a time.
//!
//! `profile=reduced` is a public variant: no order lines, quantity 7, a quantity of exactly 10 left is refilled. Raw form: district and
//! stock rows are copied aside, a flag validates the copies, rows change and orders are inserted, the flag is cleared: four barriers.
//! Its mistakes `shared-fence` and `flag-never-set` were seen in earlier public versions.
//!
//! Used by dpo and themis.

mod accounts;
mod delivery;
mod mix;
mod model;
mod more;
mod oracle;
mod order;
mod payment;
mod queries;
mod requests;
mod tables;

pub use mix::{Payment, Transaction, Who};
pub use model::{TpccAudit, TpccModel};
pub use requests::{Line, Mix, NewOrder};

use crate::choices::{Coupling, Scheme, Variant, schemes_for};
use crate::layout::{Footprint, Layout, Locks};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, param_enum, params};
use more::More;
use requests::{Scale, Terminal};
use tables::{ORDER, Tables};

param_enum! {
    /// How much of the standard a new order does.
    pub enum Profile {
        /// All of it.
        Standard = "standard",
        /// As a public variant has it: no order lines, quantity 7, no rollbacks.
        Reduced = "reduced",
    }
}
params! {
    /// Parameters of `tpcc`.
    pub struct TpccParams {
        /// Warehouses; a thread's terminal belongs to one.
        #[range(1..=256)]
        warehouses: u64 = 1,
        /// Districts of a warehouse.
        #[range(1..=10)]
        districts: u64 = 10,
        /// Customers of a district.
        #[range(1..=1 << 20)]
        customers: u64 = 3000,
        /// Orders of a district before the run.
        #[range(0..=1 << 20)]
        orders: u64 = 3000,
        /// Items.
        #[range(1..=1 << 24)]
        items: u64 = 100_000,
        /// Fewest lines of an order.
        #[range(1..=15)]
        min_lines: u64 = 5,
        /// Most lines of an order.
        #[range(1..=15)]
        max_lines: u64 = 15,
        /// Which transactions run.
        mix: Mix = Mix::NewOrder,
        /// How much of the standard a new order does.
        profile: Profile = Profile::Standard,
        /// Locks over the stock rows, each for a range of them.
        #[range(1..=1 << 20)]
        locks: u64 = 4096,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// Kinds of outcomes. An order that names an unused item changes nothing.
const ROLLED_BACK: u8 = 0;
const ORDERED: u8 = 1;
const PAID: u8 = 2;
const DELIVERED: u8 = 3;
const READ: u8 = 4;

/// The program.
#[derive(Clone, Debug)]
pub struct Tpcc {
    rt: Runtime,
    terminal: Terminal,
    tables: Tables,
    district_locks: Locks,
    stock_locks: Locks,
    /// Stock rows that share a lock.
    stock_each: u64,
    reduced: bool,
    /// What transactions other than new orders need, if they run.
    more: Option<More>,
    footprint: Footprint,
}

impl Described for Tpcc {
    const NAME: &'static str = "tpcc";
    const ABOUT: &'static str = "TPC-C: new orders, each of 5 to 15 lines, or all five transactions";
    const SCHEMES: &'static [Scheme] = schemes_for!(Stores | Orders);
    const OWN_VARIANTS: &'static [Variant] = &[
        Variant::NonAtomicUpdate,
        Variant::SemanticMistake,
        Variant::SharedFence,
        Variant::FlagNeverSet,
    ];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("warehouses", "2"),
        ("districts", "2"),
        ("customers", "3"),
        ("orders", "4"),
        ("items", "5"),
        ("min_lines", "1"),
        ("max_lines", "2"),
        ("locks", "4"),
    ];

    fn fields() -> Vec<Field> {
        TpccParams::fields()
    }
    fn build(s: &Settings) -> Result<Tpcc, ProgramError> {
        let p: TpccParams = read_params::<Tpcc, _>(s)?;
        if p.min_lines > p.max_lines {
            return Err(impossible::<Tpcc>("min_lines exceeds max_lines"));
        }
        let alone = p.mix == Mix::NewOrder;
        if !alone && p.profile == Profile::Reduced {
            return Err(impossible::<Tpcc>("profile=reduced has new orders alone"));
        }
        if !alone && u64::from(s.threads) * u64::from(s.ops) >= 1 << 32 {
            return Err(impossible::<Tpcc>(
                "threads times operations reaches 2^32, beyond which dates would repeat",
            ));
        }
        let scale = Scale {
            warehouses: p.warehouses,
            districts: p.districts,
            customers: p.customers,
            orders: p.orders,
            items: p.items,
        };
        let mut layout = Layout::default();
        let more = u64::from(s.threads) * u64::from(s.ops);
        let tables = Tables::new(&mut layout, s.seed, scale, more);
        let pool = Pool::new(&mut layout, s.threads, ORDER, u64::from(s.ops));
        // The order number, both rows, both indexes; per line four counters and eight words. Backups are whole rows.
        let (stores, backups) = (16 + 12 * p.max_lines, 3 + 6 * p.max_lines);
        // A delivery's copies: two lines, an index entry, an order and two lines of a customer for every district.
        let others = if alone { 0 } else { 24 * p.districts.max(4) };
        let stores = stores.max(backups).max(others);
        let rt = Runtime::new(&mut layout, s, p.coupling, stores, pool).with_backups();
        let reduced = p.profile == Profile::Reduced;
        let terminal = Terminal {
            seed: s.seed,
            threads: s.threads,
            ops: s.ops.into(),
            mix: p.mix,
            scale,
            min_lines: p.min_lines,
            max_lines: p.max_lines,
            reduced,
        };
        let stock_locks = Locks::new(&mut layout, p.locks.min(tables.stock.count()));
        let district_locks = Locks::new(&mut layout, tables.districts.count());
        let more = (!alone).then(|| More::new(&mut layout, &tables, more));
        Ok(Tpcc {
            rt,
            terminal,
            district_locks,
            stock_each: tables.stock.count().div_ceil(stock_locks.count()),
            stock_locks,
            reduced,
            more,
            tables,
            footprint: layout.footprint(),
        })
    }
}

impl Tpcc {
    #[inline(always)]
    fn new_order<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        order: &NewOrder,
    ) -> Result<Outcome, Rollback> {
        let Some(found) = self.find(pm.m, order) else {
            return Ok(Outcome {
                kind: ROLLED_BACK,
                words: [0; 3],
            });
        };
        let lines = &found[..order.len];
        let district = At::new(self.district_locks.addr(order.district));
        pm.lock(district);
        self.lock(pm, lines);
        let result = self.transact(pm, (thread, k), order, lines);
        self.unlock(pm, lines);
        pm.unlock(district);
        // The answer leaves for the terminal here.
        let answer = std::hint::black_box(result?);
        Ok(Outcome {
            kind: ORDERED,
            words: [answer.number, answer.total, answer.brands],
        })
    }
    /// Every other transaction. Out of line: none of them is part of the default mix.
    #[inline(never)]
    fn other<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        op: (u32, u32),
        transaction: &Transaction,
    ) -> Result<Outcome, Rollback> {
        let Some(more) = &self.more else {
            return Ok(Outcome::default());
        };
        match transaction {
            // Not asked for here.
            Transaction::NewOrder(_) => Ok(Outcome::default()),
            Transaction::Payment(p) => self.pay(pm, op, more, p),
            Transaction::Delivery {
                warehouse,
                carrier,
                date,
            } => self.deliver(pm, op, more, (*warehouse, *carrier, *date)),
            Transaction::OrderStatus { district, who } => self.order_status(pm, op, more, (*district, *who)),
            Transaction::StockLevel { district, threshold } => self.stock_level(pm, op, (*district, *threshold)),
        }
    }
}

impl Program for Tpcc {
    type Input = Transaction;
    type Audit = TpccAudit;
    type Model = TpccModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.tables.fill(m);
        if let Some(more) = &self.more {
            more.fill(&self.tables, m);
        }
    }
    fn resident(&self) -> Vec<Span> {
        let more = self.more.as_ref().map(|m| m.spans(&self.tables));
        [self.tables.spans(), more.unwrap_or_default()].concat()
    }
    fn input(&self, thread: u32, k: u32) -> Transaction {
        self.terminal.transaction(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Transaction) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let result = match input {
            Transaction::NewOrder(order) => self.new_order(pm, thread, k, order),
            other => self.other(pm, (thread, k), other),
        };
        pm.m.compute(sites::EPILOGUE);
        result
    }

    fn model(&self, ops: &[OpRecord]) -> TpccModel {
        self.replay(ops)
    }
    fn audit_start(&self, model: &TpccModel, crash: &CrashPoint) -> TpccAudit {
        TpccAudit::start(model.cut(crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &TpccModel, m: &mut M, state: TpccAudit) -> Flow<TpccAudit> {
        self.audit_step(model, m, state)
    }
}
