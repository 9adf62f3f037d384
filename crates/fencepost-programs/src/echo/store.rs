//! The persistent master: an index of keys, each with its versions, the newest first.
//!
//! An entry of the index is chain, key, newest version, number of versions, and the rest of the key; a version is the one before it, its
//! identity and its value.

use crate::chains::{Chains, KEY, NEXT};
use crate::layout::{Layout, Rows};
use crate::pool::Pool;
use crate::settings::Settings;
use crate::sites;
use crate::small::Small;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Span, Val, Violation};

const NEWEST: u64 = 16;
const VERSIONS: u64 = 24;
const KEY_TAIL: u64 = 32;
const OLDER: u64 = 0;
const ID: u64 = 8;
const VALUE: u64 = 16;

/// Sizes of keys and values.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sizes {
    pub key: u64,
    pub value: u64,
}
impl Sizes {
    /// Words of a key beyond the first.
    fn tail(self) -> u64 {
        self.key / 8 - 1
    }
    pub(super) fn words(self) -> u64 {
        self.value / 8
    }
    fn entry(self) -> u64 {
        KEY_TAIL + self.tail() * 8
    }
    fn version(self) -> u64 {
        VALUE + self.value
    }
    /// Words that a put stores at most.
    pub(super) fn stores(self) -> u64 {
        self.entry() / 8 + self.version() / 8 + 3
    }
}

/// The master.
#[derive(Copy, Clone, Debug)]
pub(super) struct Master {
    index: Chains,
    sizes: Sizes,
    entries: Pool,
    planted_entries: Rows,
    planted_versions: Rows,
}

