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
//! With `shape = ring` the queue is a circular buffer (`ring.rs`): insert 2 flushes, delete 1, and a full queue takes nothing.
//!
//! Used by dpo and themis.

mod oracle;
mod ring;
mod slots;

use crate::choices::{Coupling, Scheme, Variant};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::{Cut, History};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, read_params};
use crate::sites;
use crate::tx::{LogFlow, LogStep, Runtime};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, param_enum, params, rng,
};
use slots::Ring;
use std::collections::BTreeMap;

param_enum! {
    /// What the queue is made of.
    pub enum Shape {
        /// A linked list.
        List = "list",
        /// A circular buffer.
        Ring = "ring",
    }
}

params! {
    /// Parameters of `cq`.
    pub struct CqParams {
        /// Nodes in the queue before the run.
        #[range(0..=1 << 20)]
        preload: u32 = 500,
        /// Percentage of operations that insert.
        #[range(0..=100)]
        insert_percent: u8 = 50,
        /// What the queue is made of.
        shape: Shape = Shape::List,
        /// Slots of a circular buffer, rounded up to a power of two.
        #[range(1..=1 << 21)]
        slots: u32 = 1024,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

// Offsets in a node.
const VALUE: u64 = 0;
const NEXT: u64 = 8;
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
    preload: Rows,
    /// The slots of a circular buffer.
    ring: Option<Ring>,
    footprint: Footprint,
}

impl Described for Cq {
    const NAME: &'static str = "cq";
    const ABOUT: &'static str = "concurrent queue, two locks, insert or delete one 64 B node";
    const SCHEMES: &'static [Scheme] = Scheme::BY_HAND;
    const OWN_VARIANTS: &'static [Variant] = &[
        Variant::NonAtomicUpdate,
        Variant::SemanticMistake,
        Variant::UnflushedLink,
    ];
    const SMALL: &'static [(&'static str, &'static str)] = &[("preload", "3")];

    fn fields() -> Vec<Field> {
        CqParams::fields()
    }
    fn build(s: &Settings) -> Result<Cq, ProgramError> {
        let params: CqParams = read_params::<Cq, _>(s)?;
        if params.insert_percent > 100 {
            return Err(crate::settings::impossible::<Cq>("insert_percent exceeds 100"));
        }
        let is_ring = params.shape == Shape::Ring;
        let slots = u64::from(params.slots).next_power_of_two();
        if is_ring && u64::from(params.preload) > slots {
            let why = format!("preload = {} exceeds slots = {slots}", params.preload);
            return Err(crate::settings::impossible::<Cq>(why));
        }
        let mut layout = Layout::default();
        let (head, tail) = (layout.pm(64), layout.pm(64));
        let nodes = if is_ring { 0 } else { u64::from(params.preload) + 1 };
        let preload = Rows::new(&mut layout, NODE, nodes);
        let blocks = if is_ring { 0 } else { u64::from(s.ops) };
        let pool = Pool::new(&mut layout, s.threads, NODE, blocks);
        // A node, its predecessor's link, the tail pointer.
        let rt = Runtime::new(&mut layout, s, params.coupling, 4, pool);
        let (locks, published) = (Locks::new(&mut layout, 2), layout.dram(64));
        let ring = is_ring.then(|| Ring::new(&mut layout, slots));
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
            ring,
            footprint,
        })
    }
}

