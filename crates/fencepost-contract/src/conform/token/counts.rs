//! What a check counts.

use super::super::{ConformReport, Demands, Refusal, Reordering};
use super::Check;
use crate::graph::NodeId;

impl Check<'_> {
    /// Counts members of the batch that overtook an older store.
    pub(super) fn count_reorderings(&mut self) {
        let graph = &self.space.graph;
        let passed = |n: NodeId| graph.is_barrier(n) || self.settled.is_settled(n);
        while self.oldest < graph.node_count() && passed(NodeId(self.oldest as u32)) {
            self.oldest += 1;
        }
        for i in 0..self.batch.len() {
            let node = self.batch[i];
            if node.index() > self.oldest {
                self.report.reordered += 1;
                if self.report.example.is_none() {
                    let older = self.store_at(NodeId(self.oldest as u32));
                    let pair = older.zip(self.store_at(node));
                    self.report.example = pair.map(|(older, younger)| Reordering { older, younger });
                }
            }
            let thread = graph.writes(node)[0].thread.index();
            let (nodes, oldest) = &mut self.by_thread[thread];
            while nodes.get(*oldest).is_some_and(|n| self.settled.is_settled(*n)) {
                *oldest += 1;
            }
            self.report.reordered_in_thread += u64::from(nodes.get(*oldest).is_some_and(|o| node > *o));
        }
    }

    /// What was counted, and whether all is durable that has to be.
    pub(super) fn finish(&mut self, demands: Demands) -> Result<ConformReport, Box<Refusal>> {
        let graph = &self.space.graph;
        let waits = |n: &NodeId| !graph.is_barrier(*n) && !self.settled.is_settled(*n);
        let mut lost = graph.nodes().filter(waits);
        if let Some(first) = lost.next() {
            self.report.pending = 1 + lost.count() as u64;
            if let (true, Some(first)) = (demands.complete, self.store_at(first)) {
                let count = self.report.pending;
                return Err(Box::new(Refusal::Lost { first, count }));
            }
        }
        Ok(std::mem::take(&mut self.report))
    }
}
