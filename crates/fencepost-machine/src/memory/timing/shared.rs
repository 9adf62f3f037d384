//! Earliest times that banks share: of the bus, of a rank, and of a bank group.

use super::delays::{Delays, Direction};
use crate::memory::bits::each;
use crate::memory::spec::MediaSpec;
use fencepost_kernel::Ps;

/// Kinds of commands that wait for other banks' commands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Column command that reads.
    Read,
    /// Column command that writes.
    Write,
    /// Activate.
    Activate,
}
impl From<Direction> for Kind {
    #[inline]
    fn from(direction: Direction) -> Kind {
        match direction {
            Direction::Read => Kind::Read,
            Direction::Write => Kind::Write,
        }
    }
}

/// Times from which the next four activates of a rank are allowed, the oldest at `at`.
#[derive(Clone, Debug, Default)]
struct FourActivates {
    times: [Ps; 4],
    at: usize,
}

/// A bank group.
#[derive(Clone, Debug)]
struct Group {
    /// Its banks, a bit each.
    banks: u64,
    rank: u8,
    /// By kind: its own earliest time.
    own: [Ps; 3],
}

/// All bank groups, counted over all ranks.
///
/// A command delays all groups for a short time and its own group for a longer one, so at any time few groups have to wait longer
/// than all do: only these are looked at one by one.
#[derive(Clone, Debug)]
pub struct SharedTimes {
    groups: Vec<Group>,
    ranks: u16,
    /// By kind: no bank before; and the groups whose own time may be later, a bit each.
    all: [Ps; 3],
    longer: [u64; 3],
    /// By rank.
    four: Vec<FourActivates>,
    /// From when on the first rank takes a read that needs no bank.
    query: Ps,
}

impl SharedTimes {
    /// Of an idle channel.
    pub fn new(m: &MediaSpec) -> SharedTimes {
        let (ranks, banks, groups) = (m.ranks, m.banks, m.bank_groups);
        let group_of = |b: u16| b / banks * groups + b % groups;
        let members = |g: u16| (0..ranks * banks).filter(move |b| group_of(*b) == g);
        let idle = |g: u16| Group {
            banks: members(g).fold(0, |m, b| m | 1 << b),
            rank: (g / groups) as u8,
            own: [Ps::ZERO; 3],
        };
        SharedTimes {
            groups: (0..ranks * groups).map(idle).collect(),
            ranks,
            all: [Ps::ZERO; 3],
            longer: [0; 3],
            four: vec![FourActivates::default(); usize::from(ranks)],
            query: Ps::ZERO,
        }
    }
    /// Earliest command of a kind in a group.
    pub fn of_group(&self, kind: Kind, group: usize) -> Ps {
        self.all[kind as usize].max(self.groups[group].own[kind as usize])
    }
    /// Earliest read that needs no bank.
    pub fn query(&self) -> Ps {
        self.query
    }
    /// Those of some banks whose group and rank take a command of a kind at `at`.
    #[inline]
    pub fn able(&self, kind: Kind, mut banks: u64, at: Ps) -> u64 {
        let kind = kind as usize;
        if self.all[kind] > at {
            return 0;
        }
        for group in each(self.longer[kind]) {
            let g = &self.groups[group];
            banks &= if g.own[kind] > at { !g.banks } else { u64::MAX };
        }
        banks
    }
    /// The earliest command of a kind to one of some banks, where `ready` says when the first of the banks of a mask is ready itself
    /// (never, if there is none).
    #[inline]
    pub fn earliest(&self, kind: Kind, banks: u64, ready: impl Fn(u64) -> Ps) -> Ps {
        let kind = kind as usize;
        let (all, mut longer) = (self.all[kind], 0);
        for group in each(self.longer[kind]) {
            longer |= self.groups[group].banks;
        }
        let mut at = ready(banks & !longer).max(all);
        if at > all && banks & longer != 0 {
            for group in each(self.longer[kind]) {
                let g = &self.groups[group];
                at = at.min(ready(banks & g.banks).max(g.own[kind]).max(all));
            }
        }
        at
    }

