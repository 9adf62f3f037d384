//! Read and write sets as Bloom filters.

use fencepost_kernel::LineAddr;
use fencepost_kernel::planted;
use fencepost_kernel::rng::mix;

/// A line with its first two hashes, worked out once for looking it up in many sets.
#[derive(Copy, Clone, Debug)]
pub struct Probe {
    line: LineAddr,
    hashes: [u64; 2],
}
impl Probe {
    /// The line.
    #[inline]
    pub fn line(self) -> LineAddr {
        self.line
    }
}
impl From<LineAddr> for Probe {
    #[inline]
    fn from(line: LineAddr) -> Probe {
        let first = mix(line.0.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let hashes = [first, mix(first)];
        Probe { line, hashes }
    }
}

/// Size of a filter, and how many bits of it a line sets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Shape {
    bits: u64,
    hashes: u8,
}
impl Shape {
    /// Of `bytes` (rounded up to 8) with `hashes` bits set per line.
    fn new(bytes: u16, hashes: u8) -> Shape {
        Shape {
            bits: u64::from(bytes.div_ceil(8).max(1)) * 64,
            hashes: hashes.max(1),
        }
    }
    fn words(self) -> usize {
        self.bits as usize / 64
    }
    /// A position within the filter from one half of a mixed address.
    #[inline(always)]
    fn position(self, hash: u64) -> usize {
        (((hash >> 32) * self.bits) >> 32) as usize
    }
    /// The first two positions of a line, or its only one twice.
    #[inline(always)]
    fn first_two(self, probe: Probe) -> [usize; 2] {
        let [first, second] = probe.hashes;
        let second = if self.hashes == 1 { first } else { second };
        [self.position(first), self.position(second)]
    }
    /// Whether `holds` is true of each position of a line; asked until one is not.
    #[inline(always)]
    fn all(self, probe: Probe, mut holds: impl FnMut(usize) -> bool) -> bool {
        let first_two = self.first_two(probe).into_iter().all(&mut holds);
        first_two && (self.hashes <= 2 || self.others(probe, holds))
    }
    /// The same of the positions behind the first two.
    #[inline(never)] // few filters have them
    fn others(self, probe: Probe, mut holds: impl FnMut(usize) -> bool) -> bool {
        let hashes = std::iter::successors(Some(mix(probe.hashes[1])), |h| Some(mix(*h)));
        let mut others = hashes.take(usize::from(self.hashes) - 2);
        others.all(|h| holds(self.position(h)))
    }
}

/// A set of lines that may claim to hold a line it does not hold, never the reverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloom {
    words: Vec<u64>,
    shape: Shape,
}
impl Bloom {
    /// An empty filter of `bytes` (rounded up to 8) with `hashes` bits set per line.
    pub fn new(bytes: u16, hashes: u8) -> Bloom {
        let shape = Shape::new(bytes, hashes);
        Bloom {
            words: vec![0; shape.words()],
            shape,
        }
    }
    /// Adds a line.
    #[inline]
    pub fn insert(&mut self, line: impl Into<Probe>) {
        self.insert_at(line.into(), |_| {});
    }
    /// The same; `new` hears of the positions that were free.
    #[inline(always)]
    fn insert_at(&mut self, probe: Probe, mut new: impl FnMut(usize)) {
        for position in self.shape.first_two(probe) {
            self.add(position, &mut new);
        }
        if self.shape.hashes > 2 {
            self.shape.others(probe, |position| {
                self.add(position, &mut new);
                true
            });
        }
    }
    #[inline(always)]
    fn add(&mut self, position: usize, new: &mut impl FnMut(usize)) {
        let (word, bit) = (&mut self.words[position / 64], 1 << (position % 64));
        if *word & bit == 0 {
            *word |= bit;
            new(position);
        }
    }
    /// Whether the line may be in the set.
    #[inline]
    pub fn may_hold(&self, line: impl Into<Probe>) -> bool {
        let words = &self.words[..];
        self.shape.all(line.into(), |p| words[p / 64] >> (p % 64) & 1 == 1)
    }
    /// Empties the set.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }
    /// Adds everything another filter of the same size holds.
    pub fn absorb(&mut self, other: &Bloom) {
        for (w, o) in self.words.iter_mut().zip(&other.words) {
            *w |= o;
        }
    }
}

/// Accesses that are in all sets that record now, so that they need not be recorded again: some of the newest ones.
#[derive(Copy, Clone, Debug)]
pub(super) struct Seen([u64; 16]);
impl Seen {
    /// None.
    pub(super) const NOTHING: Seen = Seen([u64::MAX; 16]);

    /// Whether an access is among them; it is from now on.
    #[inline(always)]
    pub(super) fn again(&mut self, line: LineAddr, is_store: bool) -> bool {
        let access = line.0 << 1 | u64::from(is_store);
        std::mem::replace(&mut self.0[access as usize % 16], access) == access
    }
}

