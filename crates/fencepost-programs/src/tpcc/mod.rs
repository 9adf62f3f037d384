//! `tpcc`: the new-order transaction of TPC-C (revision 5.11, 2.4) on its tables.
//!
//! A terminal enters an order of 5 to 15 lines: tax rates, the customer and the district's next order number are read, the number is
//! incremented, ORDER and NEW_ORDER rows are inserted, and per line an item is read, its stock changes and an ORDER_LINE is inserted.
//! Customers and items are chosen non-uniformly, 1 % of the lines are supplied by another warehouse, 1 % of the orders name an unused
//! item and change nothing: they are found out before the first store. Lines are entered in the order of their stock rows, so locks
//! (the district's, then one for each range of stock) are taken in one order by all.
//!
//! `profile=reduced` is a public variant: no order lines, quantity 7, a quantity of exactly 10 left is refilled. Raw form: district and
//! stock rows are copied aside, a flag vouches for the copies, rows change and orders are inserted, the flag is cleared: four barriers.
//! Its mistakes `shared-fence` and `flag-never-set` were seen in earlier public versions.
//!
//! Used by dpo and themis.

mod model;
mod oracle;
mod order;
mod requests;
mod tables;

pub use model::{TpccAudit, TpccModel};
pub use requests::{Line, NewOrder};

use crate::layout::{Footprint, Layout, Locks};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{LogStep, Runtime};
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, param_words, params,
};
use requests::{Scale, Terminal};
use tables::{ORDER, Tables};

param_words! {
    /// How much of the standard an operation does.
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
        /// How much of the standard an operation does.
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
    footprint: Footprint,
}

impl Described for Tpcc {
    const WORD: &'static str = "tpcc";
    const ABOUT: &'static str = "TPC-C: new orders, each of 5 to 15 lines";
    const SCHEMES: &'static [Scheme] = &[
        Scheme::UndoArray,
        Scheme::UndoList,
        Scheme::LibraryArray,
        Scheme::LibraryList,
        Scheme::Redo,
        Scheme::Raw,
    ];
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
        ("orders", "3"),
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
        let rt = Runtime::new(&mut layout, s, p.coupling, stores.max(backups), pool).with_backups();
        let reduced = p.profile == Profile::Reduced;
        let terminal = Terminal {
            seed: s.seed,
            threads: s.threads,
            scale,
            min_lines: p.min_lines,
            max_lines: p.max_lines,
            reduced,
        };
        let stock_locks = Locks::new(&mut layout, p.locks.min(tables.stock.count()));
        Ok(Tpcc {
            rt,
            terminal,
            district_locks: Locks::new(&mut layout, tables.districts.count()),
            stock_each: tables.stock.count().div_ceil(stock_locks.count()),
            stock_locks,
            reduced,
            tables,
            footprint: layout.footprint(),
        })
    }
    fn footprint(&self) -> Footprint {
        self.footprint
    }
}

impl Program for Tpcc {
    type Input = NewOrder;
    type Rebuild = LogStep;
    type Audit = TpccAudit;
    type Model = TpccModel;

    fn setup<M: Mem>(&self, m: &mut M) {
        self.tables.fill(m);
    }
    fn resident(&self) -> Vec<Span> {
        self.tables.spans()
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.resident())
    }
    fn input(&self, thread: u32, k: u32) -> NewOrder {
        self.terminal.new_order(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, order: &NewOrder) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let Some(found) = self.find(pm.m, order) else {
            pm.m.compute(sites::EPILOGUE);
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
        pm.m.compute(sites::EPILOGUE);
        Ok(Outcome {
            kind: ORDERED,
            words: [answer.number, answer.total, answer.brands],
        })
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        self.rt.rebuild_without_regions(m, state)
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
