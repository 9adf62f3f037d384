//! A hash index from keys to words, built before the run: open addressing with linear probing, at most half full.
//!
//! For tables whose keys do not change while the program runs (a subscriber's number, an item's id). Nothing writes, so look-ups need
//! neither lock nor transaction.

use crate::layout::Layout;
use crate::sites;
use fencepost_kernel::{Addr, At, Mem, Span, Val};

/// Bytes of a slot: key, value.
const SLOT: u64 = 16;

/// The index. Keys are not 0.
#[derive(Copy, Clone, Debug)]
pub struct HashIndex {
    base: Addr,
    mask: u64,
    /// Bits of a hash that do not number a slot.
    shift: u32,
}

impl HashIndex {
    /// Reserves an index for `keys` keys.
    pub fn new(layout: &mut Layout, keys: u64) -> HashIndex {
        let slots = (2 * keys.max(1)).next_power_of_two();
        HashIndex {
            base: layout.pm(slots * SLOT),
            mask: slots - 1,
            shift: u64::BITS - slots.ilog2(),
        }
    }
    /// The slot at which a search begins: a multiplication by 2^64 over the golden ratio, whose highest bits depend on every bit
    /// of the key (Knuth, *The Art of Computer Programming* 3, section 6.4).
    #[inline(always)]
    fn hash(&self, key: u64) -> u64 {
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift
    }
    #[inline(always)]
    fn slot<D: Copy + Default>(&self, i: u64) -> At<D> {
        At::new(Addr(self.base.0 + (i & self.mask) * SLOT))
    }
    /// Adds a key. Only before the run.
    pub fn insert<M: Mem>(&self, m: &mut M, key: u64, value: u64) {
        let mut i = self.hash(key);
        while m.load(self.slot(i)).v != 0 {
            i += 1;
        }
        m.store(self.slot(i), Val::lit(key));
        m.store(self.slot(i).field(8), Val::lit(value));
    }
    /// The value of `key`, if it is there.
    #[inline(always)]
    pub fn find<M: Mem>(&self, m: &mut M, key: u64) -> Option<Val<M::Dep>> {
        let mut i = self.hash(key);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of a search, on average, for keys at which the table is as full as it becomes.
    fn mean_probes(keys: impl Iterator<Item = u64>, count: u64) -> f64 {
        let index = HashIndex::new(&mut Layout::default(), count);
        let mut taken = vec![false; index.mask as usize + 1];
        let mut probes = 0;
        for key in keys {
            let mut i = index.hash(key);
            assert!(i <= index.mask);
            probes += 1;
            while std::mem::replace(&mut taken[(i & index.mask) as usize], true) {
                i += 1;
                probes += 1;
            }
        }
        f64::from(probes) / count as f64
    }
    /// The tables of `tatp` and `tpcc`. With a random function a search takes (1 + 1 / (1 - 1/2)) / 2 = 1.5 steps when half of the slots
    /// are taken (Knuth, section 6.4); no table may cost a second one.
    #[test]
    fn searches_for_the_keys_of_the_programs_are_short() {
        let digits = |n: u64| (0..15).fold(0, |key, d| key | (n / 10u64.pow(d) % 10) << (4 * d));
        let within = |each: u64| move |i: u64| (i / each) << 32 | (i % each + 1);
        for (what, mean) in [
            ("subscribers", mean_probes((1..=100_000).map(digits), 100_000)),
            ("items", mean_probes(1..=100_000, 100_000)),
            ("customers", mean_probes((0..240_000).map(within(3_000)), 240_000)),
            ("stock", mean_probes((0..800_000).map(within(100_000)), 800_000)),
        ] {
            assert!(mean < 2.0, "{what}: {mean}");
        }
    }
}
