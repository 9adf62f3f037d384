//! `ctree`: the crit-bit tree of an object store. Insert a random 64-bit key with a 128-byte value (`value`), or remove it (`removes`).
//!
//! An inner node holds the number of the bit in which the keys below it differ and two entries; an entry is a key and a reference of two
//! words. An insert finds the leaf nearest to its key, takes a block for the value and one for an inner node, fills both, and redirects
//! one entry: 24 bytes that are logged. A key that is there gets a new value, or is removed: the other entry of its node moves to where
//! the node hung. One lock.
//!
//! By default every insert has a key of its own, and the tree holds 50,000 keys before the run: half of the 100,000 inserts into an
//! empty tree that the papers run. `batch` inserts so many keys in one transaction.
//!
//! The audit walks the tree in the order of its keys.
//!
//! With `front=application` the driver draws the key and makes the value that is copied, and the object library keeps its records of the
//! transaction in volatile memory (`front::driver`).
//!
//! Used by themis, and by broi and fgc as part of WHISPER.

mod audit;
mod node;

pub use audit::CtreeAudit;

use crate::choices::{Coupling, Variant};
use crate::dict::Toggle;
use crate::dictionary::{Changed, Contents, Keyed, LaidOut};
use crate::front::{Driver, Front, Reader};
use crate::layout::{Layout, Rows};
use crate::objects::{Inserts, NODE, NONE, VALUE};
use crate::oracle::History;
use crate::ordered_keys::{Ascent, KeyModel, Step};
use crate::pool::Pool;
use crate::settings::Settings;
use crate::sites;
use crate::tx::Tx;
use fencepost_kernel::{Addr, At, Bytes, CrashPoint, Mem, OpRecord, Span, Val, params};
use node::{DIFF, ENTRY, KEY, REF, TAG, entry};

