//! `bplustree`: a B+ tree of 4 KiB nodes, 200 pairs of 8-byte key and 4-byte value, several inserts or deletes a transaction.
//!
//! One lock, or several trees side by side. Each transaction toggles `batch` keys. Full nodes are split on the way down; removal does not merge nodes
//! (an empty leaf stays), which the paper leaves open. Grouped undo logs the part of a node that a shift moves as
//! whole objects.
//!
//! Used by loc (VI).

mod audit;
mod node;

pub use audit::BPlusAudit;

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::{Dict, Keys, Toggle};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::nodes::{Nodes, Trees};
use crate::ordered_keys::{Ascent, KeyModel, flow};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Width, params,
};
use node::{COUNT, LEAF, MOST_PAIRS, NEXT, NODE, Shape, Tree, child_at, key_at, value_at};

params! {
    /// Parameters of `bplustree`.
    pub struct BPlusParams {
        /// Distinct keys that operations draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 20_000,
        /// Pairs in the tree before the run.
        #[range(0..=1 << 24)]
        preload: u64 = 10_000,
        /// Pairs per node.
        #[range(4..=251)]
        pairs: u64 = 200,
        /// Inserts or deletes per transaction.
        #[range(1..=64)]
        batch: u32 = 4,
        /// Trees side by side, each under a lock of its own; keys are divided among them.
        #[range(1..=1 << 16)]
        trees: u64 = 1,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// The program.
#[derive(Clone, Debug)]
pub struct BPlusTree {
    rt: Runtime,
    dict: Dict,
    shape: Shape,
    /// Preloaded pairs of each tree.
    shares: Vec<u64>,
    locks: Locks,
    footprint: Footprint,
}

impl Described for BPlusTree {
    const NAME: &'static str = "bplustree";
    const ABOUT: &'static str = "B+ tree of 4 KiB nodes: several inserts and deletes per transaction";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] =
        &[("keys", "24"), ("preload", "12"), ("pairs", "4"), ("batch", "2")];
    const SMALLEST: &'static [(&'static str, &'static str)] = &[("keys", "12"), ("preload", "6"), ("batch", "1")];

    fn fields() -> Vec<Field> {
        BPlusParams::fields()
    }
    fn build(s: &Settings) -> Result<BPlusTree, ProgramError> {
        let p: BPlusParams = read_params::<BPlusTree, _>(s)?;
        // A value has 4 bytes: one names the writing thread.
        let dict = Dict {
            seed: s.seed,
            keys: p.keys,
            preload: p.preload,
            batch: p.batch,
            value_bits: 24,
        };
        if let Some(why) = dict.refusal(s.ops) {
            return Err(impossible::<BPlusTree>(why));
        }
        if p.pairs < 4 || p.pairs > MOST_PAIRS || p.batch > 64 {
            let why = format!("pairs must be within 4..={MOST_PAIRS} and batch within 1..=64");
            return Err(impossible::<BPlusTree>(why));
        }
        let mut layout = Layout::default();
        let trees = Trees::new(p.trees, p.keys);
        let shares = trees.shares(p.preload, |i| dict.preloaded_key(i));
        let levels = shares.iter().flat_map(|n| level_sizes(*n, p.pairs));
        let (root, planted) = (
            layout.pm(trees.roots()),
            Rows::aligned(&mut layout, NODE, levels.sum(), NODE),
        );
        // Each split takes a node, and fills at least half of one; a chain of splits at most doubles that.
        let blocks = 8 + u64::from(s.ops) * u64::from(p.batch) * 2 * 2 / p.pairs.min(64);
        let blocks = blocks.max(u64::from(s.ops) * u64::from(p.batch) / (p.pairs / 2) * 2 + 8);
        let pool = Pool::new(&mut layout, s.threads, NODE, blocks);
        // A toggle shifts at most a node of pairs and splits a path of nodes.
        let stores = u64::from(p.batch) * 6 * p.pairs * 2;
        let rt = Runtime::new(&mut layout, s, p.coupling, stores, pool);
        let locks = Locks::new(&mut layout, trees.count);
        let footprint = layout.footprint();
        Ok(BPlusTree {
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
            shares,
            locks,
            footprint,
        })
    }
}

/// Nodes on each level of the preloaded tree, leaves first: half-full leaves, and inner nodes of half as many children.
fn level_sizes(preload: u64, pairs: u64) -> Vec<u64> {
    let fill = (pairs / 2).max(2);
    let mut sizes = vec![preload.div_ceil(fill).max(1)];
    while sizes[sizes.len() - 1] > 1 {
        sizes.push(sizes[sizes.len() - 1].div_ceil(fill));
    }
    sizes
}

impl BPlusTree {
    /// Toggles the operation's keys in one transaction; returns what each found.
    #[inline(always)]
    fn toggle<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        wanted: &[Toggle],
    ) -> Result<Small<u64, 16>, Rollback> {
        let mut found = Small::new(0);
        let mut torn = None;
        let mut tx = self.rt.begin(pm, thread, k)?;
        for (sub, Toggle { key, value }) in wanted.iter().enumerate() {
            let split = sub + 1 == wanted.len() && tx.slip(Variant::NonAtomicUpdate);
            let append = tx.slip(Variant::SemanticMistake);
            let mut tree = Tree {
                tx: &mut tx,
                root: self.shape.nodes.tree(self.shape.nodes.trees.of(*key)).root,
                pairs: self.shape.pairs,
            };
            let place = tree.search(*key);
            match place.found {
                Some(_) => tree.remove(place.leaf, place.index),
                None => {
                    let at = tree.insert(*key, if split { 0 } else { *value }, append);
                    torn = split.then_some((at, *value));
                }
            }
            found.push(place.found.unwrap_or(0));
        }
        tx.commit();
        if let Some((at, value)) = torn {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.protect(
                At {
                    addr: at.addr.word(),
                    ..at
                },
                8,
            );
            tx.write_n(at, Val::lit(value), Width::B4);
            tx.commit();
        }
        Ok(found)
    }
    /// Writes one level of the preloaded tree above `below` (first key and address of each node); returns its nodes.
    fn plant_level<M: Mem>(&self, m: &mut M, below: &[(u64, u64)], nodes: u64, used: u64) -> Vec<(u64, u64)> {
        let share = |i: u64| (below.len() as u64 * i / nodes) as usize;
        (0..nodes)
            .map(|i| {
                let node = self.shape.nodes.planted.at::<M::Dep>(used + i);
                let children = &below[share(i)..share(i + 1)];
                m.store(node.field(COUNT), Val::lit(children.len() as u64 - 1));
                for (c, (first, child)) in children.iter().enumerate() {
                    m.store(node.field(child_at(self.shape.pairs, c as u64)), Val::lit(*child));
                    if c > 0 {
                        m.store(node.field(key_at(c as u64 - 1)), Val::lit(*first));
                    }
                }
                (children[0].0, node.addr.0)
            })
            .collect()
    }
    fn plant_leaves<M: Mem>(&self, m: &mut M, pairs: &[(u64, u64)], leaves: u64, used: u64) -> Vec<(u64, u64)> {
        let share = |i: u64| (pairs.len() as u64 * i / leaves) as usize;
        (0..leaves)
            .map(|i| {
                let leaf = self.shape.nodes.planted.at::<M::Dep>(used + i);
                let own = &pairs[share(i)..share(i + 1)];
                m.store(leaf.field(COUNT), Val::lit(own.len() as u64 | LEAF));
                m.store(
                    leaf.field(NEXT),
                    Val::lit(if i + 1 < leaves { leaf.addr.0 + NODE } else { 0 }),
                );
                for (n, (key, value)) in (0..).zip(own) {
                    m.store(leaf.field(key_at(n)), Val::lit(*key));
                    m.store_n(leaf.field(value_at(self.shape.pairs, n)), Val::lit(*value), Width::B4);
                }
                (own.first().map_or(0, |p| p.0), leaf.addr.0)
            })
            .collect()
    }
}

impl Program for BPlusTree {
    type Input = Small<Toggle, 4>;
    type Audit = BPlusAudit;
    type Model = KeyModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let pairs: Vec<(u64, u64)> = self.dict.preloaded().collect();
        let (nodes, mut used) = (&self.shape.nodes, 0);
        for (tree, own) in (0..).zip(nodes.trees.split(&pairs)) {
            let sizes = level_sizes(own.len() as u64, self.shape.pairs);
            let mut level = self.plant_leaves(m, own, sizes[0], used);
            used += sizes[0];
            for nodes in &sizes[1..] {
                level = self.plant_level(m, &level, *nodes, used);
                used += nodes;
            }
            m.store(At::new(nodes.tree(tree).root), Val::lit(level[0].1));
        }
    }
    fn resident(&self) -> Vec<Span> {
        // The nodes of a tree lie leaves first: the upper levels, which every search passes, are the hottest.
        let mut at = self.shape.nodes.planted.span().at.0;
        let (mut inner, mut leaves) = (Vec::new(), Vec::new());
        for pairs in &self.shares {
            let sizes = level_sizes(*pairs, self.shape.pairs);
            let (own, all) = (sizes[0] * NODE, sizes.iter().sum::<u64>() * NODE);
            let span = |offset, len| Span {
                at: Addr(at + offset),
                len,
            };
            inner.push(span(own, (all - own).max(1)));
            leaves.push(span(0, own));
            at += all;
        }
        let roots = self.shape.nodes.roots();
        [roots].into_iter().chain(inner).chain(leaves).collect()
    }
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 4> {
        let mut all = Small::new(Toggle::default());
        (0..self.dict.batch).for_each(|sub| all.push(self.dict.toggle(thread, k, sub)));
        all
    }
    #[inline(always)]
    fn op<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        input: &Small<Toggle, 4>,
    ) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let trees = self.shape.nodes.trees;
        let locks = self.locks.stripes(input.as_slice().iter().map(|t| trees.of(t.key)));
        self.locks.lock_all(pm, locks.as_slice());
        let result = self.toggle(pm, thread, k, input.as_slice());
        self.locks.unlock_all(pm, locks.as_slice());
        pm.m.compute(sites::EPILOGUE);
        Ok(Dict::outcome::<M>(result?.as_slice()))
    }
    fn model(&self, ops: &[OpRecord]) -> KeyModel {
        KeyModel::new(self.dict.history(ops, |key| self.shape.nodes.trees.of(key)))
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> BPlusAudit {
        BPlusAudit::start(Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: BPlusAudit) -> Flow<BPlusAudit> {
        flow(state.step(&self.shape, model, m))
    }
}

#[cfg(test)]
mod tests;
