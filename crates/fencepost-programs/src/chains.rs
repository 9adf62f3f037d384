//! A chained hash table inside a transaction: buckets of one word, each the address of the first entry of its chain.
//!
//! An entry is a block of the program's own that begins with the address of the next entry and its key; keys are not 0. Which
//! locks guard a bucket is the program's choice.

use crate::layout::{Layout, Rows};
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Mem, Span, Val, Violation, rng};
use std::collections::BTreeSet;

/// Offset of the next entry's address in an entry.
pub(crate) const NEXT: u64 = 0;
/// Offset of an entry's key.
pub(crate) const KEY: u64 = 8;

/// The table.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Chains {
    heads: Rows,
}

/// Where a key is, or would be appended.
pub(crate) struct Place<D> {
    /// The word that holds the entry's address.
    pub link: At<D>,
    /// The entry; null at the end of the chain.
    pub entry: At<D>,
}
impl<D: Copy> Place<D> {
    /// Whether the key is there.
    #[inline(always)]
    pub(crate) fn found(&self) -> bool {
        self.entry.addr.0 != 0
    }
}

impl Chains {
    /// Reserves at least `buckets` buckets: the next power of two.
    pub(crate) fn new(layout: &mut Layout, buckets: u64) -> Chains {
        let heads = Rows::new(layout, 8, buckets.max(1).next_power_of_two());
        Chains { heads }
    }
    /// The bucket of a key.
    #[inline(always)]
    pub(crate) fn bucket(&self, key: u64) -> u64 {
        rng::mix(key) & (self.heads.count() - 1)
    }
    #[inline(always)]
    fn head<D: Copy + Default>(&self, key: u64) -> At<D> {
        self.heads.at(self.bucket(key))
    }
    /// Whether `at` is one of the buckets, and no part of an entry.
    #[inline(always)]
    pub(crate) fn is_head(&self, at: Addr) -> bool {
        self.heads.owns(at.0)
    }
    /// Follows the chain of `key`.
    #[inline(always)]
    pub(crate) fn find<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, key: u64) -> Place<M::Dep> {
        tx.compute(sites::HASH_KEY);
        let mut link = self.head(key);
        loop {
            let entry = tx.read(link).ptr();
            if entry.addr.0 == 0 {
                return Place { link, entry };
            }
            let at = tx.read(entry.field(KEY)).v;
            tx.compute(sites::CHAIN_STEP);
            if at == key {
                return Place { link, entry };
            }
            link = entry.field(NEXT);
        }
    }
    /// Puts an entry, whose key is written, in front of its chain. Only before the run.
    pub(crate) fn plant<M: Mem>(&self, m: &mut M, entry: At<M::Dep>, key: u64) {
        let head = self.head(key);
        let first = m.load(head);
        m.store(entry.field(NEXT), first);
        m.store(entry.field(KEY), Val::lit(key));
        m.store(head, entry.pointer());
    }
    /// Reads the whole chain of `key` in a recovered memory: the key's entry (0: none), or what is wrong with the chain.
    pub(crate) fn look_up<M: Mem<Dep = ()>>(
        &self,
        m: &mut M,
        key: u64,
        is_entry: impl Fn(u64) -> bool,
    ) -> Result<u64, Violation> {
        let (mut seen, mut found) = (BTreeSet::new(), 0);
        let mut entry = m.load(self.head::<()>(key)).v;
        while entry != 0 {
            let at = At::<()>::new(Addr(entry));
            if !is_entry(entry) {
                return Err(Violation::at(at.addr, "a chain leads to something that is no entry"));
            }
            let own = m.load(at.field(KEY)).v;
            if own == 0 || self.bucket(own) != self.bucket(key) {
                return Err(Violation::at(
                    at.addr,
                    "a linked entry is not whole: its key is not of this chain",
                ));
            }
            if !seen.insert(own) {
                return Err(Violation::at(at.addr, "a key is in its chain twice"));
            }
            if own == key {
                found = entry;
            }
            entry = m.load(at.field(NEXT)).v;
        }
        Ok(found)
    }
    /// The buckets.
    pub(crate) fn span(&self) -> Span {
        self.heads.span()
    }
}