/// State between two steps of recovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CqRebuild {
    /// Recovering the logs.
    Log(LogStep),
    /// Raw: looking for the last node, which the tail pointer must name.
    FindTail {
        /// The node to look at.
        node: u64,
        /// Nodes passed: no list is longer than there are nodes.
        passed: u64,
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
    /// About to read the entry behind `position` in a circular buffer.
    Slot {
        /// Its position.
        position: u64,
        /// That of the last entry.
        last: u64,
    },
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct CqModel {
    history: History,
    /// Value of the node at each position, from the dummy on.
    values: Vec<u64>,
    /// Where each value stands.
    positions: BTreeMap<u64, u64>,
}

impl Cq {
    fn inserts(&self, thread: u32, k: u32) -> bool {
        rng::hash(&[self.seed, u64::from(thread), u64::from(k), 1]) % 100 < u64::from(self.params.insert_percent)
    }
    fn value(thread: u32, k: u32) -> u64 {
        (u64::from(thread) + 1) << 32 | (u64::from(k) + 1)
    }
    fn is_node(&self, at: u64) -> bool {
        self.preload.owns(at) || self.rt.pool().owns(Addr(at))
    }

    #[inline(always)]
    fn insert<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, value: u64) -> Result<Outcome, Rollback> {
        let lock = At::new(self.locks.addr(1));
        pm.lock(lock);
        let result = self.append(pm, thread, k, value);
        if let Ok(newest) = result {
            pm.release_fences();
            pm.m.store_release(At::new(self.published), newest.pointer());
        }
        pm.unlock(lock);
        result.map(|_| Outcome {
            kind: INSERTED,
            words: [value, 0, 0],
        })
    }
    /// The transaction of an insert: the new node.
    #[inline(always)]
    fn append<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, value: u64) -> Result<At<M::Dep>, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let split = tx.slip(Variant::NonAtomicUpdate);
        let last = tx.read(At::new(self.tail)).ptr();
        let node = tx.alloc();
        tx.fresh(node.field(VALUE), Val::lit(if split { 0 } else { value }));
        tx.fresh(node.field(NEXT), Val::lit(0));
        tx.step();
        tx.protect(last.field(NEXT), 8);
        tx.protect(At::new(self.tail), 8);
        tx.region(REGION_LINK, &[node.pointer(), last.pointer()]);
        if tx.slip(Variant::UnflushedLink) {
            tx.write_unflushed(last.field(NEXT), node.pointer());
        } else {
            tx.write(last.field(NEXT), node.pointer());
        }
        tx.step();
        tx.write(At::new(self.tail), node.pointer());
        tx.commit();
        if split {
            let mut second = self.rt.begin_part(pm, thread, k, 1)?;
            second.update(node.field(VALUE), Val::lit(value));
            second.step();
            second.commit();
        }
        Ok(node)
    }

    #[inline(always)]
    fn delete<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let lock = At::new(self.locks.addr(0));
        pm.lock(lock);
        let newest = pm.m.load_acquire(At::new(self.published));
        pm.acquire_fences();
        let result = self.unlink(pm, thread, k, newest.v);
        pm.unlock(lock);
        result
    }
    /// The transaction of a delete: the first node becomes the dummy, unless there is none before `newest`.
    #[inline(always)]
    fn unlink<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, newest: u64) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let dummy = tx.read(At::new(self.head));
        let mut outcome = Outcome::default();
        if dummy.v != newest {
            let next = tx.read(dummy.ptr().field(NEXT));
            let value = tx.read(next.ptr().field(VALUE));
            tx.region(REGION_UNLINK, &[next]);
            // The mistake: every third element is handed out but stays in the queue.
            let forgets = value.v.is_multiple_of(3) && tx.slip(Variant::SemanticMistake);
            if !forgets {
                tx.update(At::new(self.head), next);
                tx.step();
                tx.free(dummy.ptr());
            }
            outcome = Outcome {
                kind: DELETED,
                words: [value.v, 0, 0],
            };
        }
        tx.commit();
        Ok(outcome)
    }
}

impl Program for Cq {
    /// The value to insert, or none: delete.
    type Input = Option<u64>;
    type Rebuild = CqRebuild;
    type Audit = CqAudit;
    type Model = CqModel;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let n = u64::from(self.params.preload);
        if let Some(ring) = &self.ring {
            ring.plant(m, n);
            m.store(At::new(self.head), Val::lit(0));
            m.store(At::new(self.tail), Val::lit(n));
            m.store(At::new(self.published), Val::lit(n));
            return;
        }
        for i in 0..=n {
            let node = self.preload.at(i);
            m.store(node.field(VALUE), Val::lit(i));
            m.store(node.field(NEXT), Val::lit(if i == n { 0 } else { node.addr.0 + NODE }));
        }
        let last = self.preload.at(n).pointer();
        m.store(At::new(self.head), self.preload.at(0).pointer());
        m.store(At::new(self.tail), last);
        m.store(At::new(self.published), last);
    }
    fn resident(&self) -> Vec<Span> {
        let ends = [self.head, self.tail].map(|at| Span { at, len: 8 });
        let elements = self.ring.map_or(self.preload.span(), |ring| ring.span());
        [&ends[..], &[elements]].concat()
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.resident())
    }
    fn input(&self, thread: u32, k: u32) -> Option<u64> {
        self.inserts(thread, k).then(|| Self::value(thread, k))
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Option<u64>) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let outcome = match (input, self.ring) {
            (Some(value), None) => self.insert(pm, thread, k, *value)?,
            (None, None) => self.delete(pm, thread, k)?,
            (Some(value), Some(ring)) => self.put(pm, (thread, k), ring, *value)?,
            (None, Some(ring)) => self.take(pm, (thread, k), ring)?,
        };
        pm.m.compute(sites::EPILOGUE);
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
                // The count of a circular buffer is its commit point: nothing is left to repair.
                LogFlow::Finished if self.rt.scheme() == Scheme::Raw && self.ring.is_none() => {
                    let node = m.load(At::new(self.head)).v;
                    Flow::Next(CqRebuild::FindTail { node, passed: 0 })
                }
                LogFlow::Finished => Flow::Done(Ok(())),
            },
            CqRebuild::FindTail { node, passed } => self.find_tail(m, node, passed),
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

#[cfg(test)]
mod tests;
