//! Hardware transactions as nodes: durable whole, in commit order.
//!
//! `loc` (Lu et al., ICCD'14): the crash state is memory after transactions 1..k in commit order, for some k that is
//! at least the number reported durable by `tx_flush`. `kiln` (Zhao et al., MICRO'13): the same, and a commit is
//! durable when it completes, because the last-level cache that it reaches keeps its contents.
//! Stores outside transactions are nodes of their own, ordered by word and line only.

use super::{Rules, SpaceBuilder, entry, store_of};
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{HwThread, StoreId, TraceEvent, TraceKind};

#[derive(Default)]
struct Thread {
    writes: Vec<StoreId>,
    last_commit: Option<NodeId>,
}

/// The rules of transactional contracts.
pub(super) struct Transactions {
    durable_at_commit: bool,
    threads: Vec<Thread>,
    newest: Option<NodeId>,
}

impl Transactions {
    pub(super) fn new(durable_at_commit: bool) -> Transactions {
        Transactions {
            durable_at_commit,
            threads: Vec::new(),
            newest: None,
        }
    }
    fn commit(&mut self, thread: HwThread, space: &mut SpaceBuilder<'_>) {
        let state = entry(&mut self.threads, thread.index());
        let writes = std::mem::take(&mut state.writes);
        if !writes.is_empty() {
            let before = self.newest.map(|n| (n, Axiom::CommitOrder));
            self.newest = Some(space.group(&writes, before.as_slice()));
        }
        state.last_commit = self.newest;
        if let (true, Some(node)) = (self.durable_at_commit, self.newest) {
            space.must(node, Axiom::CommitOrder);
        }
    }
}

impl Rules for Transactions {
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>) {
        let Some(thread) = event.thread else { return };
        let state = entry(&mut self.threads, thread.index());
        match event.kind {
            TraceKind::TxBegin(_) | TraceKind::TxAbort(_) => state.writes.clear(),
            TraceKind::TxCommit(_) => self.commit(thread, space),
            TraceKind::TxFlush => {
                if let Some(node) = state.last_commit {
                    space.must(node, Axiom::Drain);
                }
            }
            kind => {
                let Some(id) = store_of(kind) else { return };
                let info = space.trace.store(id);
                match (info.addr.is_persistent(), info.tx) {
                    (false, _) => {}
                    (true, Some(_)) => state.writes.push(id),
                    (true, None) => {
                        space.store(id, &[]);
                    }
                }
            }
        }
    }
}
