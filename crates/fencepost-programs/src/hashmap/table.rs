//! Arrays of buckets, each twice as long as the one before, and how the map names the one in use.

use crate::layout::Layout;
use fencepost_kernel::{Addr, At, LineAddr, Mem, Span, Val};
use std::ops::Range;

// The map: entries in it; the array of buckets in use.
pub(super) const COUNT: u64 = 0;
pub(super) const BUCKETS: u64 = 8;
// An entry: key, reference to its value, reference to the next entry.
pub(super) const KEY: u64 = 0;
pub(super) const VALUE_AT: u64 = 8;
pub(super) const NEXT: u64 = 24;

// The hash function: (a key + b) mod p, a prime.
const A: u64 = 0x1f12_3bb5;
const B: u64 = 0x9_51d1;
const P: u64 = 32_212_254_719;

/// The map's fixed part.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub root: Addr,
    /// Buckets of the first array.
    first: u64,
    /// The arrays: a word that counts the buckets, then the buckets.
    arrays: Vec<Addr>,
}

impl Table {
    /// Reserves arrays enough for `most` entries.
    pub(super) fn new(layout: &mut Layout, first: u64, preload: u64, most: u64) -> Table {
        let root = layout.pm(64);
        let (mut arrays, mut buckets) = (vec![layout.pm(8 * (1 + first))], first);
        while buckets < most.max(preload) {
            buckets *= 2;
            arrays.push(layout.pm(8 * (1 + buckets)));
        }
        Table { root, first, arrays }
    }
    /// Buckets of the largest array.
    pub(super) fn most_buckets(&self) -> u64 {
        self.first << (self.arrays.len() - 1)
    }
    /// The array of a map that has come to hold `entries`: at most two a bucket.
    fn array_of(&self, entries: u64) -> usize {
        let enough = |i: &usize| (self.first << i) * 2 >= entries;
        (0..self.arrays.len()).find(enough).unwrap_or(self.arrays.len() - 1)
    }
    /// Makes the map, empty, for so many entries; its array.
    pub(super) fn first<M: Mem>(&self, m: &mut M, entries: u64) -> At<M::Dep> {
        let i = self.array_of(entries);
        let array = At::new(self.arrays[i]);
        m.store(array, Val::lit(self.first << i));
        m.store(At::new(self.root).field(COUNT), Val::lit(entries));
        m.store(At::new(self.root).field(BUCKETS), array.pointer());
        array
    }
    /// The array with twice as many buckets as this, if there is one.
    #[inline(always)]
    pub(super) fn larger(&self, nbuckets: u64) -> Option<Addr> {
        let i = (nbuckets / self.first).ilog2() as usize;
        self.arrays.get(i + 1).copied()
    }
    /// How many buckets the array at this address has.
    pub(super) fn buckets_at(&self, array: u64) -> Option<u64> {
        let i = self.arrays.iter().position(|a| a.0 == array)?;
        Some(self.first << i)
    }
    /// The number of a key's bucket.
    #[inline(always)]
    pub(super) fn number(key: u64, nbuckets: u64) -> u64 {
        A.wrapping_mul(key).wrapping_add(B) % P % nbuckets
    }
    /// The bucket of a key.
    #[inline(always)]
    pub(super) fn bucket<D: Copy + Default>(array: At<D>, key: u64, nbuckets: u64) -> At<D> {
        array.field(8 + 8 * Table::number(key, nbuckets))
    }
    /// The buckets of an array that lie in a line.
    pub(super) fn in_line(array: Addr, line: LineAddr, nbuckets: u64) -> Range<u64> {
        // The array begins on a line, with the word that counts the buckets.
        let first = (line.0 - array.line().0) * 8;
        first.saturating_sub(1)..(first + 7).min(nbuckets)
    }
    /// The array that set-up makes for so many entries, and its buckets.
    pub(super) fn planted(&self, entries: u64) -> (Addr, u64) {
        let i = self.array_of(entries);
        (self.arrays[i], self.first << i)
    }
    /// What every operation reads first: the map's fixed part, and the array in use.
    pub(super) fn spans(&self, entries: u64) -> [Span; 2] {
        let i = self.array_of(entries);
        let span = |at, len| Span { at, len };
        [span(self.root, 16), span(self.arrays[i], 8 * (1 + (self.first << i)))]
    }
}
