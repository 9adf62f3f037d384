//! From an execution to its crash space: walks the trace, lets the rules add order, collects failure points.

use super::params::{ContractParams, LineOrder, entry};
use crate::graph::{Axiom, CrashSpace, FailurePoint, Grain, GraphBuilder, History, Must, NodeId, Write};
use fencepost_kernel::{Addr, CrashPoint, Dependence, Fence, Image, LineAddr, StoreId, Trace, TraceEvent, TraceKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

/// What rules build into: nodes for persistent stores, barriers, must-sets. Same-word order, same-line order and
/// failure points are added here, for every contract alike.
pub struct SpaceBuilder<'t> {
    /// The execution.
    pub trace: &'t Trace,
    grain: Grain,
    line_order: LineOrder,
    graph: GraphBuilder,
    line_tails: FxHashMap<LineAddr, NodeId>,
    /// Nodes of the stores to each word since its range was last synced, where the trace syncs at all.
    unsynced: Option<BTreeMap<Addr, Vec<NodeId>>>,
    node_of: Vec<Option<NodeId>>,
    /// Current memory, kept at byte grain only, to split a store into the bytes it changes.
    memory: Image,
    must: Vec<Must>,
    sure: FxHashSet<NodeId>,
    /// What becomes durable in order, a line or a word, by the node of each store there; and the newest node of each that is sure: those
    /// before it are durable with it, and saying so once more makes no failure point.
    place_of: Vec<Option<Addr>>,
    newest_sure: FxHashMap<Addr, NodeId>,
    points: Vec<FailurePoint>,
    reported: usize,
    event: usize,
    /// Dependences of the current event, as a range of the trace's.
    dependences: Range<usize>,
    nodes_before_event: u32,
    crash: CrashPoint,
}

fn syncs(event: &TraceEvent) -> bool {
    matches!(event.kind, TraceKind::Sync { .. })
}

