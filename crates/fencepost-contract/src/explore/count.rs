//! Counting crash states without listing them.

use super::known::{Known, Status};
use std::rc::Rc;

/// Counts the closed sets of a partial order by splitting it: unconnected parts multiply; a node is durable or not;
/// a barrier has all of its past durable, or nothing of its future, or (counted in both) exactly that.
pub(crate) struct Counter {
    /// Nodes that may still be looked at, over all failure points.
    effort: u64,
    stamp: Vec<u32>,
    epoch: u32,
}

impl Counter {
    /// A counter that gives up after looking at about `effort` nodes.
    pub(crate) fn new(effort: u64) -> Counter {
        Counter {
            effort,
            stamp: Vec::new(),
            epoch: 0,
        }
    }
    /// Number of crash states of the failure point at which `known` stands; `None` if it takes too long or does not
    /// fit. A state is a set of durable nodes; `known` is left as it was.
    pub(crate) fn count(&mut self, known: &mut Known) -> Option<u128> {
        self.stamp.resize(known.order().nodes() as usize, 0);
        let free = known.open().to_vec();
        self.count_free(known, &free)
    }
    /// Closed sets over those of `nodes` (in effect order) that are free; all else is decided or unconnected.
    fn count_free(&mut self, known: &mut Known, nodes: &[u32]) -> Option<u128> {
        self.parts(known, nodes)?
            .iter()
            .try_fold(1u128, |n, part| n.checked_mul(self.count_part(known, part)?))
    }
    fn is_free(known: &Known, node: u32) -> bool {
        known.status(crate::graph::NodeId(node)) == Status::Free
    }
    /// The connected parts of the free nodes, each in effect order.
    fn parts(&mut self, known: &Known, nodes: &[u32]) -> Option<Vec<Vec<u32>>> {
        self.effort = self.effort.checked_sub(nodes.len() as u64)?;
        self.epoch += 1;
        let order = known.order();
        let mut parts = Vec::new();
        for &first in nodes {
            if !Self::is_free(known, first) || self.stamp[first as usize] == self.epoch {
                continue;
            }
            self.stamp[first as usize] = self.epoch;
            let (mut part, mut next) = (vec![first], 0);
            while next < part.len() {
                for &m in order.before(part[next]).iter().chain(order.after(part[next])) {
                    if Self::is_free(known, m) && self.stamp[m as usize] != self.epoch {
                        self.stamp[m as usize] = self.epoch;
                        part.push(m);
                    }
                }
                next += 1;
            }
            part.sort_unstable();
            parts.push(part);
        }
        Some(parts)
    }
    fn count_part(&mut self, known: &mut Known, part: &[u32]) -> Option<u128> {
        let order = Rc::clone(known.order());
        let stores: Vec<u32> = part.iter().copied().filter(|n| !order.is_barrier(*n)).collect();
        if stores.windows(2).all(|w| order.before(w[1]).contains(&w[0])) {
            return Some(stores.len() as u128 + 1);
        }
        let has_free = |nodes: &[u32]| nodes.iter().any(|n| Self::is_free(known, *n));
        let splits = |n: &u32| order.is_barrier(*n) && has_free(order.before(*n)) && has_free(order.after(*n));
        let barriers: Vec<u32> = part.iter().copied().filter(splits).collect();
        match barriers.get(barriers.len() / 2) {
            Some(barrier) => {
                let past = self.count_after(known, part, |k| k.include(*barrier))?;
                let future = self.count_after(known, part, |k| k.exclude(*barrier))?;
                let both = self.count_after(known, part, |k| {
                    order.before(*barrier).iter().for_each(|n| k.include(*n));
                    order.after(*barrier).iter().for_each(|n| k.exclude(*n));
                })?;
                past.checked_add(future)?.checked_sub(both)
            }
            None => {
                let pivot = stores[stores.len() / 2];
                let durable = self.count_after(known, part, |k| k.include(pivot))?;
                let lost = self.count_after(known, part, |k| k.exclude(pivot))?;
                durable.checked_add(lost)
            }
        }
    }
    fn count_after(&mut self, known: &mut Known, part: &[u32], decide: impl Fn(&mut Known)) -> Option<u128> {
        let mark = known.mark();
        decide(known);
        let count = self.count_free(known, part);
        known.undo_to(mark);
        count
    }
}
