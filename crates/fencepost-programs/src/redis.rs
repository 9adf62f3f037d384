//! `redis`: an object store. A dictionary of keys, each entry pointing to an object of its own; SET and GET.
//!
//! A client sends a pipeline of SETs, then one of GETs, over keys drawn by an 80-20 power law. A SET makes a new object and
//! redirects the entry to it, as the server does; the old object is freed. A GET reads the whole object.
//!
//! The server proper executes commands one at a time (`locks` = 1 is that); stripes stand for several instances, so that several
//! threads have something to do. The table is sized for its keys and never rehashed. Keys are words, values six words.
//!
//! WHISPER runs 10,000 to 1,000,000 keys, 250 commands a pipeline; fgc 1,000,000 keys. The default is 10,000 keys, half of them there.
//!
//! With `front=application` a thread is a server with one connection: it parses the array of strings, makes an object of each, looks the
//! command up, copies the value from its argument, replies, and releases the arguments (`front::resp`).
//!
//! Used by fgc (Table III).

use crate::chains::{Chains, KEY, NEXT};
use crate::choices::{Coupling, Scheme, Variant};
use crate::draw;
use crate::front::{Front, Reader, Resp, next_word};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, Tx, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
};
use std::collections::BTreeMap;

params! {
    /// Parameters of `redis`.
    pub struct RedisParams {
        /// Distinct keys that commands draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 10_000,
        /// Keys set before the run, the most popular.
        #[range(0..=1 << 24)]
        preload: u64 = 5_000,
        /// Buckets of the dictionary, rounded up to a power of two.
        #[range(1..=1 << 24)]
        buckets: u64 = 16_384,
        /// SETs in a row, then as many GETs.
        #[range(1..=1 << 20)]
        pipeline: u32 = 250,
        /// Lock stripes over the buckets.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

// An entry: chain, key, object.
const OBJECT: u64 = 16;
// An object: type and length, then the value.
const HEADER: u64 = 0;
const VALUE: u64 = 8;
const VALUE_WORDS: u64 = 6;
/// A string of this many bytes, stored with its object.
const STRING: u64 = (1 << 32) | (VALUE_WORDS * 8);
const BLOCK: u64 = 64;
const GOT: u8 = 0;
const SET: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Redis {
    rt: Runtime,
    seed: u64,
    params: RedisParams,
    dict: Chains,
    entries: Rows,
    objects: Rows,
    locks: Locks,
    front: Option<Resp>,
    footprint: Footprint,
}

/// What an operation is given.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Command {
    key: u64,
    /// The value to set; `None`: a GET.
    value: Option<u64>,
}

impl Described for Redis {
    const NAME: &'static str = "redis";
    const ABOUT: &'static str = "object store: pipelines of SET and GET over a dictionary, keys by a power law";
    const SCHEMES: &'static [Scheme] = Scheme::LOGGED;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    /// What a redo log holds is one store here, of a pointer to a new object or entry, which is atomic by itself.
    const HARMLESS: &'static [(Scheme, Variant)] = &[
        (Scheme::Redo, Variant::RecoveryEndsLogFirst),
        (Scheme::RedoBlock, Variant::RecoveryEndsLogFirst),
    ];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("keys", "8"),
        ("preload", "4"),
        ("buckets", "4"),
        ("pipeline", "4"),
        ("locks", "2"),
    ];

    fn fields() -> Vec<Field> {
        RedisParams::fields()
    }
    fn build(s: &Settings) -> Result<Redis, ProgramError> {
        let params: RedisParams = read_params::<Redis, _>(s)?;
        if params.preload > params.keys {
            let why = format!("preload = {} exceeds keys = {}", params.preload, params.keys);
            return Err(impossible::<Redis>(why));
        }
        let mut layout = Layout::default();
        let dict = Chains::new(&mut layout, params.buckets);
        let mut rows = || Rows::new(&mut layout, BLOCK, params.preload);
        let (entries, objects) = (rows(), rows());
        // A SET takes an object, the first of its key an entry too.
        let pool = Pool::new(&mut layout, s.threads, BLOCK, 2 * u64::from(s.ops));
        let rt = Runtime::new(&mut layout, s, params.coupling, VALUE_WORDS + 5, pool);
        let locks = Locks::new(&mut layout, params.locks.min(params.buckets));
        let front = params.front.then(|| Resp::new(&mut layout, s.threads, VALUE_WORDS));
        Ok(Redis {
            rt,
            seed: s.seed,
            dict,
            entries,
            objects,
            locks,
            front,
            footprint: layout.footprint(),
            params,
        })
    }
}

