//! Cuts: sets of crash states, as what is known to be in and what is known to be out.

use super::persist::{Grain, LocationId, NodeId, PersistGraph};
use fencepost_kernel::{Addr, Image};

/// A set of crash states: all closed sets that contain every node that is *in* and no node that is *out*.
///
/// `in` is closed under predecessors, `out` under successors, so the set is never empty while they are disjoint,
/// and narrowing is exact: a node that is neither can still be decided either way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    inside: Vec<u64>,
    outside: Vec<u64>,
}

fn get(bits: &[u64], n: NodeId) -> bool {
    bits[n.index() / 64] >> (n.0 % 64) & 1 == 1
}
/// Sets the bit; true if it was clear.
fn set(bits: &mut [u64], n: NodeId) -> bool {
    let (word, bit) = (&mut bits[n.index() / 64], 1u64 << (n.0 % 64));
    let fresh = *word & bit == 0;
    *word |= bit;
    fresh
}

impl Cut {
    /// Whether the node is durable in every state of the cut.
    pub fn is_in(&self, node: NodeId) -> bool {
        get(&self.inside, node)
    }
    /// Whether the node is lost in every state of the cut.
    pub fn is_out(&self, node: NodeId) -> bool {
        get(&self.outside, node)
    }
    /// Whether both states of the node are still possible.
    pub fn is_free(&self, node: NodeId) -> bool {
        !self.is_in(node) && !self.is_out(node)
    }
    /// Number of undecided nodes (barriers included).
    pub fn free_count(&self, graph: &PersistGraph) -> usize {
        let decided: u32 = self.inside.iter().chain(&self.outside).map(|w| w.count_ones()).sum();
        graph.node_count() - decided as usize
    }
    /// Every undecided node, in effect order.
    pub fn free_nodes<'a>(&'a self, graph: &'a PersistGraph) -> impl Iterator<Item = NodeId> + 'a {
        let words = self.inside.iter().zip(&self.outside).enumerate();
        words.flat_map(move |(i, (a, b))| {
            let mut free = !(a | b);
            let nodes = graph.node_count();
            std::iter::from_fn(move || {
                let bit = (free != 0).then(|| free.trailing_zeros())?;
                free &= free - 1;
                Some(NodeId(i as u32 * 64 + bit))
            })
            .take_while(move |n| n.index() < nodes)
        })
    }
    /// Of a location's versions, how many are durable for sure and how many can be (both are prefixes).
    pub fn bounds(&self, graph: &PersistGraph, location: LocationId) -> (usize, usize) {
        let versions = graph.versions(location);
        let sure = versions.partition_point(|v| self.is_in(v.node));
        let possible = sure + versions[sure..].partition_point(|v| !self.is_out(v.node));
        (sure, possible)
    }
}

impl PersistGraph {
    /// The cut of every crash state of the complete execution.
    pub fn all_states(&self) -> Cut {
        let words = self.node_count().div_ceil(64);
        Cut {
            inside: vec![0; words],
            outside: vec![0; words],
        }
    }
    /// The cut in which nodes from `executed` on have not happened; `executed` counts nodes in effect order.
    pub fn executed(&self, executed: u32) -> Cut {
        let mut cut = self.all_states();
        for (i, word) in cut.outside.iter_mut().enumerate() {
            let first = (i * 64) as u32;
            *word = match executed.saturating_sub(first) {
                0 => u64::MAX,
                n if n >= 64 => 0,
                n => u64::MAX << n,
            };
        }
        cut.trim(self.node_count());
        cut
    }
    /// Narrows to the states in which `node` is durable: its predecessors come in with it.
    ///
    /// `node` must not be out.
    pub fn include(&self, cut: &mut Cut, node: NodeId) {
        debug_assert!(!cut.is_out(node), "included a lost node");
        self.include_noting(cut, node, |_| {});
    }
    /// As [`PersistGraph::include`]; calls `note` with every node that was not in before.
    pub fn include_noting(&self, cut: &mut Cut, node: NodeId, mut note: impl FnMut(NodeId)) {
        let mut work = Vec::new();
        if set(&mut cut.inside, node) {
            work.push(node);
        }
        while let Some(n) = work.pop() {
            note(n);
            for (p, _) in self.predecessors(n) {
                if set(&mut cut.inside, *p) {
                    work.push(*p);
                }
            }
        }
    }
    /// Narrows to the states in which `node` is lost: its successors go out with it.
    ///
    /// `node` must not be in.
    pub fn exclude(&self, cut: &mut Cut, node: NodeId) {
        debug_assert!(!cut.is_in(node), "excluded a durable node");
        self.exclude_noting(cut, node, |_| {});
    }
    /// As [`PersistGraph::exclude`]; calls `note` with every node that was not out before.
    pub fn exclude_noting(&self, cut: &mut Cut, node: NodeId, mut note: impl FnMut(NodeId)) {
        let mut work = Vec::new();
        if set(&mut cut.outside, node) {
            work.push(node);
        }
        while let Some(n) = work.pop() {
            note(n);
            for s in self.successors(n) {
                if set(&mut cut.outside, *s) {
                    work.push(*s);
                }
            }
        }
    }
    /// Whether `a` becomes durable no later than `b` in every crash state (by traversal; for reports and tests).
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        if a > b {
            return false;
        }
        let mut cut = self.all_states();
        self.include(&mut cut, b);
        cut.is_in(a)
    }
    /// Memory after a crash in the cut's smallest state: everything in, nothing else.
    pub fn smallest_image(&self, cut: &Cut) -> Image {
        self.image_of(|n| cut.is_in(n))
    }
    /// The aligned word at `at` in that memory, for whoever needs few of them.
    pub fn smallest_word(&self, cut: &Cut, at: Addr) -> u64 {
        let newest = |at: Addr| {
            let location = self.location(at)?;
            let (durable, _) = cut.bounds(self, location);
            Some(self.versions(location)[..durable].last()?.value)
        };
        let value = |at: Addr| newest(at).unwrap_or_else(|| self.initial_value(at));
        match self.grain() {
            Grain::Byte => (0..8).fold(0, |word, i| word | value(Addr(at.0 + i)) << (8 * i)),
            Grain::Word | Grain::Line => value(at),
        }
    }
    /// Memory after a crash in the cut's largest state: everything but what is out.
    pub fn largest_image(&self, cut: &Cut) -> Image {
        self.image_of(|n| !cut.is_out(n))
    }
    /// Memory after a crash that left exactly the nodes for which `durable` holds; they must be a closed set.
    pub fn image_of(&self, durable: impl Fn(NodeId) -> bool) -> Image {
        let mut image = self.initial().clone();
        for w in self.nodes().filter(|n| durable(*n)).flat_map(|n| self.writes(n)) {
            let value = match self.grain() {
                Grain::Byte => {
                    let shift = w.at.0 % 8 * 8;
                    image.word(w.at) & !(0xff << shift) | w.value << shift
                }
                Grain::Word | Grain::Line => w.value,
            };
            image.set_word(w.at, value, w.store);
        }
        image
    }
}

impl Cut {
    /// Takes over what is out of `other`.
    pub(super) fn add_outside(&mut self, other: &Cut) {
        self.outside.iter_mut().zip(&other.outside).for_each(|(a, b)| *a |= b);
    }
    /// Clears the bits beyond the last node.
    fn trim(&mut self, nodes: usize) {
        if !nodes.is_multiple_of(64) {
            let mask = (1u64 << (nodes % 64)) - 1;
            for bits in [&mut self.inside, &mut self.outside] {
                if let Some(last) = bits.last_mut() {
                    *last &= mask;
                }
            }
        }
    }
}
