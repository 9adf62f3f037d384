//! Where the words of a node lie, how many pairs it holds, and which addresses are nodes.
//!
//! A node is a word of count and leaf flag, then keys, then values, then children, one more than keys.

use crate::nodes::Nodes;
use fencepost_kernel::Addr;
use fencepost_kernel::units::LINE_BYTES;

pub(super) const COUNT: u64 = 0;
/// Flag in the count word of a leaf.
pub(super) const LEAF: u64 = 1 << 32;

/// The nodes of one tree.
#[derive(Copy, Clone, Debug)]
pub(super) struct Shape {
    /// Most pairs of a node.
    pub pairs: u64,
    /// Which they are.
    pub nodes: Nodes,
}

/// Bytes of a node of `pairs` pairs.
pub(super) const fn node_bytes(pairs: u64) -> u64 {
    (8 + pairs * 16 + (pairs + 1) * 8).next_multiple_of(LINE_BYTES)
}
/// Fewest pairs of a node that is not the root: what a split leaves to the smaller half.
pub(super) const fn fewest(pairs: u64) -> u64 {
    (pairs - 1) / 2
}

impl Shape {
    /// The tree with this root pointer.
    pub(super) fn at(&self, root: Addr) -> Shape {
        let nodes = Nodes { root, ..self.nodes };
        Shape { nodes, ..*self }
    }
    pub(super) fn key(&self, i: u64) -> u64 {
        8 + i * 8
    }
    pub(super) fn value(&self, i: u64) -> u64 {
        8 + (self.pairs + i) * 8
    }
    pub(super) fn child(&self, i: u64) -> u64 {
        8 + (2 * self.pairs + i) * 8
    }
    pub(super) fn fewest(&self) -> u64 {
        fewest(self.pairs)
    }
    pub(super) fn bytes(&self) -> u64 {
        node_bytes(self.pairs)
    }
}

/// Most levels of a tree of at most `keys` keys: every node but the root has at least `fewest` pairs.
pub(super) fn most_levels(keys: u64, pairs: u64) -> u64 {
    let fanout = fewest(pairs) + 1;
    // Two levels: a root of one pair, two children.
    let (mut levels, mut least) = (1, 2 * fanout - 1);
    while least <= keys {
        least = (least + 1) * fanout - 1;
        levels += 1;
    }
    levels
}

/// How a tree of `keys` keys is planted: its height (0: one leaf), the least that holds them.
pub(super) fn height(keys: u64, pairs: u64) -> u32 {
    (0..).find(|h| most_keys(*h, pairs) >= u128::from(keys)).unwrap_or(0)
}
fn most_keys(height: u32, pairs: u64) -> u128 {
    u128::from(pairs + 1).pow(height + 1) - 1
}
/// Keys of each child of a planted inner node of this height that is given `keys` keys.
pub(super) fn shares(keys: u64, height: u32, pairs: u64) -> Vec<u64> {
    let below = most_keys(height - 1, pairs) as u64;
    let children = (keys + 1).div_ceil(below + 1).max(2);
    let separators = children - 1;
    let share = |i: u64| (keys - separators) * i / children;
    (0..children).map(|i| share(i + 1) - share(i)).collect()
}
/// Nodes of a planted tree.
pub(super) fn planted_nodes(keys: u64, height: u32, pairs: u64) -> u64 {
    match height {
        0 => 1,
        h => {
            1 + shares(keys, h, pairs)
                .iter()
                .map(|k| planted_nodes(*k, h - 1, pairs))
                .sum::<u64>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Every planted node can hold its pairs and, unless it is the root, has enough of them.
    #[test]
    fn planted_nodes_are_neither_too_full_nor_too_empty() {
        fn check(keys: u64, height: u32, pairs: u64, root: bool) {
            if height == 0 {
                assert!(keys <= pairs && (root || keys >= fewest(pairs)), "{keys} of {pairs}");
                return;
            }
            let shares = shares(keys, height, pairs);
            let own = shares.len() as u64 - 1;
            assert!(own <= pairs && (root || own >= fewest(pairs)), "{own} of {pairs}");
            assert_eq!(shares.iter().sum::<u64>() + own, keys);
            shares.iter().for_each(|k| check(*k, height - 1, pairs, false));
        }
        for pairs in [4, 5, 8, 15, 63] {
            for keys in (0..700).chain([4095, 4096, 10_000]) {
                check(keys, height(keys, pairs), pairs, true);
            }
        }
    }
    #[test]
    fn the_tallest_trees_have_the_fewest_pairs_everywhere() {
        // One pair in every node: 1 + 2 of two levels, 1 + 2 + 4 of three.
        assert_eq!([0, 2, 3, 6, 7].map(|keys| most_levels(keys, 4)), [1, 1, 2, 2, 3]);
        // Seven pairs and eight children in every node but the root, which has one and two.
        assert_eq!([14, 15, 126, 127].map(|keys| most_levels(keys, 15)), [1, 2, 2, 3]);
    }
}
