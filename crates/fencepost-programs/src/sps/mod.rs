//! `sps`: swaps of randomly chosen entries of an array, several per transaction if asked.
//!
//! Each entry carries an identity that the swaps move about, and in every word the tag of the operation that wrote it, so
//! that every value an address ever holds is unique. Locks are striped over the entries and taken in ascending order;
//! one stripe makes it one lock.
//!
//! Under undo logging a transaction of one swap costs three barriers with grouped records (records; data; commit), or one
//! per store with coupled logging. The array needs no structural repair: recovery is the log's.
//!
//! The audit reads the entries that some operation of the run writes; nothing in the run stores to the others.
//!
//! Used by all papers but fgc (SYSTEMS 3.1). The memory bug of an earlier public version (a backup area too small for its
//! record) has no variant: it is a fault of bounds, not of order, and this runtime checks its bounds.

mod replay;

use crate::layout::{Footprint, Layout, Locks};
use crate::oracle::{Builder, Cut, History};
use crate::pool::Pool;
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{LogFlow, LogStep, Region, Runtime, Tx};
use crate::words::{Coupling, Scheme, Variant};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Val, Violation, param_words,
    params, rng,
};

param_words! {
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
        entries: u64 = 10_000,
        /// Size of an entry, "8B" or "64B".
        entry: Bytes = Bytes(64),
        /// Swaps per transaction.
        swaps: u32 = 1,
        /// Lock stripes; 1 is a single lock.
        locks: u64 = 512,
        /// Order of a swap's stores.
        copy_order: CopyOrder = CopyOrder::Entry,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
    }
}

/// Bits below an entry's identity: the writer's tag.
const TAG_BITS: u32 = 40;
const TAG: u64 = (1 << TAG_BITS) - 1;
const SWAPPED: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Sps {
    rt: Runtime,
    seed: u64,
    params: SpsParams,
    cells: Addr,
    locks: Locks,
    footprint: Footprint,
}

impl Described for Sps {
    const WORD: &'static str = "sps";
    const ABOUT: &'static str = "array swap: exchanges random entries, one or more swaps per transaction";
    const SCHEMES: &'static [Scheme] = &[Scheme::UndoArray, Scheme::UndoList, Scheme::Redo, Scheme::Ido];
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];

    fn fields() -> Vec<Field> {
        SpsParams::fields()
    }
    fn build(s: &Settings) -> Result<Sps, ProgramError> {
        let params: SpsParams = read_params::<Sps, _>(s)?;
        let refuse = |why: String| Err(impossible::<Sps>(why));
        if !matches!(params.entry, Bytes(8 | 64)) {
            return refuse(format!("entry = {}B is neither 8B nor 64B", params.entry.0));
        }
        if params.entries < 2 || params.entries > 1 << 24 {
            return refuse(format!("entries = {} is not within 2..={}", params.entries, 1 << 24));
        }
        if params.swaps == 0 || params.swaps > 1000 {
            return refuse(format!("swaps = {} is not within 1..=1000", params.swaps));
        }
        if u64::from(params.swaps) * u64::from(s.ops) >= 1 << 32 {
            return refuse("swaps times ops exceeds the 32 bits of a tag".into());
        }
        let mut layout = Layout::default();
        let cells = layout.pm(params.entries * params.entry.0);
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        // One list node of 64 B per word is the longest log; a grouped record is shorter.
        let log = 64 * 2 * u64::from(params.swaps) * (params.entry.0 / 8);
        let rt = Runtime::new(
            &mut layout,
            s.threads,
            (s.scheme, params.coupling, s.variant),
            log.max(1024),
            pool,
        );
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
    fn footprint(&self) -> Footprint {
        self.footprint
    }
}

/// State between two steps of the audit: the next of the run's registers, and what is known so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpsAudit {
    next: usize,
    cut: Cut,
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct SpsModel {
    history: History,
    /// Entries that some operation of the run writes, ascending.
    touched: Vec<u64>,
}

/// One swap: two different entries.
type Pair = (u64, u64);

