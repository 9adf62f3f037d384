//! The nodes of linked structures: where their root pointers lie, which stand before the run, where the others come from.

use crate::layout::Rows;
use crate::pool::Pool;
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Addr, Span};

/// The nodes of one structure, or of several side by side.
#[derive(Copy, Clone, Debug)]
pub struct Nodes {
    /// Where the root pointer lies; those of further structures follow, a line each.
    pub root: Addr,
    /// Structures.
    pub trees: Trees,
    /// Nodes that stand before the run.
    pub planted: Rows,
    /// Where the others come from.
    pub pool: Pool,
}

/// Structures side by side, each with a root, a lock and a range of the keys of its own.
#[derive(Copy, Clone, Debug)]
pub struct Trees {
    /// How many.
    pub count: u64,
    /// Keys are `1..=keys`.
    keys: u64,
}
impl Trees {
    /// So many structures for these keys: at most one for each key.
    pub fn new(count: u64, keys: u64) -> Trees {
        let count = count.clamp(1, keys.max(1));
        Trees { count, keys }
    }
    /// The structure that a key belongs to; they ascend with the keys.
    #[inline(always)]
    pub fn of(&self, key: u64) -> u64 {
        match self.count {
            1 => 0,
            n => ((u128::from(key - 1) * u128::from(n)) / u128::from(self.keys)) as u64,
        }
    }
    /// Ascending pairs by structure.
    pub fn split<'a>(&self, mut pairs: &'a [(u64, u64)]) -> Vec<&'a [(u64, u64)]> {
        let one = |tree| {
            let (own, others) = pairs.split_at(pairs.partition_point(|p| self.of(p.0) <= tree));
            pairs = others;
            own
        };
        (0..self.count).map(one).collect()
    }
    /// How many of `preload` ascending keys each structure has; `key` says them by their number.
    pub fn shares(&self, preload: u64, key: impl Fn(u64) -> u64) -> Vec<u64> {
        let upto = |tree| {
            let (mut low, mut high) = (0, preload);
            while low < high {
                let middle = low.midpoint(high);
                match self.of(key(middle)) <= tree {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            low
        };
        let ends: Vec<u64> = (0..self.count).map(upto).collect();
        (0..ends.len())
            .map(|i| ends[i] - if i == 0 { 0 } else { ends[i - 1] })
            .collect()
    }
    /// Bytes that their root pointers take.
    pub fn roots(&self) -> u64 {
        self.count * LINE_BYTES
    }
}

impl Nodes {
    /// The same nodes with the root of one structure.
    #[inline(always)]
    pub fn tree(&self, tree: u64) -> Nodes {
        Nodes {
            root: Addr(self.root.0 + tree * LINE_BYTES),
            ..*self
        }
    }
    /// Where the root pointers lie.
    pub fn roots(&self) -> Span {
        let len = (self.trees.count - 1) * LINE_BYTES + 8;
        Span { at: self.root, len }
    }
    /// Whether a node begins at `at`. Recovery and audits trust no pointer before asking this.
    pub fn owns(&self, at: u64) -> bool {
        self.planted.owns(at) || self.pool.owns(Addr(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_structure_and_structures_ascend_with_the_keys() {
        for (count, keys) in [(1, 10), (3, 10), (8, 8), (512, 20_000), (9, 4)] {
            let trees = Trees::new(count, keys);
            let of: Vec<u64> = (1..=keys).map(|k| trees.of(k)).collect();
            assert!(of.is_sorted() && of[0] == 0 && of[of.len() - 1] == trees.count - 1);
            let pairs: Vec<(u64, u64)> = (1..=keys).step_by(3).map(|k| (k, k)).collect();
            let split = trees.split(&pairs);
            let lengths: Vec<u64> = split.iter().map(|s| s.len() as u64).collect();
            assert_eq!(trees.shares(pairs.len() as u64, |i| pairs[i as usize].0), lengths);
            assert_eq!(split.len() as u64, trees.count);
            assert_eq!(split.concat(), pairs);
            for (tree, own) in (0..).zip(split) {
                assert!(own.iter().all(|p| trees.of(p.0) == tree));
            }
        }
    }

    /// A root pointer has a line, of the last one no more than its word; a node is one that stood there or one of a pool's blocks.
    #[test]
    fn roots_have_lines_and_nodes_begin_where_they_do() {
        use crate::layout::Layout;
        for count in [1, 2, 5] {
            let mut layout = Layout::default();
            let trees = Trees::new(count, 100);
            let root = layout.pm(trees.roots());
            let planted = Rows::new(&mut layout, 64, 3);
            let pool = Pool::new(&mut layout, 1, 64, 2);
            let nodes = Nodes {
                root,
                trees,
                planted,
                pool,
            };
            assert_eq!(
                (trees.roots(), nodes.roots().at, nodes.roots().len),
                (count * 64, root, (count - 1) * 64 + 8)
            );
            assert_eq!(nodes.tree(count - 1).root.0, root.0 + (count - 1) * 64);
            assert_eq!(planted.span().at.0, root.0 + count * 64);
            let owned = (root.0 - 64..pool.span().at.0 + 4 * 64)
                .step_by(8)
                .filter(|at| nodes.owns(*at));
            let blocks = [(planted.span().at.0, 3), (pool.span().at.0, 2)];
            let expected = blocks.iter().flat_map(|(at, n)| (0..*n).map(move |i| at + i * 64));
            assert!(owned.eq(expected));
        }
        assert_eq!(
            [(0, 5), (7, 5), (1, 0)].map(|(n, keys)| Trees::new(n, keys).count),
            [1, 5, 1]
        );
    }
}
