//! The next request of every bank in one direction: what it needs, when it can have that, and who goes first.

use super::choice::{Choice, Handle};
use crate::memory::bits::each;
use crate::memory::timed::NEVER;
use crate::memory::timing::{SharedTimes, Waits};
use fencepost_kernel::Ps;

/// The next request of a bank.
#[derive(Copy, Clone, Debug)]
struct Candidate {
    /// When the bank itself is ready for the command that the request needs.
    ready: Ps,
    key: Key,
    handle: Handle,
    /// What it waits for together with other banks.
    waits: Waits,
}

/// Who goes first of those that can go together, the smallest: from the highest bit on, whether a row has to be opened (1 bit),
/// the rank (64) and the bank (6). In two parts, so that the time fits before them into one number of 128 bits.
#[derive(Copy, Clone, Debug)]
struct Key {
    upper: u64,
    lower: u64,
}
impl Key {
    #[inline]
    fn new(bank: usize, hit: bool, rank: u64) -> Key {
        Key {
            upper: u64::from(!hit) << 6 | rank >> 58,
            lower: rank << 6 | bank as u64,
        }
    }
    #[inline]
    fn hit(self) -> bool {
        self.upper >> 6 == 0
    }
    #[inline]
    fn rank(self) -> u64 {
        self.upper << 58 | self.lower >> 6
    }
    /// With the time before it: there are 57 bits for it, some 40 hours.
    #[inline]
    fn at(self, time: Ps) -> u128 {
        u128::from(time.0 << 7 | self.upper) << 64 | u128::from(self.lower)
    }
    /// Time and key of [`Key::at`].
    #[inline]
    fn split(both: u128) -> (Ps, Key) {
        let (upper, lower) = ((both >> 64) as u64, both as u64);
        let key = Key {
            upper: upper & 127,
            lower,
        };
        (Ps(upper >> 7), key)
    }
    #[inline]
    fn bank(self) -> u8 {
        self.lower as u8 & 63
    }
}

/// The next requests of all banks. Masks have a bit per bank.
///
/// A bank changes only when a command goes to it or a request comes or leaves, so its candidate is worked out then and
/// not at each look. A look reads all of them in one go; which are ready is hard to foretell, so nothing branches on it.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    /// Banks with a candidate for the open row; for another row.
    hits: u64,
    misses: u64,
    banks: [Candidate; 64],
}

/// The first of some candidates.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct First {
    /// When it can go.
    pub at: Ps,
    /// Its bank.
    pub bank: u8,
    /// Its row is open.
    pub hit: bool,
}

impl Candidates {
    /// No candidates.
    pub(crate) fn new() -> Candidates {
        let none = Candidate {
            ready: NEVER,
            key: Key::new(0, false, 0),
            handle: Handle(0),
            waits: Waits::ALONE,
        };
        Candidates {
            hits: 0,
            misses: 0,
            banks: [none; 64],
        }
    }
    /// These banks have no candidate.
    #[inline]
    pub(crate) fn clear(&mut self, banks: u64) {
        self.hits &= !banks;
        self.misses &= !banks;
    }
    /// A bank that had none has a candidate.
    #[inline]
    pub(crate) fn set(&mut self, bank: usize, choice: Choice, needs: Needs) {
        let Choice { rank, handle } = choice;
        let Needs { hit, ready, waits } = needs;
        self.banks[bank & 63] = Candidate {
            ready,
            key: Key::new(bank, hit, rank),
            handle,
            waits,
        };
        self.hits |= u64::from(hit) << bank;
        self.misses |= u64::from(!hit) << bank;
    }
    /// The candidate of a bank, if it has one, stays, but needs another command.
    #[inline]
    pub(crate) fn needs(&mut self, bank: usize, needs: Needs) {
        let bit = 1 << bank;
        if (self.hits | self.misses) & bit != 0 {
            self.clear(bit);
            let (rank, handle) = (self.rank(bank), self.handle(bank));
            self.set(bank, Choice { handle, rank }, needs);
        }
    }
    /// Banks whose next request wants the open row.
    #[inline]
    pub(crate) fn hits(&self) -> u64 {
        self.hits
    }
    /// Banks whose next request wants another row.
    #[inline]
    pub(crate) fn misses(&self) -> u64 {
        self.misses
    }
    /// Which of some candidates can go first, none before `least`: of requests for an open row, and of others.
    #[inline(always)]
    pub(crate) fn first(&self, banks: u64, shared: &SharedTimes, least: [Ps; 2]) -> Option<First> {
        // By time and then by key, as one number: comparing the two apart branches.
        let mut first = u128::MAX;
        for bank in each(banks) {
            let c = &self.banks[bank & 63];
            let least = least[(c.key.upper >> 6 & 1) as usize];
            let at = c.ready.max(shared.until(c.waits)).max(least);
            first = first.min(c.key.at(at));
        }
        let (at, key) = Key::split(first);
        let (bank, hit) = (key.bank(), key.hit());
        (banks != 0).then_some(First { at, bank, hit })
    }
    /// The rank of a candidate.
    #[inline]
    pub(crate) fn rank(&self, bank: usize) -> u64 {
        self.banks[bank & 63].key.rank()
    }
    /// The request that is the candidate of a bank.
    #[inline]
    pub(crate) fn handle(&self, bank: usize) -> Handle {
        self.banks[bank & 63].handle
    }
}

/// What a request needs of its bank next.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Needs {
    /// Its row is open.
    pub hit: bool,
    /// When the bank itself is ready for the command.
    pub ready: Ps,
    /// What the command waits for together with other banks.
    pub waits: Waits,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::spec::MediaSpec;
    use crate::memory::timing::{Delays, Kind};
    use fencepost_kernel::rng::Stream;

    #[test]
    fn the_first_is_the_one_that_a_scan_of_all_banks_finds() {
        let mut rng = Stream::new(5, "candidates");
        let media = MediaSpec::preset("ddr4-2400").expect("known word");
        let (delays, mut shared) = (Delays::new(&media), SharedTimes::new(&media));
        let (mut c, mut now, mut all) = (Candidates::new(), 0, [None; 64]);
        for _ in 0..3000 {
            let bank = rng.below(64) as usize;
            c.clear(1 << bank);
            all[bank] = rng
                .chance(3, 4)
                .then(|| (now + rng.below(50), rng.below(1000), rng.below(3)));
            if let Some((ready, rank, kind)) = all[bank] {
                let handle = Handle(7);
                let needs = Needs {
                    hit: kind == 0,
                    ready: Ps(ready),
                    waits: if kind == 2 {
                        Waits::new(Kind::Activate, 1)
                    } else {
                        Waits::ALONE
                    },
                };
                c.set(bank, Choice { handle, rank }, needs);
            }
            now += rng.below(4);
            if rng.chance(1, 50) {
                shared.activated(&delays, Ps(now), 1);
            }
            let opens = shared.until(Waits::new(Kind::Activate, 1)).0;
            let banks = rng.next_u64() & rng.next_u64() & (c.hits() | c.misses());
            let least = [now + rng.below(30), now + rng.below(30)];
            let those = (0..64).filter(|b| banks >> b & 1 == 1).filter_map(|b| {
                let (ready, rank, kind) = all[b]?;
                let at = ready.max(if kind == 2 { opens } else { 0 });
                Some((at.max(least[usize::from(kind > 0)]), kind > 0, rank, b as u8))
            });
            let expected = those.min().map(|(at, miss, _, bank)| First {
                at: Ps(at),
                bank,
                hit: !miss,
            });
            assert_eq!(c.first(banks, &shared, least.map(Ps)), expected);
        }
    }
}
