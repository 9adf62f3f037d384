//! `echo`: a versioned key-value store. Clients keep their puts in volatile stores of their own; every few requests a client merges them
//! into the persistent master, where each put becomes a version of its key.
//!
//! A request is a put (most update a key that was there before the run, the others add keys) or a get, which looks in the client's own
//! store first and then at the newest version in the master. A merge is one transaction; it is redo-logged by nature. A put is
//! durable when its merge is: before that the client has it alone. Versions are kept; nothing collects old ones.
//!
//! WHISPER runs 80 % puts, 70 % of them updates, keys of 128 B, values of 1,024 B, 10,000 keys preloaded, a merge every 8 requests; fgc
//! 4 clients and a million transactions. The default differs in the number of keys: 1,000 preloaded of 2,000.
//!
//! With `front=application` the client makes key and value, copies both into its store, compares keys whole, and hashes every key of a
//! merge (`front::client`).
//!
//! Used by fgc (Table III).

mod store;

use crate::choices::{Coupling, Scheme, Variant};
use crate::draw;
use crate::front::{Client, Front, next_word};
use crate::layout::{Footprint, Layout, Locks};
use crate::oracle::Builder;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::small::Small;
use crate::tx::{Runtime, recovered_by_logs};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, params, rng,
};
use std::collections::BTreeMap;
use store::{Master, Sizes};

params! {
    /// Parameters of `echo`.
    pub struct EchoParams {
        /// Distinct keys that requests draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 2_000,
        /// Keys in the master before the run; updates concern these.
        #[range(1..=1 << 24)]
        preload: u64 = 1_000,
        /// Requests between merges.
        #[range(1..=64)]
        batch: u32 = 8,
        /// Percentage of requests that are puts.
        #[range(0..=100)]
        put_percent: u8 = 80,
        /// Percentage of puts that update a preloaded key.
        #[range(0..=100)]
        update_percent: u8 = 70,
        /// Size of a key, whole words.
        #[range(Bytes(8)..=Bytes(1024))]
        key: Bytes = Bytes(128),
        /// Size of a value, whole words.
        #[range(Bytes(8)..=Bytes(4096))]
        value: Bytes = Bytes(1024),
        /// Buckets of the index, rounded up to a power of two.
        #[range(1..=1 << 24)]
        buckets: u64 = 4_096,
        /// Lock stripes over the buckets.
        #[range(1..=1 << 20)]
        locks: u64 = 512,
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

// A slot of a client's store: key (0: no put), identity, value.
const SLOT_VALUE: u64 = 16;
const STAGED: u8 = 0;
const MERGED: u8 = 1;

/// The program.
#[derive(Clone, Debug)]
pub struct Echo {
    rt: Runtime,
    seed: u64,
    params: EchoParams,
    master: Master,
    /// The clients' volatile stores, `batch` slots each.
    clients: Addr,
    locks: Locks,
    front: Option<Client>,
    footprint: Footprint,
}

/// What an operation is given.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Request {
    key: u64,
    /// Identity of the version to put; unique in the run. 0: a get.
    id: u64,
}

/// What the oracle knows of a run: a register per key, its number of versions; and the versions, the oldest first.
#[derive(Clone, Debug)]
pub struct EchoModel {
    registers: Registers,
    versions: BTreeMap<u64, Vec<u64>>,
}

impl Described for Echo {
    const NAME: &'static str = "echo";
    const ABOUT: &'static str = "versioned key-value store: clients batch puts and merge them into the master";
    const SCHEMES: &'static [Scheme] = Scheme::REDO_FIRST;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("keys", "6"),
        ("preload", "3"),
        ("batch", "2"),
        ("put_percent", "90"),
        ("key", "16B"),
        ("value", "16B"),
        ("buckets", "4"),
        ("locks", "2"),
    ];

    fn fields() -> Vec<Field> {
        EchoParams::fields()
    }
    fn build(s: &Settings) -> Result<Echo, ProgramError> {
        let params: EchoParams = read_params::<Echo, _>(s)?;
        if params.preload > params.keys {
            let why = format!("preload = {} exceeds keys = {}", params.preload, params.keys);
            return Err(impossible::<Echo>(why));
        }
        let sizes = Sizes {
            key: params.key.0,
            value: params.value.0,
        };
        if !sizes.key.is_multiple_of(8) || !sizes.value.is_multiple_of(8) {
            return Err(impossible::<Echo>("key and value must be whole words"));
        }
        let mut layout = Layout::default();
        let (master, pool) = Master::new(&mut layout, s, sizes, params.buckets, params.preload);
        let stores = u64::from(params.batch) * sizes.stores();
        let rt = Runtime::new(&mut layout, s, params.coupling, stores, pool);
        let locks = Locks::new(&mut layout, params.locks.min(params.buckets));
        let clients = layout.dram(u64::from(s.threads) * u64::from(params.batch) * (SLOT_VALUE + sizes.value));
        let bytes = (sizes.key, sizes.value);
        let front = params
            .front
            .then(|| Client::new(&mut layout, s.threads, bytes, params.batch));
        Ok(Echo {
            rt,
            seed: s.seed,
            master,
            clients,
            locks,
            front,
            footprint: layout.footprint(),
            params,
        })
    }
}

