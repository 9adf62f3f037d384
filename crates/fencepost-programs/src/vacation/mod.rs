//! `vacation`: a travel agency. One operation queries a row of cars, flights or rooms, makes sure that the customer is there, moves a
//! unit of the row from free to used and enters the reservation in the customer's list.
//!
//! Four tables: three search trees of rows, and customers in hash chains with a list of reservations each. Transactions are
//! redo-logged by nature. WHISPER runs one query, over 80 % of the rows, and makes reservations only.
//!
//! fgc runs 4 clients, 2 million transactions, 16 million tuples (`relations` = 4,194,304). The default is 16,384 tuples.
//!
//! With `front=application` the client draws its query from a generator of 624 words and keeps the best price of each table in lists of
//! its own (`front::agency`).
//!
//! Used by fgc (Table III).

mod tables;

use crate::chains::{Chains, KEY, NEXT};
use crate::choices::{Coupling, Scheme, Variant};
use crate::draw;
use crate::front::{Agency, Front};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
};
use std::collections::BTreeMap;
use tables::{FREE, PRICE, TABLES, Tables, USED};

params! {
    /// Parameters of `vacation`.
    pub struct VacationParams {
        /// Rows of each table; customers are as many.
        #[range(1..=1 << 23)]
        relations: u64 = 4_096,
        /// Customers that are there before the run.
        #[range(0..=1 << 23)]
        preload: u64 = 4_096,
        /// Percentage of the rows and customers that operations draw from.
        #[range(1..=100)]
        query_percent: u8 = 80,
        /// A row has one to five times as many units.
        #[range(1..=1 << 20)]
        units: u64 = 100,
        /// Buckets of the customers' table, rounded up to a power of two.
        #[range(1..=1 << 24)]
        buckets: u64 = 4_096,
        /// Lock stripes over rows and buckets.
        #[range(1..=1 << 20)]
        locks: u64 = 1_024,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

// A customer: chain, key, newest reservation.
const LIST: u64 = 16;
// An entry of a customer's list.
const OLDER: u64 = 0;
const WHAT: u64 = 8;
const COST: u64 = 16;
/// Writer and number of the operation.
const WHO: u64 = 24;
const BLOCK: u64 = 64;

const NOTHING: u8 = 0;
const RESERVED: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Vacation {
    rt: Runtime,
    seed: u64,
    params: VacationParams,
    tables: Tables,
    customers: Chains,
    planted: Rows,
    locks: Locks,
    front: Option<Agency>,
    footprint: Footprint,
}

/// What an operation is given.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    table: u64,
    id: u64,
    customer: u64,
    who: u64,
}

/// What the oracle knows of a run: a register per row (units in use) and per customer (0: absent; else one more than reservations), and
/// the customers' reservations, the oldest first.
#[derive(Clone, Debug)]
pub struct VacationModel {
    registers: Registers,
    lists: BTreeMap<u64, Vec<Wish>>,
}

impl Described for Vacation {
    const NAME: &'static str = "vacation";
    const ABOUT: &'static str = "travel agency: reserves a unit of a car, flight or room for a customer";
    const SCHEMES: &'static [Scheme] = Scheme::REDO_FIRST;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("relations", "3"),
        ("preload", "1"),
        ("query_percent", "100"),
        ("units", "1"),
        ("buckets", "2"),
        ("locks", "4"),
    ];

    fn fields() -> Vec<Field> {
        VacationParams::fields()
    }
    fn build(s: &Settings) -> Result<Vacation, ProgramError> {
        let params: VacationParams = read_params::<Vacation, _>(s)?;
        if params.preload > params.relations {
            let why = format!("preload = {} exceeds relations = {}", params.preload, params.relations);
            return Err(impossible::<Vacation>(why));
        }
        let mut layout = Layout::default();
        let tables = Tables::new(&mut layout, params.relations, params.units, s.seed);
        let customers = Chains::new(&mut layout, params.buckets);
        let planted = Rows::new(&mut layout, BLOCK, params.preload);
        // A customer and a reservation.
        let pool = Pool::new(&mut layout, s.threads, BLOCK, 2 * u64::from(s.ops));
        let rt = Runtime::new(&mut layout, s, params.coupling, 16, pool);
        let locks = Locks::new(&mut layout, params.locks);
        let front = params.front.then(|| Agency::new(&mut layout, s.threads));
        Ok(Vacation {
            rt,
            seed: s.seed,
            tables,
            customers,
            planted,
            locks,
            front,
            footprint: layout.footprint(),
            params,
        })
    }
}

