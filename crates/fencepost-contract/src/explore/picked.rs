//! Some crash states of an execution, picked to be looked at one by one: at each moment the two ends, and a store early or late.

use super::explorer::Explorer;
use super::on_image::{AnyOracle, Walk};
use super::watch::Watch;
use crate::graph::{Cut, FailurePoint, NodeId};
use fencepost_kernel::{StoreId, Violation};

/// How a crash state was picked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Only what must be durable is.
    Least,
    /// All that may be durable is.
    Most,
    /// Beside what must be durable, this store is, with those that come before it.
    Early(StoreId),
    /// All that may be durable is, but this store and those that come after it.
    Late(StoreId),
}

/// A crash state, and what recovery makes of it.
#[derive(Clone, Debug)]
pub struct Picked {
    /// How it was picked.
    pub pick: Pick,
    /// Stores that are durable in it although nothing forced them.
    pub durable: Vec<StoreId>,
    /// Stores that had executed and are lost.
    pub lost: Vec<StoreId>,
    /// What recovery and the audit say.
    pub verdict: Result<(), Violation>,
}

/// A moment at which the power may fail, with some of its crash states.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Number of trace events that have happened.
    pub event: usize,
    /// The states; of equal ones the first.
    pub states: Vec<Picked>,
}

impl Explorer<'_> {
    /// Crash states of at most so many moments, evenly spread (the last always among them), at most `each` of a moment: the newest
    /// stores are those that come early or late. Recovers and audits every one of them.
    pub fn picked(&self, oracle: &dyn AnyOracle, moments: usize, each: usize) -> Vec<Moment> {
        let points = self.space.points.len();
        let step = points.div_ceil(moments.max(1)).max(1);
        let chosen = self.space.cuts().enumerate();
        chosen
            .filter(|(i, _)| (points - 1 - i).is_multiple_of(step))
            .map(|(_, (point, cut))| Moment {
                event: point.event,
                states: self.of_moment(oracle, (point, &cut), each),
            })
            .collect()
    }

    fn of_moment(&self, oracle: &dyn AnyOracle, (point, cut): (&FailurePoint, &Cut), each: usize) -> Vec<Picked> {
        let graph = &self.space.graph;
        let free: Vec<NodeId> = cut.free_nodes(graph).filter(|n| !graph.is_barrier(*n)).collect();
        let stores = |n: &NodeId| {
            let mut of: Vec<StoreId> = graph.writes(*n).iter().filter_map(|w| w.store).collect();
            of.dedup();
            of
        };
        let mut picks = vec![(Pick::Least, vec![]), (Pick::Most, free.clone())];
        for node in free.iter().rev() {
            let Some(store) = stores(node).first().copied() else {
                continue;
            };
            let (mut early, mut late) = (cut.clone(), cut.clone());
            graph.include(&mut early, *node);
            graph.exclude(&mut late, *node);
            let of = |keeps: &dyn Fn(NodeId) -> bool| free.iter().copied().filter(|n| keeps(*n)).collect();
            for pick in [
                (Pick::Early(store), of(&|n| early.is_in(n))),
                (Pick::Late(store), of(&|n| !late.is_out(n))),
            ] {
                if picks.len() < each && picks.iter().all(|p| p.1 != pick.1) {
                    picks.push(pick);
                }
            }
            if picks.len() >= each {
                break;
            }
        }
        picks.dedup_by(|a, b| a.1 == b.1);
        let one = |(pick, durable): (Pick, Vec<NodeId>)| {
            let is_durable = |n: &NodeId| durable.binary_search(n).is_ok();
            let image = graph.image_of(|n| cut.is_in(n) || is_durable(&n));
            let mut watch = Watch::new();
            watch.extent = self.extent;
            let lost = free.iter().filter(|n| !is_durable(n));
            Picked {
                pick,
                lost: lost.flat_map(stores).collect(),
                durable: durable.iter().flat_map(stores).collect(),
                verdict: oracle.recover(&image, &point.crash, (watch, Walk::Whole, None)).0,
            }
        };
        picks.into_iter().map(one).collect()
    }
}
