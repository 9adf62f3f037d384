//! How full the write queues are, against the marks at which a drain of writes begins and ends.

use super::spec::ControllerSpec;

#[derive(Copy, Clone, Debug)]
struct Marks {
    high: u16,
    low: u16,
    /// As far as this queue was last seen.
    above_high: bool,
    above_low: bool,
}

/// The marks of every queue, and how many queues are above them: a change of one queue costs no look at the others.
#[derive(Clone, Debug)]
pub(super) struct Watermarks {
    queues: Vec<Marks>,
    above_high: u32,
    above_low: u32,
}

impl Watermarks {
    /// The marks of empty queues of these capacities.
    pub(super) fn new(spec: &ControllerSpec, capacities: impl Iterator<Item = u16>) -> Watermarks {
        let marks = |capacity: u16| {
            let capacity = u32::from(capacity);
            let high = (capacity * u32::from(spec.drain_high)).div_ceil(100).max(1) as u16;
            let low = (capacity * u32::from(spec.drain_low) / 100) as u16;
            Marks {
                high,
                low: low.min(high - 1),
                above_high: false,
                above_low: false,
            }
        };
        Watermarks {
            queues: capacities.map(marks).collect(),
            above_high: 0,
            above_low: 0,
        }
    }
    /// Whether some queue is at or above its high mark.
    #[inline]
    pub(super) fn above_high(&self) -> bool {
        self.above_high > 0
    }
    /// Whether every queue is at or below its low mark.
    #[inline]
    pub(super) fn below_low(&self) -> bool {
        self.above_low == 0
    }
    /// So many entries of a queue are in use now. Returns whether that changed what the marks say of all queues.
    #[inline]
    pub(super) fn set(&mut self, queue: u8, used: u16) -> bool {
        let marks = &mut self.queues[usize::from(queue)];
        let (high, low) = (used >= marks.high, used > marks.low);
        if (high, low) == (marks.above_high, marks.above_low) {
            return false;
        }
        let before = (self.above_high > 0, self.above_low > 0);
        self.above_high = self.above_high + u32::from(high) - u32::from(marks.above_high);
        self.above_low = self.above_low + u32::from(low) - u32::from(marks.above_low);
        (marks.above_high, marks.above_low) = (high, low);
        before != (self.above_high > 0, self.above_low > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::rng::Stream;

    /// The marks as a look at every queue finds them.
    fn scanned(spec: &ControllerSpec, capacities: &[u16], used: &[u16]) -> (bool, bool) {
        let (mut high, mut low) = (false, true);
        for (capacity, used) in capacities.iter().zip(used) {
            let percent = |p: u16| f64::from(*capacity) * f64::from(p) / 100.0;
            let at_high = percent(spec.drain_high.into()).ceil().max(1.0);
            let at_low = percent(spec.drain_low.into()).floor().min(at_high - 1.0);
            high |= f64::from(*used) >= at_high;
            low &= f64::from(*used) <= at_low;
        }
        (high, low)
    }

    #[test]
    fn marks_that_follow_each_change_say_what_a_scan_of_all_queues_says() {
        let mut rng = Stream::new(3, "watermarks");
        for (drain_high, drain_low) in [(80, 20), (100, 0), (1, 0), (50, 50), (25, 75)] {
            let spec = ControllerSpec {
                drain_high,
                drain_low,
                ..ControllerSpec::default()
            };
            let capacities = [8, 64, 1, 33];
            let mut marks = Watermarks::new(&spec, capacities.into_iter());
            let mut used = [0; 4];
            for _ in 0..2000 {
                let before = (marks.above_high(), marks.below_low());
                let queue = rng.below(4) as usize;
                used[queue] = rng.below(u64::from(capacities[queue]) + 1) as u16;
                let changed = marks.set(queue as u8, used[queue]);
                let now = (marks.above_high(), marks.below_low());
                assert_eq!(now, scanned(&spec, &capacities, &used), "{used:?}");
                assert_eq!(changed, before != now);
            }
        }
    }
}