impl Vacation {
    /// Registers of customers follow those of rows.
    fn customer_register(&self, customer: u64) -> u64 {
        TABLES * self.params.relations + customer
    }
    /// The customer's record, made if it is not there; and whether it was made.
    #[inline(always)]
    fn ensure_customer<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, customer: u64) -> (At<M::Dep>, bool) {
        let place = self.customers.find(tx, customer);
        if place.found() {
            return (place.entry, false);
        }
        let entry = tx.alloc();
        tx.fresh(entry.field(NEXT), Val::lit(0));
        tx.fresh(entry.field(KEY), Val::lit(customer));
        tx.fresh(entry.field(LIST), Val::lit(0));
        tx.update(place.link, entry.pointer());
        (entry, true)
    }
    #[inline(always)]
    fn enter<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, customer: (At<M::Dep>, bool), wish: &Wish, cost: Val<M::Dep>) {
        let (list, made) = (customer.0.field(LIST), customer.1);
        let (entry, older) = (tx.alloc(), tx.read(list));
        tx.fresh(entry.field(OLDER), older);
        tx.fresh(entry.field(WHAT), Val::lit(wish.table << 32 | wish.id));
        tx.fresh(entry.field(COST), cost);
        tx.fresh(entry.field(WHO), Val::lit(wish.who));
        if made {
            tx.fresh(list, entry.pointer());
        } else {
            tx.update(list, entry.pointer());
        }
    }
    #[inline(always)]
    fn reserve<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, wish: &Wish) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let row = self.tables.find(&mut tx, wish.table, wish.id);
        let (free, price) = (tx.read(row.field(FREE)), tx.read(row.field(PRICE)));
        tx.compute(sites::ROW);
        if free.v == 0 {
            let (_, made) = self.ensure_customer(&mut tx, wish.customer);
            tx.commit();
            let (kind, words) = (if made { RESERVED } else { NOTHING }, [0; 3]);
            return Ok(Outcome { kind, words });
        }
        if let Some(front) = &self.front {
            front.found(tx.pm.m, thread, (wish.table, wish.id), price);
        }
        tx.protect(row.field(USED), 16);
        let customer = self.ensure_customer(&mut tx, wish.customer);
        let used = tx.read(row.field(USED));
        tx.write(row.field(USED), used.map(|n| n + 1));
        // The mistake of logic: a unit is used and stays free.
        if !tx.slip(Variant::SemanticMistake) {
            tx.write(row.field(FREE), free.map(|n| n - 1));
        }
        if tx.slip(Variant::NonAtomicUpdate) {
            tx.commit();
            tx = self.rt.begin_part(pm, thread, k, 1)?;
            self.enter(&mut tx, (customer.0, false), wish, price);
        } else {
            self.enter(&mut tx, customer, wish, price);
        }
        tx.commit();
        let (kind, words) = (RESERVED, [used.v + 1, 0, 0]);
        Ok(Outcome { kind, words })
    }
    /// One more than the reservations of a customer in a recovered memory (0: no such customer), or what is wrong with them.
    fn reservations<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        customer: u64,
        wishes: &[Wish],
    ) -> Result<(u64, Addr), Violation> {
        let pool = self.rt.pool();
        let is_customer = |at| self.planted.owns(at) || pool.owns(Addr(at));
        let record = self.customers.look_up(m, customer, is_customer)?;
        if record == 0 {
            return Ok((0, self.customers.span().at));
        }
        let list = At::<()>::new(Addr(record)).field(LIST);
        let (mut entry, mut found) = (m.load(list).v, Vec::new());
        while entry != 0 {
            let at = At::<()>::new(Addr(entry));
            if !pool.owns(at.addr) || found.len() >= wishes.len() {
                return Err(Violation::at(
                    at.addr,
                    "a customer's list leads to something that is no entry",
                ));
            }
            found.push([WHAT, COST, WHO].map(|field| m.load(at.field(field)).v));
            entry = m.load(at.field(OLDER)).v;
        }
        let expected = wishes.iter().map(|w| {
            let price = self.tables.price(self.tables.row(w.table, w.id));
            [w.table << 32 | w.id, price, w.who]
        });
        if found.iter().rev().copied().ne(expected.take(found.len())) {
            return Err(Violation::at(
                list.addr,
                "a customer's list holds what the customer did not reserve",
            ));
        }
        Ok((1 + found.len() as u64, list.addr))
    }
}

