//! `random`: random operations of every kind on a few lines, to find mistakes of the hardware rather than of a program.
//!
//! An operation is a handful of statements drawn from (seed, thread, operation): loads, stores, stores that depend on a load,
//! flushes, fences, temporal and non-temporal stores to one line, atomics, releases and acquires, critical sections. All threads
//! use the same few words, without locks: plain accesses race on purpose, and nothing the program does depends on the value it
//! reads. Where the hardware has transactions, an operation is one transaction, which may abort itself once; a line then has a
//! word of each thread's own and one that all write under a lock.
//!
//! Clients that persist over a network beside it write other words of the same lines.
//!
//! There is no structure to keep sound: what judges a run is its persist order against the design's contract. Recovery does
//! nothing. The audit demands that every word holds a value that was stored there; that an acknowledged operation that flushed
//! and fenced all its stores is not lost; and of transactions that memory shows a prefix of them.
//!
//! Used to hold designs to their contracts; in no paper.

mod audit;
mod clients;
mod statements;

use crate::choices::{Scheme, Variant};
use crate::layout::{Footprint, Layout, Locks};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
pub use audit::RandomAudit;
use audit::{COMMITTED, Model, SEALED};
pub use clients::{CLIENT_WORD, transactions};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{
    Addr, At, CrashPoint, Fence, Flow, Flush, Logging, Mem, OpRecord, Outcome, Pm, Program, Rmw, Rollback, Span,
    Transactions, Val,
};
pub use statements::RandomParams;
use statements::{LOCKS, Plan, Statement, value};

/// The program.
#[derive(Clone, Debug)]
pub struct Random {
    plan: Plan,
    locks: Locks,
    /// A word for each thread: the operation that aborted itself last.
    attempts: Addr,
    footprint: Footprint,
}

impl Described for Random {
    const NAME: &'static str = "random";
    const ABOUT: &'static str = "random loads, stores, flushes, fences, atomics and transactions on a few lines";
    const SCHEMES: &'static [Scheme] = &[Scheme::Raw];
    const OWN_VARIANTS: &'static [Variant] = &[];
    /// It has no order of its own that a mistake could break.
    const HARMLESS: &'static [(Scheme, Variant)] = &[
        (Scheme::Raw, Variant::MissingFlush),
        (Scheme::Raw, Variant::MissingFence),
        (Scheme::Raw, Variant::MissingPcommit),
        (Scheme::Raw, Variant::MissingCommit),
        (Scheme::Raw, Variant::MisplacedCommit),
        (Scheme::Raw, Variant::MisplacedFlush),
        (Scheme::Raw, Variant::MisplacedFence),
        (Scheme::Raw, Variant::WrongStoreOrder),
    ];
    const SMALL: &'static [(&'static str, &'static str)] = &[("lines", "3")];

    fn fields() -> Vec<Field> {
        RandomParams::fields()
    }
    fn build(s: &Settings) -> Result<Random, ProgramError> {
        let params: RandomParams = read_params::<Random, _>(s)?;
        let p = &params;
        let wrong = match p {
            _ if p.lines == 0 || p.lines > 1 << 16 => "lines is not within 1..=65536",
            _ if p.volatile_lines == 0 || p.volatile_lines > 1 << 16 => "volatile_lines is not within 1..=65536",
            _ if p.released_early > 100 => "released_early exceeds 100",
            _ if p.overlaps > 100 => "overlaps exceeds 100",
            _ if p.words == 0 || p.words > 8 => "words is not within 1..=8",
            _ if p.length == 0 || p.length > 100 => "length is not within 1..=100",
            _ if p.abort_percent > 100 => "abort_percent exceeds 100",
            _ if statements::weights(p).iter().all(|w| *w == 0) => "every kind of statement has weight 0",
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(impossible::<Random>(wrong));
        }
        let mut layout = Layout::default();
        let groups = u64::from(s.threads.div_ceil(statements::OWN_WORDS));
        let persistent = layout.pm(u64::from(p.lines) * groups * LINE_BYTES);
        let volatile = layout.dram(u64::from(p.volatile_lines) * LINE_BYTES);
        let locks = Locks::new(&mut layout, LOCKS);
        let attempts = layout.dram(u64::from(s.threads) * LINE_BYTES);
        Ok(Random {
            plan: Plan {
                seed: s.seed,
                params,
                honours: s.honours,
                persistent,
                volatile,
            },
            locks,
            attempts,
            footprint: layout.footprint(),
        })
    }
    /// On the program's own lines, of which it must leave the last words alone.
    fn clients(&self, seed: u64) -> Option<Transactions> {
        let Plan { params, persistent, .. } = &self.plan;
        let free = u64::from(params.words) <= CLIENT_WORD;
        free.then(|| transactions(seed, (*persistent, params.lines.into()), false))
    }
}