/// What a core read and wrote since some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSets {
    reads: Bloom,
    writes: Bloom,
    /// Planted fault: the first line recorded after a clear is never in the sets.
    forgetful: bool,
    forgotten: Option<LineAddr>,
}
impl AccessSets {
    /// Empty sets; each filter has `bytes` and `hashes`. `forgetful` plants the fault that one address is missed.
    pub fn new(bytes: u16, hashes: u8, forgetful: bool) -> AccessSets {
        AccessSets {
            reads: Bloom::new(bytes, hashes),
            writes: Bloom::new(bytes, hashes),
            forgetful,
            forgotten: None,
        }
    }
    /// Records an access.
    #[inline]
    pub fn record(&mut self, line: impl Into<Probe>, is_store: bool) {
        self.record_at(line.into(), is_store, |_| {});
    }
    /// The same; `new` hears of the positions of the line that the filter did not have.
    #[inline(always)]
    pub fn record_at(&mut self, probe: Probe, is_store: bool, new: impl FnMut(usize)) {
        if self.forgetful && *self.forgotten.get_or_insert(probe.line) == probe.line {
            return;
        }
        match is_store {
            true => self.writes.insert_at(probe, new),
            false => self.reads.insert_at(probe, new),
        }
    }
    /// Whether `holds` is true of each position of a line, in either filter; asked until one is not.
    #[inline]
    pub fn all_positions(&self, probe: Probe, holds: impl FnMut(usize) -> bool) -> bool {
        self.reads.shape.all(probe, holds)
    }
    /// The positions that either filter has, a bit each.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.reads.words.iter().zip(&self.writes.words).map(|(r, w)| r | w)
    }
    /// Whether a request conflicts: a read with the writes, an invalidating request with reads and writes.
    #[inline]
    pub fn conflicts(&self, line: impl Into<Probe>, invalidates: bool) -> bool {
        let probe = line.into();
        let reads = !planted!(
            "delegated.read-set-ignored",
            "a store conflicts with what other cores have read"
        );
        self.writes.may_hold(probe) || (invalidates && reads && self.reads.may_hold(probe))
    }
    /// Whether the line may have been read.
    pub fn may_have_read(&self, line: impl Into<Probe>) -> bool {
        self.reads.may_hold(line)
    }
    /// Empties both sets.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.forgotten = None;
    }
    /// Adds everything other sets hold.
    pub fn absorb(&mut self, other: &AccessSets) {
        self.reads.absorb(&other.reads);
        self.writes.absorb(&other.writes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::Stream;

    #[test]
    fn never_a_false_negative_and_few_false_positives() {
        let mut rng = Stream::new(1, "bloom");
        for _ in 0..200 {
            let mut f = Bloom::new(32, 2);
            let held: Vec<_> = (0..8).map(|_| LineAddr(rng.next_u64() >> 20)).collect();
            held.iter().for_each(|l| f.insert(*l));
            assert!(held.iter().all(|l| f.may_hold(*l)));
            let wrong = (0..1000).filter(|_| f.may_hold(LineAddr(rng.next_u64() >> 20))).count();
            // 16 of 256 bits set at most: (1/16)^2 = 0.4 % expected.
            assert!(wrong < 30, "{wrong} of 1000");
            f.clear();
            assert!(!held.iter().any(|l| f.may_hold(*l)));
        }
    }

    #[test]
    fn a_read_conflicts_with_writes_and_a_write_with_both() {
        let (r, w) = (LineAddr(10), LineAddr(20));
        let mut s = AccessSets::new(32, 2, false);
        s.record(r, false);
        s.record(w, true);
        assert!(!s.conflicts(r, false) && s.conflicts(r, true));
        assert!(s.conflicts(w, false) && s.conflicts(w, true));
        assert!(s.may_have_read(r) && !s.may_have_read(w));
    }

    #[test]
    fn absorbing_is_union() {
        let mut a = AccessSets::new(32, 2, false);
        let mut b = a.clone();
        a.record(LineAddr(1), true);
        b.record(LineAddr(2), false);
        a.absorb(&b);
        assert!(a.conflicts(LineAddr(1), false) && a.conflicts(LineAddr(2), true));
    }

    #[test]
    fn the_planted_fault_forgets_exactly_the_first_line() {
        let mut s = AccessSets::new(32, 2, true);
        s.record(LineAddr(1), true);
        s.record(LineAddr(2), true);
        s.record(LineAddr(1), true);
        assert!(!s.conflicts(LineAddr(1), true) && s.conflicts(LineAddr(2), true));
        s.clear();
        s.record(LineAddr(2), true);
        assert!(!s.conflicts(LineAddr(2), true));
    }
}
