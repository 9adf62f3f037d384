//! `sps`: swaps of randomly chosen entries of an array, several per transaction if asked.
//!
//! Each entry carries an identity in every word, made at setup; swaps move identities about. Locks are striped over the entries and
//! taken in ascending order; one stripe makes it one lock.
//!
//! Under undo logging a transaction of one swap costs three barriers with grouped records (records; data; commit), or one
//! per store with coupled logging. The array needs no structural repair: recovery is the log's.
//!
//! The audit reads the entries that some operation of the run writes; nothing in the run stores to the others. A word that stands with
//! words of another identity shows a torn swap; an identity at the wrong entry, a swap that is in no prefix.
//!
//! Used by all papers but fgc. The memory bug of an earlier public version (a backup area too small for its
//! record) has no variant: it is a fault of bounds, not of order, and this runtime checks its bounds.

use crate::choices::{Coupling, Scheme, Variant};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{LogStep, Region, Runtime, Tx};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, param_enum, params,
    rng,
};
use std::collections::BTreeMap;

param_enum! {
    /// In which order a swap stores the words of its two entries.
    pub enum CopyOrder {
        /// All of the first entry, then all of the second.
        Entry = "entry",
        /// Word by word in turn (defeats coalescing of the two lines).
        Word = "word",
    }
}

