//! Stretches of time that overlap, side by side: no two on one lane overlap.

use fencepost_kernel::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A stretch of time, and what it is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// When it begins.
    pub from: Ps,
    /// When it ends.
    pub to: Ps,
    /// What it is about, by number.
    pub what: usize,
}

/// Stretches with their lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    placed: Vec<(usize, Stretch)>,
    count: usize,
}

impl Lanes {
    /// Puts each stretch, by its begin, on the lowest lane that is free then.
    pub(super) fn of(mut stretches: Vec<Stretch>) -> Lanes {
        stretches.sort_by_key(|s| (s.from, s.to, s.what));
        let mut busy: BinaryHeap<Reverse<(Ps, usize)>> = BinaryHeap::new();
        let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
        let (mut placed, mut count) = (Vec::with_capacity(stretches.len()), 0);
        for s in stretches {
            while let Some(Reverse((_, lane))) = busy.peek().copied().filter(|b| b.0.0 <= s.from) {
                busy.pop();
                free.push(Reverse(lane));
            }
            let lane = free.pop().map_or_else(
                || {
                    count += 1;
                    count - 1
                },
                |f| f.0,
            );
            busy.push(Reverse((s.to, lane)));
            placed.push((lane, s));
        }
        Lanes { placed, count }
    }
    /// Number of lanes.
    pub(super) fn count(&self) -> usize {
        self.count
    }
    /// Every stretch with its lane, by begin.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (usize, Stretch)> + '_ {
        self.placed.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_on_a_lane_overlap_and_no_lane_is_idle_without_need() {
        let s = |from, to, what| Stretch {
            from: Ps(from),
            to: Ps(to),
            what,
        };
        let mut lanes = Lanes::of(vec![s(5, 9, 2), s(0, 4, 0), s(1, 6, 1), s(6, 7, 3)]);
        assert_eq!(lanes.count(), 2);
        let placed: Vec<(usize, usize)> = lanes.drain().map(|(lane, s)| (lane, s.what)).collect();
        assert_eq!(placed, [(0, 0), (1, 1), (0, 2), (1, 3)]);
    }
}
