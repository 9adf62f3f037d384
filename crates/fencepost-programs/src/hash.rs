//! `hash`: a chained hash table. Search; insert if absent, remove if found.
//!
//! Buckets are 8-byte heads; an item is 64 bytes (key and seven words of value) plus its link on the next line. Bucket
//! locks are striped. New items go to the end of the chain, where the search ended.
//!
//! Raw form: persist the item, then its predecessor's link: two barriers; removal persists the predecessor's link: one.
//!
//! The audit walks the chains of the buckets that operations of the run concern, every item of them.
//!
//! Used by broi and loc, chained maps by themis and fgc (SYSTEMS 3.1).

use crate::dict::Dict;
use crate::layout::{Footprint, Layout, Locks};
use crate::oracle::{Cut, History};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{LogFlow, LogStep, Region, Runtime, Tx};
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val, Violation, params, rng,
};

params! {
    /// Parameters of `hash`.
    pub struct HashParams {
        /// Buckets of the table.
        buckets: u64 = 4007,
        /// Distinct keys that operations draw from.
        keys: u64 = 2000,
        /// Items in the table before the run.
        preload: u64 = 1000,
        /// Lock stripes over the buckets.
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const KEY: u64 = 0;
const VALUES: u64 = 8;
const VALUE_WORDS: u64 = 7;
const NEXT: u64 = 64;
const ITEM: u64 = 128;
const REGION_LINK: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Hash {
    rt: Runtime,
    dict: Dict,
    buckets: u64,
    table: Addr,
    preload: Addr,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Hash {
    const WORD: &'static str = "hash";
    const ABOUT: &'static str = "chained hash table: search, insert if absent, remove if found";
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
        Variant::UnflushedUnlink,
    ];
    /// A region is one link store here, which is atomic by itself.
    const HARMLESS: &'static [(Scheme, Variant)] = &[(Scheme::Ido, Variant::MissingLogFence)];

    fn fields() -> Vec<Field> {
        HashParams::fields()
    }
    fn build(s: &Settings) -> Result<Hash, ProgramError> {
        let p: HashParams = read_params::<Hash, _>(s)?;
        let dict = Dict {
            seed: s.seed,
            keys: p.keys,
            preload: p.preload,
            batch: 1,
            value_bits: 32,
        };
        if let Some(why) = dict.refusal(s.ops) {
            return Err(impossible::<Hash>(why));
        }
        if p.buckets == 0 {
            return Err(impossible::<Hash>("buckets = 0: there must be at least one"));
        }
        let mut layout = Layout::default();
        let (table, preload) = (layout.pm(p.buckets * 8), layout.pm(p.preload * ITEM));
        let pool = Pool::new(&mut layout, s.threads, ITEM, u64::from(s.ops));
        let rt = Runtime::new(&mut layout, s.threads, (s.scheme, p.coupling, s.variant), 2048, pool);
        let locks = Locks::new(&mut layout, p.locks.min(p.buckets));
        Ok(Hash {
            rt,
            dict,
            buckets: p.buckets,
            table,
            preload,
            locks,
            footprint: layout.footprint(),
        })
    }
    fn footprint(&self) -> Footprint {
        self.footprint
    }
}

/// State between two steps of the audit: the next bucket of the run, and what is known so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HashAudit {
    next: usize,
    cut: Cut,
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct HashModel {
    history: History,
    /// Buckets that operations of the run concern, each with every key it may hold.
    buckets: Vec<(u64, Vec<u64>)>,
}

impl Hash {
    fn bucket(&self, key: u64) -> u64 {
        rng::mix(key) % self.buckets
    }
    fn head(&self, bucket: u64) -> Addr {
        Addr(self.table.0 + bucket * 8)
    }
    fn is_item(&self, at: u64) -> bool {
        let end = self.preload.0 + self.dict.preload * ITEM;
        (at >= self.preload.0 && at < end && (at - self.preload.0).is_multiple_of(ITEM))
            || self.rt.pool().owns(Addr(at))
    }
    fn is_link(&self, at: u64) -> bool {
        let heads = self.table.0..self.table.0 + self.buckets * 8;
        (heads.contains(&at) && at.is_multiple_of(8)) || (at >= NEXT && self.is_item(at - NEXT))
    }

    #[track_caller]
    fn insert<M: Mem>(&self, tx: &mut Tx<'_, M>, link: At<M::Dep>, key: u64, value: u64) -> At<M::Dep> {
        let item = tx.alloc();
        let last = At {
            addr: item.addr,
            dep: item.dep,
        }
        .field(VALUES + (VALUE_WORDS - 1) * 8);
        tx.fresh(item.field(KEY), Val::lit(key));
        for w in 0..VALUE_WORDS - 1 {
            tx.fresh(item.field(VALUES + w * 8), Val::lit(value));
        }
        let whole = self.rt.variant() != Variant::NonAtomicUpdate;
        tx.fresh(last, Val::lit(if whole { value } else { 0 }));
        tx.fresh(item.field(NEXT), Val::lit(0));
        tx.step();
        let pointer = Val {
            v: item.addr.0,
            dep: item.dep,
        };
        tx.region(
            REGION_LINK,
            &[
                Val {
                    v: link.addr.0,
                    dep: link.dep,
                },
                pointer,
            ],
        );
        tx.write(link, pointer);
        tx.step();
        last
    }
    #[track_caller]
    fn remove<M: Mem>(&self, tx: &mut Tx<'_, M>, link: At<M::Dep>, item: At<M::Dep>) {
        let mut next = tx.read(item.field(NEXT));
        if self.rt.variant() == Variant::SemanticMistake {
            next = Val::lit(0); // The mistake: the rest of the chain is cut off.
        }
        tx.region(
            REGION_LINK,
            &[
                Val {
                    v: link.addr.0,
                    dep: link.dep,
                },
                next,
            ],
        );
        if self.rt.variant() == Variant::UnflushedUnlink {
            tx.write_unflushed(link, next);
        } else {
            tx.write(link, next);
        }
        tx.step();
        tx.free(item);
    }
    /// Toggles `key`; returns the value found (0: none).
    #[track_caller]
    fn toggle<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, key: u64) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let mut link = At::new(self.head(self.bucket(key)));
        let mut item = tx.read(link).ptr();
        while item.addr.0 != 0 {
            tx.compute(sites::CHAIN_STEP);
            if tx.read(item.field(KEY)).v == key {
                break;
            }
            link = item.field(NEXT);
            item = tx.read(link).ptr();
        }
        if item.addr.0 != 0 {
            let found = tx.read(item.field(VALUES)).v;
            self.remove(&mut tx, link, item);
            tx.commit();
            return Ok(found);
        }
        let value = self.dict.value(thread, k, 0);
        let last = self.insert(&mut tx, link, key, value);
        tx.commit();
        if self.rt.variant() == Variant::NonAtomicUpdate {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.write(last, Val::lit(value));
            tx.step();
            tx.commit();
        }
        Ok(0)
    }
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        let (link, to) = (region.inputs[0].v, region.inputs[1].v);
        if region.id != REGION_LINK || !self.is_link(link) || !(to == 0 || self.is_item(to)) {
            return Err(Violation {
                why: "a region record names no link of the table".into(),
                at: None,
            });
        }
        m.store(At::new(Addr(link)), Val::lit(to));
        Ok(())
    }
    /// Walks one chain; the keys and values in it, or what is wrong with it.
    fn chain<M: Mem<Dep = ()>>(&self, m: &mut M, bucket: u64) -> Result<Vec<(u64, u64)>, Violation> {
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut item = m.load(At::new(self.head(bucket))).v;
        while item != 0 {
            let at = At::new(Addr(item));
            if !self.is_item(item) {
                return Err(Violation::at(Addr(item), "a chain leads to something that is no item"));
            }
            let (key, value) = (m.load(at.field(KEY)).v, m.load(at.field(VALUES)).v);
            if key == 0 || key > self.dict.keys || self.bucket(key) != bucket {
                return Err(Violation::at(
                    Addr(item),
                    "a linked item is not whole: its key is not of this bucket",
                ));
            }
            if value == 0 || (1..VALUE_WORDS).any(|w| m.load(at.field(VALUES + w * 8)).v != value) {
                return Err(Violation::at(
                    Addr(item),
                    "a linked item is not whole: its value is torn",
                ));
            }
            if found.iter().any(|f| f.0 == key) {
                return Err(Violation::at(Addr(item), "a key is in its chain twice"));
            }
            found.push((key, value));
            item = m.load(at.field(NEXT)).v;
        }
        Ok(found)
    }
}

