//! The shape of the tree that stands before the run.

use std::cmp::Ordering;
use std::ops::Range;

/// The depth of the red nodes of a planted tree. Halving keeps every level full but the last: depth `d` is incomplete when
/// 2^d <= n+1 < 2^(d+1).
pub(super) fn lowest_red(nodes: usize) -> u32 {
    (nodes as u64 + 1).ilog2()
}
/// Which nodes of the planted tree of these keys stand below the `n`-th of all, itself included, and how deep that one is.
pub(super) fn planted_below(n: usize, mut tree: Range<usize>) -> (Range<usize>, u32) {
    let mut depth = 0;
    loop {
        let middle = tree.start + tree.len() / 2;
        match n.cmp(&middle) {
            Ordering::Equal => return (tree, depth),
            Ordering::Less => tree.end = middle,
            Ordering::Greater => tree.start = middle + 1,
        }
        depth += 1;
    }
}