impl Redis {
    /// The value that a key has before the run (0: none).
    fn planted(&self, key: u64) -> u64 {
        if key <= self.params.preload { key } else { 0 }
    }
    /// Sets a key; returns where the last word of the value lies.
    #[inline(always)]
    fn set<M: Mem>(
        &self,
        tx: &mut Tx<'_, '_, M>,
        (key, value): (u64, u64),
        mut data: Option<Reader<M::Dep>>,
    ) -> At<M::Dep> {
        let place = self.dict.find(tx, key);
        let object = tx.alloc();
        let last = object.field(VALUE + (VALUE_WORDS - 1) * 8);
        tx.fresh(object.field(HEADER), Val::lit(STRING));
        for w in 0..VALUE_WORDS - 1 {
            let word = next_word(tx.pm.m, &mut data, value);
            tx.fresh(object.field(VALUE + w * 8), word);
        }
        let split = tx.slip(Variant::NonAtomicUpdate);
        let word = next_word(tx.pm.m, &mut data, value);
        tx.fresh(last, if split { Val::lit(0) } else { word });
        if place.found() {
            let pointer = place.entry.field(OBJECT);
            let old = tx.read(pointer).ptr();
            tx.update(pointer, object.pointer());
            // The mistake of logic: the object that is in use from now on goes back to the pool.
            let wrong = tx.slip(Variant::SemanticMistake);
            tx.free(if wrong { object } else { old });
        } else {
            let entry = tx.alloc();
            tx.fresh(entry.field(NEXT), Val::lit(0));
            tx.fresh(entry.field(KEY), Val::lit(key));
            tx.fresh(entry.field(OBJECT), object.pointer());
            tx.update(place.link, entry.pointer());
        }
        last
    }
    /// The value of a key (0: none), all of it read.
    #[inline(always)]
    fn get<M: Mem>(&self, tx: &mut Tx<'_, '_, M>, key: u64) -> u64 {
        let place = self.dict.find(tx, key);
        if !place.found() {
            return 0;
        }
        let object = tx.read(place.entry.field(OBJECT)).ptr();
        let mut value = tx.read(object.field(HEADER)).v;
        for w in 0..VALUE_WORDS {
            value = tx.read(object.field(VALUE + w * 8)).v;
        }
        value
    }
    #[inline(always)]
    fn execute<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        (thread, k): (u32, u32),
        c: Command,
        data: Option<Reader<M::Dep>>,
    ) -> Result<Outcome, Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let Some(value) = c.value else {
            let found = self.get(&mut tx, c.key);
            tx.commit();
            let (kind, words) = (GOT, [found, 0, 0]);
            return Ok(Outcome { kind, words });
        };
        let last = self.set(&mut tx, (c.key, value), data);
        let split = tx.slip(Variant::NonAtomicUpdate);
        tx.commit();
        if split {
            let mut tx = self.rt.begin_part(pm, thread, k, 1)?;
            tx.update(last, Val::lit(value));
            tx.commit();
        }
        let (kind, words) = (SET, [0; 3]);
        Ok(Outcome { kind, words })
    }
    /// Takes the command from where the client's text arrives. A thread that was rolled back and does not know it yet finds none there:
    /// it goes on with the one that it was given, to no effect.
    #[inline(always)]
    fn receive<M: Mem>(&self, m: &mut M, thread: u32, input: &Command) -> (Command, Option<Reader<M::Dep>>) {
        let front = self.front.as_ref();
        match front.and_then(|f| f.take(m, thread, input.key, input.value)) {
            None => (*input, None),
            Some(taken) => (
                Command {
                    key: taken.key,
                    ..*input
                },
                taken.value,
            ),
        }
    }
    /// The value of a key in a recovered memory (0: none), or what is wrong with its entry.
    fn recovered<M: Mem<Dep = ()>>(&self, m: &mut M, key: u64) -> Result<(u64, Addr), Violation> {
        let is_entry = |at| self.entries.owns(at) || self.rt.pool().owns(Addr(at));
        let entry = At::<()>::new(Addr(self.dict.look_up(m, key, is_entry)?));
        if entry.addr.0 == 0 {
            return Ok((0, self.dict.span().at));
        }
        let object = At::<()>::new(Addr(m.load(entry.field(OBJECT)).v));
        if !self.objects.owns(object.addr.0) && !self.rt.pool().owns(object.addr) {
            return Err(Violation::at(
                entry.addr,
                "an entry leads to something that is no object",
            ));
        }
        let value = m.load(object.field(VALUE)).v;
        let torn = (1..VALUE_WORDS).any(|w| m.load(object.field(VALUE + w * 8)).v != value);
        if torn || value == 0 || m.load(object.field(HEADER)).v != STRING {
            return Err(Violation::at(object.addr, "an object is not whole"));
        }
        Ok((value, object.addr))
    }
}

