//! `btree`: a B-tree with pairs in all its nodes, under one lock. Search a random key; insert it if absent, remove it if found.
//!
//! Insertion splits full nodes on its way down; removal borrows from a sibling or merges with one, so that every node but the
//! root stays at least half full. Grouped undo logs a node whole at its first change.
//!
//! The paper's footprint is 256 MB; the default is 10,000 preloaded pairs, about 400 KiB. Its text says both "BTree" and "B+tree": this
//! is the former, `bplustree` the latter.
//!
//! Used by broi (Table IV).

mod audit;
mod remove;
mod shape;
mod tree;

pub use audit::BTreeAudit;

use crate::choices::{Coupling, Variant};
use crate::dictionary::{Ascent, Dictionary, Extent, KeyModel, Nodes, Sizes, Step, Structure, Toggle, Toggled};
use crate::tx::Tx;
use fencepost_kernel::{Addr, Mem, Val, params};
use shape::{COUNT, LEAF, Shape, height, most_levels, node_bytes, planted_nodes, shares};
use tree::Tree;

params! {
    /// Parameters of `btree`.
    pub struct BTreeParams {
        /// Distinct keys that operations draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 20_000,
        /// Pairs in the tree before the run.
        #[range(0..=1 << 24)]
        preload: u64 = 10_000,
        /// Most pairs per node.
        #[range(4..=63)]
        pairs: u64 = 15,
        /// Trees side by side, each under a lock of its own; keys are divided among them.
        #[range(1..=1 << 16)]
        trees: u64 = 1,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// The program.
pub type BTree = Dictionary<Pairs>;

/// The tree.
#[derive(Clone, Debug)]
pub struct Pairs(Shape);

impl Pairs {
    /// Writes a subtree of the preloaded pairs; returns its address. `used` counts the nodes written.
    fn plant_below<M: Mem>(&self, m: &mut M, pairs: &[(u64, u64)], height: u32, used: &mut u64) -> u64 {
        let node = self.0.nodes.planted.at::<M::Dep>(*used);
        *used += 1;
        let put = |m: &mut M, i: u64, (key, value): (u64, u64)| {
            m.store(node.field(self.0.key(i)), Val::lit(key));
            m.store(node.field(self.0.value(i)), Val::lit(value));
        };
        if height == 0 {
            (0..).zip(pairs).for_each(|(i, pair)| put(m, i, *pair));
            m.store(node.field(COUNT), Val::lit(pairs.len() as u64 | LEAF));
            return node.addr.0;
        }
        let (mut from, mut count) = (0, 0);
        for share in shares(pairs.len() as u64, height, self.0.pairs) {
            let to = from + share as usize;
            let child = self.plant_below(m, &pairs[from..to], height - 1, used);
            m.store(node.field(self.0.child(count)), Val::lit(child));
            if let Some(pair) = pairs.get(to) {
                put(m, count, *pair);
                count += 1;
            }
            from = to + 1;
        }
        m.store(node.field(COUNT), Val::lit(count));
        node.addr.0
    }
}

impl Structure for Pairs {
    const NAME: &'static str = "btree";
    const ABOUT: &'static str = "B-tree with splits, borrowing and merges: insert if absent, remove if found";
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("keys", "24"), ("preload", "12"), ("pairs", "4")];
    type Params = BTreeParams;
    type Audit = BTreeAudit;

    fn sizes(p: &BTreeParams) -> Sizes {
        Sizes {
            keys: p.keys,
            preload: p.preload,
            trees: p.trees,
            coupling: p.coupling,
        }
    }
    fn extent(p: &BTreeParams, ops: u32) -> Extent {
        // An insertion splits at most a node on every level.
        let levels = most_levels(p.keys, p.pairs);
        Extent {
            node: node_bytes(p.pairs),
            nodes: (u64::from(ops) + 1) * levels,
            // On each level the words of three nodes at most.
            stores: (levels + 1) * 3 * node_bytes(p.pairs) / 8,
        }
    }
    fn planted(p: &BTreeParams, pairs: &[u64]) -> u64 {
        let nodes = |n: &u64| planted_nodes(*n, height(*n, p.pairs), p.pairs);
        pairs.iter().map(nodes).sum()
    }
    fn new(p: &BTreeParams, nodes: Nodes) -> Pairs {
        Pairs(Shape { pairs: p.pairs, nodes })
    }
    fn nodes(&self) -> &Nodes {
        &self.0.nodes
    }
    fn plant<M: Mem>(&self, m: &mut M, pairs: &[(u64, u64)], used: &mut u64) -> u64 {
        self.plant_below(m, pairs, height(pairs.len() as u64, self.0.pairs), used)
    }
    #[inline(always)]
    fn toggle<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, root: Addr, wanted: Toggle) -> Toggled<M::Dep> {
        let mut tree = Tree::new(tx, self.0.at(root));
        if let Some(found) = tree.search(wanted.key) {
            tree.remove(wanted.key);
            return Toggled::Removed(found);
        }
        let append = tree.tx.slip(Variant::SemanticMistake);
        Toggled::Inserted(tree.insert(wanted.key, wanted.value, append))
    }
    fn audit_start(&self, keys: Ascent) -> BTreeAudit {
        BTreeAudit::start(keys)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: BTreeAudit) -> Step<BTreeAudit> {
        state.step(&self.0, model, m)
    }
}
