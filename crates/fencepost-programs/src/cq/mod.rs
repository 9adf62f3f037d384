//! `cq`: a concurrent queue with separate locks for its two ends.
//!
//! A linked list with a dummy at its head, 64-byte nodes; head pointer, tail pointer and each lock on a line of its own.
//! Operations flip a coin: insert one node, or delete one. A dequeuer never passes a node whose insertion has not
//! committed: the enqueuer announces the newest committed node in DRAM (`published`, stored with release), so no plain access
//! races and a durable delete implies a durable insert.
//!
//! Raw form: persist the node, then the link (the commit point), then the tail pointer, which recovery repairs from
//! the list. Insert: 3 flushes, 2 barriers; delete: 1 flush, 1 barrier.
//!
//! Used by dpo and themis (SYSTEMS 3.1).

mod oracle;

use crate::layout::{Footprint, Layout, Locks};
use crate::oracle::{Cut, History};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, read_params};
use crate::sites;
use crate::tx::{LogFlow, LogStep, Runtime};
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val, params, rng};

params! {
    /// Parameters of `cq`.
    pub struct CqParams {
        /// Nodes in the queue before the run.
        preload: u32 = 128,
        /// Percentage of operations that insert.
        insert_percent: u8 = 50,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

// Offsets in a node. The value is stored twice: what a torn node would show.
const VALUE: u64 = 0;
const NEXT: u64 = 8;
const POSITION: u64 = 16;
const ECHO: u64 = 24;
const NODE: u64 = 64;

const INSERTED: u8 = 1;
const DELETED: u8 = 2;
const REGION_LINK: u8 = 1;
const REGION_UNLINK: u8 = 2;

/// Registers of the oracle: position of the dummy, position of the last node.
const HEAD_REGISTER: u64 = 0;
const TAIL_REGISTER: u64 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Cq {
    rt: Runtime,
    seed: u64,
    params: CqParams,
    head: Addr,
    tail: Addr,
    locks: Locks,
    published: Addr,
    preload: Addr,
    footprint: Footprint,
}

impl Described for Cq {
    const WORD: &'static str = "cq";
    const ABOUT: &'static str = "concurrent queue, two locks, insert or delete one 64 B node";
    const SCHEMES: &'static [Scheme] = &[
        Scheme::UndoArray,
        Scheme::UndoList,
        Scheme::Redo,
        Scheme::Ido,
        Scheme::Raw,
    ];
    const OWN_VARIANTS: &'static [Variant] = &[
        Variant::NonAtomicUpdate,
        Variant::SemanticMistake,
        Variant::UnflushedLink,
    ];

    fn fields() -> Vec<Field> {
        CqParams::fields()
    }
    fn build(s: &Settings) -> Result<Cq, ProgramError> {
        let params: CqParams = read_params::<Cq, _>(s)?;
        if params.insert_percent > 100 {
            return Err(crate::settings::impossible::<Cq>("insert_percent exceeds 100"));
        }
        let mut layout = Layout::default();
        let (head, tail) = (layout.pm(64), layout.pm(64));
        let preload = layout.pm((u64::from(params.preload) + 1) * NODE);
        let pool = Pool::new(&mut layout, s.threads, NODE, u64::from(s.ops));
        let rt = Runtime::new(
            &mut layout,
            s.threads,
            (s.scheme, params.coupling, s.variant),
            1024,
            pool,
        );
        let (locks, published) = (Locks::new(&mut layout, 2), layout.dram(64));
        let footprint = layout.footprint();
        Ok(Cq {
            rt,
            seed: s.seed,
            params,
            head,
            tail,
            locks,
            published,
            preload,
            footprint,
        })
    }
    fn footprint(&self) -> Footprint {
        self.footprint
    }
}

/// State between two steps of recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CqRebuild {
    /// Recovering the logs.
    Log(LogStep),
    /// Raw: looking for the last node, which the tail pointer must name. `position` is the node's, unless it is the first.
    FindTail {
        /// The node to look at.
        node: u64,
        /// Its position in the order of insertion, as its predecessor implies it.
        position: Option<u64>,
    },
}

/// State between two steps of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CqAudit {
    /// About to read the head.
    Head(Cut),
    /// About to read `node`, which must stand at `position`.
    Node {
        /// Address of the node.
        node: u64,
        /// Its position.
        position: u64,
        /// What is known so far.
        cut: Cut,
    },
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct CqModel {
    history: History,
    /// Value of the node at each position, from the dummy on.
    values: Vec<u64>,
}

impl Cq {
    fn inserts(&self, thread: u32, k: u32) -> bool {
        rng::hash(&[self.seed, u64::from(thread), u64::from(k), 1]) % 100 < u64::from(self.params.insert_percent)
    }
    fn value(thread: u32, k: u32) -> u64 {
        (u64::from(thread) + 1) << 32 | (u64::from(k) + 1)
    }
    fn is_node(&self, at: u64) -> bool {
        let last = self.preload.0 + u64::from(self.params.preload) * NODE;
        let preloaded = at >= self.preload.0 && at <= last && at.is_multiple_of(NODE);
        preloaded || self.rt.pool().owns(Addr(at))
    }

