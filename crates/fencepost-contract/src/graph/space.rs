//! All crash states of one execution: the graph and the moments at which the power may fail.

use super::axiom::Axiom;
use super::cut::Cut;
use super::history::History;
use super::persist::{NodeId, PersistGraph};
use fencepost_kernel::CrashPoint;
use std::ops::Range;

/// A moment at which the power may fail.
///
/// Between two growths of the must-set only the last moment matters: it has the most executed stores and the most
/// acknowledged operations, and the same must-set, so every earlier crash state is one of its own, judged as hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailurePoint {
    /// Number of trace events that have happened.
    pub event: usize,
    /// Number of nodes that have happened (nodes from this number on are out).
    pub executed: u32,
    /// The part of [`CrashSpace::must`] that became durable for sure since the previous point.
    pub newly_must: Range<usize>,
    /// Operations begun and acknowledged, per thread.
    pub crash: CrashPoint,
}

/// A node that is durable for sure from some moment on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Must {
    /// The node; its predecessors are durable with it.
    pub node: NodeId,
    /// The rule that says so.
    pub axiom: Axiom,
    /// Index of the trace event that completed it.
    pub event: usize,
}

/// Everything a power failure may leave behind of one execution under one contract.
#[derive(Clone, Debug)]
pub struct CrashSpace {
    /// The persist order.
    pub graph: PersistGraph,
    /// Nodes that became durable for sure, in the order in which they did.
    pub must: Vec<Must>,
    /// the moments to try, in time order; the last is the end of the execution.
    pub points: Vec<FailurePoint>,
    /// The node of each store of the execution; `None` for stores to volatile memory that carry no order and for
    /// stores of transactions that never committed. At byte grain: the node after all bytes of the store.
    pub node_of: Vec<Option<NodeId>>,
    /// What the execution did beside its stores.
    pub history: History,
}

impl CrashSpace {
    /// Every moment with the cut of its crash states, in time order.
    pub fn cuts(&self) -> impl Iterator<Item = (&FailurePoint, Cut)> + '_ {
        let mut sure = self.graph.all_states();
        self.points.iter().map(move |point| {
            for must in &self.must[point.newly_must.clone()] {
                self.graph.include(&mut sure, must.node);
            }
            (point, sure.clone().with_executed(&self.graph, point.executed))
        })
    }
}

impl Cut {
    /// The same cut, with every node from `executed` on out.
    fn with_executed(mut self, graph: &PersistGraph, executed: u32) -> Cut {
        let limit = graph.executed(executed);
        self.add_outside(&limit);
        self
    }
}
