//! A dictionary: the structure says what is its own ([`Structure`]), [`Dictionary`] is the program around it.
//!
//! Each operation searches a random key, inserts it if it is absent and removes it if it is found, in one transaction. From the
//! structure follow the description, the way from parameters to a layout, the driver with its locks, recovery by the logs and the
//! oracle; the audit is a walk that meets the pairs in ascending order of their keys. Several structures may stand side by side.
//!
//! Structures of other shapes (chains, object stores) have the same program around them and say more themselves (`program`).

pub use crate::dict::Toggle;
pub use crate::nodes::Nodes;
pub use crate::ordered_keys::{Ascent, KeyModel, Step, get, wrong};

mod program;

pub(crate) use program::{Changed, Contents, Found, Keyed, LaidOut};

use crate::choices::{Coupling, Variant};
use crate::dict::Dict;
use crate::layout::{Layout, Rows};
use crate::nodes::Trees;
use crate::oracle::History;
use crate::pool::Pool;
use crate::settings::Settings;
use crate::tx::Tx;
use fencepost_kernel::params::Params;
use fencepost_kernel::{Addr, At, CrashPoint, Mem, OpRecord, Span, Val};
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
    /// Parameters besides those for a search of all crash states.
    const SMALLEST: &'static [(&'static str, &'static str)] = &[];
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
pub type Dictionary<S> = Keyed<SideBySide<S>>;

/// Structures side by side, and the keys that are divided among them.
#[derive(Clone, Debug)]
pub struct SideBySide<S> {
    dict: Dict,
    structure: S,
}

impl<S: Structure> Contents for SideBySide<S> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    const OWN_VARIANTS: &'static [Variant] = S::OWN_VARIANTS;
    const SMALL: &'static [(&'static str, &'static str)] = S::SMALL;
    const SMALLEST: &'static [(&'static str, &'static str)] = S::SMALLEST;
    type Params = S::Params;
    type Keys = Dict;
    type Model = KeyModel;
    type Audit = S::Audit;

    fn keys_of(p: &S::Params, s: &Settings) -> Result<Dict, String> {
        let sizes = S::sizes(p);
        Ok(Dict::single(s.seed, sizes.keys, sizes.preload))
    }
    fn lay_out(p: &S::Params, s: &Settings, dict: Dict, layout: &mut Layout) -> Result<LaidOut<Self>, String> {
        let sizes = S::sizes(p);
        let extent = S::extent(p, s.ops);
        let trees = Trees::new(sizes.trees, sizes.keys);
        let root = layout.pm(trees.roots());
        let shares = trees.shares(sizes.preload, |i| dict.preloaded_key(i));
        let planted = Rows::new(layout, extent.node, S::planted(p, &shares));
        let pool = Pool::new(layout, s.threads, extent.node, extent.nodes);
        let nodes = Nodes {
            root,
            trees,
            planted,
            pool,
        };
        let structure = S::new(p, nodes);
        Ok(LaidOut {
            contents: SideBySide { dict, structure },
            pool,
            stores: extent.stores,
            locks: trees.count,
            coupling: sizes.coupling,
        })
    }
    fn keys(&self) -> &Dict {
        &self.dict
    }
    #[inline(always)]
    fn part_of(&self, key: u64) -> u64 {
        self.structure.nodes().trees.of(key)
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
    #[inline(always)]
    fn change<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, wanted: Toggle, last: u64) -> Changed<M::Dep> {
        let root = self.structure.nodes().tree(self.part_of(wanted.key)).root;
        let wanted = Toggle { value: last, ..wanted };
        match self.structure.toggle(tx, root, wanted) {
            Toggled::Removed(found) => Changed { found, inserted: None },
            Toggled::Inserted(at) => Changed {
                found: 0,
                inserted: Some(at),
            },
        }
    }
    fn model(&self, _: &[OpRecord], history: History) -> KeyModel {
        KeyModel::new(history)
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> S::Audit {
        self.structure.audit_start(Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: S::Audit) -> Step<S::Audit> {
        model.sound()?;
        self.structure.audit(model, m, state)
    }
}
