//! `nstore-ycsb`: one tuple per transaction, found by its key; all its fields are rewritten, or read.
//!
//! WHISPER draws keys with a skew of 0.1 and has five fields of 100 B; it runs 1,000 to 40,000 transactions on 10,000 to 100,000 keys with 50
//! to 80 % writes and 4 executors, fgc and broi 8 million transactions. The skew is read as a tenth of the keys getting nine tenths of the
//! transactions. The default is 10,000 keys and 50 % writes.
//!
//! With `front=application` the executor takes its parameters from a list, builds a record of strings from which the tuple is filled,
//! writes the key out and hashes it, and writes out what it selected (`front::procedure`).

use super::SCHEMES;
use crate::chains::Chains;
use crate::choices::{Coupling, Scheme, Variant};
use crate::draw;
use crate::front::{Front, Procedure};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    At, Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
};
use std::collections::BTreeMap;

params! {
    /// Parameters of `nstore-ycsb`.
    pub struct YcsbParams {
        /// Tuples of the table.
        #[range(1..=1 << 22)]
        keys: u64 = 10_000,
        /// Percentage of transactions that update.
        #[range(0..=100)]
        write_percent: u8 = 50,
        /// Percentage of the keys that are hot; the others get this percentage of the transactions. 50: no skew.
        #[range(1..=50)]
        skew_percent: u8 = 10,
        /// Fields of a tuple.
        #[range(1..=16)]
        fields: u64 = 5,
        /// Size of a field; stored in whole words.
        #[range(Bytes(1)..=Bytes(1024))]
        field: Bytes = Bytes(100),
        /// Lock stripes over the tuples.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

/// Offset of the first field: chain and key stand before.
const FIELDS: u64 = 16;
const READ: u8 = 0;
const UPDATED: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Ycsb {
    rt: Runtime,
    seed: u64,
    params: YcsbParams,
    index: Chains,
    tuples: Rows,
    locks: Locks,
    front: Option<Procedure>,
    footprint: Footprint,
}

/// What an operation is given.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Request {
    key: u64,
    /// What to write into every word of the fields; `None`: read.
    value: Option<u64>,
}

impl Described for Ycsb {
    const NAME: &'static str = "nstore-ycsb";
    const ABOUT: &'static str = "tuple engine with a write-ahead log: reads or rewrites all fields of a tuple";
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("keys", "6"),
        ("write_percent", "80"),
        ("skew_percent", "50"),
        ("fields", "3"),
        ("field", "20B"),
        ("locks", "3"),
    ];

    fn fields() -> Vec<Field> {
        YcsbParams::fields()
    }
    fn build(s: &Settings) -> Result<Ycsb, ProgramError> {
        let params: YcsbParams = read_params::<Ycsb, _>(s)?;
        if s.ops >= 1 << 24 {
            return Err(impossible::<Ycsb>(
                "ops reaches 16777216, beyond which values would repeat",
            ));
        }
        let words = params.fields * params.field.0.div_ceil(8);
        let mut layout = Layout::default();
        let index = Chains::new(&mut layout, params.keys);
        let tuples = Rows::new(&mut layout, (FIELDS + words * 8).next_multiple_of(64), params.keys);
        let pool = Pool::new(&mut layout, s.threads, 64, 0);
        let rt = Runtime::new(&mut layout, s, params.coupling, words, pool);
        let locks = Locks::new(&mut layout, params.locks.min(params.keys));
        let string = params.field.0.div_ceil(8);
        let front = params
            .front
            .then(|| Procedure::new(&mut layout, s.threads, params.fields, string));
        Ok(Ycsb {
            rt,
            seed: s.seed,
            index,
            tuples,
            locks,
            front,
            footprint: layout.footprint(),
            params,
        })
    }
}

