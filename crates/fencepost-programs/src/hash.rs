//! `hash`: a chained hash table. Search; insert if absent, remove if found.
//!
//! Buckets are 8-byte heads; an item is 64 bytes (key and seven words of value) plus its link on the next line. Bucket
//! locks are striped. New items go to the end of the chain, where the search ended.
//!
//! Raw form: persist the item, then its predecessor's link: two barriers; removal persists the predecessor's link: one.
//!
//! The audit walks the chains of the buckets that operations of the run concern, every item of them.
//!
//! Used by broi and loc, chained maps by themis and fgc.

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::{Dict, Toggle};
use crate::dictionary::{Changed, Contents, Keyed, LaidOut};
use crate::layout::{Layout, Rows};
use crate::linked::{LINK_VARIANTS, Linked, ONE_LINK};
use crate::oracle::{Cut, History};
use crate::ordered_keys::Step;
use crate::pool::Pool;
use crate::settings::Settings;
use crate::sites;
use crate::tx::{Region, Tx};
use fencepost_kernel::{Addr, At, CrashPoint, Mem, OpRecord, Site, Span, Val, Violation, params, rng};

params! {
    /// Parameters of `hash`.
    pub struct HashParams {
        /// Buckets of the table.
        #[range(1..=1 << 26)]
        buckets: u64 = 4007,
        /// Distinct keys that operations draw from.
        #[range(1..=1 << 27)]
        keys: u64 = 2000,
        /// Items in the table before the run.
        #[range(0..=1 << 26)]
        preload: u64 = 1000,
        /// Lock stripes over the buckets.
        #[range(1..=1 << 20)]
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

/// The program.
pub type Hash = Keyed<Table>;

/// The table.
#[derive(Clone, Debug)]
pub struct Table {
    dict: Dict,
    buckets: u64,
    linked: Linked,
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

impl Table {
    #[inline(always)]
    fn bucket(&self, key: u64) -> u64 {
        rng::mix(key) % self.buckets
    }
    #[inline(always)]
    fn head(&self, bucket: u64) -> Addr {
        self.linked.heads.at::<()>(bucket).addr
    }
    #[inline(always)]
    fn insert<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, link: At<M::Dep>, new: Toggle, last: u64) -> At<M::Dep> {
        let item = tx.alloc();
        let at = item.field(VALUES + (VALUE_WORDS - 1) * 8);
        tx.fresh(item.field(KEY), Val::lit(new.key));
        for w in 0..VALUE_WORDS - 1 {
            tx.fresh(item.field(VALUES + w * 8), Val::lit(new.value));
        }
        tx.fresh(at, Val::lit(last));
        tx.fresh(item.field(NEXT), Val::lit(0));
        Linked::link(tx, link, item);
        at
    }
    /// Walks one chain; the keys and values in it, or what is wrong with it.
    fn chain<M: Mem<Dep = ()>>(&self, m: &mut M, bucket: u64) -> Result<Vec<(u64, u64)>, Violation> {
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut item = m.load(At::new(self.head(bucket))).v;
        while item != 0 {
            let at = At::new(Addr(item));
            if !self.linked.is_node(item) {
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

impl Contents for Table {
    const NAME: &'static str = "hash";
    const ABOUT: &'static str = "chained hash table: search, insert if absent, remove if found";
    const SCHEMES: &'static [Scheme] = Scheme::BY_HAND;
    const OWN_VARIANTS: &'static [Variant] = LINK_VARIANTS;
    const HARMLESS: &'static [(Scheme, Variant)] = ONE_LINK;
    const SMALL: &'static [(&'static str, &'static str)] = &[("buckets", "3"), ("keys", "12"), ("preload", "4")];
    const PROLOGUE: Site = sites::HASH_KEY;
    type Params = HashParams;
    type Keys = Dict;
    type Model = HashModel;
    type Audit = HashAudit;

    fn keys_of(p: &HashParams, s: &Settings) -> Result<Dict, String> {
        Ok(Dict::single(s.seed, p.keys, p.preload))
    }
    fn lay_out(p: &HashParams, s: &Settings, dict: Dict, layout: &mut Layout) -> Result<LaidOut<Self>, String> {
        let heads = Rows::new(layout, 8, p.buckets);
        let planted = Rows::new(layout, ITEM, p.preload);
        let pool = Pool::new(layout, s.threads, ITEM, u64::from(s.ops));
        let linked = Linked {
            heads,
            planted,
            pool,
            next: NEXT,
        };
        Ok(LaidOut {
            contents: Table {
                dict,
                buckets: p.buckets,
                linked,
            },
            pool,
            // A new item and its link, or one link.
            stores: VALUE_WORDS + 3,
            locks: p.locks.min(p.buckets),
            coupling: p.coupling,
        })
    }
    fn keys(&self) -> &Dict {
        &self.dict
    }
    #[inline(always)]
    fn part_of(&self, key: u64) -> u64 {
        self.bucket(key)
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        for (i, (key, value)) in self.dict.preloaded().enumerate() {
            let item = self.linked.planted.at(i as u64);
            let head = At::new(self.head(self.bucket(key)));
            let first = m.load(head);
            m.store(item.field(KEY), Val::lit(key));
            (0..VALUE_WORDS).for_each(|w| m.store(item.field(VALUES + w * 8), Val::lit(value)));
            m.store(item.field(NEXT), first);
            m.store(head, Val::lit(item.addr.0));
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.linked.heads.span(), self.linked.planted.span()]
    }
    /// Toggles the key; the value found.
    #[inline(always)]
    fn change<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, wanted: Toggle, last: u64) -> Changed<M::Dep> {
        let mut link = At::new(self.head(self.bucket(wanted.key)));
        let mut item = tx.read(link).ptr();
        while item.addr.0 != 0 {
            let key = tx.read(item.field(KEY)).v;
            tx.compute(sites::CHAIN_STEP);
            if key == wanted.key {
                let found = tx.read(item.field(VALUES)).v;
                Linked::unlink(tx, link, item, NEXT);
                return Changed { found, inserted: None };
            }
            link = item.field(NEXT);
            item = tx.read(link).ptr();
        }
        Changed {
            found: 0,
            inserted: Some(self.insert(tx, link, wanted, last)),
        }
    }
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        self.linked.resume(m, region)
    }
    fn model(&self, ops: &[OpRecord], history: History) -> HashModel {
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
    fn audit<M: Mem<Dep = ()>>(&self, model: &HashModel, m: &mut M, state: HashAudit) -> Step<HashAudit> {
        let HashAudit { next, mut cut } = state;
        if let Some(fault) = model.history.fault() {
            return Err(Violation {
                why: fault.into(),
                at: None,
            });
        }
        let Some((bucket, keys)) = model.buckets.get(next) else {
            return Ok(None);
        };
        let found = self.chain(m, *bucket)?;
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
                return Err(Violation::at(self.head(*bucket), why));
            }
        }
        Ok(Some(HashAudit { next: next + 1, cut }))
    }
}
