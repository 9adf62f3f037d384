//! A hash index from keys to words, built before the run: open addressing with linear probing, at most half full.
//!
//! For tables whose keys do not change while the program runs (a subscriber's number, an item's id). Nothing writes, so look-ups need
//! neither lock nor transaction.

use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::{Addr, At, Mem, Span, Val, rng};

/// Bytes of a slot: key, value.
const SLOT: u64 = 16;

/// The index. Keys are not 0.
#[derive(Copy, Clone, Debug)]
pub struct HashIndex {
    base: Addr,
    mask: u64,
}

impl HashIndex {
    /// Reserves an index for `keys` keys.
    pub fn new(layout: &mut Layout, keys: u64) -> HashIndex {
        let slots = (2 * keys.max(1)).next_power_of_two();
        HashIndex {
            base: layout.pm(slots * SLOT),
            mask: slots - 1,
        }
    }
    #[inline(always)]
    fn slot<D: Copy + Default>(&self, i: u64) -> At<D> {
        At::new(Addr(self.base.0 + (i & self.mask) * SLOT))
    }
    /// Adds a key. Only before the run.
    pub fn insert<M: Mem>(&self, m: &mut M, key: u64, value: u64) {
        let mut i = rng::mix(key);
        while m.load(self.slot(i)).v != 0 {
            i += 1;
        }
        m.store(self.slot(i), Val::lit(key));
        m.store(self.slot(i).field(8), Val::lit(value));
    }
    /// The value of `key`, if it is there.
    #[inline(always)]
    pub fn find<M: Mem>(&self, m: &mut M, key: u64) -> Option<Val<M::Dep>> {
        let mut i = rng::mix(key);
        loop {
            let at = m.load(self.slot(i));
            m.compute(sites::INDEX_PROBE);
            if at.v == key {
                return Some(m.load(self.slot(i).field(8)));
            }
            if at.v == 0 {
                return None;
            }
            i += 1;
        }
    }
    /// All of it.
    pub fn span(&self) -> Span {
        Span {
            at: self.base,
            len: (self.mask + 1) * SLOT,
        }
    }
}
