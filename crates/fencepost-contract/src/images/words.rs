//! The words that an execution wrote, and the value of each in a crash state.

use crate::graph::{Cut, Grain, LocationId, PersistGraph};
use fencepost_kernel::{Addr, CrashPoint};
use rustc_hash::FxHashMap;

/// A location as a part of its word.
#[derive(Copy, Clone, Debug)]
pub(super) struct Part {
    word: u32,
    shift: u32,
    mask: u64,
}

/// Every word that the execution wrote.
#[derive(Debug)]
pub(super) struct Words {
    addresses: Vec<Addr>,
    /// Their numbers, from the first address on.
    sorted: Vec<u32>,
    initial: Vec<u64>,
    /// By location.
    parts: Vec<Part>,
    /// By word: its locations.
    locations: Vec<Vec<LocationId>>,
}

impl Words {
    pub(super) fn new(graph: &PersistGraph) -> Words {
        let mut words = Words {
            addresses: Vec::new(),
            sorted: Vec::new(),
            initial: Vec::new(),
            parts: Vec::new(),
            locations: Vec::new(),
        };
        let mut index: FxHashMap<Addr, u32> = FxHashMap::default();
        for location in (0..graph.location_count() as u32).map(LocationId) {
            let at = graph.address(location);
            let next = words.addresses.len() as u32;
            let word = *index.entry(at.word()).or_insert(next);
            if word == next {
                words.addresses.push(at.word());
                words.initial.push(graph.initial().word(at.word()));
                words.locations.push(Vec::new());
            }
            words.locations[word as usize].push(location);
            let (shift, mask) = match graph.grain() {
                Grain::Byte => ((at.0 % 8 * 8) as u32, 0xff << (at.0 % 8 * 8)),
                Grain::Word | Grain::Line => (0, u64::MAX),
            };
            words.parts.push(Part { word, shift, mask });
        }
        words.sorted = (0..words.count()).collect();
        words.sorted.sort_unstable_by_key(|w| words.addresses[*w as usize]);
        words
    }
    /// Locations of the word with this number.
    pub(super) fn locations(&self, word: u32) -> &[LocationId] {
        &self.locations[word as usize]
    }
    pub(super) fn count(&self) -> u32 {
        self.addresses.len() as u32
    }
    /// Numbers of the written words among `len` bytes at `offset` of persistent memory, from the first address on: whoever reads a range in one piece
    /// and whoever reads it in several have read them in the same order.
    pub(super) fn within(&self, offset: u64, len: u64) -> impl Iterator<Item = u32> + '_ {
        let end = offset.saturating_add(len);
        let at = |word: u32| self.addresses[word as usize].0.wrapping_sub(Addr::pm(0).0);
        let first = self.sorted.partition_point(|w| at(*w) + 8 <= offset);
        let reached = self.sorted[first..].iter().copied();
        reached.take_while(move |w| at(*w) < end)
    }
    /// The value of each word in the cut's largest state, in which everything is durable that is not out.
    pub(super) fn largest(&self, graph: &PersistGraph, cut: &Cut) -> Vec<u64> {
        self.values(graph, |l| cut.bounds(graph, l).1)
    }
    /// The value of a word whose locations are all decided, or in the cut's largest state.
    pub(super) fn value(&self, graph: &PersistGraph, cut: &Cut, word: u32) -> u64 {
        let mut value = self.initial[word as usize];
        for location in self.locations(word) {
            self.put(graph, &mut value, *location, cut.bounds(graph, *location).1);
        }
        value
    }
    fn values(&self, graph: &PersistGraph, versions: impl Fn(LocationId) -> usize) -> Vec<u64> {
        let mut values = self.initial.clone();
        for (i, part) in self.parts.iter().enumerate() {
            let location = LocationId(i as u32);
            self.put(graph, &mut values[part.word as usize], location, versions(location));
        }
        values
    }
    fn put(&self, graph: &PersistGraph, value: &mut u64, location: LocationId, versions: usize) {
        let part = self.parts[location.index()];
        if let Some(last) = versions.checked_sub(1) {
            let new = graph.versions(location)[last].value << part.shift;
            *value = *value & !part.mask | new & part.mask;
        }
    }
    /// Words that differ from the memory before the execution: offset into persistent memory, value.
    pub(super) fn changes(&self, values: &[u64]) -> Vec<(u64, u64)> {
        let all = self.addresses.iter().zip(values).zip(&self.initial);
        let changed = all.filter(|((_, v), i)| v != i);
        changed.map(|((a, v), _)| (a.0 - Addr::pm(0).0, *v)).collect()
    }
    /// Fingerprint of an image with what had begun and been acknowledged. 128 bits: among billions of images the chance
    /// of any collision is below 2^-64.
    pub(super) fn key(&self, values: &[u64], crash: &CrashPoint) -> u128 {
        let mut h: u128 = 0x6a09_e667_f3bc_c908;
        let history = crash.begun.iter().chain(&crash.acked).map(|n| u64::from(*n));
        for value in history.chain(values.iter().copied()) {
            const ODD: u128 = 0x2d35_8dcc_aa6c_78a5_9e37_79b9_7f4a_7c15;
            let mixed = (h ^ u128::from(value)).wrapping_add(1).wrapping_mul(ODD);
            h = mixed ^ mixed >> 67;
        }
        h
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read that begins or ends in the middle of a word has read that word.
    #[test]
    fn every_written_word_of_which_a_byte_is_read_is_found() {
        let written = [24u64, 8, 40, 48];
        let words = Words {
            addresses: written.map(Addr::pm).to_vec(),
            sorted: vec![1, 0, 2, 3],
            initial: vec![0; 4],
            parts: Vec::new(),
            locations: vec![Vec::new(); 4],
        };
        for offset in 0..64 {
            for len in 1..64 {
                let read = |at: u64| (offset..offset + len).any(|byte| byte / 8 * 8 == at);
                let mut expected: Vec<u64> = written.into_iter().filter(|at| read(*at)).collect();
                expected.sort_unstable();
                let found = words.within(offset, len).map(|w| written[w as usize]);
                assert_eq!(found.collect::<Vec<_>>(), expected, "{len} bytes at {offset}");
            }
        }
    }
}
