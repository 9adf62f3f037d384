//! Where a thread's time went: busy plus stalls by cause equals elapsed time, always.

use crate::seam::Cause;
use fencepost_kernel::Ps;

/// A stretch of time in which a thread could not commit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// When it began.
    pub from: Ps,
    /// When it ended.
    pub to: Ps,
    /// Why.
    pub cause: Cause,
}

/// Time by what the commit stage did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Time is accounted for up to here.
    pub until: Ps,
    /// Time in which something committed.
    pub busy: Ps,
    stalls: [Ps; Cause::COUNT],
    /// Every stall by itself, where somebody draws them.
    each: Option<Vec<Stalled>>,
}
impl Default for Account {
    fn default() -> Self {
        Account {
            until: Ps::ZERO,
            busy: Ps::ZERO,
            stalls: [Ps::ZERO; Cause::COUNT],
            each: None,
        }
    }
}
impl Account {
    /// Keeps every stall from now on.
    pub fn keep_each(&mut self) {
        self.each = Some(Vec::new());
    }
    /// The stalls kept, in order; of one cause without a gap they are one.
    pub fn take_each(&mut self) -> Vec<Stalled> {
        self.each.take().unwrap_or_default()
    }
    #[cold]
    fn keep(&mut self, from: Ps, to: Ps, cause: Cause) {
        let Some(each) = &mut self.each else { return };
        match each.last_mut() {
            Some(last) if last.to == from && last.cause == cause => last.to = to,
            _ => each.push(Stalled { from, to, cause }),
        }
    }
    /// Charges the time up to `to` to a stall cause.
    pub fn stall(&mut self, to: Ps, cause: Cause) {
        if self.each.is_some() && to > self.until {
            self.keep(self.until, to, cause);
        }
        self.stalls[cause.index()] += to.saturating_sub(self.until);
        self.until = self.until.max(to);
    }
    /// Charges the time up to `to`: at most `cost` of it was busy, the rest (which came first) was a stall.
    #[inline]
    pub fn commit(&mut self, to: Ps, cost: Ps, cause: Cause) {
        if to <= self.until {
            return;
        }
        let busy_from = to.saturating_sub(cost).max(self.until);
        if busy_from > self.until {
            if self.each.is_some() {
                self.keep(self.until, busy_from, cause);
            }
            self.stalls[cause.index()] += busy_from - self.until;
        }
        self.busy += to - busy_from;
        self.until = to;
    }
    /// Time charged to one cause.
    pub fn stalled(&self, cause: Cause) -> Ps {
        self.stalls[cause.index()]
    }
    /// Every stall, in declaration order of the causes.
    pub fn stalls(&self) -> &[Ps; Cause::COUNT] {
        &self.stalls
    }
    /// Busy time plus all stalls.
    pub fn total(&self) -> Ps {
        self.stalls.iter().fold(self.busy, |a, b| a + *b)
    }
    /// What was added since an earlier copy of this account.
    pub fn since(&self, start: &Account) -> Account {
        let mut d = Account {
            each: None,
            ..self.clone()
        };
        d.busy = self.busy - start.busy;
        for (a, b) in d.stalls.iter_mut().zip(&start.stalls) {
            *a = *a - *b;
        }
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn busy_and_stalls_add_up() {
        let mut a = Account::default();
        a.commit(Ps(10), Ps(4), Cause::LoadMemory);
        a.commit(Ps(12), Ps(4), Cause::LoadCache);
        a.stall(Ps(20), Cause::LockWait);
        a.commit(Ps(19), Ps(4), Cause::Execute); // nothing new elapsed
        assert_eq!(
            (a.busy, a.stalled(Cause::LoadMemory), a.stalled(Cause::LockWait)),
            (Ps(6), Ps(6), Ps(8))
        );
        assert_eq!(a.total(), Ps(20));
    }
    #[test]
    fn stalls_that_are_kept_are_those_that_are_charged() {
        let mut a = Account::default();
        a.keep_each();
        a.commit(Ps(10), Ps(4), Cause::LoadMemory);
        a.stall(Ps(15), Cause::LockWait);
        a.stall(Ps(20), Cause::LockWait);
        let stall = |from, to, cause| Stalled {
            from: Ps(from),
            to: Ps(to),
            cause,
        };
        let each = a.take_each();
        assert_eq!(each, [stall(0, 6, Cause::LoadMemory), stall(10, 20, Cause::LockWait)]);
        let sum: u64 = each.iter().map(|s| s.to.0 - s.from.0).sum();
        assert_eq!(Ps(sum), a.total() - a.busy);
    }
}
