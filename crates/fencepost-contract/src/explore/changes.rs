//! How often lines have changed from failure point to failure point, summed over any stretch of them.

/// Counters in a row; a sum over neighbours takes as many steps as their number has digits (a Fenwick tree). Counters only rise: equal
/// sums mean that no counter between has moved.
#[derive(Debug, Default)]
pub(super) struct Changes {
    tree: Vec<u64>,
}
impl Changes {
    /// So many counters, all 0.
    pub(super) fn new(counters: usize) -> Changes {
        Changes {
            tree: vec![0; counters + 1],
        }
    }
    /// Counts a change at `i`.
    pub(super) fn count(&mut self, i: usize) {
        let mut at = i + 1;
        while at < self.tree.len() {
            self.tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    /// Changes at `from` to `end`, the latter not included.
    pub(super) fn between(&self, from: usize, end: usize) -> u64 {
        self.below(end) - self.below(from)
    }
    fn below(&self, end: usize) -> u64 {
        let (mut sum, mut at) = (0, end);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_counters_one_by_one() {
        for n in [1, 2, 7, 8, 33] {
            let (mut sums, mut plain) = (Changes::new(n), vec![0; n]);
            for step in 0..3 * n {
                let at = step * 5 % n;
                sums.count(at);
                plain[at] += 1;
                for (from, end) in (0..=n).flat_map(|from| (from..=n).map(move |end| (from, end))) {
                    assert_eq!(
                        sums.between(from, end),
                        plain[from..end].iter().sum::<u64>(),
                        "{from}..{end} of {n}"
                    );
                }
            }
        }
    }
}
