//! A dictionary: the structure says what is its own ([`Structure`]), [`Dictionary`] is the program around it.
//!
//! Each operation searches a random key, inserts it if it is absent and removes it if it is found, in one transaction. From the
//! structure follow the description, the way from parameters to a layout, the driver with its locks, recovery by the logs and the
//! oracle; the audit is a walk that meets the pairs in ascending order of their keys. Several structures may stand side by side.

pub use crate::dict::Toggle;
pub use crate::nodes::Nodes;
pub use crate::ordered_keys::{Ascent, KeyModel, Step, get, wrong};

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::Dict;
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::nodes::Trees;
use crate::ordered_keys::flow;
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val};
use std::fmt::Debug;
use std::hash::Hash;

/// Sizes that every dictionary has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Distinct keys that operations draw from: `1..=keys`.
    pub keys: u64,
    /// Pairs there before the run.
    pub preload: u64,
    /// Structures side by side, each under a lock of its own; keys are divided among them.
    pub trees: u64,
    /// How many undo records share one barrier.
    pub coupling: Coupling,
}

/// What a structure needs of memory, besides what it has laid out itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of a node.
    pub node: u64,
    /// Nodes that each thread may take.
    pub nodes: u64,
    /// Words that the largest transaction stores.
    pub stores: u64,
}

/// What looking for a key led to.
#[derive(Copy, Clone, Debug)]
pub enum Toggled<D> {
    /// It was there, with this value, and was removed.
    Removed(u64),
    /// It was not, and was inserted; the word that holds its value.
    Inserted(At<D>),
}

/// What is a structure's own.
pub trait Structure: Clone + Debug + Send + Sync + 'static {
    /// Its name on the command line.
    const NAME: &'static str;
    /// One line for listings.
    const ABOUT: &'static str;
    /// Deliberate mistakes that it can make; [`Variant::NonAtomicUpdate`] is made for it.
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate];
    /// Parameters, by name and value, that make it so small that a few operations meet.
    const SMALL: &'static [(&'static str, &'static str)];
    /// Its parameters.
    type Params: Params;
    /// State between two steps of the audit.
    type Audit: Clone + Eq + Hash + Debug;

    /// The sizes among its parameters.
    fn sizes(p: &Self::Params) -> Sizes;
    /// What it needs, for so many operations of a thread.
    fn extent(p: &Self::Params, ops: u32) -> Extent;
    /// How many nodes stand before the run in structures of so many pairs each.
    fn planted(_: &Self::Params, pairs: &[u64]) -> u64 {
        pairs.iter().sum()
    }
    /// The structures, with the nodes that they may have.
    fn new(p: &Self::Params, nodes: Nodes) -> Self;
    /// Their nodes.
    fn nodes(&self) -> &Nodes;
    /// Builds one of these pairs, ascending by key, before the run: its address. Its nodes are those from `used` on, which counts them.
    fn plant<M: Mem>(&self, m: &mut M, pairs: &[(u64, u64)], used: &mut u64) -> u64;
    /// In the structure with this root pointer: removes the key if it is there, inserts it with its value if it is not.
    fn toggle<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, root: Addr, wanted: Toggle) -> Toggled<M::Dep>;
    /// First state of the audit.
    fn audit_start(&self, keys: Ascent) -> Self::Audit;
    /// One step of the audit: checks what it meets, and hands every pair to [`Ascent::pair`], in ascending order.
    ///
    /// # Errors
    /// What is wrong with the structure.
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: Self::Audit) -> Step<Self::Audit>;
}

/// The program.
#[derive(Clone, Debug)]
pub struct Dictionary<S> {
    rt: Runtime,
    dict: Dict,
    structure: S,
    locks: Locks,
    footprint: Footprint,
}

impl<S: Structure> Described for Dictionary<S> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = S::OWN_VARIANTS;
    const SMALL: &'static [(&'static str, &'static str)] = S::SMALL;

    fn fields() -> Vec<Field> {
        S::Params::fields()
    }
    fn build(s: &Settings) -> Result<Self, ProgramError> {
        let p: S::Params = read_params::<Self, _>(s)?;
        let Sizes {
            keys,
            preload,
            trees,
            coupling,
        } = S::sizes(&p);
        let dict = Dict {
            seed: s.seed,
            keys,
            preload,
            batch: 1,
            value_bits: 32,
        };
        if let Some(why) = dict.refusal(s.ops) {
            return Err(impossible::<Self>(why));
        }
        let mut layout = Layout::default();
        let extent = S::extent(&p, s.ops);
        let trees = Trees::new(trees, keys);
        let root = layout.pm(trees.roots());
        let shares = trees.shares(preload, |i| dict.preloaded_key(i));
        let planted = Rows::new(&mut layout, extent.node, S::planted(&p, &shares));
        let pool = Pool::new(&mut layout, s.threads, extent.node, extent.nodes);
        let rt = Runtime::new(&mut layout, s, coupling, extent.stores, pool);
        let locks = Locks::new(&mut layout, trees.count);
        let nodes = Nodes {
            root,
            trees,
            planted,
            pool,
        };
        Ok(Dictionary {
            rt,
            dict,
            structure: S::new(&p, nodes),
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl<S: Structure> Dictionary<S> {
    /// The transaction, under the lock; the value found (0: none).
    #[inline(always)]
    fn transact<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, wanted: Toggle) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let split = tx.slip(Variant::NonAtomicUpdate);
        let value = if split { 0 } else { wanted.value };
        let nodes = self.structure.nodes();
        let root = nodes.tree(nodes.trees.of(wanted.key)).root;
        let toggled = self.structure.toggle(&mut tx, root, Toggle { value, ..wanted });
        tx.commit();
        match toggled {
            Toggled::Removed(found) => Ok(found),
            Toggled::Inserted(at) => {
                if split {
                    let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
                    tx.update(at, Val::lit(wanted.value));
                    tx.commit();
                }
                Ok(0)
            }
        }
    }
}

impl<S: Structure> Program for Dictionary<S> {
    type Input = Toggle;
    type Audit = S::Audit;
    type Model = KeyModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let pairs: Vec<(u64, u64)> = self.dict.preloaded().collect();
        let (nodes, mut used) = (self.structure.nodes(), 0);
        for (tree, own) in (0..).zip(nodes.trees.split(&pairs)) {
            let root = self.structure.plant(m, own, &mut used);
            m.store(At::new(nodes.tree(tree).root), Val::lit(root));
        }
    }
    fn resident(&self) -> Vec<Span> {
        let nodes = self.structure.nodes();
        vec![nodes.roots(), nodes.planted.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Toggle {
        self.dict.toggle(thread, k, 0)
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Toggle) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(self.structure.nodes().trees.of(input.key));
        pm.lock(lock);
        let result = self.transact(pm, thread, k, *input);
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        Ok(Dict::outcome::<M>(&[result?]))
    }
    fn model(&self, ops: &[OpRecord]) -> KeyModel {
        let trees = self.structure.nodes().trees;
        KeyModel::new(self.dict.history(ops, |key| trees.of(key)))
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> S::Audit {
        self.structure.audit_start(Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: S::Audit) -> Flow<S::Audit> {
        if let Err(v) = model.sound() {
            return Flow::Done(Err(v));
        }
        flow(self.structure.audit(model, m, state))
    }
}
