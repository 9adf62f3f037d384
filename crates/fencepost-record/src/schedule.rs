//! Orders that threads take, by chance from a seed, and what makes them show mistakes.
//!
//! A store that others may see and that is not durable yet is where persistence and concurrency meet: what another thread makes
//! durable of it meanwhile may outlive it. The window closes with the flush, or with the fence after it, and mostly lasts a few
//! instructions only. So a thread that is about to flush, to fence what it has flushed, or to have the system do so, stands back
//! now and then until others have made something durable. How often, and whether threads begin together, differs among seeds that
//! follow one another: priorities that change at chosen points, as in probabilistic concurrency testing (Burckhardt et al.,
//! ASPLOS 2010), at the points that matter here.

use super::shared::{Shared, Slot};
use std::sync::atomic::Ordering::Relaxed;

/// Who may go next, and for how long.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// First come, first served.
    Fair,
    /// By chance, from this seed.
    Random(u64),
}

impl Schedule {
    /// One in how many flushes a thread stands back at first; `None` for never.
    fn stands_back(self) -> Option<u64> {
        match self {
            Schedule::Fair => None,
            Schedule::Random(seed) => [Some(2), Some(2), Some(6), None][(seed >> 1) as usize % 4],
        }
    }
    /// Whether whoever starts threads goes on until it waits: all of them are there before the first does something. A mistake that
    /// can show once only, at the begin, shows then; one in four leaves threads as they come.
    pub fn begins_together(self) -> bool {
        matches!(self, Schedule::Random(seed) if seed >> 1 & 3 != 3)
    }
    /// A number below `n`, from the seed; for the holder of the turn.
    pub fn chance(self, shared: &Shared, n: u64) -> u64 {
        let Schedule::Random(seed) = self else {
            return 0;
        };
        let mut x = match shared.random.load(Relaxed) {
            0 => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            x => x,
        };
        // Xorshift (Marsaglia, 2003).
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        shared.random.store(x, Relaxed);
        (x >> 11) % n.max(1)
    }
    /// After how many persists of others a thread goes on that stands back now; `None` if it does not. For the holder of the turn.
    pub fn persists_to_await(self, shared: &Shared) -> Option<u64> {
        /// Times after which it happens half as often: a long run must end, and its begin is tried most.
        const HALVED: u64 = 16;
        const MOST: u64 = 4;
        let done = shared.stood_back.load(Relaxed);
        let one_in = self.stands_back()? * (1 + done / HALVED);
        if self.chance(shared, one_in) != 0 {
            return None;
        }
        shared.stood_back.store(done + 1, Relaxed);
        Some(1 + self.chance(shared, MOST))
    }
}

impl Slot {
    /// Stands back from now on.
    pub(super) fn stand_back(&self, shared: &Shared, persists: u64, steps: u64) {
        self.until_step.store(shared.steps.load(Relaxed) + steps, Relaxed);
        self.until_persist
            .store(shared.persists.load(Relaxed).saturating_add(persists), Relaxed);
    }
    /// Whether it still does.
    pub(super) fn is_back(&self, shared: &Shared) -> bool {
        shared.steps.load(Relaxed) < self.until_step.load(Relaxed)
            && shared.persists.load(Relaxed) < self.until_persist.load(Relaxed)
    }
    /// Does so no longer.
    pub(super) fn come_forward(&self) {
        self.until_step.store(0, Relaxed);
    }
}

impl Shared {
    /// A thread has taken so many steps; for the holder of the turn.
    pub fn stepped(&self, steps: u64) {
        self.steps.store(self.steps.load(Relaxed) + steps, Relaxed);
    }
    /// A thread has made something durable; for the holder of the turn.
    pub fn persisted(&self) {
        self.persists.store(self.persists.load(Relaxed) + 1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stand_back_by_their_seed_and_ever_less_often() {
        let path = std::env::temp_dir().join(format!("fencepost-schedule-{}", std::process::id()));
        let times = |schedule: Schedule, flushes: usize| {
            let shared = Shared::open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let back = |_: &usize| schedule.persists_to_await(shared).is_some();
            let times: Vec<usize> = (0..flushes).filter(back).collect();
            times
        };
        let of = |seed, flushes| times(Schedule::Random(seed), flushes).len();
        assert_eq!((times(Schedule::Fair, 100).len(), of(6, 100), of(7, 100)), (0, 0, 0));
        assert_eq!(times(Schedule::Random(1), 100), times(Schedule::Random(1), 100));
        for seed in 0..6 {
            assert!((1..60).contains(&of(seed, 100)), "seed {seed}");
            // After n times one in 2 (1 + n / 16) at most: some sqrt(16 flushes) altogether.
            assert!((100..1500).contains(&of(seed, 100_000)), "seed {seed}");
        }
    }
    #[test]
    fn whoever_stands_back_does_until_enough_has_happened() {
        let path = std::env::temp_dir().join(format!("fencepost-back-{}", std::process::id()));
        let shared = Shared::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let slot = &shared.slots[3];
        assert!(!slot.is_back(shared));
        slot.stand_back(shared, 2, 100);
        shared.persisted();
        shared.stepped(99);
        assert!(slot.is_back(shared));
        shared.stepped(1);
        assert!(!slot.is_back(shared));
        slot.stand_back(shared, 2, 100);
        shared.persisted();
        assert!(slot.is_back(shared));
        shared.persisted();
        assert!(!slot.is_back(shared));
        slot.stand_back(shared, u64::MAX, 100);
        shared.persisted();
        assert!(slot.is_back(shared));
        slot.come_forward();
        assert!(!slot.is_back(shared));
    }
}
