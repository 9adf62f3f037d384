//! Building a persist-order graph node by node, in effect order.

use super::axiom::Axiom;
use super::persist::{Grain, Lists, LocationId, NodeId, PersistGraph, Version, Write};
use fencepost_kernel::{Addr, Image};
use rustc_hash::FxHashMap;

/// Why a graph could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// An edge against the order in which nodes took effect: the execution contradicts the contract's order.
    #[error("{axiom}: node {from} would have to be durable before node {to}, which took effect earlier")]
    Backward {
        /// The node that must come first.
        from: u32,
        /// The node that must come second.
        to: u32,
        /// The rule.
        axiom: Axiom,
    },
}

/// Collects nodes and edges. Add nodes in effect order; same-location order is added by itself.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    grain: Grain,
    initial: Image,
    nodes: u32,
    writes: Vec<(u32, Write)>,
    edges: Vec<(u32, (NodeId, Axiom))>,
    last: FxHashMap<Addr, NodeId>,
}

impl GraphBuilder {
    /// A graph without nodes over memory that is durable as in `initial`.
    pub fn new(initial: Image, grain: Grain) -> GraphBuilder {
        GraphBuilder {
            grain,
            initial,
            nodes: 0,
            writes: Vec::new(),
            edges: Vec::new(),
            last: FxHashMap::default(),
        }
    }
    /// Memory that is durable before the first node.
    pub fn initial(&self) -> &Image {
        &self.initial
    }
    /// Number of nodes so far: the next node's number.
    pub fn len(&self) -> u32 {
        self.nodes
    }
    /// Whether there is no node yet.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }
    /// Adds a node that writes nothing: a barrier, until [`GraphBuilder::write`] gives it something.
    pub fn node(&mut self) -> NodeId {
        self.nodes += 1;
        NodeId(self.nodes - 1)
    }
    /// Lets the newest node write a location, after every version of it so far, and returns the node of the version
    /// before. A second write of the same node to the location replaces the first.
    pub fn write(&mut self, write: Write) -> Option<NodeId> {
        let node = NodeId(self.nodes - 1);
        let previous = self.last.insert(write.at, node);
        if previous == Some(node) {
            let mine = self.writes.iter_mut().rev().take_while(|w| w.0 == node.0);
            mine.filter(|w| w.1.at == write.at).for_each(|w| w.1 = write);
            return previous;
        }
        if let Some(previous) = previous {
            self.edges.push((node.0, (previous, Axiom::SameWord)));
        }
        self.writes.push((node.0, write));
        previous
    }
    /// `from` may not become durable after `to`.
    pub fn edge(&mut self, from: NodeId, to: NodeId, axiom: Axiom) -> Result<(), GraphError> {
        if from >= to || to.0 >= self.nodes {
            return Err(GraphError::Backward {
                from: from.0,
                to: to.0,
                axiom,
            });
        }
        self.edges.push((to.0, (from, axiom)));
        Ok(())
    }
    /// The finished graph.
    pub fn finish(self) -> PersistGraph {
        let nodes = self.nodes as usize;
        let successors: Vec<_> = self.edges.iter().map(|(to, (from, _))| (from.0, NodeId(*to))).collect();
        let mut locations = FxHashMap::default();
        let mut addresses = Vec::new();
        let mut versions = Vec::with_capacity(self.writes.len());
        for (node, write) in &self.writes {
            let location = *locations.entry(write.at).or_insert_with(|| {
                addresses.push(write.at);
                LocationId(addresses.len() as u32 - 1)
            });
            versions.push((
                location.0,
                Version {
                    node: NodeId(*node),
                    value: write.value,
                },
            ));
        }
        PersistGraph {
            grain: self.grain,
            initial: self.initial,
            writes: Lists::group(nodes, &self.writes),
            predecessors: Lists::group(nodes, &self.edges),
            successors: Lists::group(nodes, &successors),
            versions: Lists::group(addresses.len(), &versions),
            locations,
            addresses,
            nodes,
        }
    }
}
