//! What orders the stores of a crash state: the contract, and what threads saw of one another.

use crate::graph::{Axiom, CrashSpace, NodeId};
use fencepost_kernel::StoreId;
use std::collections::{BTreeMap, BTreeSet};

/// Two stores of a crash state of which the first comes before the second.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The first.
    pub before: StoreId,
    /// The second.
    pub after: StoreId,
    /// The rule by which it becomes durable first; `None` where its thread only saw it before it stored.
    pub rule: Option<Axiom>,
}

/// The edges among stores, without those that follow from others. Stores come with the nodes that hold them.
pub(super) fn edges(space: &CrashSpace, stores: &[(NodeId, StoreId)]) -> Vec<Edge> {
    let mut out: Vec<Edge> = Vec::new();
    let rules: BTreeMap<(StoreId, StoreId), Axiom> = persists(space, stores);
    for (before, after) in reduced(rules.keys().copied().collect()) {
        let rule = rules.get(&(before, after)).copied();
        out.push(Edge { before, after, rule });
    }
    let seen = || stores.iter().flat_map(|a| stores.iter().map(move |b| (a.1, b.1)));
    let seen = seen().filter(|(a, b)| a != b && space.history.saw(*a, *b)).collect();
    let across = reduced(seen)
        .into_iter()
        .filter(|(a, b)| space.history.thread_of(*a) != space.history.thread_of(*b));
    out.extend(across.map(|(before, after)| Edge {
        before,
        after,
        rule: None,
    }));
    out
}

/// Pairs that the contract orders, each with the rule of its last step. Nodes between them may be barriers or other stores.
fn persists(space: &CrashSpace, stores: &[(NodeId, StoreId)]) -> BTreeMap<(StoreId, StoreId), Axiom> {
    let mut of: BTreeMap<NodeId, Vec<StoreId>> = BTreeMap::new();
    stores.iter().for_each(|(n, s)| of.entry(*n).or_default().push(*s));
    let mut out = BTreeMap::new();
    for (node, store) in stores {
        let mut passed: BTreeSet<NodeId> = BTreeSet::new();
        let mut open: Vec<(NodeId, Axiom)> = space.graph.predecessors(*node).to_vec();
        while let Some((at, rule)) = open.pop() {
            if !passed.insert(at) {
                continue;
            }
            for before in of.get(&at).into_iter().flatten().filter(|b| *b != store) {
                out.insert((*before, *store), rule);
            }
            open.extend(space.graph.predecessors(at).iter().map(|p| (p.0, rule)));
        }
    }
    out
}

/// Pairs of an order without those that two others make.
fn reduced(pairs: BTreeSet<(StoreId, StoreId)>) -> Vec<(StoreId, StoreId)> {
    let between = |a: StoreId, b: StoreId| pairs.iter().any(|p| p.0 == a && p.1 != b && pairs.contains(&(p.1, b)));
    pairs.iter().copied().filter(|(a, b)| !between(*a, *b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_follows_from_two_others_is_left_out() {
        let id = |n| StoreId::from_index(n).unwrap();
        let pairs = [(0, 1), (1, 2), (0, 2), (0, 3)].map(|(a, b)| (id(a), id(b)));
        assert_eq!(
            reduced(pairs.into()),
            [(0, 1), (0, 3), (1, 2)].map(|(a, b)| (id(a), id(b)))
        );
    }
}
