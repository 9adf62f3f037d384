//! Earliest times that banks share: of the bus, of a rank, and of a bank group.

use super::delays::{Delays, Direction};
use crate::memory::spec::MediaSpec;
use fencepost_kernel::Ps;

/// Kinds of commands that wait for other banks' commands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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

/// What a command waits for together with other banks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waits(u8);
impl Waits {
    /// Nothing.
    pub(crate) const ALONE: Waits = Waits(u8::MAX);
    /// Other commands that delay those of a kind in a bank group. A channel has at most 64 groups.
    #[inline]
    pub(crate) fn new(kind: Kind, group: u8) -> Waits {
        Waits(kind as u8 * 64 + group)
    }
}

/// All bank groups, counted over all ranks.
#[derive(Clone, Debug)]
pub(crate) struct SharedTimes {
    /// By [`Waits`]: no command before; the last is never later than the start.
    until: [Ps; 256],
    /// Bank groups, and those of a rank.
    groups: usize,
    of_rank: usize,
    /// By rank.
    four: Vec<FourActivates>,
    /// From when on the first rank takes a read that needs no bank.
    query: Ps,
}

impl SharedTimes {
    /// Of an idle channel.
    pub(crate) fn new(m: &MediaSpec) -> SharedTimes {
        let (ranks, of_rank) = (usize::from(m.ranks), usize::from(m.bank_groups));
        SharedTimes {
            until: [Ps::ZERO; 256],
            groups: ranks * of_rank,
            of_rank,
            four: vec![FourActivates::default(); ranks],
            query: Ps::ZERO,
        }
    }
    /// Earliest command that waits for these.
    #[inline]
    pub(crate) fn until(&self, waits: Waits) -> Ps {
        self.until[usize::from(waits.0)]
    }
    /// Earliest read that needs no bank.
    pub(crate) fn query(&self) -> Ps {
        self.query
    }

    /// A group waits until `at`.
    #[inline]
    fn wait(&mut self, kind: Kind, group: usize, at: Ps) {
        let until = &mut self.until[kind as usize * 64 + (group & 63)];
        *until = at.max(*until);
    }
    #[inline]
    fn rank(&self, group: usize) -> usize {
        if self.four.len() == 1 { 0 } else { group / self.of_rank }
    }
    /// A row of a group was opened at `now`.
    pub(crate) fn activated(&mut self, t: &Delays, now: Ps, group: usize) {
        let rank = self.rank(group);
        let four = &mut self.four[rank];
        four.times[four.at & 3] = now + t.four_activates;
        four.at = (four.at + 1) & 3;
        let at = four.times[four.at].max(now + t.activate_far);
        for other in rank * self.of_rank..(rank + 1) * self.of_rank {
            self.wait(Kind::Activate, other, at);
        }
        self.wait(Kind::Activate, group, now + t.activate_near);
    }
    /// A line of a group was read at `now`.
    pub(crate) fn read(&mut self, t: &Delays, now: Ps, group: usize) {
        let read = [t.column_near, t.column_far, t.column_rank];
        self.column(now, group, read, [t.read_to_write; 3]);
    }
    /// A line of a group was written at `now`.
    pub(crate) fn written(&mut self, t: &Delays, now: Ps, group: usize) {
        let read = [t.write_to_read_near, t.write_to_read_far, t.write_to_read_rank];
        let write = [t.column_near, t.column_far, t.column_rank];
        self.column(now, group, read, write);
    }
    /// A column command delays others to read, and to write: those of its group (besides what delays its rank), of its rank, and of
    /// other ranks.
    #[inline]
    fn column(&mut self, now: Ps, group: usize, read: [Ps; 3], write: [Ps; 3]) {
        let rank = self.rank(group);
        let (one, of_rank) = (self.four.len() == 1, rank * self.of_rank..(rank + 1) * self.of_rank);
        for other in 0..self.groups {
            let far = if one || of_rank.contains(&other) { 1 } else { 2 };
            self.wait(Kind::Read, other, now + read[far]);
            self.wait(Kind::Write, other, now + write[far]);
        }
        self.wait(Kind::Read, group, now + read[0]);
        self.wait(Kind::Write, group, now + write[0]);
        self.query = self.query.max(now + read[if rank == 0 { 1 } else { 2 }]);
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
                for kind in [Kind::Read, Kind::Write, Kind::Activate] {
                    let until = |g: u16| shared.until(Waits::new(kind, g as u8));
                    let all: Vec<Ps> = (0..ranks * groups).map(until).collect();
                    let expected: Vec<Ps> = literal.0.iter().map(|t| t[kind as usize]).collect();
                    assert_eq!(all, expected);
                }
            }
        }
        assert_eq!(SharedTimes::new(&MediaSpec::default()).until(Waits::ALONE), Ps::ZERO);
    }
}
