//! `pc`: updates of existing entries of a hash table, each under its bucket's lock.
//!
//! A chained table whose keys never change. An operation finds a key and overwrites the first `stores` words of its 64-byte value;
//! with `batch`, so many keys in one transaction, under all their locks. Key and link of an item lie on one line, the value on the next.
//!
//! Raw form: values of several words are copied aside, a flag validates the copy, the words change, the flag is cleared: four
//! barriers. A single word needs none of that: one store, one barrier.
//!
//! The audit reads the entries that operations of the run write, and the chains that lead to them.
//!
//! Used by themis, which names it only; size and stores of an update are ours.

use crate::choices::{Coupling, Scheme, Variant};
use crate::draw::below;
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{LogStep, MAX_INPUTS, Region, Runtime, Tx};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
};

params! {
    /// Parameters of `pc`.
    pub struct PcParams {
        /// Buckets of the table.
        #[range(1..=1 << 24)]
        buckets: u64 = 4007,
        /// Entries of the table; their keys are 1 to so many.
        #[range(1..=1 << 24)]
        entries: u64 = 10_000,
        /// Words of the value that an update stores.
        #[range(1..=8)]
        stores: u64 = 2,
        /// Entries updated in one transaction.
        #[range(1..=16)]
        batch: u32 = 1,
        /// Lock stripes over the buckets.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const KEY: u64 = 0;
const NEXT: u64 = 8;
const VALUE: u64 = 64;
const WORDS: u64 = 8;
const ITEM: u64 = 128;
const UPDATED: u8 = 1;
const REGION_UPDATE: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Pc {
    rt: Runtime,
    seed: u64,
    params: PcParams,
    table: Rows,
    items: Rows,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Pc {
    const NAME: &'static str = "pc";
    const ABOUT: &'static str = "hash table: update of an existing entry under its bucket's lock";
    const SCHEMES: &'static [Scheme] = Scheme::BY_HAND;
    const OWN_VARIANTS: &'static [Variant] = &[
        Variant::NonAtomicUpdate,
        Variant::SemanticMistake,
        Variant::SharedFence,
        Variant::FlagNeverSet,
    ];
    const SMALL: &'static [(&'static str, &'static str)] = &[("buckets", "3"), ("entries", "8"), ("locks", "2")];

    fn fields() -> Vec<Field> {
        PcParams::fields()
    }
    fn build(s: &Settings) -> Result<Pc, ProgramError> {
        let params: PcParams = read_params::<Pc, _>(s)?;
        let regions = 1 + u64::from(params.batch) * 2;
        if s.scheme == Scheme::Ido && regions > MAX_INPUTS as u64 {
            let why = format!("batch = {}: a region's record holds {MAX_INPUTS} inputs", params.batch);
            return Err(impossible::<Pc>(why));
        }
        if u64::from(params.batch) > params.entries {
            return Err(impossible::<Pc>(
                "batch exceeds entries: a transaction updates an entry once",
            ));
        }
        let mut layout = Layout::default();
        let (table, items) = (
            Rows::new(&mut layout, 8, params.buckets),
            Rows::new(&mut layout, ITEM, params.entries),
        );
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let stores = u64::from(params.batch) * (WORDS + 2);
        let rt = Runtime::new(&mut layout, s, params.coupling, stores, pool).with_backups();
        let locks = Locks::new(&mut layout, params.locks.min(params.buckets));
        Ok(Pc {
            rt,
            seed: s.seed,
            params,
            table,
            items,
            locks,
            footprint: layout.footprint(),
        })
    }
}

/// One update: a key and the value that every word of its entry gets.
type Update = (u64, u64);

impl Pc {
    #[inline(always)]
    fn bucket(&self, key: u64) -> u64 {
        rng::mix(key) % self.params.buckets
    }
    /// What an entry holds before the run, in every word.
    fn first(key: u64) -> u64 {
        key
    }
    /// Finds the item of a key. Links and keys never change.
    #[inline(always)]
    fn find<M: Mem>(&self, m: &mut M, key: u64) -> At<M::Dep> {
        let mut item = m.load(self.table.at(self.bucket(key))).ptr();
        loop {
            let at = m.load(item.field(KEY)).v;
            m.compute(sites::CHAIN_STEP);
            if at == key {
                return item;
            }
            item = m.load(item.field(NEXT)).ptr();
        }
    }
    /// Announces an update's words.
    #[inline(always)]
    fn announce<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, item: At<M::Dep>) {
        tx.protect(item.field(VALUE), self.params.stores * 8);
        if self.params.stores > 1 || self.params.batch > 1 {
            tx.back_up(item.field(VALUE), WORDS * 8);
        }
    }
    /// Words `from..to` of an entry.
    #[inline(always)]
    fn store<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, item: At<M::Dep>, value: u64, (from, to): (u64, u64)) {
        let mut w = from;
        while w < to {
            tx.write(item.field(VALUE + w * 8), Val::lit(value));
            w += 1;
        }
    }
    #[inline(always)]
    fn validate<M: Mem>(&self, tx: &mut Tx<'_, '_, M>) {
        if self.params.stores > 1 || self.params.batch > 1 {
            tx.backed_up();
        }
    }
    #[inline(always)]
    fn done<M: Mem>(&self, tx: &mut Tx<'_, '_, M>) {
        if self.params.stores > 1 || self.params.batch > 1 {
            tx.drop_backups();
        } else {
            tx.step();
        }
    }
    /// The transaction, under its locks.
    #[inline(always)]
    fn transact<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        updates: &[Update],
        items: &[At<M::Dep>],
    ) -> Result<(), Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        for item in items {
            self.announce(&mut tx, *item);
        }
        self.validate(&mut tx);
        if tx.has_regions() {
            let pairs = updates
                .iter()
                .zip(items)
                .flat_map(|(u, i)| [i.pointer(), Val::lit(u.1)]);
            tx.region(REGION_UPDATE, &pairs.collect::<Vec<_>>());
        }
        let stores = self.params.stores;
        let split = tx.slip(Variant::NonAtomicUpdate);
        for (i, ((_, value), item)) in updates.iter().zip(items).enumerate() {
            let last = split && i + 1 == items.len();
            self.store(&mut tx, *item, *value, (0, stores - u64::from(last)));
        }
        self.done(&mut tx);
        tx.commit();
        if split && let (Some((_, value)), Some(item)) = (updates.last(), items.last()) {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            self.announce(&mut tx, *item);
            self.validate(&mut tx);
            tx.region(REGION_UPDATE, &[item.pointer(), Val::lit(*value)]);
            self.store(&mut tx, *item, *value, (stores - 1, stores));
            self.done(&mut tx);
            tx.commit();
        }
        Ok(())
    }
    /// One update: the lock of its bucket.
    #[inline(always)]
    fn update_one<M: Mem>(&self, pm: &mut Pm<'_, M>, op: (u32, u32), update: Update) -> Result<(), Rollback> {
        let lock = self.locks.of(self.bucket(update.0));
        pm.lock(lock);
        let mut item = self.find(pm.m, update.0);
        if self.rt.slip::<M>(Variant::SemanticMistake) && op.1 % 4 == 1 {
            // The mistake: the first item of the chain, whatever its key.
            item = pm.m.load(self.table.at(self.bucket(update.0))).ptr();
        }
        let result = self.transact(pm, op, &[update], &[item]);
        pm.unlock(lock);
        result
    }
    #[inline(never)]
    fn update_several<M: Mem>(&self, pm: &mut Pm<'_, M>, op: (u32, u32), updates: &[Update]) -> Result<(), Rollback> {
        let stripes = self.locks.stripes(updates.iter().map(|u| self.bucket(u.0)));
        self.locks.lock_all(pm, stripes.as_slice());
        let mut items = Small::<At<M::Dep>, 16>::new(At::new(Addr(0)));
        for u in updates {
            let item = self.find(pm.m, u.0);
            items.push(item);
        }
        let result = self.transact(pm, op, updates, items.as_slice());
        self.locks.unlock_all(pm, stripes.as_slice());
        result
    }
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) -> Result<(), Violation> {
        for pair in region.inputs[..region.len].chunks(2) {
            if region.id != REGION_UPDATE || pair.len() != 2 || !self.items.owns(pair[0].v) {
                return Err(Violation {
                    why: "a region record names no item of the table".into(),
                    at: None,
                });
            }
            for w in 0..self.params.stores {
                m.store(pair[0].ptr().field(VALUE + w * 8), pair[1]);
            }
        }
        Ok(())
    }
    /// The value of an entry, read as an operation would find it, or what is wrong with it.
    fn look<M: Mem<Dep = ()>>(&self, m: &mut M, key: u64) -> Result<(u64, Addr), Violation> {
        let (mut item, mut steps) = (m.load(self.table.at(self.bucket(key))).v, 0);
        while self.items.owns(item) && m.load(At::new(Addr(item + KEY))).v != key && steps < self.items.count() {
            item = m.load(At::new(Addr(item + NEXT))).v;
            steps += 1;
        }
        if !self.items.owns(item) || steps == self.items.count() {
            return Err(Violation::at(
                self.table.at::<()>(self.bucket(key)).addr,
                "a key is no longer found",
            ));
        }
        let mut word = |w| m.load(At::new(Addr(item + VALUE + w * 8))).v;
        let value = word(0);
        let torn = (1..WORDS).any(|w| {
            word(w)
                != if w < self.params.stores {
                    value
                } else {
                    Self::first(key)
                }
        });
        if torn {
            return Err(Violation::at(
                Addr(item + VALUE),
                "an entry is half one update's and half another's",
            ));
        }
        Ok((value, Addr(item + VALUE)))
    }
}