    /// A group waits until `at`.
    #[inline]
    fn wait(&mut self, kind: Kind, group: usize, at: Ps) {
        let kind = kind as usize;
        if at > self.all[kind] {
            let own = &mut self.groups[group].own[kind];
            *own = at.max(*own);
            self.longer[kind] |= 1 << group;
        }
    }
    /// The groups of a rank wait until `same`, those of other ranks until `other`.
    #[inline]
    fn wait_all(&mut self, kind: Kind, rank: u8, same: Ps, other: Ps) {
        let mut at = same;
        if self.ranks > 1 && same != other {
            for group in 0..self.groups.len() {
                let at = if self.groups[group].rank == rank { same } else { other };
                self.wait(kind, group, at);
            }
            at = same.min(other);
        }
        let kind = kind as usize;
        self.all[kind] = at.max(self.all[kind]);
        for group in each(self.longer[kind]) {
            let over = self.groups[group].own[kind] <= self.all[kind];
            self.longer[kind] &= !(u64::from(over) << group);
        }
    }
    /// A row of a group was opened at `now`.
    pub fn activated(&mut self, t: &Delays, now: Ps, group: usize) {
        let rank = self.groups[group].rank;
        let four = &mut self.four[usize::from(rank)];
        four.times[four.at & 3] = now + t.four_activates;
        four.at = (four.at + 1) & 3;
        let at = four.times[four.at].max(now + t.activate_far);
        self.wait_all(Kind::Activate, rank, at, Ps::ZERO);
        self.wait(Kind::Activate, group, now + t.activate_near);
    }
    /// A line of a group was read at `now`.
    pub fn read(&mut self, t: &Delays, now: Ps, group: usize) {
        let rank = self.groups[group].rank;
        let (same, other, write) = (now + t.column_far, now + t.column_rank, now + t.read_to_write);
        self.wait_all(Kind::Read, rank, same, other);
        self.wait_all(Kind::Write, rank, write, write);
        self.wait(Kind::Read, group, now + t.column_near);
        self.query = self.query.max(if rank == 0 { same } else { other });
    }
    /// A line of a group was written at `now`.
    pub fn written(&mut self, t: &Delays, now: Ps, group: usize) {
        let rank = self.groups[group].rank;
        let (same, other) = (now + t.write_to_read_far, now + t.write_to_read_rank);
        self.wait_all(Kind::Read, rank, same, other);
        self.wait_all(Kind::Write, rank, now + t.column_far, now + t.column_rank);
        self.wait(Kind::Read, group, now + t.write_to_read_near);
        self.wait(Kind::Write, group, now + t.column_near);
        self.query = self.query.max(if rank == 0 { same } else { other });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;

    /// Earliest times of every group, kept one by one.
    struct Literal(Vec<[Ps; 3]>);
    impl Literal {
        fn wait(&mut self, kind: Kind, at: impl Fn(usize) -> Ps) {
            for (g, times) in self.0.iter_mut().enumerate() {
                times[kind as usize] = times[kind as usize].max(at(g));
            }
        }
    }

    #[test]
    fn groups_wait_as_when_each_is_followed_by_itself() {
        let mut rng = Stream::new(4, "shared");
        for (ranks, banks, groups) in [(1, 16, 4), (2, 8, 2), (4, 4, 1)] {
            let media = MediaSpec {
                ranks,
                banks,
                bank_groups: groups,
                t_ccd_l: Ps(7000),
                t_wtr_l: Ps(9000),
                t_rrd_l: Ps(8000),
                ..MediaSpec::default()
            };
            let (t, mut shared, mut now) = (Delays::new(&media), SharedTimes::new(&media), Ps::ZERO);
            let n = usize::from(ranks * groups);
            let mut literal = Literal(vec![[Ps::ZERO; 3]; n]);
            let mut opened = vec![Vec::new(); usize::from(ranks)];
            for _ in 0..2000 {
                now += Ps(rng.below(6000));
                let group = rng.below(n as u64) as usize;
                let rank = |g: usize| g / usize::from(groups);
                let gap = move |near: Ps, far: Ps, other: Ps| {
                    move |g: usize| match (g == group, rank(g) == rank(group)) {
                        (true, _) => now + near.max(far),
                        (_, true) => now + far,
                        _ => now + other,
                    }
                };
                match rng.below(3) {
                    0 => {
                        shared.read(&t, now, group);
                        literal.wait(Kind::Read, gap(t.column_near, t.column_far, t.column_rank));
                        literal.wait(Kind::Write, |_| now + t.read_to_write);
                    }
                    1 => {
                        shared.written(&t, now, group);
                        literal.wait(Kind::Write, gap(t.column_near, t.column_far, t.column_rank));
                        let far = gap(t.write_to_read_near, t.write_to_read_far, t.write_to_read_rank);
                        literal.wait(Kind::Read, far);
                    }
                    _ => {
                        shared.activated(&t, now, group);
                        opened[rank(group)].push(now);
                        let fourth = opened[rank(group)]
                            .iter()
                            .rev()
                            .nth(3)
                            .map_or(Ps::ZERO, |x| *x + t.four_activates);
                        literal.wait(Kind::Activate, |g| {
                            let far = (now + t.activate_far).max(fourth);
                            match rank(g) == rank(group) {
                                true if g == group => far.max(now + t.activate_near),
                                true => far,
                                false => Ps::ZERO,
                            }
                        });
                    }
                }
                let (wanted, ready, at) = (rng.next_u64(), rng.next_u64(), now + Ps(rng.below(40_000)));
                for kind in [Kind::Read, Kind::Write, Kind::Activate] {
                    let each = || {
                        shared
                            .groups
                            .iter()
                            .zip(&literal.0)
                            .map(|(g, t)| (g.banks & wanted, t[kind as usize]))
                    };
                    let able = each().filter(|x| x.1 <= at).fold(0, |able, x| able | x.0);
                    let all = each().fold(0, |all, x| all | x.0);
                    assert_eq!(shared.able(kind, all, at), able);
                    // Banks of `ready` are ready at once, others later, and no bank of no bank ever.
                    let first = |banks: u64| match (banks, banks & ready) {
                        (0, _) => Ps(u64::MAX),
                        (_, 0) => now + Ps(9000),
                        _ => Ps::ZERO,
                    };
                    let expected = each().map(|x| first(x.0).max(x.1)).min();
                    assert_eq!(Some(shared.earliest(kind, all, first)), expected);
                }
            }
        }
    }
}
