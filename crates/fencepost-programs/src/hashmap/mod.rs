//! `hashmap`: the transactional chained map of an object store. Insert a random 64-bit key with a 128-byte value (`value`), or remove it
//! (`removes`).
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
//! With `front=application` the driver draws the key and makes the value that is copied, and the object library keeps its records of the
//! transaction in volatile memory (`front::driver`).
//!
//! Used by themis, and by broi and fgc as part of WHISPER.

mod audit;
mod plan;
mod rebuild;
mod table;

pub use audit::HashmapAudit;
pub use plan::MapModel;
use plan::Parts;

use crate::choices::{Coupling, Variant};
use crate::dict::Toggle;
use crate::dictionary::{Changed, Contents, Found, Keyed, LaidOut};
use crate::front::{Driver, Front, Reader};
use crate::layout::{Layout, Rows};
use crate::objects::{Inserts, NODE, NONE, VALUE};
use crate::oracle::History;
use crate::ordered_keys::{KeyModel, Step};
use crate::pool::Pool;
use crate::settings::Settings;
use crate::sites;
use crate::tx::{Runtime, Tx};
use fencepost_kernel::{At, Bytes, CrashPoint, Mem, OpRecord, Pm, Rollback, Span, Val, params};
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
        /// Whether an operation on a key that is there removes it; else it gives it a new value.
        removes: bool = false,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

/// Words that an insert stores besides a value: an entry, its bucket, the count.
const STORES: u64 = 5 + 1 + 1;
/// A chain longer than this makes the map grow, or one longer than the other where entries are many.
const LONG: u64 = 10;
const LONGISH: u64 = 5;

/// The program.
pub type Hashmap = Keyed<Chains>;

/// The map.
#[derive(Clone, Debug)]
pub struct Chains {
    inserts: Inserts,
    table: Table,
    /// Blocks of the preloaded keys: an entry and a value each.
    preload: Rows,
    pool: Pool,
    front: Option<Driver>,
}

impl Chains {
    fn parts(&self) -> Parts<'_> {
        Parts {
            table: &self.table,
            inserts: &self.inserts,
            preload: self.preload,
            pool: &self.pool,
        }
    }
    /// A key's turn: it is inserted, gets a new value or is removed. How long its chain is now if it grew.
    #[inline(always)]
    fn put<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, new: Toggle, last: u64, forgets: bool) -> (Changed<M::Dep>, u64) {
        let inserted = |at| Changed {
            found: 0,
            inserted: Some(at),
        };
        let buckets = tx.read(At::new(self.table.root).field(BUCKETS)).ptr();
        let head = Table::bucket(buckets, new.key, tx.read(buckets).v);
        let first = tx.read(head);
        let (mut entry, mut chain, mut before) = (first.ptr(), 0, None);
        while entry.addr.0 != 0 {
            let key = tx.read(entry.field(KEY)).v;
            tx.compute(sites::CHAIN_STEP);
            if key == new.key && self.inserts.removes {
                let found = self.remove(tx, entry, (head, before), forgets);
                return (Changed { found, inserted: None }, 0);
            }
            if key == new.key {
                return (inserted(self.replace(tx, entry, new, last)), 0);
            }
            chain += 1;
            before = Some(entry);
            entry = tx.read(entry.field(NEXT + 8)).ptr();
        }
        let count = At::new(self.table.root).field(COUNT);
        tx.protect_once(head, 8);
        tx.protect_once(count, 8);
        let data = self.drive(tx, new, &[head, count], 2);
        let (entry, block) = (tx.alloc(), tx.alloc());
        let last = self.inserts.values.fill(tx, block, (new.value, last), data);
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
        (inserted(last), chain + 1)
    }
    /// Takes an entry out of its chain, which begins at `head`, and in which it stands behind another or first; the value that was there.
    fn remove<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        entry: At<M::Dep>,
        (head, before): (At<M::Dep>, Option<At<M::Dep>>),
        forgets: bool,
    ) -> u64 {
        let count = At::new(self.table.root).field(COUNT);
        let block = tx.read(entry.field(VALUE_AT + 8)).ptr();
        let found = tx.read(block).v;
        let (link, bytes) = before.map_or((head, 8), |b| (b.field(NEXT), 16));
        tx.protect_once(link, bytes);
        tx.protect_once(count, 8);
        if let Some(front) = &self.front {
            let thread = tx.thread();
            front.insert(tx.pm.m, thread, &[link, count], 0);
        }
        let next = tx.read(entry.field(NEXT + 8));
        match before {
            None => tx.write(head, next),
            Some(before) => {
                let tag = tx.read(entry.field(NEXT));
                tx.write(before.field(NEXT), tag);
                tx.write(before.field(NEXT + 8), next);
            }
        }
        if !forgets {
            let fewer = tx.read(count).map(|n| n - 1);
            tx.write(count, fewer);
        }
        tx.free(entry);
        tx.free(block);
        found
    }
    /// The driver and the library around an insert that logs these ranges and takes so many blocks.
    #[inline(always)]
    fn drive<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        new: Toggle,
        ranges: &[At<M::Dep>],
        blocks: u64,
    ) -> Option<Reader<M::Dep>> {
        let (front, thread) = (self.front.as_ref()?, tx.thread());
        let data = front.draw(tx.pm.m, thread, new.key, new.value);
        front.insert(tx.pm.m, thread, ranges, blocks);
        Some(data)
    }
    /// A new value for a key that is there.
    fn replace<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, entry: At<M::Dep>, new: Toggle, last: u64) -> At<M::Dep> {
        let at = entry.field(VALUE_AT + 8);
        let old = tx.read(at).ptr();
        let data = self.drive(tx, new, &[at], 1);
        let block = tx.alloc();
        let last = self.inserts.values.fill(tx, block, (new.value, last), data);
        tx.protect_once(at, 8);
        tx.write(at, block.pointer());
        tx.free(old);
        last
    }
    /// The transaction of an operation; what it removed, and the longest chain that it left.
    #[inline(always)]
    fn put_all<M: Mem>(
        &self,
        rt: &Runtime,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        keys: &[Toggle],
    ) -> Result<(Found, u64), Rollback> {
        let mut tx = rt.begin(pm, thread, k)?;
        let split = tx.slip(Variant::NonAtomicUpdate);
        // The mistake: the map's count is not kept.
        let forgets = tx.slip(Variant::SemanticMistake) && k % 4 == 1;
        let (mut found, mut unfinished, mut longest) = (Found::new(0), None, 0);
        for new in keys {
            let (changed, chain) = self.put(&mut tx, *new, if split { 0 } else { new.value }, forgets);
            unfinished = changed.inserted.map(|at| (at, new.value));
            longest = chain.max(longest);
            if M::OBSERVED {
                found.push(changed.found);
            }
        }
        if tx.may_roll_back() && longest > LONGISH {
            // A second transaction that is rolled back would repeat the operation after others have seen its first.
            self.grow_within(&mut tx, longest);
            longest = 0;
        }
        tx.commit();
        if split && let Some((at, value)) = unfinished {
            let mut tx = rt.begin_part(pm, thread, k, 1)?;
            tx.update(at, Val::lit(value));
            tx.commit();
            // The operation has no further transaction in which the map might grow.
            longest = 0;
        }
        Ok((found, longest))
    }
}