impl Program for Pc {
    type Input = Small<Update, 1>;
    type Rebuild = LogStep;
    type Audit = RegisterAudit;
    type Model = Registers;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        for i in 0..self.params.entries {
            let (key, item) = (i + 1, self.items.at(i));
            let head = self.table.at(self.bucket(key));
            let first = m.load(head);
            m.store(item.field(KEY), Val::lit(key));
            m.store(item.field(NEXT), first);
            m.store(head, item.pointer());
            (0..WORDS).for_each(|w| m.store(item.field(VALUE + w * 8), Val::lit(Self::first(key))));
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.table.span(), self.items.span()]
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.resident())
    }
    fn input(&self, thread: u32, k: u32) -> Small<Update, 1> {
        let mut updates = Small::new((0, 0));
        for i in 0..self.params.batch {
            let h = rng::hash(&[self.seed, u64::from(thread), u64::from(k), u64::from(i)]);
            let serial = u64::from(k) * u64::from(self.params.batch) + u64::from(i) + 1;
            let value = (u64::from(thread) + 1) << 40 | serial;
            let key = 1 + below(h, self.params.entries);
            // A transaction updates an entry once: a key drawn again moves on to the next free one.
            let mut free = key;
            while updates.as_slice().iter().any(|u: &Update| u.0 == free) {
                free = free % self.params.entries + 1;
            }
            updates.push((free, value));
        }
        updates
    }
    #[inline(always)]
    fn op<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        input: &Small<Update, 1>,
    ) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let result = match input.as_slice() {
            [update] => self.update_one(pm, (thread, k), *update),
            several => self.update_several(pm, (thread, k), several),
        };
        pm.m.compute(sites::EPILOGUE);
        result.map(|()| Outcome {
            kind: UPDATED,
            words: [0; 3],
        })
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        self.rt.rebuild(m, state, |m, _, _, region| self.resume(m, region))
    }
    fn model(&self, ops: &[OpRecord]) -> Registers {
        let mut b = Builder::new(ops);
        for o in ops {
            for (key, value) in self.input(o.thread, o.k).as_slice() {
                b.initial(*key, Self::first(*key));
                b.write(*key, (o.thread, o.k), *value);
            }
        }
        Registers::new(b.build())
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        model.step(state, "an entry holds the value of no prefix of the updates", |key| {
            self.look(m, key)
        })
    }
}

#[cfg(test)]
mod tests;
