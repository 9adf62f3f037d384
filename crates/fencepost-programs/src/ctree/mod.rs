//! `ctree`: the crit-bit tree of an object store. Insert a random 64-bit key with a 128-byte value (`value`).
//!
//! An inner node holds the number of the bit in which the keys below it differ and two entries; an entry is a key and a reference of two
//! words. An insert finds the leaf nearest to its key, takes a block for the value and one for an inner node, fills both, and redirects
//! one entry: 24 bytes that are logged. A key that is there gets a new value. One lock.
//!
//! By default every insert has a key of its own, and the tree holds 50,000 keys before the run: half of the 100,000 inserts into an
//! empty tree that the papers run. `batch` inserts so many keys in one transaction.
//!
//! The audit walks the tree in the order of its keys.
//!
//! Used by themis, and by broi and fgc as part of WHISPER.

mod audit;
mod node;

pub use audit::CtreeAudit;

use crate::choices::{Coupling, Scheme, Variant};
use crate::dict::Toggle;
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::objects::{Inserts, NODE, NONE, VALUE, Values};
use crate::ordered_keys::{Ascent, KeyModel, flow};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, params,
};
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
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const INSERTED: u8 = 1;
/// Words that an insert stores besides a value: a node, an entry.
const STORES: u64 = 7 + 3;

/// The program.
#[derive(Clone, Debug)]
pub struct Ctree {
    rt: Runtime,
    inserts: Inserts,
    /// The entry from which the tree hangs.
    root: Addr,
    /// Blocks of the preloaded keys: a value and an inner node each.
    preload: Rows,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Ctree {
    const NAME: &'static str = "ctree";
    const ABOUT: &'static str = "crit-bit tree: inserts of random keys with 128 B values";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("preload", "3"), ("keys", "12"), ("value", "16B")];

    fn fields() -> Vec<Field> {
        CtreeParams::fields()
    }
    fn build(s: &Settings) -> Result<Ctree, ProgramError> {
        let p: CtreeParams = read_params::<Ctree, _>(s)?;
        let inserts = Inserts {
            seed: s.seed,
            threads: s.threads,
            keys: p.keys,
            preload: p.preload,
            batch: p.batch,
            values: Values::new(p.value.0).map_err(impossible::<Ctree>)?,
        };
        if let Some(why) = inserts.refusal(s.ops) {
            return Err(impossible::<Ctree>(why));
        }
        let mut layout = Layout::default();
        let root = layout.pm(64);
        let block = inserts.values.block();
        let preload = Rows::new(&mut layout, block, 2 * p.preload);
        let blocks = 2 * u64::from(s.ops) * u64::from(p.batch);
        let pool = Pool::new(&mut layout, s.threads, block, blocks);
        let stores = (STORES + inserts.values.words()) * u64::from(p.batch);
        let rt = Runtime::new(&mut layout, s, p.coupling, stores, pool);
        let locks = Locks::new(&mut layout, 1);
        Ok(Ctree {
            rt,
            inserts,
            root,
            preload,
            locks,
            footprint: layout.footprint(),
        })
    }
}

impl Ctree {
    fn owns(&self, at: u64) -> bool {
        self.preload.owns(at) || self.rt.pool().owns(Addr(at))
    }
    /// The entry where the search for `key` ends: at a leaf, or before the first node that tells bits below `above` apart.
    #[inline(always)]
    fn search<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, key: u64, above: Option<u64>) -> At<M::Dep> {
        let mut at = At::new(self.root);
        while tx.read(at.field(TAG)).v == NODE {
            let node = tx.read(at.field(REF)).ptr();
            let diff = tx.read(node.field(DIFF)).v;
            tx.compute(sites::TREE_STEP);
            if above.is_some_and(|bit| diff < bit) {
                break;
            }
            at = entry(node, key >> diff & 1);
        }
        at
    }
    /// Inserts a key: the last word of its value.
    #[inline(always)]
    fn insert<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, new: Toggle, last: u64, wrong_bit: bool) -> At<M::Dep> {
        let leaf = self.search(tx, new.key, None);
        let (tag, found) = (tx.read(leaf.field(TAG)).v, tx.read(leaf.field(KEY)).v);
        let block = tx.alloc();
        let last = self.inserts.values.fill(tx, block, new.value, last);
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
            false => u64::from(63 - difference.leading_zeros()),
            // The mistake: the lowest bit that differs instead of the highest.
            true => u64::from(difference.trailing_zeros()),
        };
        let above = self.search(tx, new.key, Some(bit));
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
    /// The transaction, under the lock.
    #[inline(always)]
    fn transact<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, keys: &[Toggle]) -> Result<(), Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let split = tx.slip(Variant::NonAtomicUpdate);
        let wrong_bit = tx.slip(Variant::SemanticMistake);
        let mut unfinished = None;
        for new in keys {
            let at = self.insert(&mut tx, *new, if split { 0 } else { new.value }, wrong_bit);
            unfinished = Some((at, new.value));
        }
        tx.commit();
        if split && let Some((at, value)) = unfinished {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(at, Val::lit(value));
            tx.commit();
        }
        Ok(())
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
            let bit = u64::from(63 - (first ^ last).leading_zeros());
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

impl Program for Ctree {
    type Input = Small<Toggle, 1>;
    type Audit = CtreeAudit;
    type Model = KeyModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let mut keys: Vec<(u64, u64)> = self.inserts.preloaded().collect();
        keys.sort_unstable();
        self.plant(m, At::new(self.root), &keys, 0);
    }
    fn resident(&self) -> Vec<Span> {
        let root = Span { at: self.root, len: 8 };
        vec![root, self.preload.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Small<Toggle, 1> {
        self.inserts.input(thread, k)
    }
    #[inline(always)]
    fn op<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        input: &Small<Toggle, 1>,
    ) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let lock = self.locks.of(0);
        pm.lock(lock);
        let result = self.transact(pm, thread, k, input.as_slice());
        pm.unlock(lock);
        pm.m.compute(sites::EPILOGUE);
        result.map(|()| Outcome {
            kind: INSERTED,
            words: [0; 3],
        })
    }
    fn model(&self, ops: &[OpRecord]) -> KeyModel {
        KeyModel::new(self.inserts.history(ops))
    }
    fn audit_start(&self, model: &KeyModel, crash: &CrashPoint) -> CtreeAudit {
        CtreeAudit::start(self.root, Ascent::start(model, crash))
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &KeyModel, m: &mut M, state: CtreeAudit) -> Flow<CtreeAudit> {
        let owns = |at| self.owns(at);
        let tree = audit::Known {
            model,
            values: self.inserts.values,
            planted: self.preload,
        };
        flow(state.step(m, tree, owns))
    }
}
