//! `hashmap`: the transactional chained map of an object store. Insert a random 64-bit key with a 128-byte value (`value`).
//!
//! An insert logs its bucket and the map's count, takes a block for the entry (key, value, link: 40 bytes) and one for the value, fills
//! them and puts the entry in front. Where a chain is longer than 10, or longer than 5 while there are more than two entries a bucket, a
//! second transaction of the operation moves every entry to twice as many buckets. One lock.
//!
//! By default every insert has a key of its own, and the map holds 50,000 keys before the run, in as many buckets as 10 have become by
//! then: half of the 100,000 inserts that the papers run. `batch` inserts so many keys in one transaction.
//!
//! The audit walks every chain, then looks every key up.
//!
//! Used by themis, and by broi and fgc as part of WHISPER.

mod audit;
mod plan;
mod rebuild;
mod table;

pub use audit::HashmapAudit;
pub use plan::MapModel;
use plan::Parts;

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::Toggle;
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::objects::{Inserts, NODE, NONE, VALUE, Values};
use crate::ordered_keys::{KeyModel, flow};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{At, Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, params};
use table::{BUCKETS, COUNT, KEY, NEXT, Table, VALUE_AT};

params! {
    /// Parameters of `hashmap`.
    pub struct HashmapParams {
        /// Buckets of an empty map.
        #[range(1..=1 << 20)]
        buckets: u64 = 10,
        /// Keys in the map before the run.
        #[range(0..=1 << 22)]
        preload: u64 = 50_000,
        /// Distinct keys that inserts draw from; 0: each has a key of its own.
        #[range(0..=1 << 24)]
        keys: u64 = 0,
        /// Bytes of a value, a multiple of 8 up to 4 KiB.
        value: Bytes = Bytes(128),
        /// Inserts in one transaction.
        #[range(1..=16)]
        batch: u32 = 1,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const INSERTED: u8 = 1;
/// Words that an insert stores besides a value: an entry, its bucket, the count.
const STORES: u64 = 5 + 1 + 1;
/// A chain longer than this makes the map grow, or one longer than the other where entries are many.
const LONG: u64 = 10;
const LONGISH: u64 = 5;

/// The program.
#[derive(Clone, Debug)]
pub struct Hashmap {
    rt: Runtime,
    inserts: Inserts,
    table: Table,
    /// Blocks of the preloaded keys: an entry and a value each.
    preload: Rows,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Hashmap {
    const NAME: &'static str = "hashmap";
    const ABOUT: &'static str = "transactional chained map that grows: inserts of random keys with 128 B values";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] =
        &[("buckets", "1"), ("preload", "3"), ("keys", "12"), ("value", "16B")];

    fn fields() -> Vec<Field> {
        HashmapParams::fields()
    }
    fn build(s: &Settings) -> Result<Hashmap, ProgramError> {
        let p: HashmapParams = read_params::<Hashmap, _>(s)?;
        let inserts = Inserts {
            seed: s.seed,
            threads: s.threads,
            keys: p.keys,
            preload: p.preload,
            batch: p.batch,
            values: Values::new(p.value.0).map_err(impossible::<Hashmap>)?,
        };
        if let Some(why) = inserts.refusal(s.ops) {
            return Err(impossible::<Hashmap>(why));
        }
        let most = inserts.most(s.ops);
        let mut layout = Layout::default();
        let table = Table::new(&mut layout, p.buckets, p.preload, most);
        let block = inserts.values.block();
        let preload = Rows::new(&mut layout, block, 2 * p.preload);
        let blocks = 2 * u64::from(s.ops) * u64::from(p.batch);
        let pool = Pool::new(&mut layout, s.threads, block, blocks);
        // Growing stores every new bucket, and every entry's link and its bucket again.
        let inserted = (STORES + inserts.values.words()) * u64::from(p.batch);
        let stores = inserted.max(table.most_buckets() + 2 * most + 8);
        let rt = Runtime::new(&mut layout, s, p.coupling, stores, pool);
        let locks = Locks::new(&mut layout, 1);
        Ok(Hashmap {
            rt,
            inserts,
            table,
            preload,
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl Hashmap {
    fn parts(&self) -> Parts<'_> {
        Parts {
            table: &self.table,
            inserts: &self.inserts,
            preload: self.preload,
            pool: self.rt.pool(),
        }
    }
    /// Inserts a key. The last word of its value, and how long its chain is now if it grew.
    #[inline(always)]
    fn insert<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, new: Toggle, last: u64, forgets: bool) -> (At<M::Dep>, u64) {
        let buckets = tx.read(At::new(self.table.root).field(BUCKETS)).ptr();
        let head = Table::bucket(buckets, new.key, tx.read(buckets).v);
        let first = tx.read(head);
        let (mut entry, mut chain) = (first.ptr(), 0);
        while entry.addr.0 != 0 {
            let key = tx.read(entry.field(KEY)).v;
            tx.compute(sites::CHAIN_STEP);
            if key == new.key {
                return (self.replace(tx, entry, new, last), 0);
            }
            chain += 1;
            entry = tx.read(entry.field(NEXT + 8)).ptr();
        }
        let count = At::new(self.table.root).field(COUNT);
        tx.protect_once(head, 8);
        tx.protect_once(count, 8);
        let (entry, block) = (tx.alloc(), tx.alloc());
        let last = self.inserts.values.fill(tx, block, new.value, last);
        tx.fresh(entry.field(KEY), Val::lit(new.key));
        tx.fresh(entry.field(VALUE_AT), Val::lit(VALUE));
        tx.fresh(entry.field(VALUE_AT + 8), block.pointer());
        tx.fresh(entry.field(NEXT), first.map(|f| if f == 0 { NONE } else { NODE }));
        tx.fresh(entry.field(NEXT + 8), first);
        tx.write(head, entry.pointer());
        if !forgets {
            let more = tx.read(count).map(|n| n + 1);
            tx.write(count, more);
        }
        (last, chain + 1)
    }
    /// A new value for a key that is there.
    fn replace<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, entry: At<M::Dep>, new: Toggle, last: u64) -> At<M::Dep> {
        let at = entry.field(VALUE_AT + 8);
        let old = tx.read(at).ptr();
        let block = tx.alloc();
        let last = self.inserts.values.fill(tx, block, new.value, last);
        tx.protect_once(at, 8);
        tx.write(at, block.pointer());
        tx.free(old);
        last
    }
    /// The transaction, under the lock; the longest chain that it left.
    #[inline(always)]
    fn transact<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, keys: &[Toggle]) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let split = tx.slip(Variant::NonAtomicUpdate);
        // The mistake: the map's count is not kept.
        let forgets = tx.slip(Variant::SemanticMistake) && k % 4 == 1;
        let (mut unfinished, mut longest) = (None, 0);
        for new in keys {
            let (at, chain) = self.insert(&mut tx, *new, if split { 0 } else { new.value }, forgets);
            unfinished = Some((at, new.value));
            longest = chain.max(longest);
        }
        if tx.may_roll_back() && longest > LONGISH {
            // A second transaction that is rolled back would repeat the operation after others have seen its first.
            self.grow_within(&mut tx, longest);
            longest = 0;
        }
        tx.commit();
        if split && let Some((at, value)) = unfinished {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(at, Val::lit(value));
            tx.commit();
            // The operation has no further transaction in which the map might grow.
            longest = 0;
        }
        Ok(longest)
    }
}

impl Program for Hashmap {
    type Input = Small<Toggle, 1>;
    type Audit = HashmapAudit;
    type Model = MapModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let buckets = self.table.first::<M>(m, self.inserts.preload);
        let nbuckets = m.load(buckets).v;
        for (i, (key, value)) in (0..).zip(self.inserts.preloaded()) {
            let (entry, block) = (self.preload.at(2 * i), self.preload.at(2 * i + 1));
            let head = Table::bucket(buckets, key, nbuckets);
            let first = m.load(head);
            self.inserts.values.fill_first(m, block, value);
            m.store(entry.field(KEY), Val::lit(key));
            m.store(entry.field(VALUE_AT), Val::lit(VALUE));
            m.store(entry.field(VALUE_AT + 8), block.pointer());
            m.store(entry.field(NEXT), first.map(|f| if f == 0 { NONE } else { NODE }));
            m.store(entry.field(NEXT + 8), first);
            m.store(head, entry.pointer());
        }
    }
    fn resident(&self) -> Vec<Span> {
        let [root, buckets] = self.table.spans(self.inserts.preload);
        vec![root, buckets, self.preload.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 1> {
        self.inserts.input(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        input: &Small<Toggle, 1>,
    ) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(0);
        pm.lock(lock);
        let mut result = self.transact(pm, thread, k, input.as_slice());
        if let Ok(chain) = result
            && chain > LONGISH
        {
            result = self.grow(pm, thread, k, chain).map(|()| 0);
        }
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        result.map(|_| Outcome {
            kind: INSERTED,
            words: [0; 3],
        })
    }
    fn model(&self, ops: &[OpRecord]) -> MapModel {
        MapModel::new(&self.parts(), KeyModel::new(self.inserts.history(ops)))
    }
    fn audit_start(&self, model: &MapModel, crash: &CrashPoint) -> HashmapAudit {
        HashmapAudit::start(model.keys.history.cut(crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &MapModel, m: &mut M, state: HashmapAudit) -> Flow<HashmapAudit> {
        flow(state.step(m, &self.parts(), model))
    }
}
