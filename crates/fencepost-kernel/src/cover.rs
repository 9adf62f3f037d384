//! Whole numbers that are covered by ranges.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};
use std::ops::Range;

/// A set of numbers: the ends of disjoint ranges that do not touch, by their starts.
#[derive(Debug, Default)]
pub(crate) struct Cover(BTreeMap<u64, u64>);

impl Cover {
    /// Adds a range that is not empty, and returns the parts of it that were not covered, in order.
    pub(crate) fn add(&mut self, range: Range<u64>) -> Vec<Range<u64>> {
        let (mut first, mut at, mut fresh) = (range.start, range.start, Vec::new());
        if let Some((start, end)) = self.0.range(..=range.start).next_back()
            && *end >= range.start
        {
            (first, at) = (*start, *end);
        }
        if at >= range.end {
            return fresh;
        }
        let inside = (Excluded(range.start), Included(range.end));
        let inside: Vec<(u64, u64)> = self.0.range(inside).map(|(s, e)| (*s, *e)).collect();
        for (start, end) in inside {
            fresh.push(at..start);
            at = end;
            self.0.remove(&start);
        }
        if at < range.end {
            fresh.push(at..range.end);
            at = range.end;
        }
        self.0.insert(first, at);
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_new_is_what_a_set_of_numbers_says() {
        let mut rng = Stream::new(9, "cover");
        for _ in 0..200 {
            let (mut cover, mut seen) = (Cover::default(), BTreeSet::new());
            for _ in 0..40 {
                let start = rng.below(90);
                let range = start..start + 1 + rng.below(12);
                let expected: Vec<u64> = range.clone().filter(|n| seen.insert(*n)).collect();
                let found: Vec<Range<u64>> = cover.add(range);
                assert!(found.iter().all(|r| !r.is_empty()));
                assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
            }
            let ranges: Vec<(u64, u64)> = cover.0.into_iter().collect();
            assert!(ranges.windows(2).all(|w| w[0].1 < w[1].0), "{ranges:?}");
        }
    }
}
