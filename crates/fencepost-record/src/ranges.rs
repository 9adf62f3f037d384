//! Where persistent files are mapped in the recorded program.

use super::reads::View;
use std::collections::BTreeMap;

/// A part of a persistent file in memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Which file.
    pub file: usize,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// How stores through it relate to those through other mappings.
    pub view: View,
}

/// All mappings of persistent files, by their first addresses.
#[derive(Clone, Debug, Default)]
pub struct Mappings(BTreeMap<u64, Mapping>);

impl Mappings {
    /// Nothing.
    pub const fn new() -> Mappings {
        Mappings(BTreeMap::new())
    }
    /// Adds a mapping; what lay there before is gone.
    pub fn add(&mut self, mapping: Mapping) {
        self.remove(mapping.start, mapping.length);
        if mapping.length > 0 {
            self.0.insert(mapping.start, mapping);
        }
    }
    /// Takes a range away, also out of the middle of mappings.
    pub fn remove(&mut self, start: u64, length: u64) {
        let end = start.saturating_add(length);
        for m in self.within(start, length) {
            self.0.remove(&m.start);
            let mut keep = |from: u64, to: u64| {
                if from < to {
                    let (offset, length) = (m.offset + (from - m.start), to - from);
                    let start = from;
                    self.0.insert(
                        from,
                        Mapping {
                            start,
                            length,
                            offset,
                            ..m
                        },
                    );
                }
            };
            keep(m.start, start);
            keep(end, m.start + m.length);
        }
    }
    /// Moves `old` bytes at `from` to `to`, where there are `new` then: what `mremap` does. `keep`: the old place keeps them.
    pub fn relocate(&mut self, (from, old): (u64, u64), (to, new): (u64, u64), keep: bool) {
        let found = self.find(from).map(|m| Mapping {
            start: to,
            length: new,
            offset: m.offset + (from - m.start),
            ..*m
        });
        if !keep {
            self.remove(from, old);
        }
        match found {
            Some(mapping) => self.add(mapping),
            None => self.remove(to, new),
        }
    }
    /// The parts of mappings that overlap a range, whole.
    pub fn within(&self, start: u64, length: u64) -> Vec<Mapping> {
        let end = start.saturating_add(length);
        let before = self.0.range(..=start).next_back().map(|m| m.0);
        let mappings = self.0.range(*before.unwrap_or(&start)..).map(|m| *m.1);
        let mappings = mappings.take_while(|m| m.start < end);
        mappings.filter(|m| length > 0 && m.start + m.length > start).collect()
    }
    /// The pieces of persistent files that a range of addresses shows: file, offset, length.
    pub fn pieces(&self, start: u64, length: u64) -> Vec<(usize, u64, u64)> {
        let end = start.saturating_add(length);
        let piece = |m: Mapping| {
            let (from, to) = (m.start.max(start), (m.start + m.length).min(end));
            (m.file, m.offset + (from - m.start), to - from)
        };
        self.within(start, length).into_iter().map(piece).collect()
    }
    /// File and offset of an address that lies in one.
    pub fn persistent(&self, address: u64) -> Option<(usize, u64)> {
        self.find(address).map(|m| (m.file, m.offset + (address - m.start)))
    }
    /// Whether an access, which is shorter than a page, reaches one.
    pub fn touches(&self, address: u64, bytes: u64) -> bool {
        let last = address.saturating_add(bytes.saturating_sub(1));
        self.find(address).is_some() || self.find(last).is_some()
    }
    /// The mapping of an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let mapping = self.0.range(..=address).next_back()?.1;
        (address - mapping.start < mapping.length).then_some(mapping)
    }
    /// Lowest and highest address of all, to look nowhere else.
    pub fn span(&self) -> (u64, u64) {
        match (self.0.first_key_value(), self.0.last_key_value()) {
            (Some(first), Some((_, last))) => (*first.0, last.start + last.length),
            _ => (u64::MAX, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(start: u64, length: u64, file: usize, offset: u64) -> Mapping {
        let view = View::Shared;
        Mapping {
            start,
            length,
            file,
            offset,
            view,
        }
    }
    /// Against an array of one entry an address.
    #[test]
    fn maps_as_an_array_would() {
        let mut x = 7u64;
        let mut random = |n: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) % n
        };
        for _ in 0..500 {
            let (mut maps, mut array) = (Mappings::new(), [None; 64]);
            for _ in 0..10 {
                let (start, length, offset, which) = (random(60), random(12) + 1, random(100), random(3) as usize);
                let range = start as usize..(start + length).min(64) as usize;
                match random(3) {
                    0 => {
                        maps.add(file(start, range.len() as u64, which, offset));
                        for i in range {
                            array[i] = Some((which, offset + (i as u64 - start)));
                        }
                    }
                    1 => {
                        maps.remove(start, length);
                        array[range].fill(None);
                    }
                    // As the system does it, a range moves only if one mapping shows all of it, and not onto itself.
                    _ => {
                        let (to, new, keep) = (random(48), random(12) + 1, random(4) == 0);
                        let target = to as usize..(to + new) as usize;
                        let whole = maps.find(start).filter(|m| start + length <= m.start + m.length);
                        if whole.is_none() || range.end > target.start && range.start < target.end {
                            continue;
                        }
                        let first = array[range.start];
                        maps.relocate((start, length), (to, new), keep);
                        if !keep {
                            array[range].fill(None);
                        }
                        for i in target {
                            array[i] = first.map(|(f, o)| (f, o + (i as u64 - to)));
                        }
                    }
                }
            }
            for (at, wanted) in array.iter().enumerate() {
                assert_eq!(maps.persistent(at as u64), *wanted, "{at}: {maps:?}");
            }
            let (start, length) = (random(60), random(20));
            let all = maps.pieces(start, length).into_iter();
            let all = all.flat_map(|(f, o, n)| (o..o + n).map(move |o| (f, o)));
            let wanted = array.iter().skip(start as usize).take(length as usize).flatten();
            assert_eq!(all.collect::<Vec<_>>(), wanted.copied().collect::<Vec<_>>());
        }
    }
}