impl Echo {
    #[inline(always)]
    fn slot<D: Copy + Default>(&self, thread: u32, i: u32) -> At<D> {
        let number = u64::from(thread) * u64::from(self.params.batch) + u64::from(i);
        At::new(Addr(self.clients.0 + number * (SLOT_VALUE + self.params.value.0)))
    }
    /// Keeps a request in the client's own store; a get leaves a slot without a key.
    #[inline(always)]
    fn stage<M: Mem>(&self, m: &mut M, thread: u32, i: u32, request: &Request) {
        let slot = self.slot(thread, i);
        let put = request.id != 0;
        let front = self.front.as_ref();
        let mut data = front.map(|f| f.request(m, thread, request.key, put.then_some(request.id)));
        m.store(slot, Val::lit(if put { request.key } else { 0 }));
        if put {
            m.store(slot.field(8), Val::lit(request.id));
            for w in 0..self.params.value.0 / 8 {
                let word = next_word(m, &mut data, request.id);
                m.store(slot.field(SLOT_VALUE + w * 8), word);
            }
            front.iter().for_each(|f| f.keep(m, thread, i));
        }
        m.compute(sites::ROW);
    }
    /// What the client's own store has of a key among its first `used` slots (0: nothing).
    #[inline(always)]
    fn own<M: Mem>(&self, m: &mut M, thread: u32, used: u32, key: u64) -> u64 {
        for i in (0..used).rev() {
            let found = m.load(self.slot(thread, i)).v;
            m.compute(sites::CHAIN_STEP);
            let same = |m: &mut M| self.front.is_none_or(|f| f.same(m, thread, i));
            if found == key && same(m) {
                return m.load(self.slot(thread, i).field(8)).v;
            }
        }
        0
    }
    /// The newest version of a key in the master.
    #[inline(always)]
    fn get<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, key: u64) -> Result<u64, Rollback> {
        self.front.iter().for_each(|f| f.hash_request(pm.m, thread));
        let lock = self.locks.of(self.master.bucket(key));
        pm.lock(lock);
        let result = self.rt.begin(pm, thread, k).map(|mut tx| {
            let found = self.master.get(&mut tx, key);
            tx.commit();
            found
        });
        pm.unlock(lock);
        result
    }
    /// Merges the client's store into the master; how many puts it held.
    #[inline(always)]
    fn merge<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<u64, Rollback> {
        let mut puts = Small::<(u64, u64, At<M::Dep>), 8>::new((0, 0, At::new(Addr(0))));
        for i in 0..self.params.batch {
            let slot = self.slot(thread, i);
            let key = pm.m.load(slot).v;
            if key != 0 {
                let id = pm.m.load(slot.field(8)).v;
                self.front.iter().for_each(|f| f.hash_kept(pm.m, thread, i));
                puts.push((key, id, slot.field(SLOT_VALUE)));
            }
        }
        let puts = puts.as_slice();
        if puts.is_empty() {
            return Ok(0);
        }
        let stripes = self.locks.stripes(puts.iter().map(|p| self.master.bucket(p.0)));
        self.locks.lock_all(pm, stripes.as_slice());
        let result = self.merge_locked(pm, thread, k, puts);
        self.locks.unlock_all(pm, stripes.as_slice());
        result.map(|()| puts.len() as u64)
    }
    #[inline(always)]
    fn merge_locked<M: Mem>(
        &self,
        pm: &mut Pm<'_, M>,
        thread: u32,
        k: u32,
        puts: &[(u64, u64, At<M::Dep>)],
    ) -> Result<(), Rollback> {
        let mut tx = self.rt.begin(pm, thread, k)?;
        let mut fresh = Small::new(0);
        // The mistake of logic: the first put of the batch is forgotten.
        let from = usize::from(tx.slip(Variant::SemanticMistake));
        for (i, (key, id, staged)) in puts.iter().enumerate().skip(from) {
            if i > 0 && i + 1 == puts.len() && tx.slip(Variant::NonAtomicUpdate) {
                tx.commit();
                tx = self.rt.begin_part(pm, thread, k, 1)?;
                fresh = Small::new(0);
            }
            for w in 0..self.params.value.0 / 8 {
                tx.pm.m.load(staged.field(w * 8));
            }
            self.master.put(&mut tx, thread, *key, *id, &mut fresh);
        }
        tx.commit();
        Ok(())
    }
    /// The requests that operation `k` merges: those since the last merge, itself included.
    fn merged(&self, thread: u32, k: u32) -> impl Iterator<Item = Request> + '_ {
        let from = k + 1 - self.params.batch.min(k + 1);
        (from..=k).map(move |k| self.input(thread, k)).filter(|r| r.id != 0)
    }
    fn merges(&self, k: u32) -> bool {
        (k + 1).is_multiple_of(self.params.batch)
    }
}

