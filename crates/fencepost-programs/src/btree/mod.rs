//! `btree`: a B-tree with pairs in all its nodes, under one lock, or several trees side by side. Search a random key; insert it if absent, remove it if found.
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
#[derive(Clone, Debug)]
pub struct BTree {
    rt: Runtime,
    dict: Dict,
    shape: Shape,
    locks: Locks,
    footprint: Footprint,
}

impl Described for BTree {
    const NAME: &'static str = "btree";
    const ABOUT: &'static str = "B-tree with splits, borrowing and merges: insert if absent, remove if found";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("keys", "24"), ("preload", "12"), ("pairs", "4")];

    fn fields() -> Vec<Field> {
        BTreeParams::fields()
    }
    fn build(s: &Settings) -> Result<BTree, ProgramError> {
        let p: BTreeParams = read_params::<BTree, _>(s)?;
        let dict = Dict {
            seed: s.seed,
            keys: p.keys,
            preload: p.preload,
            batch: 1,
            value_bits: 32,
        };
        if let Some(why) = dict.refusal(s.ops) {
            return Err(impossible::<BTree>(why));
        }
        let mut layout = Layout::default();
        let trees = Trees::new(p.trees, p.keys);
        let root = layout.pm(trees.roots());
        let shares = trees.shares(p.preload, |i| dict.preloaded_key(i));
        let nodes = shares
            .iter()
            .map(|n| planted_nodes(*n, height(*n, p.pairs), p.pairs))
            .sum();
        let planted = Rows::new(&mut layout, node_bytes(p.pairs), nodes);
        // An insertion splits at most a node on every level.
        let levels = most_levels(p.keys, p.pairs);
        let pool = Pool::new(
            &mut layout,
            s.threads,
            node_bytes(p.pairs),
            (u64::from(s.ops) + 1) * levels,
        );
        // On each level the words of three nodes at most.
        let rt = Runtime::new(
            &mut layout,
            s,
            p.coupling,
            (levels + 1) * 3 * node_bytes(p.pairs) / 8,
            pool,
        );
        let locks = Locks::new(&mut layout, trees.count);
        Ok(BTree {
            rt,
            dict,
            shape: Shape {
                pairs: p.pairs,
                nodes: Nodes {
                    root,
                    trees,
                    planted,
                    pool,
                },
            },
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl BTree {
    /// Toggles the key; returns the value found (0: none).
    #[inline(always)]
    fn toggle<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, wanted: Toggle) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let mut tree = Tree::new(&mut tx, self.shape.of(wanted.key));
        if let Some(found) = tree.search(wanted.key) {
            tree.remove(wanted.key);
            tx.commit();
            return Ok(found);
        }
        let split = tree.tx.slip(Variant::NonAtomicUpdate);
        let append = tree.tx.slip(Variant::SemanticMistake);
        let value = tree.insert(wanted.key, if split { 0 } else { wanted.value }, append);
        tx.commit();
        if split {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(value, Val::lit(wanted.value));
            tx.commit();
        }
        Ok(0)
    }
    /// Writes a subtree of the preloaded pairs; returns its address. `used` counts the nodes written.
    fn plant<M: Mem>(&self, m: &mut M, pairs: &[(u64, u64)], height: u32, used: &mut u64) -> u64 {
        let node = self.shape.nodes.planted.at::<M::Dep>(*used);
        *used += 1;
        let put = |m: &mut M, i: u64, (key, value): (u64, u64)| {
            m.store(node.field(self.shape.key(i)), Val::lit(key));
            m.store(node.field(self.shape.value(i)), Val::lit(value));
        };
        if height == 0 {
            (0..).zip(pairs).for_each(|(i, pair)| put(m, i, *pair));
            m.store(node.field(COUNT), Val::lit(pairs.len() as u64 | LEAF));
            return node.addr.0;
        }
        let (mut from, mut count) = (0, 0);
        for share in shares(pairs.len() as u64, height, self.shape.pairs) {
            let to = from + share as usize;
            let child = self.plant(m, &pairs[from..to], height - 1, used);
            m.store(node.field(self.shape.child(count)), Val::lit(child));
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

impl Program for BTree {
    type Input = Toggle;
    type Audit = BTreeAudit;
    type Model = KeyModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let pairs: Vec<(u64, u64)> = self.dict.preloaded().collect();
        let (nodes, mut used) = (&self.shape.nodes, 0);
        for (tree, own) in (0..).zip(nodes.trees.split(&pairs)) {
            let root = self.plant(m, own, height(own.len() as u64, self.shape.pairs), &mut used);
            m.store(At::new(nodes.tree(tree).root), Val::lit(root));
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.shape.nodes.roots(), self.shape.nodes.planted.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Toggle {
        self.dict.toggle(thread, k, 0)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Toggle) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(self.shape.nodes.trees.of(input.key));
        pm.lock(lock);
        let result = self.toggle(pm, thread, k, *input);
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        Ok(Dict::outcome::<M>(&[result?]))
    }
    fn model(&self, ops: &[OpRecord]) -> KeyModel {
        KeyModel::new(self.dict.history(ops, |key| self.shape.nodes.trees.of(key)))
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> BTreeAudit {
        BTreeAudit::start(Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: BTreeAudit) -> Flow<BTreeAudit> {
        flow(state.step(&self.shape, model, m))
    }
}