params! {
    /// Parameters of `sps`.
    pub struct SpsParams {
        /// Entries of the array.
        #[range(1..=1 << 26)]
        entries: u64 = 10_000,
        /// Size of an entry, "8B" or "64B".
        entry: Bytes = Bytes(64),
        /// Swaps per transaction.
        #[range(1..=100)]
        swaps: u32 = 1,
        /// Lock stripes; 1 is a single lock.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// Order of a swap's stores.
        copy_order: CopyOrder = CopyOrder::Entry,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

const SWAPPED: u8 = 1;
const REGION_SWAP: u8 = 1;
/// Words of the largest entry.
const WORDS: usize = 8;

/// The program.
#[derive(Clone, Debug)]
pub struct Sps {
    rt: Runtime,
    seed: u64,
    params: SpsParams,
    cells: Rows,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Sps {
    const NAME: &'static str = "sps";
    const ABOUT: &'static str = "array swap: exchanges random entries, one or more swaps per transaction";
    const SCHEMES: &'static [Scheme] = Scheme::WITH_REGIONS;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[("entries", "12"), ("locks", "5"), ("swaps", "2")];
    const SMALLEST: &'static [(&'static str, &'static str)] = &[("entry", "8B"), ("swaps", "1")];

    fn fields() -> Vec<Field> {
        SpsParams::fields()
    }
    fn build(s: &Settings) -> Result<Sps, ProgramError> {
        let params: SpsParams = read_params::<Sps, _>(s)?;
        let refuse = |why: String| Err(impossible::<Sps>(why));
        if !matches!(params.entry, Bytes(8 | 64)) {
            return refuse(format!("entry = {}B is neither 8B nor 64B", params.entry.0));
        }
        if params.entries < 2 || params.entries > 1 << 28 {
            return refuse(format!("entries = {} is not within 2..={}", params.entries, 1 << 28));
        }
        if params.swaps == 0 || params.swaps > 1000 {
            return refuse(format!("swaps = {} is not within 1..=1000", params.swaps));
        }
        let mut layout = Layout::default();
        let cells = Rows::new(&mut layout, params.entry.0, params.entries);
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let stores = 2 * u64::from(params.swaps) * (params.entry.0 / 8);
        let rt = Runtime::new(&mut layout, s, params.coupling, stores, pool);
        let locks = Locks::new(&mut layout, params.locks.min(params.entries));
        Ok(Sps {
            rt,
            seed: s.seed,
            cells,
            locks,
            footprint: layout.footprint(),
            params,
        })
    }
}

/// One swap: two different entries.
type Pair = (u64, u64);

impl Sps {
    #[inline(always)]
    fn words(&self) -> u64 {
        self.params.entry.0 / 8
    }
    /// What an entry holds before the run, in every word.
    fn identity(entry: u64) -> u64 {
        entry + 1
    }
    /// One swap inside a transaction, without its second half if `half`; returns the identities that it read.
    #[inline(always)]
    fn swap<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, pair: Pair, half: bool) -> (u64, u64) {
        if self.params.entry.0 == 8 {
            self.exchange::<M, 1>(tx, pair, half)
        } else {
            self.exchange::<M, WORDS>(tx, pair, half)
        }
    }
    /// `N` words of each entry: read all, then store all.
    #[inline(always)]
    fn exchange<M: Mem, const N: usize>(&self, tx: &mut Tx<'_, '_, M>, pair: Pair, half: bool) -> (u64, u64) {
        let (a, b) = (self.cells.at::<M::Dep>(pair.0), self.cells.at::<M::Dep>(pair.1));
        let (mut of_a, mut of_b) = ([Val::lit(0); N], [Val::lit(0); N]);
        for i in 0..N {
            of_a[i] = tx.read(a.field(i as u64 * 8));
            of_b[i] = tx.read(b.field(i as u64 * 8));
        }
        if tx.has_regions() {
            let inputs: Vec<Val<M::Dep>> = [a.pointer(), b.pointer()].into_iter().chain(of_a).chain(of_b).collect();
            tx.region(REGION_SWAP, &inputs);
        }
        tx.compute(sites::SPS_SWAP);
        if self.params.copy_order == CopyOrder::Word && !half {
            for i in 0..N {
                tx.write(a.field(i as u64 * 8), of_b[i]);
                tx.write(b.field(i as u64 * 8), of_a[i]);
            }
            return (of_a[0].v, of_b[0].v);
        }
        for (i, v) in of_b.iter().enumerate() {
            tx.write(a.field(i as u64 * 8), *v);
        }
        if !half {
            for (i, v) in of_a.iter().enumerate() {
                tx.write(b.field(i as u64 * 8), *v);
            }
        }
        (of_a[0].v, of_b[0].v)
    }
    /// Runs the operation's transaction(s) under its locks; returns a digest of what was read, if an oracle looks.
    #[inline(always)]
    fn transact<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, pairs: &[Pair]) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        for (a, b) in pairs {
            tx.protect(self.cells.at(*a), self.params.entry.0);
            tx.protect(self.cells.at(*b), self.params.entry.0);
        }
        let (mut digest, last) = (0, pairs.len() - 1);
        for (s, pair) in pairs.iter().enumerate() {
            let forgets = s == last && k % 4 == 1 && tx.slip(Variant::SemanticMistake);
            let read = if s == last && tx.slip(Variant::NonAtomicUpdate) {
                let moved: Vec<_> = (0..self.words())
                    .map(|i| tx.read(self.cells.at(pair.0).field(i * 8)))
                    .collect();
                let read = self.swap(&mut tx, *pair, true);
                tx.commit();
                tx = self.rt.begin_part(pm, thread, k, 1)?;
                tx.protect(self.cells.at(pair.1), self.params.entry.0);
                for (i, old) in (0..).zip(moved) {
                    tx.write(self.cells.at(pair.1).field(i * 8), old);
                }
                read
            } else {
                self.swap(&mut tx, *pair, forgets)
            };
            if M::OBSERVED {
                digest = rng::mix(digest ^ rng::mix(read.0 ^ rng::mix(read.1)));
            }
        }
        tx.commit();
        Ok(digest)
    }
    /// The stores of a swap, from its logged inputs.
    fn redo_swap<M: Mem<Dep = ()>>(&self, m: &mut M, region: &Region<()>) {
        let n = self.words() as usize;
        for i in 0..n {
            m.store(region.inputs[0].ptr().field(i as u64 * 8), region.inputs[2 + n + i]);
            m.store(region.inputs[1].ptr().field(i as u64 * 8), region.inputs[2 + i]);
        }
    }
    /// iDO: re-executes the interrupted swap from its logged inputs, then the operation's remaining swaps.
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, region: &Region<()>) -> Result<(), Violation> {
        let n = self.words() as usize;
        let (k, part) = Runtime::op_of(seq);
        if region.len != 2 + 2 * n || part != 0 || !region.inputs[..2].iter().all(|a| self.cells.owns(a.v)) {
            return Err(Violation {
                why: "a region record names no entries of the array".into(),
                at: None,
            });
        }
        self.redo_swap(m, region);
        let pairs = self.input(thread, k);
        let rest = &pairs.as_slice()[region.position as usize + 1..];
        for (after, (a, b)) in (1..).zip(rest) {
            let (at_a, at_b) = (self.cells.at::<()>(*a), self.cells.at::<()>(*b));
            let mut next = Region {
                position: region.position + after,
                ..*region
            };
            next.inputs[..2].copy_from_slice(&[at_a.pointer(), at_b.pointer()]);
            for i in 0..n {
                next.inputs[2 + i] = m.load(at_a.field(i as u64 * 8));
                next.inputs[2 + n + i] = m.load(at_b.field(i as u64 * 8));
            }
            self.rt.log_region(m, thread, seq, &next);
            self.redo_swap(m, &next);
        }
        Ok(())
    }
}

