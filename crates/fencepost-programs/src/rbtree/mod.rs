//! `rbtree`: a red-black tree under one lock. Search a random key; insert it if absent, delete it if found.
//!
//! Nodes are one line: key, value, three links, colour. Recolouring and rotations go through the transaction. Grouped
//! undo logs a node whole at its first change, so barriers follow the number of nodes touched, not of stores.
//!
//! Used by all papers but fgc.

mod audit;
mod planted;
mod tree;

pub use audit::RbAudit;

use crate::choices::{Coupling, Variant};
use crate::dictionary::{Ascent, Dictionary, Extent, KeyModel, Nodes, Sizes, Step, Structure, Toggle, Toggled};
use crate::tx::Tx;
use fencepost_kernel::{Addr, Mem, Val, params};
use planted::lowest_red;
use tree::{BLACK, COLOUR, KEY, LEFT, NODE, PARENT, RED, RIGHT, Tree, VALUE};

params! {
    /// Parameters of `rbtree`.
    pub struct RbTreeParams {
        /// Distinct keys that operations draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 20_000,
        /// Nodes in the tree before the run.
        #[range(0..=1 << 24)]
        preload: u64 = 10_000,
        /// Trees side by side, each under a lock of its own; keys are divided among them.
        #[range(1..=1 << 16)]
        trees: u64 = 1,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// The program.
pub type RbTree = Dictionary<RedBlack>;

/// The tree.
#[derive(Clone, Debug)]
pub struct RedBlack(Nodes);

impl RedBlack {
    /// Builds a balanced tree of the preloaded keys `from..to`: all levels black but the last, incomplete one.
    fn plant_below<M: Mem>(
        &self,
        m: &mut M,
        keys: &[(u64, u64)],
        from: usize,
        parent: u64,
        depth: u32,
        red_at: u32,
    ) -> u64 {
        if keys.is_empty() {
            return 0;
        }
        let middle = keys.len() / 2;
        let node = self.0.planted.at::<M::Dep>((from + middle) as u64);
        let left = self.plant_below(m, &keys[..middle], from, node.addr.0, depth + 1, red_at);
        let right = self.plant_below(
            m,
            &keys[middle + 1..],
            from + middle + 1,
            node.addr.0,
            depth + 1,
            red_at,
        );
        let colour = if depth == red_at { RED } else { BLACK };
        let (key, value) = keys[middle];
        let fields = [
            (KEY, key),
            (VALUE, value),
            (LEFT, left),
            (RIGHT, right),
            (PARENT, parent),
            (COLOUR, colour),
        ];
        fields.iter().for_each(|(f, v)| m.store(node.field(*f), Val::lit(*v)));
        node.addr.0
    }
}

impl Structure for RedBlack {
    const NAME: &'static str = "rbtree";
    const ABOUT: &'static str = "red-black tree under one lock: insert if absent, delete if found";
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("keys", "24"), ("preload", "8")];
    const SMALLEST: &'static [(&'static str, &'static str)] = &[("keys", "12"), ("preload", "4")];
    type Params = RbTreeParams;
    type Audit = RbAudit;

    fn sizes(p: &RbTreeParams) -> Sizes {
        Sizes {
            keys: p.keys,
            preload: p.preload,
            trees: p.trees,
            coupling: p.coupling,
        }
    }
    fn extent(_: &RbTreeParams, ops: u32) -> Extent {
        Extent {
            node: NODE,
            nodes: u64::from(ops),
            // A rebalancing walks up the tree: at most a few stores on each of its 2 log n levels.
            stores: 1024,
        }
    }
    fn new(_: &RbTreeParams, nodes: Nodes) -> RedBlack {
        RedBlack(nodes)
    }
    fn nodes(&self) -> &Nodes {
        &self.0
    }
    fn plant<M: Mem>(&self, m: &mut M, pairs: &[(u64, u64)], used: &mut u64) -> u64 {
        let from = *used as usize;
        *used += pairs.len() as u64;
        self.plant_below(m, pairs, from, 0, 0, lowest_red(pairs.len()))
    }
    #[inline(always)]
    fn toggle<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, root: Addr, wanted: Toggle) -> Toggled<M::Dep> {
        let mut tree = Tree { tx, root, fresh: None };
        let (node, parent) = tree.search(wanted.key);
        if node.v != 0 {
            let found = tree.get(node, VALUE).v;
            tree.unlink(node);
            tree.tx.free(node.ptr());
            return Toggled::Removed(found);
        }
        let new = tree.tx.alloc();
        let node = new.pointer();
        let forget_balance = tree.tx.slip(Variant::SemanticMistake);
        for (field, v) in [
            (KEY, wanted.key),
            (VALUE, wanted.value),
            (LEFT, 0),
            (RIGHT, 0),
            (COLOUR, RED),
        ] {
            tree.tx.fresh(new.field(field), Val::lit(v));
        }
        tree.tx.fresh(new.field(PARENT), parent);
        tree.fresh = Some(node.v);
        tree.link(node, wanted.key, parent, forget_balance);
        Toggled::Inserted(new.field(VALUE))
    }
    fn audit_start(&self, keys: Ascent) -> RbAudit {
        RbAudit::start(keys)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: RbAudit) -> Step<RbAudit> {
        state.step(&self.0, model, m)
    }
}