params! {
    /// Parameters of `ctree`.
    pub struct CtreeParams {
        /// Keys in the tree before the run.
        #[range(0..=1 << 22)]
        preload: u64 = 50_000,
        /// Distinct keys that inserts draw from; 0: each has a key of its own.
        #[range(0..=1 << 24)]
        keys: u64 = 0,
        /// Bytes of a value, a multiple of 8 up to 4 KiB.
        value: Bytes = Bytes(128),
        /// Inserts in one transaction.
        #[range(1..=16)]
        batch: u32 = 1,
        /// Whether an operation on a key that is there removes it; else it gives it a new value.
        removes: bool = false,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

/// Words that an insert stores besides a value: a node, an entry.
const STORES: u64 = 7 + 3;

/// The program.
pub type Ctree = Keyed<CritBit>;

/// The tree.
#[derive(Clone, Debug)]
pub struct CritBit {
    inserts: Inserts,
    /// The entry from which the tree hangs.
    root: Addr,
    /// Blocks of the preloaded keys: a value and an inner node each.
    preload: Rows,
    pool: Pool,
    front: Option<Driver>,
}

impl CritBit {
    fn owns(&self, at: u64) -> bool {
        self.preload.owns(at) || self.pool.owns(Addr(at))
    }
    /// The entry where the search for `key` ends: at a leaf, or before the first node that tells bits below `above` apart. With it the
    /// entry from which its node hangs; the root's hangs from itself.
    #[inline(always)]
    fn search<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, key: u64, above: Option<u64>) -> [At<M::Dep>; 2] {
        let mut at = At::new(self.root);
        let mut hangs = at;
        while tx.read(at.field(TAG)).v == NODE {
            let node = tx.read(at.field(REF)).ptr();
            let diff = tx.read(node.field(DIFF)).v;
            tx.compute(sites::TREE_STEP);
            if above.is_some_and(|bit| diff < bit) {
                break;
            }
            (hangs, at) = (at, entry(node, key >> diff & 1));
        }
        [at, hangs]
    }
    /// The driver and the library around an insert that logs one entry and takes two blocks.
    #[inline(always)]
    fn drive<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, new: Toggle, entry: At<M::Dep>) -> Option<Reader<M::Dep>> {
        let (front, thread) = (self.front.as_ref()?, tx.thread());
        let data = front.draw(tx.pm.m, thread, new.key, new.value);
        front.insert(tx.pm.m, thread, &[entry], 2);
        Some(data)
    }
    /// Takes out the key of a leaf, whose node hangs from the other entry; the value that was there.
    fn remove<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, [leaf, hangs]: [At<M::Dep>; 2]) -> u64 {
        let block = tx.read(leaf.field(REF)).ptr();
        let found = tx.read(block).v;
        if let Some(front) = &self.front {
            let thread = tx.thread();
            front.insert(tx.pm.m, thread, &[hangs], 0);
        }
        tx.protect_once(hangs, ENTRY);
        if leaf.addr == hangs.addr {
            // The last key.
            for (word, empty) in [(KEY, 0), (TAG, NONE), (REF, 0)] {
                tx.write(hangs.field(word), Val::lit(empty));
            }
        } else {
            let node = tx.read(hangs.field(REF)).ptr();
            let other = entry(node, u64::from(leaf.addr == entry(node, 0).addr));
            for word in [KEY, TAG, REF] {
                let moved = tx.read(other.field(word));
                tx.write(hangs.field(word), moved);
            }
            tx.free(node);
        }
        tx.free(block);
        found
    }
    /// Inserts a key, for which the search ended at this leaf with its tag and key: the last word of its value.
    #[inline(always)]
    fn insert<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        (leaf, tag, found): (At<M::Dep>, u64, u64),
        (new, last): (Toggle, u64),
        wrong_bit: bool,
    ) -> At<M::Dep> {
        let data = self.drive(tx, new, leaf);
        let block = tx.alloc();
        let last = self.inserts.values.fill(tx, block, (new.value, last), data);
        if tag == NONE || found == new.key {
            // The first key, or a new value for a key that is there.
            let old = tx.read(leaf.field(REF)).ptr();
            tx.protect_once(leaf, ENTRY);
            tx.write(leaf.field(KEY), Val::lit(new.key));
            tx.write(leaf.field(TAG), Val::lit(VALUE));
            tx.write(leaf.field(REF), block.pointer());
            if tag != NONE {
                tx.free(old);
            }
            return last;
        }
        let difference = found ^ new.key;
        let bit = match wrong_bit {
            false => u64::from(difference.ilog2()),
            // The mistake: the lowest bit that differs instead of the highest.
            true => u64::from(difference.trailing_zeros()),
        };
        let [above, _] = self.search(tx, new.key, Some(bit));
        let node = tx.alloc();
        let (own, other) = (entry(node, new.key >> bit & 1), entry(node, !(new.key >> bit) & 1));
        tx.fresh(node.field(DIFF), Val::lit(bit));
        tx.fresh(own.field(KEY), Val::lit(new.key));
        tx.fresh(own.field(TAG), Val::lit(VALUE));
        tx.fresh(own.field(REF), block.pointer());
        for word in [KEY, TAG, REF] {
            let moved = tx.read(above.field(word));
            tx.fresh(other.field(word), moved);
        }
        tx.protect_once(above, ENTRY);
        tx.write(above.field(KEY), Val::lit(0));
        tx.write(above.field(TAG), Val::lit(NODE));
        tx.write(above.field(REF), node.pointer());
        last
    }
    /// Builds the tree of these keys, ascending, below the entry at `at`: as inserts in any order would.
    fn plant<M: Mem>(&self, m: &mut M, at: At<M::Dep>, keys: &[(u64, u64)], from: usize) {
        let ((first, value), (last, _)) = match keys {
            [] => return,
            [first, .., last] => (*first, *last),
            [one] => (*one, *one),
        };
        let block = |i: usize| self.preload.at::<M::Dep>(i as u64);
        let (key, tag, to) = if first == last {
            self.inserts.values.fill_first(m, block(2 * from), value);
            (first, VALUE, block(2 * from))
        } else {
            let bit = u64::from((first ^ last).ilog2());
            let right = keys.partition_point(|k| k.0 >> bit & 1 == 0);
            // Numbered by the last key of the left half: no other node parts there.
            let node = block(2 * (from + right - 1) + 1);
            m.store(node.field(DIFF), Val::lit(bit));
            self.plant(m, entry(node, 0), &keys[..right], from);
            self.plant(m, entry(node, 1), &keys[right..], from + right);
            (0, NODE, node)
        };
        m.store(at.field(KEY), Val::lit(key));
        m.store(at.field(TAG), Val::lit(tag));
        m.store(at.field(REF), to.pointer());
    }
}

