//! `rbtree`: a red-black tree under one lock, or several trees side by side. Search a random key; insert it if absent, delete it if found.
//!
//! Nodes are one line: key, value, three links, colour. Recolouring and rotations go through the transaction. Grouped
//! undo logs a node whole at its first change, so barriers follow the number of nodes touched, not of stores.
//!
//! Used by all papers but fgc.

mod audit;
mod tree;

pub use audit::RbAudit;

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::{Dict, Toggle};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::nodes::{Nodes, Trees};
use crate::ordered_keys::{Ascent, KeyModel, flow};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, params};
use std::cmp::Ordering;
use std::ops::Range;
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
#[derive(Clone, Debug)]
pub struct RbTree {
    rt: Runtime,
    dict: Dict,
    nodes: Nodes,
    locks: Locks,
    footprint: Footprint,
}

impl Described for RbTree {
    const NAME: &'static str = "rbtree";
    const ABOUT: &'static str = "red-black tree under one lock: insert if absent, delete if found";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("keys", "24"), ("preload", "8")];

    fn fields() -> Vec<Field> {
        RbTreeParams::fields()
    }
    fn build(s: &Settings) -> Result<RbTree, ProgramError> {
        let p: RbTreeParams = read_params::<RbTree, _>(s)?;
        let dict = Dict {
            seed: s.seed,
            keys: p.keys,
            preload: p.preload,
            batch: 1,
            value_bits: 32,
        };
        if let Some(why) = dict.refusal(s.ops) {
            return Err(impossible::<RbTree>(why));
        }
        let mut layout = Layout::default();
        let trees = Trees::new(p.trees, p.keys);
        let (root, planted) = (layout.pm(trees.roots()), Rows::new(&mut layout, NODE, p.preload));
        let pool = Pool::new(&mut layout, s.threads, NODE, u64::from(s.ops));
        // A rebalancing walks up the tree: at most a few stores on each of its 2 log n levels.
        let rt = Runtime::new(&mut layout, s, p.coupling, 1024, pool);
        let locks = Locks::new(&mut layout, trees.count);
        Ok(RbTree {
            rt,
            dict,
            nodes: Nodes {
                root,
                trees,
                planted,
                pool,
            },
            locks,
            footprint: layout.footprint(),
        })
    }
}

/// The depth of the red nodes of a planted tree. Halving keeps every level full but the last: depth `d` is incomplete when
/// 2^d <= n+1 < 2^(d+1).
fn lowest_red(nodes: usize) -> u32 {
    (nodes as u64 + 1).ilog2()
}
/// Which nodes of the planted tree of these keys stand below the `n`-th of all, itself included, and how deep that one is.
fn planted_below(n: usize, mut tree: Range<usize>) -> (Range<usize>, u32) {
    let mut depth = 0;
    loop {
        let middle = tree.start + tree.len() / 2;
        match n.cmp(&middle) {
            Ordering::Equal => return (tree, depth),
            Ordering::Less => tree.end = middle,
            Ordering::Greater => tree.start = middle + 1,
        }
        depth += 1;
    }
}

impl RbTree {
    /// Toggles the key; returns the value found (0: none).
    #[inline(always)]
    fn toggle<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, wanted: Toggle) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let mut tree = Tree {
            tx: &mut tx,
            root: self.nodes.tree(self.nodes.trees.of(wanted.key)).root,
            fresh: None,
        };
        let (node, parent) = tree.search(wanted.key);
        if node.v != 0 {
            let found = tree.get(node, VALUE).v;
            tree.unlink(node);
            tx.free(node.ptr());
            tx.commit();
            return Ok(found);
        }
        let new = tree.tx.alloc();
        let node = new.pointer();
        let (split, forget_balance) = (
            tree.tx.slip(Variant::NonAtomicUpdate),
            tree.tx.slip(Variant::SemanticMistake),
        );
        let first = if split { 0 } else { wanted.value };
        for (field, v) in [(KEY, wanted.key), (VALUE, first), (LEFT, 0), (RIGHT, 0), (COLOUR, RED)] {
            tree.tx.fresh(new.field(field), Val::lit(v));
        }
        tree.tx.fresh(new.field(PARENT), parent);
        tree.fresh = Some(node.v);
        tree.link(node, wanted.key, parent, forget_balance);
        tx.commit();
        if split {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(new.field(VALUE), Val::lit(wanted.value));
            tx.commit();
        }
        Ok(0)
    }
    /// Builds a balanced tree of the preloaded keys `from..to`: all levels black but the last, incomplete one.
    fn plant<M: Mem>(&self, m: &mut M, keys: &[(u64, u64)], from: usize, parent: u64, depth: u32, red_at: u32) -> u64 {
        if keys.is_empty() {
            return 0;
        }
        let middle = keys.len() / 2;
        let node = self.nodes.planted.at::<M::Dep>((from + middle) as u64);
        let left = self.plant(m, &keys[..middle], from, node.addr.0, depth + 1, red_at);
        let right = self.plant(
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

impl Program for RbTree {
    type Input = Toggle;
    type Audit = RbAudit;
    type Model = KeyModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let keys: Vec<(u64, u64)> = self.dict.preloaded().collect();
        let mut from = 0;
        for (tree, own) in (0..).zip(self.nodes.trees.split(&keys)) {
            let red_at = lowest_red(own.len());
            let root = self.plant(m, own, from, 0, 0, red_at);
            m.store(At::new(self.nodes.tree(tree).root), Val::lit(root));
            from += own.len();
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.nodes.roots(), self.nodes.planted.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Toggle {
        self.dict.toggle(thread, k, 0)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Toggle) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(self.nodes.trees.of(input.key));
        pm.lock(lock);
        let result = self.toggle(pm, thread, k, *input);
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        Ok(Dict::outcome::<M>(&[result?]))
    }
    fn model(&self, ops: &[OpRecord]) -> KeyModel {
        KeyModel::new(self.dict.history(ops, |key| self.nodes.trees.of(key)))
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> RbAudit {
        RbAudit::start(Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: RbAudit) -> Flow<RbAudit> {
        flow(state.step(&self.nodes, model, m))
    }
}