    #[track_caller]
    fn insert<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let lock = At::new(self.locks.addr(1));
        pm.lock(lock);
        let mut tx = match self.rt.begin(pm, thread, k) {
            Ok(tx) => tx,
            Err(r) => {
                pm.unlock(lock);
                return Err(r);
            }
        };
        let (value, split) = (Self::value(thread, k), self.rt.variant() == Variant::NonAtomicUpdate);
        let last = tx.read(At::new(self.tail)).ptr();
        let position = tx.read(last.field(POSITION)).map(|p| p + 1);
        let node = tx.alloc();
        let pointer = Val {
            v: node.addr.0,
            dep: node.dep,
        };
        tx.fresh(node.field(VALUE), Val::lit(value));
        tx.fresh(node.field(NEXT), Val::lit(0));
        tx.fresh(node.field(POSITION), position);
        tx.fresh(node.field(ECHO), Val::lit(if split { 0 } else { value }));
        tx.step();
        tx.protect(last.field(NEXT), 8);
        tx.protect(At::new(self.tail), 8);
        tx.region(
            REGION_LINK,
            &[
                pointer,
                Val {
                    v: last.addr.0,
                    dep: last.dep,
                },
            ],
        );
        if self.rt.variant() == Variant::UnflushedLink {
            tx.write_unflushed(last.field(NEXT), pointer);
        } else {
            tx.write(last.field(NEXT), pointer);
        }
        tx.step();
        tx.write(At::new(self.tail), pointer);
        tx.commit();
        if split {
            let mut second = match self.rt.begin_part(pm, thread, k, 1) {
                Ok(tx) => tx,
                Err(r) => {
                    pm.unlock(lock);
                    return Err(r);
                }
            };
            second.write(node.field(ECHO), Val::lit(value));
            second.step();
            second.commit();
        }
        for f in pm.dialect.unlock_release {
            pm.m.fence(*f);
        }
        pm.m.store_release(At::new(self.published), pointer);
        pm.unlock(lock);
        Ok(Outcome {
            kind: INSERTED,
            words: [value, position.v, 0],
        })
    }

    #[track_caller]
    fn delete<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let lock = At::new(self.locks.addr(0));
        pm.lock(lock);
        let newest = pm.m.load_acquire(At::new(self.published));
        for f in pm.dialect.lock_acquire {
            pm.m.fence(*f);
        }
        let mut tx = match self.rt.begin(pm, thread, k) {
            Ok(tx) => tx,
            Err(r) => {
                pm.unlock(lock);
                return Err(r);
            }
        };
        let dummy = tx.read(At::new(self.head));
        let mut outcome = Outcome::default();
        if dummy.v != newest.v {
            let next = tx.read(dummy.ptr().field(NEXT));
            let value = tx.read(next.ptr().field(VALUE));
            let position = tx.read(next.ptr().field(POSITION));
            tx.region(REGION_UNLINK, &[next]);
            // The mistake: every third element is handed out but stays in the queue.
            let forgets = self.rt.variant() == Variant::SemanticMistake && position.v.is_multiple_of(3);
            if !forgets {
                tx.write(At::new(self.head), next);
                tx.step();
                tx.free(dummy.ptr());
            }
            outcome = Outcome {
                kind: DELETED,
                words: [value.v, position.v, 0],
            };
        }
        tx.commit();
        pm.unlock(lock);
        Ok(outcome)
    }
}

impl Program for Cq {
    type Rebuild = CqRebuild;
    type Audit = CqAudit;
    type Model = CqModel;

    fn setup<M: Mem>(&self, m: &mut M) {
        let n = u64::from(self.params.preload);
        for i in 0..=n {
            let node = At::new(Addr(self.preload.0 + i * NODE));
            m.store(node.field(VALUE), Val::lit(i));
            m.store(node.field(NEXT), Val::lit(if i == n { 0 } else { node.addr.0 + NODE }));
            m.store(node.field(POSITION), Val::lit(i));
            m.store(node.field(ECHO), Val::lit(i));
        }
        let last = self.preload.0 + n * NODE;
        m.store(At::new(self.head), Val::lit(self.preload.0));
        m.store(At::new(self.tail), Val::lit(last));
        m.store(At::new(self.published), Val::lit(last));
    }
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let inserts = self.inserts(thread, k);
        pm.m.compute(sites::CQ_PROLOGUE);
        let outcome = if inserts {
            self.insert(pm, thread, k)?
        } else {
            self.delete(pm, thread, k)?
        };
        pm.m.compute(sites::CQ_EPILOGUE);
        Ok(outcome)
    }

    fn rebuild_start(&self) -> CqRebuild {
        CqRebuild::Log(self.rt.recover_start())
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: CqRebuild) -> Flow<CqRebuild> {
        match state {
            CqRebuild::Log(step) => match self.rt.recover(m, step, |m, _, _, region| self.resume(m, region)) {
                LogFlow::Next(step) => Flow::Next(CqRebuild::Log(step)),
                LogFlow::Broken(v) => Flow::Done(Err(v)),
                LogFlow::Finished if self.rt.scheme() == Scheme::Raw => {
                    let node = m.load(At::new(self.head)).v;
                    Flow::Next(CqRebuild::FindTail { node, position: None })
                }
                LogFlow::Finished => Flow::Done(Ok(())),
            },
            CqRebuild::FindTail { node, position } => self.find_tail(m, node, position),
        }
    }

    fn model(&self, ops: &[OpRecord]) -> CqModel {
        self.digest(ops)
    }
    fn audit_start(&self, model: &CqModel, crash: &CrashPoint) -> CqAudit {
        CqAudit::Head(model.history.cut(crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &CqModel, m: &mut M, state: CqAudit) -> Flow<CqAudit> {
        self.audit_step(model, m, state)
    }
}
