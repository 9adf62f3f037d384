//! Brute force: every crash state one by one, from the graph's own definition of a closed set, on images of memory.
//!
//! It knows nothing of paths, merging or covering, and is what the explorer is held to.

use super::explorer::Explorer;
use super::on_image::{AnyOracle, Walk};
use super::watch::Watch;
use crate::graph::{CrashSpace, Cut, NodeId};
use fencepost_kernel::{CrashPoint, Image};

/// Free nodes of a failure point beyond which their subsets are not gone through.
const MOST_FREE: usize = 20;

/// What brute force says of one failure point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enumerated {
    /// Number of closed sets of writing nodes.
    pub states: u128,
    /// Fewest nodes by which a broken state deviates from one of the two ends.
    pub fewest: Option<u32>,
}

/// Tries every crash state of every failure point; `None` where that would be more than `most` sets of nodes, closed or not, of all
/// points together. `broken` says whether recovery fails on an image.
pub fn enumerate(
    space: &CrashSpace,
    most: u64,
    mut broken: impl FnMut(&Image, &CrashPoint) -> bool,
) -> Option<Vec<Enumerated>> {
    let free = |cut: &Cut| -> Vec<NodeId> {
        let nodes = cut.free_nodes(&space.graph);
        nodes.filter(|n| !space.graph.is_barrier(*n)).collect()
    };
    let mut sets = 0;
    for (_, cut) in space.cuts() {
        let nodes = free(&cut).len();
        if nodes > MOST_FREE {
            return None;
        }
        sets += 1u64 << nodes;
        if sets > most {
            return None;
        }
    }
    let points = space.cuts().map(|(point, cut)| {
        let free = free(&cut);
        one_point(space, &cut, &free, |image| broken(image, &point.crash))
    });
    Some(points.collect())
}

fn one_point(space: &CrashSpace, cut: &Cut, free: &[NodeId], mut broken: impl FnMut(&Image) -> bool) -> Enumerated {
    let graph = &space.graph;
    let before = |b: &NodeId| {
        let older = (0..free.len()).filter(|a| graph.is_before(free[*a], *b));
        older.fold(0, |mask: u32, a| mask | 1 << a)
    };
    let before: Vec<u32> = free.iter().map(before).collect();
    let mut found = Enumerated::default();
    for set in 0..1u32 << free.len() {
        if (0..free.len()).any(|i| set >> i & 1 == 1 && before[i] & !set != 0) {
            continue;
        }
        found.states += 1;
        let durable = |n| match free.binary_search(&n) {
            Ok(i) => set >> i & 1 == 1,
            Err(_) => cut.is_in(n),
        };
        if broken(&graph.image_of(durable)) {
            let deviations = set.count_ones().min(free.len() as u32 - set.count_ones());
            found.fewest = Some(found.fewest.map_or(deviations, |f| f.min(deviations)));
        }
    }
    found
}

impl Explorer<'_> {
    /// Recovers and audits every crash state of this explorer's execution by brute force; see [`enumerate`].
    pub fn enumerate(&self, oracle: &dyn AnyOracle, most: u64) -> Option<Vec<Enumerated>> {
        enumerate(self.space, most, |image, crash| {
            let mut watch = Watch::new();
            watch.extent = self.extent;
            oracle.recover(image, crash, (watch, Walk::Whole, None)).0.is_err()
        })
    }
}
