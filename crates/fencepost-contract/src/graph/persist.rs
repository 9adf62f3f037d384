//! The persist-order graph itself: immutable, sparse, indexed in both directions.

use super::axiom::Axiom;
use fencepost_kernel::{Addr, HwThread, Image, Place, StoreId};
use rustc_hash::FxHashMap;

/// A node: one store, one hardware transaction, or a barrier that stands for "everything before this point".
/// Numbered in the order in which the nodes took effect, so every edge goes from a smaller to a larger number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);
impl NodeId {
    /// Index into arrays that have one entry per node.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A location of the graph: an aligned word, or a byte at byte grain.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(pub u32);
impl LocationId {
    /// Index into arrays that have one entry per location.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The unit in which memory becomes durable: no smaller part of it can be old while the rest is new.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Grain {
    /// One byte: a word may be torn.
    Byte,
    /// Eight aligned bytes, what hardware guarantees.
    #[default]
    Word,
    /// A cache line: a line is old or new as a whole.
    Line,
}

/// One location written by a node.
#[derive(Copy, Clone, Debug)]
pub struct Write {
    /// The aligned word, or the byte at byte grain.
    pub at: Addr,
    /// The value from then on (at byte grain: 0..256).
    pub value: u64,
    /// The store of the execution that wrote it.
    pub store: Option<StoreId>,
    /// Who stored.
    pub thread: HwThread,
    /// Whether by the non-temporal path.
    pub nt: bool,
    /// The line of the program, and the library's own.
    pub source: Place,
}

/// One value that a location had, and the node that wrote it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The node that wrote it.
    pub node: NodeId,
    /// The value from then on.
    pub value: u64,
}

/// Lists of unequal length, back to back.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}
impl<T: Copy> Lists<T> {
    /// Groups `items`, given as (list, item), keeping the order of items within a list.
    pub(super) fn group(lists: usize, items: &[(u32, T)]) -> Lists<T> {
        let mut starts = vec![0u32; lists + 1];
        for (list, _) in items {
            starts[*list as usize + 1] += 1;
        }
        for i in 0..lists {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut sorted: Vec<T> = Vec::new();
        if let Some((_, first)) = items.first() {
            sorted = vec![*first; items.len()];
        }
        for (list, item) in items {
            sorted[next[*list as usize] as usize] = *item;
            next[*list as usize] += 1;
        }
        Lists { starts, items: sorted }
    }
    pub(super) fn list(&self, i: usize) -> &[T] {
        &self.items[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
    pub(super) fn bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.items.capacity() * size_of::<T>()
    }
}

/// A persist-order graph over the stores of one execution, and the memory that was durable before the first.
///
/// A crash state is a set of nodes closed under predecessors; the value of a location is that of its last version
/// in the set. Versions of one location are always ordered by edges, so the versions in a closed set are a prefix.
/// Edges are kept sparse (barrier nodes stand for "all of these before all of those"); closure is by traversal.
#[derive(Clone, Debug)]
pub struct PersistGraph {
    pub(super) grain: Grain,
    pub(super) initial: Image,
    pub(super) writes: Lists<Write>,
    pub(super) predecessors: Lists<(NodeId, Axiom)>,
    pub(super) successors: Lists<NodeId>,
    pub(super) locations: FxHashMap<Addr, LocationId>,
    pub(super) addresses: Vec<Addr>,
    pub(super) versions: Lists<Version>,
    pub(super) nodes: usize,
}

impl PersistGraph {
    /// Number of nodes, barriers included.
    pub fn node_count(&self) -> usize {
        self.nodes
    }
    /// Every node, in effect order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes as u32).map(NodeId)
    }
    /// What a node writes; empty for a barrier.
    pub fn writes(&self, node: NodeId) -> &[Write] {
        self.writes.list(node.index())
    }
    /// Whether the node writes nothing and only carries order.
    pub fn is_barrier(&self, node: NodeId) -> bool {
        self.writes(node).is_empty()
    }
    /// Direct predecessors (possibly barriers), each with the rule that orders it.
    pub fn predecessors(&self, node: NodeId) -> &[(NodeId, Axiom)] {
        self.predecessors.list(node.index())
    }
    /// Direct successors (possibly barriers).
    pub fn successors(&self, node: NodeId) -> &[NodeId] {
        self.successors.list(node.index())
    }
    /// The unit in which memory becomes durable.
    pub fn grain(&self) -> Grain {
        self.grain
    }
    /// Memory that was durable before the execution.
    pub fn initial(&self) -> &Image {
        &self.initial
    }
    /// The location at exactly this address (an aligned word; a byte at byte grain), if the execution wrote it.
    pub fn location(&self, at: Addr) -> Option<LocationId> {
        self.locations.get(&at).copied()
    }
    /// Number of locations that the execution wrote. Locations are numbered in the order of their first write.
    pub fn location_count(&self) -> usize {
        self.addresses.len()
    }
    /// The address of a location.
    pub fn address(&self, location: LocationId) -> Addr {
        self.addresses[location.index()]
    }
    /// The values of a location after the initial one, in coherence order.
    pub fn versions(&self, location: LocationId) -> &[Version] {
        self.versions.list(location.index())
    }
    /// The value of a location before the execution (a byte at byte grain).
    pub fn initial_value(&self, at: Addr) -> u64 {
        let word = self.initial.word(at);
        match self.grain {
            Grain::Byte => (word >> (at.0 % 8 * 8)) & 0xff,
            Grain::Word | Grain::Line => word,
        }
    }
    /// Memory the graph occupies, in bytes (without the initial image, whose pages are shared).
    pub fn bytes(&self) -> usize {
        self.writes.bytes()
            + self.predecessors.bytes()
            + self.successors.bytes()
            + self.versions.bytes()
            + self.addresses.capacity() * 8
            + self.locations.capacity() * 16
    }
}
