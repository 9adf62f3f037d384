//! Which recoveries of a run, or crash points of an exploration, are audited whole.

use crate::explore::on_image::Walk;

/// Of so many recoveries one is audited whole at most.
const WHOLE_IN: u64 = 32;
/// Whole audits between the first and the last read this part of what short ones read at most.
const PART: u64 = 8;

/// What the recoveries of a run have read so far. Whole audits say that passing over what set-up left is right: the first of all, the last
/// of all, and between them one in some, as long as they read little beside what the short ones do.
#[derive(Debug, Default)]
pub(super) struct Walks {
    whole: u64,
    short: u64,
}
impl Walks {
    /// How the recovery with this number (from 1) is audited.
    pub(super) fn next(&self, number: u64, last: bool) -> Walk {
        if last || number % WHOLE_IN == 1 && self.whole * PART <= self.short {
            Walk::Whole
        } else {
            Walk::Changed
        }
    }
    /// A recovery made so many accesses, its audit included.
    pub(super) fn done(&mut self, walk: Walk, accesses: u64) {
        match walk {
            Walk::Whole => self.whole += accesses,
            Walk::Changed => self.short += accesses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `n` recoveries are whole, where a whole one costs `whole` and a short one `short`; and which is the last of them.
    fn count(n: u64, whole: u64, short: u64) -> (u64, u64) {
        let (mut walks, mut found) = (Walks::default(), (0, 0));
        for i in 1..=n {
            let walk = walks.next(i, i == n);
            let cost = if walk == Walk::Whole { whole } else { short };
            walks.done(walk, cost);
            if walk == Walk::Whole {
                found = (found.0 + 1, i);
            }
        }
        found
    }
    #[test]
    fn the_first_and_the_last_are_whole_and_the_others_cost_an_eighth_of_the_short_ones() {
        // The first, then (as it costs 100 short ones) the 833rd (the 801st has 799 before it), and the last.
        assert_eq!(count(834, 100, 1), (3, 834));
        assert_eq!(count(832, 100, 1), (2, 832));
        // Where a short audit costs as much, one in 32, and the last.
        assert_eq!(count(100, 7, 7), (5, 100));
        // A structure that nothing compares with is read at both ends alone.
        assert_eq!(count(500, 1 << 40, 1), (2, 500));
        assert_eq!(count(1, 5, 5), (1, 1));
        // What whole audits read stays below an eighth of what short ones read, but for the first and the last.
        for whole in [1, 3, 40, 1000] {
            let (n, _) = count(10_000, whole, 1);
            assert!(
                (n - 2) * whole * PART <= 10_000 - n && n <= 10_000 / 32 + 2,
                "{n} of {whole}"
            );
        }
    }
}
