//! What is durable so far, and how many direct predecessors each node still waits for.

use crate::graph::{Axiom, CrashSpace, NodeId, PersistGraph};
use fencepost_kernel::{StoreId, Trace};

use super::{Link, Refusal, StoreAt};

/// The token game on a persist graph: a node whose predecessors are all settled may settle. Barriers do by themselves.
pub(super) struct Settled<'s> {
    graph: &'s PersistGraph,
    waiting: Vec<u32>,
    settled: Vec<bool>,
    work: Vec<NodeId>,
    /// Everything settled so far, in order.
    history: Vec<NodeId>,
}

impl<'s> Settled<'s> {
    pub(super) fn new(graph: &'s PersistGraph) -> Settled<'s> {
        let waiting: Vec<u32> = graph.nodes().map(|n| graph.predecessors(n).len() as u32).collect();
        let mut state = Settled {
            graph,
            settled: vec![false; waiting.len()],
            waiting,
            work: Vec::new(),
            history: Vec::new(),
        };
        for n in graph.nodes() {
            if !state.settled[n.index()] && state.waiting[n.index()] == 0 && graph.is_barrier(n) {
                state.settle(n);
            }
        }
        state
    }
    pub(super) fn is_settled(&self, node: NodeId) -> bool {
        self.settled[node.index()]
    }
    pub(super) fn is_ready(&self, node: NodeId) -> bool {
        self.waiting[node.index()] == 0
    }
    /// Settles a ready node, and every barrier that waited for nothing else.
    pub(super) fn settle(&mut self, node: NodeId) {
        self.settled[node.index()] = true;
        self.work.push(node);
        while let Some(n) = self.work.pop() {
            self.history.push(n);
            for s in self.graph.successors(n) {
                let waiting = &mut self.waiting[s.index()];
                *waiting -= 1;
                if *waiting == 0 && self.graph.is_barrier(*s) {
                    self.settled[s.index()] = true;
                    self.work.push(*s);
                }
            }
        }
    }
    /// A position to come back to.
    pub(super) fn position(&self) -> usize {
        self.history.len()
    }
    /// Unsettles everything since `position`.
    pub(super) fn undo_to(&mut self, position: usize) {
        for n in self.history.drain(position..) {
            self.settled[n.index()] = false;
            for s in self.graph.successors(n) {
                self.waiting[s.index()] += 1;
            }
        }
    }
    /// The nearest unsettled store before `node`, or itself, with the chain of rules from there to `node`.
    pub(super) fn missing_before(&self, node: NodeId) -> (NodeId, Vec<(NodeId, Axiom)>) {
        let mut reached: Vec<(NodeId, Option<(usize, Axiom)>)> = vec![(node, None)];
        let mut next = 0;
        while next < reached.len() {
            let (n, _) = reached[next];
            if next > 0 && !self.graph.is_barrier(n) {
                break;
            }
            for (p, axiom) in self.graph.predecessors(n) {
                if !self.is_settled(*p) {
                    reached.push((*p, Some((next, *axiom))));
                }
            }
            next += 1;
        }
        let mut at = next.min(reached.len() - 1);
        let missing = reached[at].0;
        let mut chain = Vec::new();
        while let Some((to, axiom)) = reached[at].1 {
            chain.push((reached[to].0, axiom));
            at = to;
        }
        (missing, chain)
    }
}

/// Turns nodes into stores for messages.
pub(super) struct Names<'t> {
    trace: &'t Trace,
    store_of: Vec<Option<StoreId>>,
}
impl<'t> Names<'t> {
    pub(super) fn new(trace: &'t Trace, space: &CrashSpace) -> Names<'t> {
        let mut store_of = vec![None; space.graph.node_count()];
        for (i, node) in space.node_of.iter().enumerate() {
            if let Some(node) = node {
                store_of[node.index()] = StoreId::from_index(i);
            }
        }
        Names { trace, store_of }
    }
    pub(super) fn store(&self, node: NodeId) -> Option<StoreAt> {
        self.store_of[node.index()].map(|s| StoreAt::of(self.trace, s))
    }
    /// The refusal for a node that became durable before the missing one.
    pub(super) fn order(&self, missing: NodeId, chain: &[(NodeId, Axiom)], event: usize) -> Option<Refusal> {
        let links = chain.iter().map(|(to, axiom)| Link {
            axiom: *axiom,
            to: self.store(*to),
        });
        Some(Refusal::Order {
            missing: self.store(missing)?,
            chain: links.collect(),
            event,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Settled;
    use crate::contracts::{Contract, ContractKind};
    use crate::graph::NodeId;
    use crate::recorded::parse;
    use fencepost_kernel::{Image, Stream};

    /// Threads that store to a few lines, read each other's, and put barriers between.
    fn events(rng: &mut Stream) -> String {
        let mut text = "fencepost-log 1\n".to_owned();
        for _ in 0..20 {
            let (thread, at) = (rng.below(2), rng.below(4) * 64);
            let next = match rng.below(6) {
                0..=2 => format!("{thread} store pm+{at} 1"),
                3 => format!("{thread} load pm+{at}"),
                4 => format!("{thread} persist-barrier"),
                _ => format!("{thread} dmb"),
            };
            text.push_str(&next);
            text.push('\n');
        }
        text
    }

    #[test]
    fn what_is_taken_back_leaves_nothing_behind() {
        let mut rng = Stream::new(1, "settled and taken back");
        let kinds = [ContractKind::Epoch, ContractKind::Rcbsp, ContractKind::Strand];
        let (mut taken_back, mut barriers) = (0, 0);
        for i in 0..300 {
            let log = parse(&events(&mut rng)).expect("a log");
            let space = Contract::from(kinds[i % 3]).space(&log.trace, &Image::default());
            let graph = &space.graph;
            let stores: Vec<NodeId> = graph.nodes().filter(|n| !graph.is_barrier(*n)).collect();
            let mut state = Settled::new(graph);
            // What was settled, and the positions before each.
            let mut chosen: Vec<(usize, NodeId)> = Vec::new();
            for _ in 0..30 {
                if !chosen.is_empty() && rng.chance(1, 3) {
                    let first = rng.below(chosen.len() as u64) as usize;
                    let position = chosen[first].0;
                    barriers += state.position() - position - (chosen.len() - first);
                    taken_back += chosen.len() - first;
                    state.undo_to(position);
                    chosen.truncate(first);
                } else {
                    let ready = |n: &&NodeId| state.is_ready(**n) && !state.is_settled(**n);
                    let ready: Vec<_> = stores.iter().filter(ready).copied().collect();
                    let Some(node) = ready.get(rng.below(ready.len().max(1) as u64) as usize) else {
                        continue;
                    };
                    chosen.push((state.position(), *node));
                    state.settle(*node);
                }
                let mut anew = Settled::new(graph);
                chosen.iter().for_each(|(_, n)| anew.settle(*n));
                assert_eq!((&state.waiting, &state.settled), (&anew.waiting, &anew.settled));
            }
        }
        assert!(
            taken_back > 1000 && barriers > 100,
            "{taken_back} stores and {barriers} barriers"
        );
    }
}