impl Ycsb {
    #[inline(always)]
    fn words(&self) -> u64 {
        self.params.fields * self.params.field.0.div_ceil(8)
    }
    /// Words of a tuple's fields before the run: its key.
    fn planted(key: u64) -> u64 {
        key
    }
    /// Writes the fields from word `from` on.
    #[inline(always)]
    fn write<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        (tuple, thread): (At<M::Dep>, u32),
        (from, to): (u64, u64),
        value: u64,
    ) {
        tx.protect(tuple.field(FIELDS + from * 8), (to - from) * 8);
        for w in from..to {
            let word = match &self.front {
                Some(front) => tx.pm.m.load(front.field_word(thread, w)),
                None => Val::lit(value),
            };
            tx.write(tuple.field(FIELDS + w * 8), word);
        }
        tx.compute(sites::ROW);
    }
    #[inline(always)]
    fn execute<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, request: Request) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let (tuple, words) = (self.index.find(&mut tx, request.key).entry, self.words());
        let Some(value) = request.value else {
            let mut found = 0;
            for w in 0..words {
                found = tx.read(tuple.field(FIELDS + w * 8)).v;
            }
            tx.compute(sites::ROW);
            tx.commit();
            let (kind, words) = (READ, [found, 0, 0]);
            return Ok(Outcome { kind, words });
        };
        if tx.slip(Variant::NonAtomicUpdate) {
            self.write(&mut tx, (tuple, thread), (0, words / 2), value);
            tx.commit();
            tx = self.rt.begin_part(pm, thread, k, 1)?;
            self.write(&mut tx, (tuple, thread), (words / 2, words), value);
        } else {
            // The mistake of logic: the last field keeps what it had.
            let forgets = tx.slip(Variant::SemanticMistake);
            let to = if forgets {
                words - words / self.params.fields
            } else {
                words
            };
            self.write(&mut tx, (tuple, thread), (0, to), value);
        }
        tx.commit();
        let (kind, words) = (UPDATED, [0; 3]);
        Ok(Outcome { kind, words })
    }
}

impl Program for Ycsb {
    type Input = Request;
    type Audit = RegisterAudit;
    type Model = Registers;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        for key in 1..=self.params.keys {
            let tuple = self.tuples.at::<M::Dep>(key - 1);
            (0..self.words()).for_each(|w| m.store(tuple.field(FIELDS + w * 8), Val::lit(Self::planted(key))));
            self.index.plant(m, tuple, key);
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.index.span(), self.tuples.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Request {
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let writes = draw::percent(h(1), self.params.write_percent.into());
        Request {
            key: 1 + draw::hot_and_cold(h(2), self.params.keys, self.params.skew_percent.into()),
            value: writes.then_some((u64::from(thread) + 1) << 24 | (u64::from(k) + 1)),
        }
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Request) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        if let Some(front) = &self.front {
            front.parameters(pm.m, thread, [input.key, input.value.is_some().into()].into_iter());
            if let Some(value) = input.value {
                front.record(pm.m, thread, value);
            }
            front.key(pm.m, thread, &[input.key]);
        }
        let lock = self.locks.of(input.key);
        pm.lock(lock);
        let result = self.execute(pm, thread, k, *input);
        pm.unlock(lock);
        if let (Some(front), None, Ok(outcome)) = (&self.front, input.value, &result) {
            front.result(pm.m, thread, self.words(), outcome.words[0]);
        }
        pm.m.compute(sites::EPILOGUE);
        result
    }
    /// A register per tuple that is updated in the run.
    fn model(&self, ops: &[OpRecord]) -> Registers {
        let mut b = Builder::new(ops);
        let (mut now, mut explained) = (BTreeMap::<u64, u64>::new(), true);
        for o in ops {
            let request = self.input(o.thread, o.k);
            let tuple = now.entry(request.key).or_insert(Self::planted(request.key));
            match request.value {
                None => explained &= o.outcome.words[0] == *tuple,
                Some(value) => {
                    *tuple = value;
                    b.initial(request.key, Self::planted(request.key));
                    b.write(request.key, (o.thread, o.k), value);
                }
            }
        }
        Registers::new(b.build_if(
            explained,
            "what was read is not what the locks' order of the transactions leaves",
        ))
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    /// One tuple a step, found by its key.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "a tuple is that of no prefix of the transactions";
        model.step(state, why, |key| {
            let found = self.index.look_up(m, key, |at| self.tuples.owns(at))?;
            let tuple = self.tuples.at::<()>(key - 1);
            if found != tuple.addr.0 {
                return Err(Violation::at(tuple.addr, "a key does not lead to its tuple"));
            }
            let mut word = |w| m.load(tuple.field(FIELDS + w * 8)).v;
            let value = word(0);
            match (1..self.words()).any(|w| word(w) != value) {
                true => Err(Violation::at(
                    tuple.addr,
                    "a tuple is half one transaction's and half another's",
                )),
                false => Ok((value, tuple.addr)),
            }
        })
    }
}