impl Sps {
    fn pair(&self, thread: u32, k: u32, swap: u32) -> Pair {
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), u64::from(swap), salt]);
        let below = |x: u64, n: u64| ((u128::from(x) * u128::from(n)) >> 64) as u64;
        let a = below(h(1), self.params.entries);
        let b = below(h(2), self.params.entries - 1);
        (a, if b >= a { b + 1 } else { b })
    }
    fn tag(&self, thread: u32, k: u32, swap: u32) -> u64 {
        let serial = u64::from(k) * u64::from(self.params.swaps) + u64::from(swap) + 1;
        (u64::from(thread) + 1) << 32 | serial
    }
    fn words(&self) -> u64 {
        self.params.entry.0 / 8
    }
    fn cell<D: Copy + Default>(&self, i: u64) -> At<D> {
        At::new(Addr(self.cells.0 + i * self.params.entry.0))
    }
    /// The lock stripes of every entry of the operation, ascending, each once.
    fn stripes(&self, thread: u32, k: u32) -> Small<u64, 16> {
        let mut all = Small::<u64, 16>::new(0);
        for s in 0..self.params.swaps {
            let (a, b) = self.pair(thread, k, s);
            all.push(self.locks.stripe(a));
            all.push(self.locks.stripe(b));
        }
        all.as_mut_slice().sort_unstable();
        let mut once = Small::new(0);
        for s in all.as_slice() {
            if once.as_slice().last() != Some(s) {
                once.push(*s);
            }
        }
        once
    }

    /// One swap inside a transaction; returns a digest of what it read.
    #[track_caller]
    fn swap<M: Mem>(&self, tx: &mut Tx<'_, M>, pair: Pair, tag: u64, halves: (bool, bool)) -> u64 {
        let (a, b) = (self.cell::<M::Dep>(pair.0), self.cell::<M::Dep>(pair.1));
        let n = self.words() as usize;
        // Region inputs: both addresses, the tag, both contents.
        let mut inputs = [Val::lit(0); 19];
        inputs[..3].copy_from_slice(&[Val::lit(a.addr.0), Val::lit(b.addr.0), Val::lit(tag)]);
        for i in 0..n {
            inputs[3 + i] = tx.read(a.field(i as u64 * 8));
            inputs[3 + n + i] = tx.read(b.field(i as u64 * 8));
        }
        let digest = rng::mix(inputs[3].v ^ rng::mix(inputs[3 + n].v));
        tx.region(1, &inputs[..3 + 2 * n]);
        let new = |old: Val<M::Dep>| old.map(|v| (v & !TAG) | tag);
        let both = halves == (true, true);
        let interleave = both && self.params.copy_order == CopyOrder::Word;
        let order = |i: usize| {
            if interleave {
                (i.is_multiple_of(2), i / 2)
            } else {
                (i < n, i % n)
            }
        };
        for (first, i) in (0..2 * n).map(order) {
            let (at, old) = if first {
                (a, inputs[3 + n + i])
            } else {
                (b, inputs[3 + i])
            };
            if (first && halves.0) || (!first && halves.1) {
                tx.compute(sites::ENTRY_WORD);
                tx.write(at.field(i as u64 * 8), new(old));
            }
        }
        digest
    }
    /// Runs the operation's transaction(s) under its locks.
    #[track_caller]
    fn transact<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<u64, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        for s in 0..self.params.swaps {
            let (a, b) = self.pair(thread, k, s);
            tx.protect(self.cell(a), self.params.entry.0);
            tx.protect(self.cell(b), self.params.entry.0);
        }
        let (mut digest, last) = (0, self.params.swaps - 1);
        for s in 0..self.params.swaps {
            let (pair, tag) = (self.pair(thread, k, s), self.tag(thread, k, s));
            let split = self.rt.variant() == Variant::NonAtomicUpdate && s == last;
            let forgets = self.rt.variant() == Variant::SemanticMistake && s == last && k % 4 == 1;
            // The second transaction of the split swap needs what the first overwrites.
            let moved: Option<Small<Val<M::Dep>, 8>> = split.then(|| {
                let mut v = Small::new(Val::lit(0));
                (0..self.words()).for_each(|i| v.push(tx.read(self.cell(pair.0).field(i * 8))));
                v
            });
            digest = rng::mix(digest ^ self.swap(&mut tx, pair, tag, (true, !split && !forgets)));
            if let Some(moved) = moved {
                tx.commit();
                tx = self.rt.begin_part(pm, thread, k, 1)?;
                for (i, old) in moved.as_slice().iter().enumerate() {
                    tx.write(self.cell(pair.1).field(i as u64 * 8), old.map(|v| (v & !TAG) | tag));
                }
            }
        }
        tx.commit();
        Ok(digest)
    }

    /// iDO: re-executes the interrupted swap from its logged inputs, then the operation's remaining swaps.
    fn resume<M: Mem<Dep = ()>>(&self, m: &mut M, thread: u32, seq: u32, region: &Region<()>) -> Result<(), Violation> {
        let n = self.words() as usize;
        let (k, part) = Runtime::op_of(seq);
        let fault = || {
            Err(Violation {
                why: "a region record names no entries of the array".into(),
                at: None,
            })
        };
        let last = self.cells.0 + (self.params.entries - 1) * self.params.entry.0;
        let inside = |a: u64| a >= self.cells.0 && a <= last;
        if region.len != 3 + 2 * n || part != 0 || !region.inputs[..2].iter().all(|a| inside(a.v)) {
            return fault();
        }
        let tag = region.inputs[2].v;
        for i in 0..n {
            let new = |v: u64| Val::lit((v & !TAG) | tag);
            m.store(
                region.inputs[0].ptr().field(i as u64 * 8),
                new(region.inputs[3 + n + i].v),
            );
            m.store(region.inputs[1].ptr().field(i as u64 * 8), new(region.inputs[3 + i].v));
        }
        for s in region.position as u32 + 1..self.params.swaps {
            let ((a, b), tag) = (self.pair(thread, k, s), self.tag(thread, k, s));
            for o in (0..n as u64).map(|i| i * 8) {
                let (at_a, at_b) = (self.cell::<()>(a).field(o), self.cell::<()>(b).field(o));
                let (va, vb) = (m.load(at_a).v, m.load(at_b).v);
                m.store(at_a, Val::lit((vb & !TAG) | tag));
                m.store(at_b, Val::lit((va & !TAG) | tag));
            }
        }
        Ok(())
    }
}

