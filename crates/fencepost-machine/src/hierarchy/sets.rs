//! What a look-up has to know about the ways of a set: eight ways in half a cache line of the host.
//!
//! A byte for each way, its *print*, tells which few ways are worth a comparison with the tag. Eight of them are compared in one
//! step, as the bytes of one machine word, and most sets are told apart by these bytes alone: the tags themselves, many times as
//! large, stay out of the host's caches until one of them is likely to be the line. What changes with every access, the order of
//! use and the state, lies beside the prints.

/// An empty way.
const EMPTY: u8 = 0;
/// A frozen version, of whatever line.
const FROZEN: u8 = 1;
/// No way of the set: it fills up the last group.
const NONE: u8 = 2;
/// The bit that every current version has.
const CURRENT: u8 = 0x80;
/// Ways of a group: those whose prints fit one machine word.
pub(super) const GROUP: usize = 8;
/// The lowest and the highest bit of every byte.
const LOW: u64 = u64::from_ne_bytes([1; GROUP]);
const HIGH: u64 = LOW << 7;

/// Eight ways of a set.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
struct Group {
    prints: [u8; GROUP],
    /// Whatever the user keeps.
    flags: [u8; GROUP],
    /// How many ways of the set were used since the way was: 0 for the one used last. Every way of a set has another age.
    ages: [u16; GROUP],
}
impl Group {
    /// Marks every way with this print, in the highest bit of its byte. A way above a marked one may be marked without having it.
    #[inline]
    fn marked(&self, print: u8) -> u64 {
        let word = u64::from_le_bytes(self.prints) ^ (LOW * u64::from(print));
        word.wrapping_sub(LOW) & !word & HIGH
    }
}

/// All sets of a cache. A way is a position in all groups, one behind the other.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    groups: Vec<Group>,
    /// Groups before the first set, so that a set of two groups lies in one cache line of the host.
    skipped: usize,
    /// Groups of a set, less one; they are a power of two, so that a way tells its set.
    more: usize,
    /// Ways of a set.
    ways: usize,
}

