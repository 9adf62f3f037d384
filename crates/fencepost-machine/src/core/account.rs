//! Where a thread's time went: busy plus stalls by cause equals elapsed time, always.

use crate::seam::Cause;
use fencepost_kernel::Ps;

/// Time by what the commit stage did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Time is accounted for up to here.
    pub until: Ps,
    /// Time in which something committed.
    pub busy: Ps,
    stalls: [Ps; Cause::COUNT],
}
impl Default for Account {
    fn default() -> Self {
        Account {
            until: Ps::ZERO,
            busy: Ps::ZERO,
            stalls: [Ps::ZERO; Cause::COUNT],
        }
    }
}
impl Account {
    /// Charges the time up to `to` to a stall cause.
    pub fn stall(&mut self, to: Ps, cause: Cause) {
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
        let mut d = self.clone();
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
}
