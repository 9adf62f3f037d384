//! Earliest times that the banks of a bank group share: bus, group and rank together, side by side for all groups.

use super::delays::{Delays, Direction};
use crate::memory::spec::MediaSpec;
use fencepost_kernel::Ps;

/// Times from which the next four activates of a rank are allowed, the oldest at `at`.
#[derive(Clone, Debug, Default)]
struct FourActivates {
    times: [Ps; 4],
    at: usize,
}

/// By bank group, counted over all ranks.
#[derive(Clone, Debug)]
pub struct SharedTimes {
    /// Its banks, a bit each.
    banks: Vec<u64>,
    /// Its rank.
    rank: Vec<u8>,
    reads: Vec<Ps>,
    writes: Vec<Ps>,
    activates: Vec<Ps>,
    /// By rank.
    four: Vec<FourActivates>,
    /// From when on the first rank takes a read that needs no bank.
    query: Ps,
}

fn later(time: &mut Ps, at: Ps) {
    *time = at.max(*time);
}

impl SharedTimes {
    /// Of an idle channel.
    pub fn new(m: &MediaSpec) -> SharedTimes {
        let (ranks, banks, groups) = (m.ranks, m.banks, m.bank_groups);
        let group_of = |b: u16| b / banks * groups + b % groups;
        let members = |g: u16| (0..ranks * banks).filter(move |b| group_of(*b) == g);
        let n = usize::from(ranks * groups);
        SharedTimes {
            banks: (0..ranks * groups)
                .map(|g| members(g).fold(0, |m, b| m | 1 << b))
                .collect(),
            rank: (0..ranks * groups).map(|g| (g / groups) as u8).collect(),
            reads: vec![Ps::ZERO; n],
            writes: vec![Ps::ZERO; n],
            activates: vec![Ps::ZERO; n],
            four: vec![FourActivates::default(); usize::from(ranks)],
            query: Ps::ZERO,
        }
    }
    /// The banks of every group, a bit each.
    #[inline]
    pub fn groups(&self) -> &[u64] {
        &self.banks
    }
    /// Earliest column command by group.
    #[inline]
    pub fn columns(&self, direction: Direction) -> &[Ps] {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        }
    }
    /// Earliest activate by group.
    #[inline]
    pub fn activates(&self) -> &[Ps] {
        &self.activates
    }
    /// Earliest read that needs no bank.
    pub fn query(&self) -> Ps {
        self.query
    }
    /// A row of a group was opened at `now`.
    pub fn activated(&mut self, t: &Delays, now: Ps, group: usize) {
        let rank = self.rank[group];
        let four = &mut self.four[usize::from(rank)];
        four.times[four.at & 3] = now + t.four_activates;
        four.at = (four.at + 1) & 3;
        let at = four.times[four.at].max(now + t.activate_far);
        for (time, _) in self.activates.iter_mut().zip(&self.rank).filter(|g| *g.1 == rank) {
            later(time, at);
        }
        later(&mut self.activates[group], now + t.activate_near);
    }
    /// A line of a group was read at `now`.
    pub fn read(&mut self, t: &Delays, now: Ps, group: usize) {
        let gap = |same: bool| now + if same { t.column_far } else { t.column_rank };
        let rank = self.rank[group];
        for (time, r) in self.reads.iter_mut().zip(&self.rank) {
            later(time, gap(*r == rank));
        }
        for time in &mut self.writes {
            later(time, now + t.read_to_write);
        }
        later(&mut self.reads[group], now + t.column_near);
        later(&mut self.query, gap(rank == 0));
    }
    /// A line of a group was written at `now`.
    pub fn written(&mut self, t: &Delays, now: Ps, group: usize) {
        let rank = self.rank[group];
        let write = |same: bool| now + if same { t.column_far } else { t.column_rank };
        let read = |same: bool| {
            now + if same {
                t.write_to_read_far
            } else {
                t.write_to_read_rank
            }
        };
        for ((writes, reads), r) in self.writes.iter_mut().zip(&mut self.reads).zip(&self.rank) {
            later(writes, write(*r == rank));
            later(reads, read(*r == rank));
        }
        later(&mut self.writes[group], now + t.column_near);
        later(&mut self.reads[group], now + t.write_to_read_near);
        later(&mut self.query, read(rank == 0));
    }
}
