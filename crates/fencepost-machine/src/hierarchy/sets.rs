//! What a look-up has to know about the ways of a set, for up to sixteen ways in half a cache line of the host: in which order they
//! were used, and a byte of each line.
//!
//! The byte of a way, its *print*, tells which few ways need a comparison with the tag. Eight of them are compared in one step,
//! as the bytes of one machine word, and most sets are told apart by these bytes alone: the tags themselves, many times as large,
//! stay out of the host's caches until one of them is likely to be the line.

/// Most ways of such a set.
pub(super) const MOST: usize = 16;

/// An empty way.
const EMPTY: u8 = 0;
/// A frozen version, of whatever line.
const FROZEN: u8 = 1;
/// No way of the set.
const NONE: u8 = 2;
/// The bit that every current version has.
const CURRENT: u8 = 0x80;

/// The lowest and the highest bit of every byte.
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW << 7;
/// The lowest and the highest bit of every digit of four bits.
const LOW_DIGIT: u64 = 0x1111_1111_1111_1111;
const HIGH_DIGIT: u64 = LOW_DIGIT << 3;
/// The digits from 0 to 15, the first one lowest.
const DIGITS: u64 = 0xfedc_ba98_7654_3210;

/// A byte that tells most lines of a set apart. `tag`: the part of the line's number that tells all of them apart.
#[inline]
pub(super) fn print(tag: u64) -> u8 {
    CURRENT | (tag ^ tag >> 7) as u8
}

/// Marks every byte of a word that is `byte`, in its highest bit. One above a marked one may be marked without being it.
#[inline]
fn marked(word: u64, byte: u8) -> u64 {
    let differs = word ^ (LOW * u64::from(byte));
    differs.wrapping_sub(LOW) & !differs & HIGH
}

/// The ways of a set, by their positions.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
pub(super) struct Set {
    /// The positions as digits, the one used last lowest.
    order: u64,
    /// The print of each position. They are changed as whole words, because the host makes a read of a word wait that follows a
    /// write of one of its bytes.
    prints: [u64; 2],
}

impl Set {
    /// So many empty ways.
    pub(super) fn new(ways: usize) -> Set {
        let mut set = Set {
            order: DIGITS,
            prints: [0; 2],
        };
        (0..MOST).for_each(|p| set.set_print(p, if p < ways { EMPTY } else { NONE }));
        set
    }
    #[inline]
    fn set_print(&mut self, position: usize, print: u8) {
        let (word, shift) = (&mut self.prints[position / 8 % 2], position % 8 * 8);
        *word = *word & !(0xff << shift) | u64::from(print) << shift;
    }
    /// A current version with this print lies at a position.
    #[inline]
    pub(super) fn fill(&mut self, position: usize, print: u8) {
        self.set_print(position, print);
    }
    /// A frozen version lies at a position.
    pub(super) fn freeze(&mut self, position: usize) {
        self.set_print(position, FROZEN);
    }
    /// A position is empty.
    #[inline]
    pub(super) fn clear(&mut self, position: usize) {
        self.set_print(position, EMPTY);
    }
    /// A position that may have this print, and `is` it.
    #[inline]
    pub(super) fn find(&self, print: u8, mut is: impl FnMut(usize) -> bool) -> Option<usize> {
        // Of the first eight the lowest bits of bytes, of the second eight the highest ones.
        let mut hits = marked(self.prints[0], print) >> 7 | marked(self.prints[1], print);
        while hits != 0 {
            let bit = hits.trailing_zeros() as usize;
            let position = bit / 8 + bit % 2 * 8;
            if is(position) {
                return Some(position);
            }
            hits &= hits - 1;
        }
        None
    }
    /// The first empty position.
    #[inline]
    pub(super) fn empty(&self) -> Option<usize> {
        // The first that is marked is not marked for another's sake.
        let first = |half: usize| {
            let hits = marked(self.prints[half], EMPTY);
            (hits != 0).then(|| half * 8 + hits.trailing_zeros() as usize / 8)
        };
        first(0).or_else(|| first(1))
    }
    /// The position that was used last.
    #[inline]
    pub(super) fn youngest(&self) -> usize {
        self.age(0)
    }
    /// The position that was used `age` uses of other positions ago.
    #[inline]
    pub(super) fn age(&self, age: usize) -> usize {
        (self.order >> (4 * age) & 15) as usize
    }
    /// A position is used.
    #[inline]
    pub(super) fn touch(&mut self, position: usize) {
        let differs = self.order ^ (LOW_DIGIT * position as u64);
        let found = differs.wrapping_sub(LOW_DIGIT) & !differs & HIGH_DIGIT;
        // The first that is marked is the digit: those below it move up by one, into its place.
        let below = found & found.wrapping_neg();
        let moved = (below >> 3).wrapping_sub(1);
        let stay = !moved & !(below | (below - (below >> 3)));
        self.order = self.order & stay | (self.order & moved) << 4 | position as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;
    use std::collections::BTreeSet;

    /// Lines next to each other are told apart without their tags, and from ways that hold no current version.
    #[test]
    fn lines_of_a_neighbourhood_have_prints_of_their_own() {
        for first in [0, 128, 1 << 20] {
            let prints: BTreeSet<u8> = (first..first + 128).map(print).collect();
            assert_eq!(prints.len(), 128);
            assert!(prints.iter().all(|p| ![EMPTY, FROZEN, NONE].contains(p)), "{prints:?}");
        }
    }

    /// A way as a list has it: print, and the time of its last use.
    #[derive(Copy, Clone)]
    struct Listed {
        print: u8,
        used: u64,
    }

    #[test]
    fn a_set_is_a_list_that_is_scanned() {
        let mut rng = Stream::new(9, "sets");
        for ways in 1..=MOST {
            let mut set = Set::new(ways);
            // As if the first way had been used last.
            let list = (0..ways).map(|w| (EMPTY, 100 - w as u64));
            let mut list: Vec<Listed> = list.map(|(print, used)| Listed { print, used }).collect();
            for time in 101..4000 {
                let i = rng.below(ways as u64) as usize;
                match rng.below(8) {
                    0 => {
                        set.clear(i);
                        list[i].print = EMPTY;
                    }
                    1 => {
                        set.freeze(i);
                        list[i].print = FROZEN;
                    }
                    _ => {
                        let print = print(rng.below(300));
                        set.fill(i, print);
                        set.touch(i);
                        list[i] = Listed { print, used: time };
                    }
                }
                let list = &list;
                let scan = |b: u8| (0..ways).filter(move |w| list[*w].print == b);
                assert_eq!(set.empty(), scan(EMPTY).next());
                let print = print(rng.below(300));
                let mut seen = Vec::new();
                let none = set.find(print, |w| {
                    seen.push(w);
                    false
                });
                seen.retain(|w| list[*w].print == print);
                seen.sort_unstable();
                assert_eq!((none, seen), (None, scan(print).collect()));
                let mut by_use: Vec<usize> = (0..ways).collect();
                by_use.sort_unstable_by_key(|w| std::cmp::Reverse(list[*w].used));
                assert_eq!((0..ways).map(|a| set.age(a)).collect::<Vec<_>>(), by_use);
                assert_eq!(set.youngest(), by_use[0]);
            }
        }
    }
}
