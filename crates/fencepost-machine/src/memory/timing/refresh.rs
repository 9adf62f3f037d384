//! When the ranks of a channel are due for an all-bank refresh.

use crate::memory::timed::NEVER;
use fencepost_kernel::Ps;

/// Due times by rank.
#[derive(Clone, Debug)]
pub(super) struct RefreshTimer {
    every: Ps,
    due: Vec<Ps>,
    /// The first of them.
    next: Ps,
}

fn first_of(due: &[Ps]) -> Ps {
    due.iter().copied().fold(NEVER, Ps::min)
}

impl RefreshTimer {
    /// Ranks that need a refresh every `every`, staggered so that they do not all pause at once; never if zero.
    pub(super) fn new(every: Ps, ranks: u16) -> RefreshTimer {
        let first = |r: u16| Ps(every.0 * (u64::from(r) + 1) / u64::from(ranks));
        let ranks = if every > Ps::ZERO { ranks } else { 0 };
        let due: Vec<Ps> = (0..ranks).map(first).collect();
        let next = first_of(&due);
        RefreshTimer { every, due, next }
    }
    /// Time between refreshes of a rank.
    pub(super) fn every(&self) -> Ps {
        self.every
    }
    /// When the next rank is due; `NEVER` if none ever is.
    #[inline]
    pub(super) fn next(&self) -> Ps {
        self.next
    }
    /// A rank that is due by `now`: the rank, the time, and how many refreshes that stands for. Of many that fell due
    /// in an idle stretch only the last ones can still be noticed, so the first stands for all that cannot.
    pub(super) fn take(&mut self, now: Ps) -> Option<(usize, Ps, u64)> {
        if self.next > now {
            return None;
        }
        let rank = self.due.iter().position(|t| *t <= now)?;
        let due = self.due[rank];
        let missed = ((now - due).0 / self.every.0).max(1);
        let stands_for = if missed > 2 { missed - 1 } else { 1 };
        self.due[rank] = due + self.every * stands_for;
        self.next = first_of(&self.due);
        Some((rank, due, stands_for))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_take_turns() {
        let mut t = RefreshTimer::new(Ps(100), 2);
        assert_eq!(t.next(), Ps(50));
        assert_eq!(t.take(Ps(49)), None);
        assert_eq!(t.take(Ps(120)), Some((0, Ps(50), 1)));
        assert_eq!(t.take(Ps(120)), Some((1, Ps(100), 1)));
        assert_eq!((t.take(Ps(120)), t.next()), (None, Ps(150)));
    }
    #[test]
    fn a_long_idle_stretch_is_counted_whole() {
        let mut t = RefreshTimer::new(Ps(100), 1);
        let mut total = 0;
        while let Some((_, _, n)) = t.take(Ps(100_050)) {
            total += n;
        }
        assert_eq!((total, t.next()), (1000, Ps(100_100)));
    }
    #[test]
    fn a_medium_without_refresh_is_never_due() {
        assert_eq!(RefreshTimer::new(Ps::ZERO, 4).next(), NEVER);
    }
}