impl Program for Echo {
    type Input = Request;
    type Audit = RegisterAudit;
    type Model = EchoModel;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        self.master.plant(m);
    }
    fn resident(&self) -> Vec<Span> {
        self.master.spans().to_vec()
    }
    fn input(&self, thread: u32, k: u32) -> Request {
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let (old, new) = (self.params.preload, self.params.keys - self.params.preload);
        if !draw::percent(h(1), self.params.put_percent.into()) {
            let key = 1 + draw::below(h(2), self.params.keys);
            return Request { key, id: 0 };
        }
        let updates = new == 0 || draw::percent(h(3), self.params.update_percent.into());
        let key = if updates {
            1 + draw::below(h(2), old)
        } else {
            1 + old + draw::below(h(2), new)
        };
        let id = (u64::from(thread) + 1) << 32 | (u64::from(k) + 1);
        Request { key, id }
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Request) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let i = k % self.params.batch;
        self.stage(pm.m, thread, i, input);
        let mut words = [0; 3];
        if input.id == 0 {
            words[0] = match self.own(pm.m, thread, i, input.key) {
                0 => self.get(pm, thread, k, input.key)?,
                own => own,
            };
        }
        if self.merges(k) {
            words[1] = self.merge(pm, thread, k)?;
        }
        pm.m.compute(sites::EPILOGUE);
        let kind = if words[1] > 0 { MERGED } else { STAGED };
        Ok(Outcome { kind, words })
    }
    /// What a merge puts, it writes; requests before it write nothing.
    fn model(&self, ops: &[OpRecord]) -> EchoModel {
        let mut b = Builder::new(ops);
        let planted = |key: u64| {
            if key <= self.params.preload {
                vec![key]
            } else {
                Vec::new()
            }
        };
        let (mut versions, mut explained) = (BTreeMap::<u64, Vec<u64>>::new(), true);
        for o in ops.iter().filter(|o| self.merges(o.k)) {
            let mut count = 0;
            for put in self.merged(o.thread, o.k) {
                let list = versions.entry(put.key).or_insert_with(|| planted(put.key));
                b.initial(put.key, planted(put.key).len() as u64);
                list.push(put.id);
                b.write(put.key, (o.thread, o.k), list.len() as u64);
                count += 1;
            }
            explained &= o.outcome.words[1] == count;
        }
        let registers = Registers::new(b.build_if(explained, "a merge did not hold the puts since the last"));
        EchoModel { registers, versions }
    }
    fn audit_start(&self, model: &EchoModel, crash: &CrashPoint) -> RegisterAudit {
        model.registers.start(crash)
    }
    /// One key a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &EchoModel, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "a key has the versions of no prefix of the merges";
        model.registers.step(state, why, |key| {
            let ids = model.versions.get(&key).map_or(&[][..], |ids| ids);
            self.master.versions(m, self.rt.pool(), key, ids)
        })
    }
}

#[cfg(test)]
mod tests;
