//! One crash state by its replay id.

use super::words::Words;
use crate::explore::order::Order;
use crate::explore::{Deviation, ReplayId};
use crate::graph::{CrashSpace, Cut, NodeId};
use fencepost_kernel::CrashPoint;

/// Why an id names no crash state of an execution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The persist order is another one.
    #[error("the replay id belongs to another log or contract: the persist order differs")]
    OtherOrder,
    /// The failure point does not exist, or the set is no crash state there.
    #[error("the replay id names no crash state of this log")]
    NoState,
}

/// The cut of all crash states of a failure point.
pub(super) fn cut_at(space: &CrashSpace, point: usize) -> Option<Cut> {
    space.cuts().nth(point).map(|(_, cut)| cut)
}

/// Writing nodes that the cut leaves open, in effect order.
pub(super) fn open(space: &CrashSpace, cut: &Cut) -> Vec<NodeId> {
    let graph = &space.graph;
    cut.free_nodes(graph).filter(|n| !graph.is_barrier(*n)).collect()
}

/// The id of the state in which exactly the open nodes with `durable` are durable.
pub(super) fn id_of(space: &CrashSpace, point: usize, durable: &[NodeId], lost: &[NodeId]) -> ReplayId {
    let (deviation, nodes) = match durable.len() <= lost.len() {
        true => (Deviation::Persisted, durable),
        false => (Deviation::Missing, lost),
    };
    ReplayId {
        point: point as u32,
        deviation,
        nodes: nodes.to_vec(),
        digest: Order::new(&space.graph).digest() as u32,
    }
}

/// A crash state as bytes: words that differ from the memory before the execution, and what had happened.
pub(super) type StateBytes = (Vec<(u64, u64)>, CrashPoint);

impl super::ImageJob {
    /// The crash state that an id names.
    ///
    /// # Errors
    /// An id of another log, contract or version.
    pub fn replay(space: &CrashSpace, id: &ReplayId) -> Result<StateBytes, StateError> {
        if id.digest != Order::new(&space.graph).digest() as u32 {
            return Err(StateError::OtherOrder);
        }
        let point = id.point as usize;
        let mut cut = cut_at(space, point).ok_or(StateError::NoState)?;
        for node in open(space, &cut) {
            let durable = id.nodes.contains(&node) == (id.deviation == Deviation::Persisted);
            match durable {
                true if cut.is_out(node) => return Err(StateError::NoState),
                false if cut.is_in(node) => return Err(StateError::NoState),
                true => space.graph.include(&mut cut, node),
                false => space.graph.exclude(&mut cut, node),
            }
        }
        let words = Words::new(&space.graph);
        let values = words.largest(&space.graph, &cut);
        Ok((words.changes(&values), space.points[point].crash.clone()))
    }
}