impl<'t> SpaceBuilder<'t> {
    pub(super) fn new(
        trace: &'t Trace,
        initial: &Image,
        params: &ContractParams,
        line_order: LineOrder,
    ) -> SpaceBuilder<'t> {
        let threads = trace.threads as usize;
        SpaceBuilder {
            trace,
            grain: params.grain,
            line_order: if params.grain == Grain::Line {
                LineOrder::Fifo
            } else {
                line_order
            },
            graph: GraphBuilder::new(initial.clone(), params.grain),
            line_tails: FxHashMap::default(),
            unsynced: trace.events.iter().any(syncs).then(BTreeMap::new),
            node_of: vec![None; trace.stores.len()],
            memory: initial.clone(),
            must: Vec::new(),
            sure: FxHashSet::default(),
            place_of: Vec::new(),
            newest_sure: FxHashMap::default(),
            points: Vec::new(),
            reported: 0,
            event: 0,
            dependences: 0..0,
            nodes_before_event: 0,
            crash: CrashPoint {
                begun: vec![0; threads],
                acked: vec![0; threads],
            },
        }
    }

    /// Runs `rules` over an execution that started from the durable memory `initial`.
    pub fn run(
        trace: &'t Trace,
        initial: &Image,
        params: &ContractParams,
        line_order: LineOrder,
        rules: &mut dyn Rules,
    ) -> CrashSpace {
        let space = SpaceBuilder::new(trace, initial, params, line_order).build(rules, None);
        space.unwrap_or_else(|| unreachable!("without a deadline it is not given up"))
    }

    /// The same by a deadline on the host's clock; `None` if it passed first.
    pub(super) fn build(mut self, rules: &mut dyn Rules, until: Option<Instant>) -> Option<CrashSpace> {
        /// Events between two looks at the clock: a fraction of a millisecond.
        const LOOK: usize = 1024;
        for (index, event) in self.trace.events.iter().enumerate() {
            if index % LOOK == 0 && until.is_some_and(|t| Instant::now() >= t) {
                return None;
            }
            self.event = index;
            self.find_dependences();
            self.nodes_before_event = self.graph.len();
            let thread = event.thread.map(|t| t.index());
            match (event.kind, thread) {
                (TraceKind::OpBegin(k), Some(t)) => *entry(&mut self.crash.begun, t) = k + 1,
                (TraceKind::Ack(k), Some(t)) => *entry(&mut self.crash.acked, t) = k + 1,
                (TraceKind::OpEnd(_) | TraceKind::Durable { .. }, _) => {}
                (TraceKind::Sync { base, len }, _) => self.sync(event, base, len, rules),
                _ => rules.event(event, &mut self),
            }
        }
        Some(self.finish())
    }

    /// The system made a range durable: under every contract alike, as it flushes what any thread has stored there, and then
    /// waits.
    fn sync(&mut self, event: &TraceEvent, base: Addr, len: u64, rules: &mut dyn Rules) {
        let fence = TraceKind::Fence(Fence::Sfence);
        rules.event(&TraceEvent { kind: fence, ..*event }, self);
        if len == 0 {
            return;
        }
        let (from, last) = (base.word(), Addr(base.0.saturating_add(len - 1)));
        let Some(unsynced) = &mut self.unsynced else { return };
        let words: Vec<Addr> = unsynced.range(from..=last).map(|w| *w.0).collect();
        let nodes: Vec<NodeId> = words.iter().filter_map(|w| unsynced.remove(w)).flatten().collect();
        for node in nodes {
            self.must(node, Axiom::Sync);
        }
    }
    fn stored(&mut self, word: Addr, node: NodeId) {
        let Some(unsynced) = &mut self.unsynced else { return };
        let nodes = unsynced.entry(word).or_default();
        // Whole words become durable in order, so that the newest stands for all before it.
        if self.grain != Grain::Byte {
            nodes.clear();
        }
        nodes.push(node);
    }

    fn finish(mut self) -> CrashSpace {
        self.event = self.trace.events.len();
        self.nodes_before_event = self.graph.len();
        self.point();
        let history = History::of(self.trace, self.graph.initial());
        CrashSpace {
            history,
            graph: self.graph.finish(),
            must: self.must,
            points: self.points,
            node_of: self.node_of,
        }
    }

    fn find_dependences(&mut self) {
        let of_this = |d: &&Dependence| d.event as usize == self.event;
        let (start, all) = (self.dependences.end, &self.trace.dependences);
        let count = all[start.min(all.len())..].iter().take_while(of_this).count();
        self.dependences = start..start + count;
    }
    /// Index of the current event.
    pub fn event(&self) -> u32 {
        self.event as u32
    }
    /// The reads that the current event depends on.
    pub fn depends_on(&self) -> &'t [Dependence] {
        &self.trace.dependences[self.dependences.clone()]
    }

    /// The moment just before the current event is a failure point.
    fn point(&mut self) {
        self.points.push(FailurePoint {
            event: self.event,
            executed: self.nodes_before_event,
            newly_must: self.reported..self.must.len(),
            crash: self.crash.clone(),
        });
        self.reported = self.must.len();
    }

    /// Whether same-line order is on.
    pub fn line_order(&self) -> LineOrder {
        self.line_order
    }
    /// Whether the newest store to a line, or to a word where lines are in no order, is durable only with all before it.
    pub fn newest_covers(&self) -> bool {
        self.line_order == LineOrder::Fifo || self.grain != Grain::Byte
    }
    /// The node of an earlier store.
    pub fn node_of(&self, store: StoreId) -> Option<NodeId> {
        self.node_of.get(store.index()).copied().flatten()
    }

    /// Adds a node that writes nothing and comes after all of `before`; a single predecessor is returned as it is.
    pub fn barrier(&mut self, before: &[(NodeId, Axiom)]) -> NodeId {
        if let [(only, _)] = before {
            return *only;
        }
        self.join(before)
    }
    fn join(&mut self, before: &[(NodeId, Axiom)]) -> NodeId {
        let node = self.graph.node();
        self.edges_to(node, before);
        node
    }
    fn edges_to(&mut self, node: NodeId, before: &[(NodeId, Axiom)]) {
        for (from, axiom) in before {
            self.graph
                .edge(*from, node, *axiom)
                .expect("a new node comes after every earlier one");
        }
    }

    /// Adds the node of a store to volatile memory that carries order between threads.
    pub fn volatile_store(&mut self, store: StoreId, before: &[(NodeId, Axiom)]) -> NodeId {
        let node = self.join(before);
        self.node_of[store.index()] = Some(node);
        node
    }

    /// Adds a store to persistent memory after all of `before`. Returns the node that stands for it in later edges.
    pub fn store(&mut self, store: StoreId, before: &[(NodeId, Axiom)]) -> NodeId {
        let info = self.trace.store(store);
        let line = info.addr.line();
        let tail = match self.line_order {
            LineOrder::Fifo => self.line_tails.get(&line).copied(),
            LineOrder::Unordered => None,
        };
        let node = match self.grain {
            Grain::Byte => self.store_bytes(store, before, tail),
            Grain::Word | Grain::Line => {
                let node = self.join(before);
                let previous = self.graph.write(self.write_of(store, info.addr.word(), info.value));
                self.line_edge(tail.filter(|t| previous != Some(*t)), node);
                node
            }
        };
        self.line_tails.insert(line, node);
        self.stored(info.addr.word(), node);
        self.node_of[store.index()] = Some(node);
        if self.newest_covers() {
            *entry(&mut self.place_of, node.index()) = Some(match self.line_order {
                LineOrder::Fifo => line.base(),
                LineOrder::Unordered => info.addr.word(),
            });
        }
        node
    }
    fn line_edge(&mut self, tail: Option<NodeId>, node: NodeId) {
        if let Some(tail) = tail {
            self.edges_to(node, &[(tail, Axiom::SameLine)]);
        }
    }
    fn write_of(&self, store: StoreId, at: Addr, value: u64) -> Write {
        let info = self.trace.store(store);
        Write {
            at,
            value,
            store: Some(store),
            thread: info.thread,
            nt: info.nt,
            source: info.source,
        }
    }
    /// One node per byte that the store changes, between a node before all and a node after all.
    fn store_bytes(&mut self, store: StoreId, before: &[(NodeId, Axiom)], tail: Option<NodeId>) -> NodeId {
        let info = self.trace.store(store);
        let word = info.addr.word();
        let first = self.join(before);
        self.line_edge(tail, first);
        let changed = self.memory.word(word) ^ info.value;
        self.memory.set_word(word, info.value, None);
        let mut bytes = vec![(first, Axiom::Atomicity)];
        for i in (0..8).filter(|i| changed >> (i * 8) & 0xff != 0) {
            let node = self.join(&[(first, Axiom::SameWord)]);
            self.graph
                .write(self.write_of(store, Addr(word.0 + i), info.value >> (i * 8) & 0xff));
            bytes.push((node, Axiom::SameWord));
        }
        self.join(&bytes)
    }

    /// Adds one node that writes all of `stores` at once (a hardware transaction), after all of `before`.
    pub fn group(&mut self, stores: &[StoreId], before: &[(NodeId, Axiom)]) -> NodeId {
        let node = self.join(before);
        for store in stores {
            let info = self.trace.store(*store);
            self.node_of[store.index()] = Some(node);
            self.line_tails.insert(info.addr.line(), node);
            self.stored(info.addr.word(), node);
            self.write_group_member(*store);
        }
        node
    }
    fn write_group_member(&mut self, store: StoreId) {
        let info = self.trace.store(store);
        let word = info.addr.word();
        if self.grain != Grain::Byte {
            self.graph.write(self.write_of(store, word, info.value));
            return;
        }
        for i in 0..8 {
            self.graph
                .write(self.write_of(store, Addr(word.0 + i), info.value >> (i * 8) & 0xff));
        }
        self.memory.set_word(word, info.value, None);
    }

    /// `node` and everything before it is durable from the current event on.
    pub fn must(&mut self, node: NodeId, axiom: Axiom) {
        if !self.sure.insert(node) || self.is_before_a_sure_one(node) {
            return;
        }
        let grown = self.must.last().is_some_and(|m| m.event == self.event);
        if !grown {
            self.point();
        }
        self.must.push(Must {
            node,
            axiom,
            event: self.event,
        });
    }
    /// Whether a later store of the same line or word is durable already; from now on that asks for this one, too.
    fn is_before_a_sure_one(&mut self, node: NodeId) -> bool {
        let Some(place) = self.place_of.get(node.index()).copied().flatten() else {
            return false;
        };
        let newest = self.newest_sure.entry(place).or_insert(node);
        let before = node < *newest;
        *newest = node.max(*newest);
        before
    }
}

/// A contract at work: consumes an execution's events in effect order.
pub trait Rules {
    /// Takes one event into account. Called for every event but those of operations (begin, end, acknowledgement)
    /// and of durability, which the builder handles; a sync of a range comes as the store fence that it contains.
    fn event(&mut self, event: &TraceEvent, space: &mut SpaceBuilder<'_>);
}
