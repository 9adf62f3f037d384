//! What dependences add to fence cumulativity: group GB is closed forwards through reads-from and dependences.
//!
//! In the relations, PMO = (co | (prop;hb* & W x W))+ with hb = ppo | fence | rfe: whatever a fence ordered before a
//! store is ordered before every store that depends on a read of it, in any number of hops. Each store therefore has a
//! node that stands for all that is before it by fences (`after`), and a read hands the node on to what depends on it.
//! A full fence of the reading thread folds all of this into the thread's closed epochs, so it is kept for open ones
//! only.

use super::SpaceBuilder;
use crate::graph::{Axiom, NodeId};
use fencepost_kernel::{Addr, StoreId};
use rustc_hash::FxHashMap;

/// Of every store, what fences and dependences put before it, and by way of it before what depends on a read of it.
#[derive(Default)]
pub(super) struct Behind(Vec<Option<NodeId>>);

impl Behind {
    fn of(&self, store: StoreId) -> Option<NodeId> {
        self.0.get(store.index()).copied().flatten()
    }
    fn set(&mut self, store: StoreId, after: Option<NodeId>) {
        *super::entry(&mut self.0, store.index()) = after;
    }
}

/// What the reads of one thread since its last full fence are ordered after, beyond the thread's closed epochs.
#[derive(Default)]
pub(super) struct Reads {
    /// By event.
    of_event: FxHashMap<u32, NodeId>,
    /// Of the thread's newest access to a word, and the version it read or wrote.
    of_word: FxHashMap<Addr, (Option<StoreId>, NodeId)>,
}

impl Reads {
    /// A full fence completed.
    pub(super) fn fold(&mut self) {
        self.of_event.clear();
        self.of_word.clear();
    }

    /// The thread, whose closed epochs are `closed`, stores. Returns the node that the store comes after.
    pub(super) fn store(
        &mut self,
        id: StoreId,
        closed: Option<NodeId>,
        behind: &mut Behind,
        space: &mut SpaceBuilder<'_>,
    ) -> Option<(NodeId, Axiom)> {
        let mut parts = self.needed(space, closed);
        // What a read-modify-write stores comes of what it reads.
        if let Some(node) = self.of_event.get(&space.event()) {
            add(&mut parts, *node, closed);
        }
        if parts.is_empty() {
            behind.set(id, closed);
            return closed.map(|n| (n, Axiom::FenceCumulativity));
        }
        parts.extend(closed.map(|n| (n, Axiom::FenceCumulativity)));
        let after = space.barrier(&parts);
        behind.set(id, Some(after));
        let word = space.trace.store(id).addr.word();
        self.of_word.insert(word, (Some(id), after));
        Some((after, Axiom::Dependence))
    }

    /// The thread reads a word; `external` if another thread wrote what it reads, since the last fence.
    pub(super) fn read(
        &mut self,
        addr: Addr,
        from: Option<StoreId>,
        external: bool,
        closed: Option<NodeId>,
        behind: &Behind,
        space: &mut SpaceBuilder<'_>,
    ) {
        if space.trace.dependences.is_empty() {
            return;
        }
        let mut parts = self.needed(space, closed);
        let source = from.filter(|_| external).and_then(|s| behind.of(s));
        // Forwarding hands on what the thread's own store depends on (rfi after a dependence); a version that another
        // thread wrote after the thread's last access to the word comes behind that access (rdw, detour).
        let own = self.of_word.get(&addr.word()).filter(|w| external || w.0 == from);
        for node in source.into_iter().chain(own.map(|w| w.1)) {
            add(&mut parts, node, closed);
        }
        if !parts.is_empty() {
            let after = space.barrier(&parts);
            self.of_event.insert(space.event(), after);
            self.of_word.insert(addr.word(), (from, after));
        }
    }

    /// What the reads that the current event depends on are ordered after.
    fn needed(&self, space: &SpaceBuilder<'_>, closed: Option<NodeId>) -> Vec<(NodeId, Axiom)> {
        let mut parts = Vec::new();
        for dependence in space.depends_on() {
            if let Some(node) = self.of_event.get(&dependence.on) {
                add(&mut parts, *node, closed);
            }
        }
        parts
    }
}

fn add(parts: &mut Vec<(NodeId, Axiom)>, node: NodeId, closed: Option<NodeId>) {
    let part = (node, Axiom::Dependence);
    if Some(node) != closed && !parts.contains(&part) {
        parts.push(part);
    }
}
