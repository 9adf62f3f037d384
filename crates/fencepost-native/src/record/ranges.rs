//! What is mapped where in the recorded program.

use super::reads::View;

/// A file, or a part of it, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// The file.
    pub path: String,
    /// Whether it is the persistent file.
    pub persistent: bool,
    /// How stores through it relate to those through other mappings.
    pub view: View,
}

/// Everything mapped.
#[derive(Clone, Debug, Default)]
pub struct Mappings(Vec<Mapping>);

impl Mappings {
    /// Nothing.
    pub const fn new() -> Mappings {
        Mappings(Vec::new())
    }
    /// Adds a mapping; what lay there before is gone.
    pub fn add(&mut self, mapping: Mapping) {
        self.remove(mapping.start, mapping.length);
        self.0.push(mapping);
    }
    /// Takes a range away, also out of the middle of mappings.
    pub fn remove(&mut self, start: u64, length: u64) {
        let end = start.saturating_add(length);
        let parts = self.0.drain(..).flat_map(|m| {
            let (from, to) = (m.start, m.start + m.length);
            let piece = |a: u64, b: u64| {
                (a < b).then(|| Mapping {
                    start: a,
                    length: b - a,
                    offset: m.offset + (a - m.start),
                    ..m.clone()
                })
            };
            let parts = match start < to && from < end {
                true => [piece(from, start.max(from).min(to)), piece(end.max(from).min(to), to)],
                false => [piece(from, to), None],
            };
            parts.into_iter().flatten()
        });
        self.0 = parts.collect();
    }
    /// The offset in the persistent file of an address that lies in it.
    pub fn persistent(&self, address: u64) -> Option<u64> {
        self.find(address)
            .filter(|m| m.persistent)
            .map(|m| m.offset + (address - m.start))
    }
    /// The mapping of an address.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        self.0.iter().find(|m| address.wrapping_sub(m.start) < m.length)
    }
    /// Lowest and highest address of the persistent file, to look nowhere else for it.
    pub fn span(&self) -> (u64, u64) {
        let persistent = self.0.iter().filter(|m| m.persistent);
        persistent.fold((u64::MAX, 0), |(a, b), m| (a.min(m.start), b.max(m.start + m.length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn file(start: u64, length: u64, offset: u64) -> Mapping {
        Mapping {
            start,
            length,
            offset,
            path: "pool".into(),
            persistent: true,
            view: View::Shared,
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
        for _ in 0..300 {
            let (mut maps, mut array) = (Mappings::new(), [None; 64]);
            for _ in 0..8 {
                let (start, length, offset) = (random(60), random(12) + 1, random(100));
                let range = start as usize..(start + length).min(64) as usize;
                if random(2) == 0 {
                    maps.add(file(start, range.len() as u64, offset));
                    for i in range {
                        array[i] = Some(offset + (i as u64 - start));
                    }
                } else {
                    maps.remove(start, length);
                    array[range].fill(None);
                }
            }
            for (at, offset) in array.iter().enumerate() {
                assert_eq!(maps.persistent(at as u64), *offset, "{at}: {maps:?}");
            }
        }
    }
}