impl Sets {
    /// Empty ways.
    pub fn new(ways: usize, sets: usize) -> Sets {
        let of_set = Sets::groups(ways);
        let group = |g: usize| {
            let of_way: [usize; GROUP] = std::array::from_fn(|i| g % of_set * GROUP + i);
            Group {
                prints: of_way.map(|w| if w < ways { EMPTY } else { NONE }),
                flags: [0; GROUP],
                // What is no way is older than any, so that no use makes it older still.
                ages: of_way.map(|w| if w < ways { w as u16 } else { u16::MAX }),
            }
        };
        let mut groups: Vec<Group> = Vec::with_capacity(of_set * sets + 1);
        let skipped = usize::from(of_set > 1 && groups.as_ptr().align_offset(64) > 0);
        groups.resize(
            skipped,
            Group {
                prints: [NONE; GROUP],
                ..group(0)
            },
        );
        groups.extend((0..of_set * sets).map(group));
        Sets {
            groups,
            skipped,
            more: of_set - 1,
            ways,
        }
    }
    /// Groups of a set of so many ways.
    pub fn groups(ways: usize) -> usize {
        ways.div_ceil(GROUP).next_power_of_two()
    }
    /// Ways of a set.
    pub fn ways(&self) -> usize {
        self.ways
    }
    /// Positions that ways take.
    pub fn len(&self) -> usize {
        self.groups.len() * GROUP
    }
    /// The first way of a set.
    #[inline]
    pub fn first(&self, set: usize) -> usize {
        (set * (self.more + 1) + self.skipped) * GROUP
    }
    /// The print of a current version. `tag`: the part of the line's number that tells the lines of a set apart.
    #[inline]
    pub fn print(tag: u64) -> u8 {
        CURRENT | (tag ^ tag >> 7) as u8
    }
    /// The groups of the set that begins at way `first`.
    #[inline]
    fn of(&self, first: usize) -> &[Group] {
        &self.groups[first / GROUP..][..=self.more]
    }
    /// The first way of the set that begins at way `first` that has this print and `is` it.
    #[inline]
    pub fn find(&self, first: usize, print: u8, mut is: impl FnMut(usize) -> bool) -> Option<usize> {
        for (g, group) in self.of(first).iter().enumerate() {
            let mut hits = group.marked(print);
            while hits != 0 {
                let way = first + g * GROUP + hits.trailing_zeros() as usize / 8;
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
        // The first that is marked is not marked for another's sake.
        self.find(first, EMPTY, |_| true)
    }
    /// The way of the full set that begins at way `first` that was used longest ago.
    #[inline]
    pub fn oldest(&self, first: usize) -> usize {
        let oldest = (self.ways - 1) as u16;
        for (g, group) in self.of(first).iter().enumerate() {
            if let Some(i) = group.ages.iter().position(|a| *a == oldest) {
                return first + g * GROUP + i;
            }
        }
        unreachable!("one way has been used longest ago")
    }
    /// The same where versions of the set may be frozen: those come after all others.
    #[cold]
    pub fn oldest_current(&self, first: usize) -> usize {
        let ways = first..first + self.ways;
        ways.max_by_key(|w| (!self.is_frozen(*w), self.age(*w)))
            .expect("a set has ways")
    }
    fn age(&self, way: usize) -> u16 {
        self.groups[way / GROUP].ages[way % GROUP]
    }
    /// A way is used.
    #[inline]
    pub fn touch(&mut self, way: usize) {
        let age = self.age(way);
        if age == 0 {
            return;
        }
        let first = ((way / GROUP - self.skipped) & !self.more) + self.skipped;
        for group in &mut self.groups[first..][..=self.more] {
            for a in &mut group.ages {
                *a += u16::from(*a < age);
            }
        }
        self.groups[way / GROUP].ages[way % GROUP] = 0;
    }
    /// A way holds a current version.
    #[inline]
    pub fn fill(&mut self, way: usize, print: u8, flags: u8) {
        let group = &mut self.groups[way / GROUP];
        group.prints[way % GROUP] = print;
        group.flags[way % GROUP] = flags;
    }
    /// A way holds a frozen version.
    pub fn freeze(&mut self, way: usize) {
        self.groups[way / GROUP].prints[way % GROUP] = FROZEN;
    }
    /// A way is empty.
    #[inline]
    pub fn clear(&mut self, way: usize) {
        self.groups[way / GROUP].prints[way % GROUP] = EMPTY;
    }
    /// Whether a way holds a version, current or frozen.
    #[inline]
    pub fn is_full(&self, way: usize) -> bool {
        let print = self.groups[way / GROUP].prints[way % GROUP];
        print >= CURRENT || print == FROZEN
    }
    /// Whether a way holds a frozen version.
    #[inline]
    pub fn is_frozen(&self, way: usize) -> bool {
        self.groups[way / GROUP].prints[way % GROUP] == FROZEN
    }
    /// What the user keeps of a way.
    #[inline]
    pub fn flags(&self, way: usize) -> u8 {
        self.groups[way / GROUP].flags[way % GROUP]
    }
    /// The same, to be changed.
    #[inline]
    pub fn flags_mut(&mut self, way: usize) -> &mut u8 {
        &mut self.groups[way / GROUP].flags[way % GROUP]
    }
    /// Every way that holds a version.
    pub fn full(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|w| self.is_full(*w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;

    /// A way as a list has it: print, and the time of its last use.
    #[derive(Copy, Clone)]
    struct Listed {
        print: u8,
        used: u64,
    }

    #[test]
    fn sets_are_lists_that_are_scanned() {
        let mut rng = Stream::new(9, "sets");
        for ways in 1..=20 {
            let of_all = 4;
            let mut sets = Sets::new(ways, of_all);
            let mut list = vec![vec![Listed { print: EMPTY, used: 0 }; ways]; of_all];
            for time in 1..2000 {
                let (set, i) = (rng.below(of_all as u64) as usize, rng.below(ways as u64) as usize);
                let (first, listed) = (sets.first(set), &mut list[set]);
                match rng.below(8) {
                    0 => {
                        sets.clear(first + i);
                        listed[i].print = EMPTY;
                    }
                    1 => {
                        sets.freeze(first + i);
                        listed[i].print = FROZEN;
                    }
                    _ => {
                        let print = Sets::print(rng.below(300));
                        sets.fill(first + i, print, print / 2);
                        sets.touch(first + i);
                        listed[i] = Listed { print, used: time };
                        assert_eq!(sets.flags(first + i), print / 2);
                    }
                }
                let listed = &list[set];
                let scan = |b: u8| (0..ways).filter(move |w| listed[*w].print == b).map(|w| first + w);
                assert_eq!(sets.empty(first), scan(EMPTY).next());
                let print = Sets::print(rng.below(300));
                let mut seen = Vec::new();
                let none = sets.find(first, print, |w| {
                    seen.push(w);
                    false
                });
                seen.retain(|w| scan(print).any(|s| s == *w));
                assert_eq!((none, seen), (None, scan(print).collect()));
                if listed.iter().all(|l| l.used > 0) {
                    let by_use = |w: &usize| listed[*w].used;
                    let oldest = (0..ways).min_by_key(by_use).map(|w| first + w);
                    assert_eq!(Some(sets.oldest(first)), oldest);
                    let current = (0..ways).filter(|w| listed[*w].print != FROZEN).min_by_key(by_use);
                    let oldest = current.map(|w| first + w).or(oldest);
                    assert_eq!(Some(sets.oldest_current(first)), oldest);
                }
            }
            let full = list.iter().flatten().filter(|l| l.print != EMPTY).count();
            assert_eq!(sets.full().count(), full);
        }
    }
}
