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

#[cfg(test)]
mod tests {
    use super::*;

    /// A map has arrays up to one with a bucket for every entry, each twice as long as the one before and behind it, with a word in front.
    #[test]
    fn arrays_double_until_there_is_a_bucket_for_every_entry() {
        for (first, preload, most, arrays) in [
            (10, 0, 10, 1),
            (10, 0, 11, 2),
            (10, 41, 5, 4),
            (1, 3, 12, 5),
            (7, 28, 28, 3),
            (7, 29, 1, 4),
        ] {
            let mut layout = Layout::default();
            let table = Table::new(&mut layout, first, preload, most);
            assert_eq!(
                (table.arrays.len(), table.most_buckets()),
                (arrays, first << (arrays - 1))
            );
            let mut at = table.root.0 + 64;
            for (i, array) in table.arrays.iter().enumerate() {
                let buckets = first << i;
                assert_eq!(array.0, at);
                assert_eq!(table.buckets_at(array.0), Some(buckets));
                assert_eq!(table.buckets_at(array.0 + 8), None);
                assert_eq!(table.larger(buckets), table.arrays.get(i + 1).copied());
                at += (8 * (1 + buckets)).next_multiple_of(64);
            }
            assert_eq!(layout.footprint().pm.0 + fencepost_kernel::units::PM_BASE, at);
        }
    }
    /// Set-up takes the first array in which there are at most two entries a bucket.
    #[test]
    fn a_map_begins_with_two_entries_a_bucket_at_most() {
        use crate::pool::tests::Words;
        let table = Table::new(&mut Layout::default(), 10, 0, 100);
        for (entries, buckets) in [
            (0, 10),
            (20, 10),
            (21, 20),
            (40, 20),
            (41, 40),
            (80, 40),
            (81, 80),
            (1000, 160),
        ] {
            let (array, planted) = table.planted(entries);
            assert_eq!(planted, buckets, "{entries}");
            let spans = table.spans(entries);
            assert_eq!((spans[0].at, spans[0].len), (table.root, 16));
            assert_eq!((spans[1].at, spans[1].len), (array, 8 * (1 + buckets)));
            let mut m = Words::default();
            assert_eq!(table.first(&mut m, entries).addr, array);
            let root = [COUNT, BUCKETS].map(|f| m.load(At::new(table.root).field(f)).v);
            assert_eq!((root, m.load(At::new(array)).v), ([entries, array.0], buckets));
        }
    }
    /// Every bucket lies in the line that is said to hold it, and in no other.
    #[test]
    fn lines_hold_the_buckets_that_they_are_said_to() {
        for buckets in [1u64, 7, 8, 10, 15, 16, 40] {
            let array = Addr(6400);
            let mut all = Vec::new();
            for line in 0..(1 + buckets).div_ceil(8) {
                let held = Table::in_line(array, LineAddr(100 + line), buckets);
                for b in held.clone() {
                    let at = array.0 + 8 * (1 + b);
                    assert_eq!(at / 64, 100 + line, "bucket {b} of {buckets}");
                }
                all.extend(held);
            }
            assert!(all.into_iter().eq(0..buckets));
        }
    }
    /// The bucket of a key is (a key + b) mod p mod the buckets, where it fits a word; keys are spread over all of them.
    #[test]
    fn keys_are_spread_over_the_buckets() {
        for key in [0, 1, 77, 1 << 30] {
            let n = (u128::from(key) * 0x1f12_3bb5u128 + 0x9_51d1) % 32_212_254_719 % 10;
            assert_eq!(u128::from(Table::number(key, 10)), n);
            let at = Table::bucket(At::<()>::new(Addr(640)), key, 10).addr.0;
            assert_eq!(u128::from(at), 640 + 8 + 8 * n);
        }
        let mut drawn = [0u32; 10];
        (0..10_000).for_each(|n| drawn[Table::number(fencepost_kernel::rng::mix(n), 10) as usize] += 1);
        assert!(drawn.iter().all(|n| (850..1150).contains(n)), "{drawn:?}");
    }
}