impl Random {
    fn execute<M: Mem>(&self, pm: &mut Pm<'_, M>, statement: Statement, unique: u64) {
        let fresh = Val::lit(unique);
        match statement {
            Statement::Load(a) => drop(pm.m.load(At::new(a))),
            Statement::Store(a) => pm.m.store(At::new(a), fresh),
            Statement::Persist(a) => {
                pm.m.store(At::new(a), fresh);
                pm.persist(At::new(a), 8);
            }
            Statement::Copy { from, to } => {
                let read = pm.m.load(At::new(from));
                pm.m.store(At::new(to), read.map(|_| unique));
                if to.is_persistent() {
                    pm.persist(At::new(to), 8);
                }
            }
            Statement::NtStore(a) => pm.m.nt_store(At::new(a), fresh),
            Statement::Flush(a, pick) => {
                let kind = pm.dialect.flush.map(|own| match own {
                    Flush::CvAp => own,
                    _ => [own, Flush::Clwb, Flush::ClflushOpt, Flush::Clflush][pick % 4],
                });
                if let Some(kind) = kind {
                    pm.m.flush(At::new(a), kind);
                }
            }
            Statement::FlushWith(a, kind) => pm.m.flush(At::new(a), kind),
            Statement::Fence(kind) => pm.m.fence(kind),
            Statement::Order => pm.order(),
            Statement::Durable => pm.durable(),
            // The full fence of the instruction set that the idiom belongs to.
            Statement::FullFence => match pm.dialect.order {
                [Fence::Sfence, ..] => pm.m.fence(Fence::Mfence),
                _ => pm.order(),
            },
            Statement::Swap(a) => drop(pm.m.rmw(At::new(a), Rmw::Swap(unique))),
            // No word ever holds the number of a statement that stores nothing.
            Statement::Probe(a) => {
                let never = Rmw::Cas {
                    expect: unique,
                    new: unique,
                };
                let _: Val<M::Dep> = pm.m.rmw(At::new(a), never);
            }
            Statement::Release(a) => pm.m.store_release(At::new(a), fresh),
            Statement::Acquire(a) => drop(pm.m.load_acquire(At::new(a))),
            Statement::Critical { lock, at, bare } => {
                let lock = At::new(self.locks.addr(lock));
                pm.lock(lock);
                pm.m.store(At::new(at), fresh);
                pm.persist(At::new(at), 8);
                if bare {
                    pm.m.unlock(lock);
                } else {
                    pm.order();
                    pm.unlock(lock);
                }
            }
            Statement::Compute => pm.m.compute(sites::PAUSE),
        }
    }
    /// Statements one after the other; sometimes everything they stored is then flushed and fenced.
    fn plain<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Outcome {
        if let Some(range) = self.plan.rebound(thread, k) {
            pm.release(range);
            pm.bind(range);
        }
        let shared = self.plan.overlapping(thread, k);
        shared.into_iter().for_each(|range| pm.bind(range));
        let mut lines = Vec::new();
        let early = self.plan.released_early(thread, k);
        for i in 0..self.plan.params.length {
            if let Some((_, range)) = early.filter(|(after, _)| *after == i) {
                pm.release(range);
            }
            let statement = self.plan.statement(thread, k, i);
            self.execute(pm, statement, value(thread, k, i));
            lines.extend(statement.stores_to().filter(|a| a.is_persistent()).map(|a| a.line()));
        }
        if let Some((_, range)) = early {
            pm.bind(range);
        }
        shared.into_iter().for_each(|range| pm.release(range));
        if lines.is_empty() || !self.plan.seals(thread, k) {
            return Outcome::default();
        }
        lines.sort_unstable();
        lines.dedup();
        for line in lines {
            pm.persist(At::new(line.base()), 1);
        }
        pm.order();
        Outcome {
            kind: SEALED,
            words: [0; 3],
        }
    }
    /// One hardware transaction, aborted once where it is to be.
    fn transaction<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let tx = self.plan.transaction(thread, k);
        let lock = At::new(self.locks.addr(0));
        if tx.shared {
            pm.lock(lock);
        }
        // Memory, not the program, remembers the first attempt: what the transaction stores itself is rolled back.
        let attempt = At::new(Addr(self.attempts.0 + u64::from(thread) * LINE_BYTES));
        let aborts = tx.aborts_after.filter(|_| pm.m.load(attempt).v != u64::from(k) + 1);
        if aborts.is_some() {
            pm.m.store(attempt, Val::lit(u64::from(k) + 1));
        }
        let begun = pm.m.tx_begin();
        if begun.is_ok() {
            let statements = &tx.statements[..aborts.unwrap_or(tx.statements.len())];
            for (i, statement) in statements.iter().enumerate() {
                self.execute(pm, *statement, value(thread, k, i as u8));
            }
            match aborts {
                Some(_) => pm.m.tx_abort(),
                None => pm.m.tx_commit(),
            }
        }
        if tx.shared {
            pm.unlock(lock);
        }
        begun?;
        if tx.flushes {
            pm.durable();
        }
        let stores = tx.statements.iter().any(|s| s.stores_to().next().is_some());
        Ok(Outcome {
            kind: if stores { COMMITTED } else { 0 },
            words: [0; 3],
        })
    }
}

impl Program for Random {
    /// What an operation does is drawn from its number.
    type Input = ();
    type Rebuild = ();
    type Audit = RandomAudit;
    type Model = Model;
    const RACES: bool = true;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, _: &mut M) {}
    fn ranges(&self, _: u32) -> Vec<Span> {
        self.plan.ranges()
    }
    fn input(&self, _: u32, _: u32) {}
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, (): &()) -> Result<Outcome, Rollback> {
        match pm.dialect.logging {
            Logging::Hardware => self.transaction(pm, thread, k),
            Logging::None | Logging::Software => Ok(self.plain(pm, thread, k)),
        }
    }

    fn rebuild_start(&self) {}
    fn rebuild<M: Mem<Dep = ()>>(&self, _: &mut M, (): ()) -> Flow<()> {
        Flow::Done(Ok(()))
    }
    fn model(&self, ops: &[OpRecord]) -> Model {
        Model::new(&self.plan, ops)
    }
    fn audit_start(&self, model: &Model, crash: &CrashPoint) -> RandomAudit {
        model.start(crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &Model, m: &mut M, state: RandomAudit) -> Flow<RandomAudit> {
        model.step(m, state)
    }
}