impl Contents for Chains {
    const NAME: &'static str = "hashmap";
    const ABOUT: &'static str =
        "transactional chained map that grows: inserts (and removals) of random keys with 128 B values";
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] =
        &[("buckets", "1"), ("preload", "3"), ("keys", "12"), ("value", "16B")];
    type Params = HashmapParams;
    type Keys = Inserts;
    type Model = MapModel;
    type Audit = HashmapAudit;

    fn keys_of(p: &HashmapParams, s: &Settings) -> Result<Inserts, String> {
        Inserts::new(s, (p.preload, p.keys), (p.batch, p.removes), p.value)
    }
    fn lay_out(
        p: &HashmapParams,
        s: &Settings,
        inserts: Inserts,
        layout: &mut Layout,
    ) -> Result<LaidOut<Self>, String> {
        let most = inserts.most(s.ops);
        let table = Table::new(layout, p.buckets, p.preload, most);
        let (preload, pool) = inserts.blocks(s, layout);
        let front = p.front.then(|| Driver::new(layout, s.threads, inserts.values.words()));
        // Growing stores every new bucket, and every entry's link and its bucket again.
        let inserted = (STORES + inserts.values.words()) * u64::from(p.batch);
        Ok(LaidOut {
            stores: inserted.max(table.most_buckets() + 2 * most + 8),
            contents: Chains {
                inserts,
                table,
                preload,
                pool,
                front,
            },
            pool,
            locks: 1,
            coupling: p.coupling,
        })
    }
    fn keys(&self) -> &Inserts {
        &self.inserts
    }
    #[inline(always)]
    fn part_of(&self, _: u64) -> u64 {
        0
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.front.iter().for_each(|f| f.plant(m));
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
    #[inline(always)]
    fn change<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, wanted: Toggle, last: u64) -> Changed<M::Dep> {
        self.put(tx, wanted, last, false).0
    }
    /// A map whose chains have become long grows in a transaction of its own.
    #[inline(always)]
    fn transact<M: Mem>(
        &self,
        rt: &Runtime,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        keys: &[Toggle],
    ) -> Result<Found, Rollback> {
        let (found, chain) = self.put_all(rt, pm, (thread, k), keys)?;
        if chain > LONGISH {
            self.grow(rt, pm, (thread, k), chain)?;
        }
        Ok(found)
    }
    #[inline(always)]
    fn finish<M: Mem>(&self, m: &mut M, thread: u32, keys: usize) {
        if let Some(front) = &self.front {
            (0..keys).for_each(|_| front.committed(m, thread, 2, 2));
        }
    }
    fn model(&self, _: &[OpRecord], history: History) -> MapModel {
        MapModel::new(&self.parts(), KeyModel::new(history))
    }
    fn audit_start(&self, model: &MapModel, crash: &CrashPoint) -> HashmapAudit {
        HashmapAudit::start(model.keys.history.cut(crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &MapModel, m: &mut M, state: HashmapAudit) -> Step<HashmapAudit> {
        state.step(m, &self.parts(), model)
    }
}