impl Contents for CritBit {
    const NAME: &'static str = "ctree";
    const ABOUT: &'static str = "crit-bit tree: inserts (and removals) of random keys with 128 B values";
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("preload", "3"), ("keys", "12"), ("value", "16B")];
    type Params = CtreeParams;
    type Keys = Inserts;
    type Model = KeyModel;
    type Audit = CtreeAudit;

    fn keys_of(p: &CtreeParams, s: &Settings) -> Result<Inserts, String> {
        Inserts::new(s, (p.preload, p.keys), (p.batch, p.removes), p.value)
    }
    fn lay_out(p: &CtreeParams, s: &Settings, inserts: Inserts, layout: &mut Layout) -> Result<LaidOut<Self>, String> {
        let root = layout.pm(64);
        let (preload, pool) = inserts.blocks(s, layout);
        let front = p.front.then(|| Driver::new(layout, s.threads, inserts.values.words()));
        Ok(LaidOut {
            stores: (STORES + inserts.values.words()) * u64::from(p.batch),
            contents: CritBit {
                inserts,
                root,
                preload,
                pool,
                front,
            },
            pool,
            locks: 1,
            coupling: p.coupling,
        })
    }
    fn keys(&self) -> &Inserts {
        &self.inserts
    }
    #[inline(always)]
    fn part_of(&self, _: u64) -> u64 {
        0
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.front.iter().for_each(|f| f.plant(m));
        let mut keys: Vec<(u64, u64)> = self.inserts.preloaded().collect();
        keys.sort_unstable();
        self.plant(m, At::new(self.root), &keys, 0);
    }
    fn resident(&self) -> Vec<Span> {
        let root = Span { at: self.root, len: 8 };
        vec![root, self.preload.span()]
    }
    #[inline(always)]
    fn change<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, wanted: Toggle, last: u64) -> Changed<M::Dep> {
        let wrong_bit = tx.slip(Variant::SemanticMistake);
        let ends = self.search(tx, wanted.key, None);
        let (tag, found) = (tx.read(ends[0].field(TAG)).v, tx.read(ends[0].field(KEY)).v);
        if self.inserts.removes && tag == VALUE && found == wanted.key {
            return Changed {
                found: self.remove(tx, ends),
                inserted: None,
            };
        }
        Changed {
            found: 0,
            inserted: Some(self.insert(tx, (ends[0], tag, found), (wanted, last), wrong_bit)),
        }
    }
    #[inline(always)]
    fn finish<M: Mem>(&self, m: &mut M, thread: u32, keys: usize) {
        if let Some(front) = &self.front {
            (0..keys).for_each(|_| front.committed(m, thread, 1, 2));
        }
    }
    fn model(&self, _: &[OpRecord], history: History) -> KeyModel {
        KeyModel::new(history)
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> CtreeAudit {
        CtreeAudit::start(self.root, Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: CtreeAudit) -> Step<CtreeAudit> {
        let owns = |at| self.owns(at);
        let tree = audit::Known {
            model,
            values: self.inserts.values,
            planted: self.preload,
        };
        state.step(m, tree, owns)
    }
}
