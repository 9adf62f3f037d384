//! The cache inside a transaction: hash chains, the list of items by their last use, eviction of the oldest.
//!
//! An item is a line of header and the value behind it; a shard's list has its ends, the number of its last change and the number of its
//! items on a line.

use crate::chains::{Chains, KEY, NEXT, Place};
use crate::choices::Variant;
use crate::front::{Reader, next_word};
use crate::layout::Rows;
use crate::pool::Pool;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Val};

// An item. A key has two words.
pub(super) const KEY_TAIL: u64 = 16;
/// The item used after this one.
pub(super) const NEWER: u64 = 24;
/// The item used before this one.
pub(super) const OLDER: u64 = 32;
/// Number of the shard's change that put the item where it is in the list.
pub(super) const TIME: u64 = 40;
/// Words of the value.
pub(super) const SIZE: u64 = 48;
pub(super) const VALUE: u64 = 64;
pub(super) const HEADER: u64 = 64;
// A shard's list.
pub(super) const NEWEST: u64 = 0;
pub(super) const OLDEST: u64 = 8;
pub(super) const CHANGES: u64 = 16;
pub(super) const ITEMS: u64 = 24;

/// The second word of a key.
pub(super) fn key_tail(key: u64) -> u64 {
    !key
}

/// Where everything lies.
#[derive(Copy, Clone, Debug)]
pub(super) struct Places {
    pub table: Chains,
    /// Lists by shard.
    pub lists: Rows,
    /// Items that stand before the run.
    pub planted: Rows,
    pub pool: Pool,
    /// Items that a shard holds at most.
    pub capacity: u64,
}
impl Places {
    /// The shard of a key: buckets are dealt out to shards.
    pub(super) fn shard(&self, key: u64) -> u64 {
        self.table.bucket(key) & (self.lists.count() - 1)
    }
    pub(super) fn is_item(&self, at: u64) -> bool {
        self.planted.owns(at) || self.pool.owns(Addr(at))
    }
}

/// A shard of the cache inside a transaction.
pub(super) struct Shard<'t, 'a, 'm, M: Mem> {
    pub tx: &'t mut Tx<'a, 'm, M>,
    pub places: Places,
    pub list: At<M::Dep>,
    /// The item allocated in this transaction: nothing of it needs a log.
    pub fresh: u64,
}

impl<M: Mem> Shard<'_, '_, '_, M> {
    #[inline(always)]
    fn get(&mut self, object: At<M::Dep>, field: u64) -> Val<M::Dep> {
        self.tx.read(object.field(field))
    }
    /// Stores a word of a list or an item, which is logged with its whole header.
    #[inline(always)]
    fn set(&mut self, object: At<M::Dep>, field: u64, v: Val<M::Dep>) {
        if object.addr.0 == self.fresh {
            self.tx.fresh(object.field(field), v);
        } else {
            self.tx.protect_once(object, HEADER);
            self.tx.write(object.field(field), v);
        }
    }
    /// Redirects a link of a chain: a bucket, or the first word of an item.
    #[inline(always)]
    fn set_link(&mut self, link: At<M::Dep>, to: Val<M::Dep>) {
        if self.places.table.is_head(link.addr) {
            self.tx.protect_once(link, 8);
            self.tx.write(link, to);
        } else {
            self.set(link, NEXT, to);
        }
    }
    /// Where a key is.
    #[inline(always)]
    pub(super) fn find(&mut self, key: u64) -> Place<M::Dep> {
        self.places.table.find(self.tx, key)
    }
    /// Reads the value of an item; its first word.
    #[inline(always)]
    pub(super) fn value(&mut self, item: At<M::Dep>) -> u64 {
        let words = self.get(item, SIZE).v;
        let first = self.get(item, VALUE).v;
        for w in 1..words {
            self.get(item, VALUE + w * 8);
        }
        self.tx.compute(sites::ROW);
        first
    }
    /// Makes an item of this key the newest of its shard, in the place of the key's old one; evicts the oldest if there are too many
    /// then. Returns where the value's last word lies.
    pub(super) fn store(
        &mut self,
        key: u64,
        (value, words): (u64, u64),
        mut data: Option<Reader<M::Dep>>,
    ) -> At<M::Dep> {
        let place = self.find(key);
        let replaces = place.found();
        if replaces {
            self.forget(&place);
        }
        let item = self.tx.alloc();
        self.fresh = item.addr.0;
        self.tx.fresh(item.field(KEY), Val::lit(key));
        self.tx.fresh(item.field(KEY_TAIL), Val::lit(key_tail(key)));
        self.tx.fresh(item.field(SIZE), Val::lit(words));
        for w in 0..words {
            let word = next_word(self.tx.pm.m, &mut data, value);
            self.tx.fresh(item.field(VALUE + w * 8), word);
        }
        let bucket = self.places.table.find(self.tx, key).link;
        self.tx.fresh(item.field(NEXT), Val::lit(0));
        self.set_link(bucket, item.pointer());
        self.make_newest(item);
        let (list, items) = (self.list, self.get(self.list, ITEMS).v + u64::from(!replaces));
        if items > self.places.capacity {
            self.evict();
            self.set(list, ITEMS, Val::lit(items - 1));
        } else {
            self.set(list, ITEMS, Val::lit(items));
        }
        item.field(VALUE + (words - 1) * 8)
    }
    /// Moves an item to the front of the list.
    pub(super) fn touch(&mut self, item: At<M::Dep>) {
        self.unlink(item);
        self.make_newest(item);
    }
    fn evict(&mut self) {
        let oldest = self.get(self.list, OLDEST).ptr();
        let key = self.get(oldest, KEY).v;
        let place = self.find(key);
        self.forget(&place);
    }
    /// Takes an item out of chain and list and returns its block.
    fn forget(&mut self, place: &Place<M::Dep>) {
        let next = self.get(place.entry, NEXT);
        self.set_link(place.link, next);
        // The mistake of logic: the item goes, but stays in the list.
        if !self.tx.slip(Variant::SemanticMistake) {
            self.unlink(place.entry);
        }
        self.tx.free(place.entry);
    }
    fn unlink(&mut self, item: At<M::Dep>) {
        let (newer, older) = (self.get(item, NEWER), self.get(item, OLDER));
        match newer.v {
            0 => self.set(self.list, NEWEST, older),
            _ => self.set(newer.ptr(), OLDER, older),
        }
        match older.v {
            0 => self.set(self.list, OLDEST, newer),
            _ => self.set(older.ptr(), NEWER, newer),
        }
    }
    fn make_newest(&mut self, item: At<M::Dep>) {
        let (list, first) = (self.list, self.get(self.list, NEWEST));
        let change = self.get(list, CHANGES).map(|n| n + 1);
        self.set(item, NEWER, Val::lit(0));
        self.set(item, OLDER, first);
        self.set(item, TIME, change);
        match first.v {
            0 => self.set(list, OLDEST, item.pointer()),
            _ => self.set(first.ptr(), NEWER, item.pointer()),
        }
        self.set(list, NEWEST, item.pointer());
        self.set(list, CHANGES, change);
    }
}