impl Program for Hash {
    type Rebuild = LogStep;
    type Audit = HashAudit;
    type Model = HashModel;

    fn setup<M: Mem>(&self, m: &mut M) {
        for (i, (key, value)) in self.dict.preloaded().enumerate() {
            let item = At::new(Addr(self.preload.0 + i as u64 * ITEM));
            let head = At::new(self.head(self.bucket(key)));
            let first = m.load(head);
            m.store(item.field(KEY), Val::lit(key));
            (0..VALUE_WORDS).for_each(|w| m.store(item.field(VALUES + w * 8), Val::lit(value)));
            m.store(item.field(NEXT), first);
            m.store(head, Val::lit(item.addr.0));
        }
    }
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let key = self.dict.key(thread, k, 0);
        pm.m.compute(sites::HASH_PROLOGUE);
        let lock = At::new(self.locks.addr(self.locks.stripe(self.bucket(key))));
        pm.m.compute(sites::HASH_KEY);
        pm.lock(lock);
        let result = self.toggle(pm, thread, k, key);
        pm.unlock(lock);
        pm.m.compute(sites::HASH_EPILOGUE);
        Ok(Dict::outcome([result?].into_iter()))
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        match self.rt.recover(m, state, |m, _, _, region| self.resume(m, region)) {
            LogFlow::Next(step) => Flow::Next(step),
            LogFlow::Finished => Flow::Done(Ok(())),
            LogFlow::Broken(v) => Flow::Done(Err(v)),
        }
    }
    fn model(&self, ops: &[OpRecord]) -> HashModel {
        let history = self.dict.history(ops, |key| self.locks.stripe(self.bucket(key)));
        let mut concerned: Vec<u64> = ops
            .iter()
            .map(|o| self.bucket(self.dict.key(o.thread, o.k, 0)))
            .collect();
        concerned.sort_unstable();
        concerned.dedup();
        let mut buckets: Vec<(u64, Vec<u64>)> = concerned.iter().map(|b| (*b, Vec::new())).collect();
        for key in history.registers() {
            if let Ok(i) = concerned.binary_search(&self.bucket(key)) {
                buckets[i].1.push(key);
            }
        }
        HashModel { history, buckets }
    }
    fn audit_start(&self, model: &HashModel, crash: &CrashPoint) -> HashAudit {
        HashAudit {
            next: 0,
            cut: model.history.cut(crash),
        }
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &HashModel, m: &mut M, state: HashAudit) -> Flow<HashAudit> {
        let HashAudit { next, mut cut } = state;
        if let Some(fault) = model.history.fault() {
            return Flow::Done(Err(Violation {
                why: fault.into(),
                at: None,
            }));
        }
        let Some((bucket, keys)) = model.buckets.get(next) else {
            return Flow::Done(Ok(()));
        };
        let found = match self.chain(m, *bucket) {
            Ok(found) => found,
            Err(v) => return Flow::Done(Err(v)),
        };
        let absent = keys
            .iter()
            .filter(|k| found.iter().all(|f| f.0 != **k))
            .map(|k| (*k, 0));
        for (key, value) in found.iter().copied().chain(absent) {
            if model.history.observe(&mut cut, key, value).is_err() {
                let why = format!(
                    "key {key} is {} in no prefix of the operations",
                    if value == 0 { "absent" } else { "there" }
                );
                return Flow::Done(Err(Violation::at(self.head(*bucket), why)));
            }
        }
        Flow::Next(HashAudit { next: next + 1, cut })
    }
}