impl Program for Sps {
    type Input = Small<Pair, 1>;
    type Rebuild = LogStep;
    type Audit = RegisterAudit;
    type Model = Registers;

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        for i in 0..self.params.entries {
            for w in 0..self.words() {
                m.store(self.cells.at(i).field(w * 8), Val::lit(Self::identity(i)));
            }
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.cells.span()]
    }
    fn ranges(&self, thread: u32) -> Vec<Span> {
        self.rt.ranges(thread, self.resident())
    }
    fn input(&self, thread: u32, k: u32) -> Small<Pair, 1> {
        let mut pairs = Small::new((0, 0));
        for swap in 0..self.params.swaps {
            let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), u64::from(swap), salt]);
            let below = |x: u64, n: u64| ((u128::from(x) * u128::from(n)) >> 64) as u64;
            let a = below(h(1), self.params.entries);
            let b = below(h(2), self.params.entries - 1);
            pairs.push((a, if b >= a { b + 1 } else { b }));
        }
        pairs
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Small<Pair, 1>) -> Result<Outcome, Rollback> {
        let pairs = input.as_slice();
        pm.m.compute(sites::PROLOGUE);
        let result = if let [(a, b)] = pairs {
            self.locks.lock_two(pm, *a, *b);
            let result = self.transact(pm, thread, k, pairs);
            self.locks.unlock_two(pm, *a, *b);
            result
        } else {
            let stripes = self.locks.stripes(pairs.iter().flat_map(|p| [p.0, p.1]));
            self.locks.lock_all(pm, stripes.as_slice());
            let result = self.transact(pm, thread, k, pairs);
            self.locks.unlock_all(pm, stripes.as_slice());
            result
        };
        pm.m.compute(sites::EPILOGUE);
        result.map(|digest| Outcome {
            kind: SWAPPED,
            words: [digest, 0, 0],
        })
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        (self.rt).rebuild(m, state, |m, thread, seq, region| self.resume(m, thread, seq, region))
    }
    /// Operations are replayed in the order in which they had all their locks: each must have read what the ones before it left.
    fn model(&self, ops: &[OpRecord]) -> Registers {
        let mut b = Builder::new(ops);
        let (mut array, mut explained) = (BTreeMap::<u64, u64>::new(), true);
        for o in ops {
            let mut digest = 0;
            for (x, y) in self.input(o.thread, o.k).as_slice() {
                let mut now = |i: u64| *array.entry(i).or_insert(Self::identity(i));
                let (of_x, of_y) = (now(*x), now(*y));
                b.initial(*x, Self::identity(*x));
                b.initial(*y, Self::identity(*y));
                digest = rng::mix(digest ^ rng::mix(of_x ^ rng::mix(of_y)));
                for (entry, value) in [(*x, of_y), (*y, of_x)] {
                    b.write(entry, (o.thread, o.k), value);
                    array.insert(entry, value);
                }
            }
            explained &= digest == o.outcome.words[0];
        }
        Registers::new(b.build_if(explained, "no order of the swaps explains what they read"))
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let wrong = "the array is that of no prefix of the swaps";
        model.step_rows((&self.cells, m), state, wrong, |m, entry| {
            let at = self.cells.at(entry);
            let value = m.load(at).v;
            let other = (1..self.words())
                .map(|w| at.field(w * 8))
                .find(|at| m.load(*at).v != value);
            match other {
                Some(at) => Err(Violation::at(at.addr, "an entry is half one swap's and half another's")),
                None => Ok((value, at.addr)),
            }
        })
    }
}
