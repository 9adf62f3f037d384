//! The next request of every bank in one direction: what it needs, when its bank can take that, and who goes first.

use super::choice::{Choice, Handle};
use crate::memory::bits::each;
use crate::memory::timed::NEVER;
use fencepost_kernel::Ps;

/// The next request of a bank.
#[derive(Copy, Clone, Debug)]
struct Candidate {
    /// Of the candidates that are ready together, the smallest rank goes first.
    rank: u64,
    handle: Handle,
}

/// A bank with a candidate that is not known to be ready.
#[derive(Copy, Clone, Debug)]
struct Wait {
    /// When the bank itself is ready for the command that the request needs; the buses may not be.
    ready: Ps,
    bank: u8,
}

/// The next requests of all banks. Masks have a bit per bank.
///
/// A bank changes only when a command goes to it or a request comes or leaves, so its candidate is worked out then and
/// not at each look. Time only moves on: a candidate found ready stays so until it is worked out again. Those that are
/// not ready wait in the order of their times.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// Banks with a candidate for the open row; for another row.
    hits: u64,
    misses: u64,
    /// Banks whose candidate is known to be ready.
    ripe: u64,
    banks: [Candidate; 64],
    /// The others, soonest first: a ring that begins at `first`.
    waits: [Wait; 64],
    first: usize,
    waiting: usize,
}

impl Candidates {
    /// No candidates.
    pub fn new() -> Candidates {
        let (rank, handle) = (0, Handle(0));
        Candidates {
            hits: 0,
            misses: 0,
            ripe: 0,
            banks: [Candidate { rank, handle }; 64],
            waits: [Wait { ready: NEVER, bank: 0 }; 64],
            first: 0,
            waiting: 0,
        }
    }
    #[inline]
    fn wait(&self, i: usize) -> &Wait {
        &self.waits[(self.first + i) & 63]
    }
    /// The waiting candidates, soonest first.
    #[inline]
    fn waits(&self) -> impl Iterator<Item = &Wait> {
        (0..self.waiting).map(|i| self.wait(i))
    }
    /// These banks have no candidate.
    #[inline]
    pub fn clear(&mut self, banks: u64) {
        if (self.hits | self.misses) & !self.ripe & banks != 0 {
            self.forget_waits(banks);
        }
        self.hits &= !banks;
        self.misses &= !banks;
        self.ripe &= !banks;
    }
    fn forget_waits(&mut self, banks: u64) {
        let mut kept = 0;
        for i in 0..self.waiting {
            let wait = *self.wait(i);
            self.waits[(self.first + kept) & 63] = wait;
            kept += usize::from(banks >> wait.bank & 1 == 0);
        }
        self.waiting = kept;
    }
    /// A bank that had none has a candidate; `hit`: for the open row; `ready`: when the bank can take its command. What is ready by
    /// `at`, up to which the others have ripened, does not wait.
    #[inline]
    pub fn set(&mut self, bank: usize, choice: Choice, hit: bool, ready: Ps, at: Ps) {
        let mask = if hit { &mut self.hits } else { &mut self.misses };
        *mask |= 1 << bank;
        let Choice { rank, handle } = choice;
        self.banks[bank & 63] = Candidate { rank, handle };
        if ready <= at {
            self.ripe |= 1 << bank;
            return;
        }
        let mut place = self.waiting;
        while place > 0 && self.wait(place - 1).ready > ready {
            self.waits[(self.first + place) & 63] = *self.wait(place - 1);
            place -= 1;
        }
        let bank = bank as u8;
        self.waits[(self.first + place) & 63] = Wait { ready, bank };
        self.waiting += 1;
    }
    /// Finds out which candidates are ready at `at`.
    #[inline]
    pub fn ripen(&mut self, at: Ps) {
        while self.waiting > 0 && self.wait(0).ready <= at {
            self.ripe |= 1 << self.wait(0).bank;
            self.first = (self.first + 1) & 63;
            self.waiting -= 1;
        }
    }
    /// Banks whose next request wants the open row.
    #[inline]
    pub fn hits(&self) -> u64 {
        self.hits
    }
    /// Banks whose next request wants another row.
    #[inline]
    pub fn misses(&self) -> u64 {
        self.misses
    }
    /// Banks whose candidate was ready when [`Candidates::ripen`] was last called.
    #[inline]
    pub fn ripe(&self) -> u64 {
        self.ripe
    }
    /// When the first of some candidates is ready; zero if one is ripe.
    #[inline]
    pub fn earliest(&self, banks: u64) -> Ps {
        if banks & self.ripe != 0 {
            return Ps::ZERO;
        }
        let first = self.waits().find(|w| banks >> w.bank & 1 == 1);
        first.map_or(NEVER, |w| w.ready)
    }
    /// Those of some candidates that are ready at `at`, which is not before the last [`Candidates::ripen`].
    #[inline]
    pub fn ready_at(&self, banks: u64, at: Ps) -> u64 {
        let ready = self.waits().take_while(|w| w.ready <= at);
        banks & ready.fold(self.ripe, |ready, w| ready | 1 << w.bank)
    }
    /// Of some candidates, of which there is one at least, the bank of the first in rank.
    #[inline]
    pub fn first_in_rank(&self, banks: u64) -> u8 {
        let (mut rank, mut first) = (u64::MAX, banks.trailing_zeros() as u8);
        for bank in each(banks) {
            let earlier = self.rank(bank) < rank;
            rank = if earlier { self.rank(bank) } else { rank };
            first = if earlier { bank as u8 } else { first };
        }
        first
    }
    /// The rank of a candidate.
    #[inline]
    pub fn rank(&self, bank: usize) -> u64 {
        self.banks[bank & 63].rank
    }
    /// The request that is the candidate of a bank.
    #[inline]
    pub fn handle(&self, bank: usize) -> Handle {
        self.banks[bank & 63].handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;

    #[test]
    fn candidates_are_ready_first_and_ranked_as_a_scan_of_all_banks_finds() {
        let mut rng = Stream::new(5, "candidates");
        let (mut c, mut now, mut all) = (Candidates::new(), 0, [None; 64]);
        for _ in 0..3000 {
            let bank = rng.below(64) as usize;
            c.clear(1 << bank);
            all[bank] = rng.chance(3, 4).then(|| (now + rng.below(50), rng.below(1000)));
            if let Some((ready, rank)) = all[bank] {
                let choice = Choice {
                    handle: Handle(7),
                    rank,
                };
                c.set(bank, choice, rng.chance(1, 2), Ps(ready), Ps(now));
            }
            now += rng.below(4);
            c.ripen(Ps(now));
            let banks = rng.next_u64() & rng.next_u64();
            let those = || {
                (0..64)
                    .filter(|b| banks >> b & 1 == 1)
                    .filter_map(|b| all[b].map(|a| (b, a)))
            };
            let mask = |at: u64| those().filter(|x| x.1.0 <= at).fold(0, |m, x| m | 1 << x.0);
            assert_eq!(c.ripe() & banks, mask(now));
            let held = banks & (c.hits() | c.misses());
            assert_eq!(c.ready_at(held, Ps(now + 9)), mask(now + 9));
            let first = those().map(|x| x.1.0).min();
            let expected = first.map_or(NEVER, |t| if t <= now { Ps::ZERO } else { Ps(t) });
            assert_eq!(c.earliest(held), expected);
            if let Some(least) = those().map(|x| x.1.1).min() {
                assert_eq!(c.rank(c.first_in_rank(held).into()), least);
            }
        }
    }
}