impl Program for Redis {
    type Input = Command;
    type Audit = RegisterAudit;
    type Model = Registers;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.front.iter().for_each(|f| f.plant(m));
        for i in 0..self.params.preload {
            let (entry, object) = (self.entries.at::<M::Dep>(i), self.objects.at::<M::Dep>(i));
            m.store(object.field(HEADER), Val::lit(STRING));
            (0..VALUE_WORDS).for_each(|w| m.store(object.field(VALUE + w * 8), Val::lit(self.planted(i + 1))));
            m.store(entry.field(OBJECT), object.pointer());
            self.dict.plant(m, entry, i + 1);
        }
    }
    fn resident(&self) -> Vec<Span> {
        vec![self.dict.span(), self.entries.span(), self.objects.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Command {
        let h = rng::hash(&[self.seed, u64::from(thread), u64::from(k)]);
        let sets = (k / self.params.pipeline).is_multiple_of(2);
        Command {
            key: 1 + draw::power_law(h, self.params.keys, 20),
            value: sets.then_some((u64::from(thread) + 1) << 32 | (u64::from(k) + 1)),
        }
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Command) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let (command, data) = self.receive(pm.m, thread, input);
        let lock = self.locks.of(self.dict.bucket(command.key));
        pm.lock(lock);
        let result = self.execute(pm, (thread, k), command, data);
        pm.unlock(lock);
        if let (Some(front), Ok(outcome)) = (&self.front, &result) {
            match input.value {
                Some(_) => front.stored(pm.m, thread),
                None => front.value(pm.m, thread, outcome.words[0]),
            }
        }
        pm.m.compute(sites::EPILOGUE);
        result
    }
    /// A register per key that is set in the run; what was got must be what the locks' order of the commands leaves.
    fn model(&self, ops: &[OpRecord]) -> Registers {
        let mut b = Builder::new(ops);
        let (mut now, mut explained) = (BTreeMap::<u64, u64>::new(), true);
        for o in ops {
            let command = self.input(o.thread, o.k);
            let before = now
                .get(&command.key)
                .copied()
                .unwrap_or_else(|| self.planted(command.key));
            match command.value {
                Some(value) => {
                    b.initial(command.key, self.planted(command.key));
                    b.write(command.key, (o.thread, o.k), value);
                    now.insert(command.key, value);
                }
                None => explained &= o.outcome.words[0] == before,
            }
        }
        Registers::new(b.build_if(
            explained,
            "what the commands got is not what the locks' order of them leaves",
        ))
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    /// One key a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "a key has the value of no prefix of the commands";
        model.step(state, why, |key| self.recovered(m, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_kernel::params::Raw;
    use std::collections::BTreeSet;

    fn redis(threads: u32, params: &[(&str, i64)]) -> Redis {
        let settings = Settings {
            threads,
            params: params.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect(),
            ..Settings::default()
        };
        Redis::build(&settings).expect("sizes that fit")
    }
    /// So many SETs, then as many GETs, and again; every value is another, and none is 0.
    #[test]
    fn pipelines_set_and_then_get() {
        let w = redis(3, &[("pipeline", 7), ("keys", 50), ("preload", 20)]);
        let mut values = BTreeSet::new();
        for (thread, k) in (0..3).flat_map(|t| (0..100).map(move |k| (t, k))) {
            let c = w.input(thread, k);
            assert!((1..=50).contains(&c.key));
            assert_eq!(c.value.is_some(), k % 14 < 7, "{k}");
            assert!(c.value.is_none_or(|v| v != 0 && values.insert(v)));
        }
    }
    /// A fifth of the keys, the first, get four fifths of the commands, and again so among those.
    #[test]
    fn keys_follow_a_power_law() {
        let w = redis(2, &[("keys", 1000), ("preload", 500)]);
        let keys: Vec<u64> = (0..2)
            .flat_map(|t| (0..10_000).map(move |k| (t, k)))
            .map(|(t, k)| w.input(t, k).key)
            .collect();
        let upto = |most| keys.iter().filter(|k| **k <= most).count() as f64 / 20_000.0;
        for (most, share) in [(200, 0.8), (40, 0.64), (8, 0.512)] {
            assert!((upto(most) - share).abs() < 0.02, "{most}: {}", upto(most));
        }
        assert!((upto(1000) - 1.0).abs() < f64::EPSILON && keys.iter().max() > Some(&990) && keys.contains(&1));
    }
    /// A string of 48 bytes with its object: type in the upper half of the header, length in the lower.
    #[test]
    fn an_object_is_a_header_and_its_value_on_a_line() {
        assert_eq!((STRING >> 32, STRING & 0xffff_ffff), (1, 48));
        assert_eq!(VALUE + VALUE_WORDS * 8, 56);
        let w = redis(2, &[("preload", 64), ("buckets", 100)]);
        let spans = w.resident();
        assert_eq!(
            spans.iter().map(|s| s.len).collect::<Vec<_>>(),
            [128 * 8, 64 * 64, 64 * 64]
        );
        assert_eq!([1, 64, 65].map(|key| w.planted(key)), [1, 64, 0]);
        assert_eq!(w.rt.pool().blocks(), 2 * 2 * 1000);
    }
}
