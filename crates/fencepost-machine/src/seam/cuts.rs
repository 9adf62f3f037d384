//! Which writes of a stage of recovery are durable when power fails.

use fencepost_kernel::rng;

/// Writes up to which every combination is looked at.
const ALL: usize = 6;
/// Combinations drawn beyond that.
const DRAWN: u64 = 16;

/// Writes of a stage, by their place, that are durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Those whose bit is set.
    Set(u32),
    /// The first so many.
    First(usize),
    /// All but one.
    Without(usize),
    /// One alone.
    Only(usize),
    /// About half, drawn with this number.
    Drawn(u64),
}

impl Cut {
    /// Whether write `i` of `n` is durable.
    pub(super) fn keeps(self, i: usize, n: usize) -> bool {
        match self {
            Cut::Set(set) => set >> i & 1 == 1,
            Cut::First(end) => i < end,
            Cut::Without(one) => i != one,
            Cut::Only(one) => i == one,
            Cut::Drawn(draw) => rng::hash(&[draw, n as u64, i as u64]) & 1 == 1,
        }
    }
    /// Whether a later write is durable and an earlier one is not.
    pub(super) fn reorders(self, n: usize) -> bool {
        (1..n).any(|i| self.keeps(i, n) && !self.keeps(i - 1, n))
    }
}

/// What is looked at of a stage of `n` writes: all combinations of few; of many the first ones, all but one, one alone, and some drawn.
/// Fewer the deeper.
pub(super) fn cuts(n: usize, depth: u32) -> Vec<Cut> {
    if n <= ALL >> depth.min(1) {
        return (0..1u32 << n).map(Cut::Set).collect();
    }
    let stride = if depth == 0 { 1 } else { n.div_ceil(4) };
    let some = || (0..n).step_by(stride);
    let first = (0..=n).step_by(stride).map(Cut::First);
    let drawn = (0..DRAWN >> (2 * depth).min(5)).map(Cut::Drawn);
    (first.chain(some().map(Cut::Without)))
        .chain(some().map(Cut::Only))
        .chain(drawn)
        .collect()
}

/// `0..n` in an order of which every beginning is spread over the whole.
pub(super) fn spread(n: usize) -> impl Iterator<Item = usize> {
    let bits = usize::BITS - n.saturating_sub(1).leading_zeros();
    let reversed = move |i: usize| i.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
    (0..1usize << bits).map(reversed).filter(move |i| *i < n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_spread_order_has_every_place_once_and_its_beginning_lies_everywhere() {
        for n in [0, 1, 2, 3, 17, 64, 1000] {
            let order: Vec<usize> = spread(n).collect();
            assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), (0..n).collect());
            assert_eq!(order.len(), n);
        }
        let begun: Vec<usize> = spread(64).take(8).collect();
        assert!((0..8).all(|part| begun.iter().filter(|i| **i / 8 == part).count() == 1));
    }
    #[test]
    fn cuts_of_few_writes_are_all_and_of_many_each_kind() {
        let durable = |cut: Cut, n| -> Vec<bool> { (0..n).map(|i| cut.keeps(i, n)).collect() };
        let sets: BTreeSet<Vec<bool>> = cuts(5, 0).into_iter().map(|c| durable(c, 5)).collect();
        assert_eq!(sets.len(), 32);
        let many = cuts(40, 0);
        assert_eq!(many.len(), 41 + 40 + 40 + 16);
        assert!(
            many.iter()
                .any(|c| durable(*c, 40).iter().filter(|d| **d).count() == 39 && c.reorders(40))
        );
        assert!(!Cut::First(7).reorders(40) && Cut::Only(3).reorders(40) && !Cut::Only(0).reorders(40));
        assert!(cuts(40, 1).len() < 24);
    }
}
