//! A byte for each way of a cache, by which a look-up finds the few ways that are worth a comparison.
//!
//! Eight ways are looked at in one step, as the bytes of one word, and most sets are told apart by these bytes alone: the
//! tags themselves, many times as large, stay out of the host's caches until one of them is likely to be the line.

/// An empty way.
const EMPTY: u8 = 0;
/// A frozen version, of whatever line.
const FROZEN: u8 = 1;
/// Ways in a word.
const LANES: usize = 8;
/// The lowest and the highest bit of every byte.
const LOW: u64 = u64::from_ne_bytes([1; LANES]);
const HIGH: u64 = LOW << 7;

/// The bytes of all ways, set by set.
#[derive(Clone, Debug)]
pub(super) struct Prints {
    bytes: Vec<u8>,
    /// Words of a set.
    words: usize,
    /// The bytes of a set's last word that are ways of the set.
    last: u64,
}

/// Marks every byte that is zero. A byte above a marked one may be marked without being zero.
#[inline]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

impl Prints {
    /// Empty ways.
    pub fn new(ways: usize, sets: usize) -> Prints {
        let used = (ways + LANES - 1) % LANES + 1;
        Prints {
            // A word may reach past the last set.
            bytes: vec![EMPTY; ways * sets + LANES],
            words: ways.div_ceil(LANES),
            last: u64::MAX >> (64 - 8 * used),
        }
    }
    /// The byte of a current version. `tag`: the part of the line's number that tells the lines of a set apart.
    #[inline]
    pub fn of(tag: u64) -> u8 {
        0x80 | (tag ^ tag >> 7) as u8
    }
    /// Every way of the set that begins at way `first` and may hold a line with this byte, in order, and perhaps others.
    #[inline]
    pub fn find(&self, first: usize, print: u8, mut is: impl FnMut(usize) -> bool) -> Option<usize> {
        let wanted = LOW * u64::from(print);
        for word in 0..self.words {
            let from = first + word * LANES;
            let mut hits = zeros(self.eight(from) ^ wanted) & self.lanes(word);
            while hits != 0 {
                let way = from + hits.trailing_zeros() as usize / 8;
                if is(way) {
                    return Some(way);
                }
                hits &= hits - 1;
            }
        }
        None
    }
    /// The first empty way of the set that begins at way `first`.
    #[inline]
    pub fn empty(&self, first: usize) -> Option<usize> {
        for word in 0..self.words {
            let from = first + word * LANES;
            let empty = zeros(self.eight(from)) & self.lanes(word);
            if empty != 0 {
                return Some(from + empty.trailing_zeros() as usize / 8);
            }
        }
        None
    }
    /// Whether the set that begins at way `first` holds a frozen version.
    #[inline]
    pub fn any_frozen(&self, first: usize) -> bool {
        self.find(first, FROZEN, |way| self.bytes[way] == FROZEN).is_some()
    }
    /// A way holds a current version.
    #[inline]
    pub fn fill(&mut self, way: usize, print: u8) {
        self.bytes[way] = print;
    }
    /// A way holds a frozen version.
    pub fn freeze(&mut self, way: usize) {
        self.bytes[way] = FROZEN;
    }
    /// A way is empty.
    #[inline]
    pub fn clear(&mut self, way: usize) {
        self.bytes[way] = EMPTY;
    }
    /// The bytes of eight ways.
    #[inline]
    fn eight(&self, from: usize) -> u64 {
        let bytes = self.bytes[from..].first_chunk();
        u64::from_le_bytes(*bytes.expect("a word lies behind the last set"))
    }
    /// Those of the eight that belong to the set, in a word of it.
    #[inline]
    fn lanes(&self, word: usize) -> u64 {
        if word + 1 < self.words { u64::MAX } else { self.last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;

    #[test]
    fn bytes_are_found_as_a_scan_finds_them() {
        let mut rng = Stream::new(9, "prints");
        for ways in 1..=20 {
            let sets = 4;
            let mut prints = Prints::new(ways, sets);
            let mut list = vec![EMPTY; ways * sets];
            for _ in 0..2000 {
                let way = rng.below((ways * sets) as u64) as usize;
                match rng.below(4) {
                    0 => prints.clear(way),
                    1 => prints.freeze(way),
                    _ => prints.fill(way, Prints::of(rng.below(300))),
                }
                list[way] = prints.bytes[way];
                let first = rng.below(sets as u64) as usize * ways;
                let set = first..first + ways;
                let print = Prints::of(rng.below(300));
                let scan = |b: u8| set.clone().filter(|w| list[*w] == b).collect::<Vec<_>>();
                assert_eq!(prints.empty(first), scan(EMPTY).first().copied());
                assert_eq!(prints.any_frozen(first), !scan(FROZEN).is_empty());
                let mut seen = Vec::new();
                let none = prints.find(first, print, |w| {
                    seen.push(w);
                    false
                });
                seen.retain(|w| list[*w] == print);
                assert_eq!((none, seen), (None, scan(print)));
            }
        }
    }
}