impl Program for Sps {
    type Rebuild = LogStep;
    type Audit = SpsAudit;
    type Model = SpsModel;

    fn setup<M: Mem>(&self, m: &mut M) {
        for i in 0..self.params.entries {
            for w in 0..self.words() {
                m.store(self.cell(i).field(w * 8), Val::lit(i << TAG_BITS));
            }
        }
    }
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback> {
        let stripes = self.stripes(thread, k);
        pm.m.compute(sites::SPS_PROLOGUE);
        for s in stripes.as_slice() {
            pm.lock(At::new(self.locks.addr(*s)));
        }
        let result = self.transact(pm, thread, k);
        for s in stripes.as_slice().iter().rev() {
            pm.unlock(At::new(self.locks.addr(*s)));
        }
        pm.m.compute(sites::SPS_EPILOGUE);
        result.map(|digest| Outcome {
            kind: SWAPPED,
            words: [digest, 0, 0],
        })
    }

    fn rebuild_start(&self) -> LogStep {
        self.rt.recover_start()
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: LogStep) -> Flow<LogStep> {
        match self
            .rt
            .recover(m, state, |m, thread, seq, region| self.resume(m, thread, seq, region))
        {
            LogFlow::Next(step) => Flow::Next(step),
            LogFlow::Finished => Flow::Done(Ok(())),
            LogFlow::Broken(v) => Flow::Done(Err(v)),
        }
    }
    fn model(&self, ops: &[OpRecord]) -> SpsModel {
        let threads = ops.iter().map(|o| o.thread + 1).max().unwrap_or(0);
        let mut b = Builder::new(threads, ops);
        for o in ops {
            for (x, y) in (0..self.params.swaps).map(|s| self.pair(o.thread, o.k, s)) {
                b.initial(x, x << TAG_BITS);
                b.initial(y, y << TAG_BITS);
            }
        }
        let replayed = self.replay(ops, |o, writes| {
            for (cell, value) in writes {
                b.write(*cell, (o.thread, o.k), *value);
            }
        });
        let mut history = b.build();
        if replayed.is_none() {
            history.set_fault("no order of the swaps explains what they read");
        }
        let touched = history.registers().collect();
        SpsModel { history, touched }
    }
    fn audit_start(&self, model: &SpsModel, crash: &CrashPoint) -> SpsAudit {
        SpsAudit {
            next: 0,
            cut: model.history.cut(crash),
        }
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &SpsModel, m: &mut M, state: SpsAudit) -> Flow<SpsAudit> {
        let SpsAudit { next, mut cut } = state;
        if let Some(fault) = model.history.fault() {
            return Flow::Done(Err(Violation {
                why: fault.into(),
                at: None,
            }));
        }
        let Some(cell) = model.touched.get(next) else {
            return Flow::Done(Ok(()));
        };
        let at = self.cell(*cell);
        let value = m.load(at).v;
        for w in 1..self.words() {
            if m.load(at.field(w * 8)).v != value {
                return Flow::Done(Err(Violation::at(
                    at.field(w * 8).addr,
                    "an entry is half one swap's and half another's",
                )));
            }
        }
        if model.history.observe(&mut cut, *cell, value).is_err() {
            return Flow::Done(Err(Violation::at(
                at.addr,
                "the array is that of no prefix of the swaps",
            )));
        }
        Flow::Next(SpsAudit { next: next + 1, cut })
    }
}