impl Master {
    /// Reserves the master and the pool of its versions, for puts in every operation.
    pub(super) fn new(layout: &mut Layout, s: &Settings, sizes: Sizes, buckets: u64, preload: u64) -> (Master, Pool) {
        let index = Chains::new(layout, buckets);
        let line = |bytes: u64| bytes.next_multiple_of(64);
        let planted_entries = Rows::new(layout, line(sizes.entry()), preload);
        let planted_versions = Rows::new(layout, line(sizes.version()), preload);
        let versions = Pool::new(layout, s.threads, sizes.version(), u64::from(s.ops));
        let entries = Pool::new(layout, s.threads, sizes.entry(), u64::from(s.ops));
        let master = Master {
            index,
            sizes,
            entries,
            planted_entries,
            planted_versions,
        };
        (master, versions)
    }
    /// The bucket of a key, by which it is locked.
    #[inline(always)]
    pub(super) fn bucket(&self, key: u64) -> u64 {
        self.index.bucket(key)
    }
    /// Adds a version to a key. `fresh` holds the entries made in this transaction. Returns where the value begins.
    #[inline(always)]
    pub(super) fn put<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        thread: u32,
        key: u64,
        id: u64,
        fresh: &mut Small<u64, 8>,
    ) -> At<M::Dep> {
        let place = self.index.find(tx, key);
        let version = tx.alloc();
        let older = if place.found() {
            tx.read(place.entry.field(NEWEST))
        } else {
            Val::lit(0)
        };
        tx.fresh(version.field(OLDER), older);
        tx.fresh(version.field(ID), Val::lit(id));
        for w in 0..self.sizes.words() {
            tx.fresh(version.field(VALUE + w * 8), Val::lit(id));
        }
        tx.compute(sites::ROW);
        if !place.found() {
            let entry = self.entries.alloc(tx.pm.m, thread);
            tx.fresh(entry.field(NEXT), Val::lit(0));
            tx.fresh(entry.field(KEY), Val::lit(key));
            tx.fresh(entry.field(NEWEST), version.pointer());
            tx.fresh(entry.field(VERSIONS), Val::lit(1));
            (0..self.sizes.tail()).for_each(|w| tx.fresh(entry.field(KEY_TAIL + w * 8), Val::lit(key)));
            if fresh.as_slice().contains(&place.link.addr.0) {
                tx.fresh(place.link, entry.pointer());
            } else {
                tx.protect_once(place.link, 8);
                tx.write(place.link, entry.pointer());
            }
            fresh.push(entry.addr.0);
            return version.field(VALUE);
        }
        let entry = place.entry;
        let versions = tx.read(entry.field(VERSIONS)).map(|n| n + 1);
        if fresh.as_slice().contains(&entry.addr.0) {
            tx.fresh(entry.field(NEWEST), version.pointer());
            tx.fresh(entry.field(VERSIONS), versions);
        } else {
            tx.protect_once(entry.field(NEWEST), 16);
            tx.write(entry.field(NEWEST), version.pointer());
            tx.write(entry.field(VERSIONS), versions);
        }
        version.field(VALUE)
    }
    /// The identity of a key's newest version (0: no such key); its value is read.
    #[inline(always)]
    pub(super) fn get<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, key: u64) -> u64 {
        let place = self.index.find(tx, key);
        if !place.found() {
            return 0;
        }
        let version = tx.read(place.entry.field(NEWEST)).ptr();
        for w in 0..self.sizes.words() {
            tx.read(version.field(VALUE + w * 8));
        }
        tx.compute(sites::ROW);
        tx.read(version.field(ID)).v
    }
    /// Writes the keys `1..=preload`, each with one version of this identity.
    pub(super) fn plant<M: Mem>(&self, m: &mut M) {
        for i in 0..self.planted_entries.count() {
            let (key, entry, version) = (i + 1, self.planted_entries.at(i), self.planted_versions.at::<M::Dep>(i));
            let mut put = |at: At<M::Dep>, v| m.store(at, Val::lit(v));
            put(version.field(ID), key);
            (0..self.sizes.words()).for_each(|w| put(version.field(VALUE + w * 8), key));
            put(entry.field(NEWEST), version.addr.0);
            put(entry.field(VERSIONS), 1);
            (0..self.sizes.tail()).for_each(|w| put(entry.field(KEY_TAIL + w * 8), key));
            self.index.plant(m, entry, key);
        }
    }
    /// How many versions a key has in a recovered memory: they must be the first of `ids`. Or what is wrong with them.
    pub(super) fn versions<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        pool: &Pool,
        key: u64,
        ids: &[u64],
    ) -> Result<(u64, Addr), Violation> {
        let is_entry = |at| self.planted_entries.owns(at) || self.entries.owns(Addr(at));
        let entry = self.index.look_up(m, key, is_entry)?;
        if entry == 0 {
            return Ok((0, self.index.span().at));
        }
        let entry = At::<()>::new(Addr(entry));
        let count = m.load(entry.field(VERSIONS)).v;
        if (0..self.sizes.tail()).any(|w| m.load(entry.field(KEY_TAIL + w * 8)).v != key) {
            return Err(Violation::at(entry.addr, "a key is not whole"));
        }
        if count == 0 || count > ids.len() as u64 {
            return Err(Violation::at(entry.addr, "a key has versions that nobody put"));
        }
        let mut version = m.load(entry.field(NEWEST)).v;
        for id in ids[..count as usize].iter().rev() {
            let at = At::<()>::new(Addr(version));
            if !self.planted_versions.owns(version) && !pool.owns(at.addr) {
                return Err(Violation::at(
                    at.addr,
                    "a key's versions lead to something that is none",
                ));
            }
            let torn = (0..self.sizes.words()).any(|w| m.load(at.field(VALUE + w * 8)).v != *id);
            if m.load(at.field(ID)).v != *id || torn {
                return Err(Violation::at(at.addr, "a version is not the one that was put"));
            }
            version = m.load(at.field(OLDER)).v;
        }
        match version {
            0 => Ok((count, entry.addr)),
            _ => Err(Violation::at(entry.addr, "a key has more versions than it counts")),
        }
    }
    /// What is read most.
    pub(super) fn spans(&self) -> [Span; 3] {
        [
            self.index.span(),
            self.planted_entries.span(),
            self.planted_versions.span(),
        ]
    }
}
