//! Hardware recovery under fire: power fails again while the hardware of a design recovers.

use fencepost_contract::explore::Recovered;
use fencepost_kernel::Image;
use fencepost_machine::seam::{Again, Design, Disturbed, disturbed, recovered};

/// Crash points of one run at which hardware recovery is disturbed at most, evenly spread.
const MOST: u64 = 128;
/// States that disturbances of one run leave at most, about (ours: a check takes seconds): each of its crash points has an equal share, at
/// least a quarter of what one alone has.
const STATES: u64 = 8192;

/// The hardware of a design after power failures. The mechanism is a fresh one: nothing volatile is left of the run's.
pub struct Hardware<'a> {
    design: &'a dyn Design,
    again: Again,
    /// Recovery is disturbed once in so many crash points.
    every: u64,
    asked: u64,
    /// What was looked at.
    pub seen: Disturbed,
}

impl<'a> Hardware<'a> {
    /// The hardware at so many crash points, disturbed `depth` times in a row.
    pub fn new(design: &'a dyn Design, points: u64, depth: u32) -> Hardware<'a> {
        let (every, one) = (points.div_ceil(MOST).max(1), Again::default().states);
        let disturbed = points.div_ceil(every).max(1);
        Hardware {
            design,
            again: Again {
                depth,
                states: (STATES / disturbed).clamp(one / 4, one),
            },
            every,
            asked: 0,
            seen: Disturbed::default(),
        }
    }
    /// What it leaves of a memory.
    pub fn recover(&mut self, image: &Image) -> Recovered {
        self.asked += 1;
        let Some((left, lines)) = recovered(self.design, image) else {
            return None.into();
        };
        let mut all = Recovered::of(left, lines);
        if self.asked.is_multiple_of(self.every) {
            let (left, seen) = disturbed(self.design, image, self.again);
            self.seen.add(&seen);
            let others = left.into_iter().filter_map(|o| Some((o.image, o.how?)));
            all.others.extend(others);
        }
        all
    }
}