impl Program for Vacation {
    type Input = Wish;
    type Audit = RegisterAudit;
    type Model = VacationModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.tables.plant(m);
        self.front.iter().for_each(|f| f.plant(m));
        let place = |i| draw::shuffled(self.seed, self.params.preload, i);
        (0..self.params.preload).for_each(|i| self.customers.plant(m, self.planted.at(place(i)), i + 1));
    }
    fn resident(&self) -> Vec<Span> {
        let [roots, nodes, records] = self.tables.spans();
        vec![roots, nodes, self.customers.span(), self.planted.span(), records]
    }
    fn input(&self, thread: u32, k: u32) -> Wish {
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let range = (self.params.relations * u64::from(self.params.query_percent)).div_ceil(100);
        Wish {
            table: draw::below(h(1), TABLES),
            id: 1 + draw::below(h(2), range),
            customer: 1 + draw::below(h(3), range),
            who: (u64::from(thread) + 1) << 32 | (u64::from(k) + 1),
        }
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Wish) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        if let Some(front) = &self.front {
            front.query(pm.m, thread, input.table, input.id);
        }
        let row = self.tables.row(input.table, input.id);
        let bucket = TABLES * self.params.relations + self.customers.bucket(input.customer);
        self.locks.lock_two(pm, row, bucket);
        let result = self.reserve(pm, thread, k, input);
        self.locks.unlock_two(pm, row, bucket);
        pm.m.compute(sites::EPILOGUE);
        result
    }
    fn model(&self, ops: &[OpRecord]) -> VacationModel {
        let mut b = Builder::new(ops);
        let (mut lists, mut used) = (BTreeMap::<u64, Vec<Wish>>::new(), BTreeMap::<u64, u64>::new());
        let mut explained = true;
        for o in ops {
            let (wish, op) = (self.input(o.thread, o.k), (o.thread, o.k));
            let row = self.tables.row(wish.table, wish.id);
            let (count, customer) = (used.entry(row).or_default(), self.customer_register(wish.customer));
            let there = wish.customer <= self.params.preload;
            let known = lists.contains_key(&wish.customer) || there;
            let list = lists.entry(wish.customer).or_default();
            b.initial(customer, u64::from(there));
            let has_unit = *count < self.tables.total(row);
            let mut expected = 0;
            if has_unit {
                *count += 1;
                expected = *count;
                list.push(wish);
                b.write(row, op, *count);
            }
            if has_unit || !known {
                b.write(customer, op, 1 + list.len() as u64);
            }
            explained &= o.outcome.words[0] == expected;
        }
        let registers = Registers::new(b.build_if(
            explained,
            "what the operations reserved is not what the locks' order of them leaves",
        ));
        VacationModel { registers, lists }
    }
    fn audit_start(&self, model: &VacationModel, crash: &CrashPoint) -> RegisterAudit {
        model.registers.start(crash)
    }
    /// One row, or one customer, a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &VacationModel, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "a row or a customer is that of no prefix of the operations";
        model.registers.step(state, why, |register| {
            let rows = TABLES * self.params.relations;
            match register.checked_sub(rows) {
                None => self.tables.used(m, register),
                Some(customer) => self.reservations(m, customer, model.lists.get(&customer).map_or(&[], |l| l)),
            }
        })
    }
}
