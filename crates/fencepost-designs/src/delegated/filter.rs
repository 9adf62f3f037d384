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

/// A set of lines that may claim to hold a line it does not hold, never the reverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloom {
    words: Vec<u64>,
    hashes: u8,
}
impl Bloom {
    /// An empty filter of `bytes` (rounded up to 8) with `hashes` bits set per line.
    pub fn new(bytes: u16, hashes: u8) -> Bloom {
        Bloom {
            words: vec![0; usize::from(bytes.div_ceil(8)).max(1)],
            hashes: hashes.max(1),
        }
    }
    /// The bits of a line: position within the filter from one half of a mixed address each.
    #[inline]
    fn bits(&self, probe: Probe) -> impl Iterator<Item = (usize, u64)> + use<> {
        let size = (self.words.len() * 64) as u64;
        let [mut h, second] = probe.hashes;
        (0..self.hashes).map(move |i| {
            match i {
                0 => {}
                1 => h = second,
                _ => h = mix(h),
            }
            let bit = ((h >> 32) * size) >> 32;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }
    /// Adds a line.
    #[inline]
    pub fn insert(&mut self, line: impl Into<Probe>) {
        for (w, b) in self.bits(line.into()) {
            self.words[w] |= b;
        }
    }
    /// Whether the line may be in the set.
    #[inline]
    pub fn may_hold(&self, line: impl Into<Probe>) -> bool {
        self.bits(line.into()).all(|(w, b)| self.words[w] & b != 0)
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
    /// The same; `at` hears of the positions of the line in either filter.
    #[inline]
    pub fn record_at(&mut self, probe: Probe, is_store: bool, mut at: impl FnMut(usize)) {
        let forgotten = self.forgetful && *self.forgotten.get_or_insert(probe.line) == probe.line;
        let filter = if is_store { &mut self.writes } else { &mut self.reads };
        for (word, bit) in filter.bits(probe) {
            if !forgotten {
                filter.words[word] |= bit;
            }
            at(word * 64 + bit.trailing_zeros() as usize);
        }
    }
    /// Positions of a line in each of the two filters.
    #[inline]
    pub fn positions(&self, probe: Probe) -> impl Iterator<Item = usize> + use<> {
        let bits = self.reads.bits(probe);
        bits.map(|(word, bit)| word * 64 + bit.trailing_zeros() as usize)
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
