//! `memcached`: a cache of items in hash chains and in a list by their last use. SET writes an item, links it into both and evicts the
//! oldest when there are too many; GET reads one and at times moves it to the front of the list.
//!
//! Chains and lists are dealt out to shards, each under its own lock; one shard is the original's single cache lock. Values have 64 to
//! 512 bytes, keys 16; all items have blocks of one size. The original moves an item to the front when it was not moved for a minute,
//! which `bump_percent` stands for.
//!
//! fgc and broi run 4 clients, 100,000 operations, 5 % SET. The default is 8,192 keys in 4,096 items.
//!
//! With `front=application` a thread serves one connection of the text protocol: tokens, numbers, the hash of the key, the value copied
//! from the read buffer into the item, counters, the reply (`front::ascii`).
//!
//! Used by fgc (Table III) and broi (Table IV).

mod cache;
mod model;
mod serve;

use crate::chains::{Chains, KEY};
use crate::choices::{Coupling, Scheme, Variant};
use crate::draw;
use crate::front::{Ascii, Front};
use crate::layout::{Footprint, Layout, Locks, Rows};
use crate::oracle::Builder;
use crate::pool::Pool;
use crate::registers::{RegisterAudit, Registers};
use crate::settings::{Described, ProgramError, Settings, impossible, read_params};
use crate::sites;
use crate::tx::{Runtime, recovered_by_logs};
use cache::{CHANGES, HEADER, ITEMS, KEY_TAIL, NEWER, NEWEST, OLDER, OLDEST, Places, SIZE, TIME, VALUE, key_tail};
use fencepost_kernel::params::{Field, Params};
use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Flow, Mem, OpRecord, Outcome, Pm, Program, Rollback, Span, Val, Violation, params, rng,
};
use model::{Register, Replay, Replayed};

params! {
    /// Parameters of `memcached`.
    pub struct MemcachedParams {
        /// Distinct keys that operations draw from.
        #[range(1..=1 << 24)]
        keys: u64 = 8_192,
        /// Items that the cache holds at most, over all shards.
        #[range(1..=1 << 24)]
        entries: u64 = 4_096,
        /// Items in the cache before the run, at most as many as it holds.
        #[range(0..=1 << 24)]
        preload: u64 = 4_096,
        /// Buckets of the hash table, rounded up to a power of two.
        #[range(1..=1 << 24)]
        buckets: u64 = 8_192,
        /// Shards, rounded up to a power of two; 1 is a single lock.
        #[range(1..=1 << 10)]
        shards: u64 = 16,
        /// Percentage of operations that are SETs.
        #[range(0..=100)]
        set_percent: u8 = 5,
        /// Percentage of GETs that move what they find to the front.
        #[range(0..=100)]
        bump_percent: u8 = 1,
        /// Size of the smallest value, whole words.
        #[range(Bytes(8)..=Bytes(1024))]
        smallest: Bytes = Bytes(64),
        /// Size of the largest value, whole words.
        #[range(Bytes(8)..=Bytes(1024))]
        largest: Bytes = Bytes(512),
        /// How many undo records share one barrier.
        coupling: Coupling = Coupling::Auto,
        /// What the program does around its transactions.
        front: Front = Front::None,
    }
}

const GOT: u8 = 0;
const SET: u8 = 1;
const MOVED: u8 = 2;

/// The program.
#[derive(Clone, Debug)]
pub struct Memcached {
    rt: Runtime,
    seed: u64,
    params: MemcachedParams,
    places: Places,
    locks: Locks,
    front: Option<Ascii>,
    footprint: Footprint,
}

/// What an operation is given.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Store this value, this many words of it.
    Set {
        /// The key.
        key: u64,
        /// Every word of the value; unique in the run.
        value: u64,
        /// How many.
        words: u64,
    },
    /// Read.
    Get {
        /// The key.
        key: u64,
        /// Whether the item is moved to the front.
        moves: bool,
    },
}
impl Request {
    fn key(&self) -> u64 {
        match *self {
            Request::Set { key, .. } | Request::Get { key, .. } => key,
        }
    }
}

impl Described for Memcached {
    const NAME: &'static str = "memcached";
    const ABOUT: &'static str = "cache with hash chains and LRU lists: GET, and 5 % SET of 64 to 512 B";
    const SCHEMES: &'static [Scheme] = Scheme::REDO_FIRST;
    const OWN_VARIANTS: &'static [Variant] = &[Variant::NonAtomicUpdate, Variant::SemanticMistake];
    const SMALL: &'static [(&'static str, &'static str)] = &[
        ("keys", "8"),
        ("entries", "6"),
        ("preload", "5"),
        ("buckets", "4"),
        ("shards", "2"),
        ("set_percent", "60"),
        ("bump_percent", "60"),
        ("smallest", "8B"),
        ("largest", "24B"),
    ];

    fn fields() -> Vec<Field> {
        MemcachedParams::fields()
    }
    fn build(s: &Settings) -> Result<Memcached, ProgramError> {
        let params: MemcachedParams = read_params::<Memcached, _>(s)?;
        let refuse = |why: String| Err(impossible::<Memcached>(why));
        let (smallest, largest) = (params.smallest.0, params.largest.0);
        if smallest > largest || !smallest.is_multiple_of(8) || !largest.is_multiple_of(8) {
            return refuse(format!(
                "values from smallest = {smallest}B to largest = {largest}B: sizes are whole words and ascend"
            ));
        }
        if params.preload > params.keys {
            return refuse(format!("preload = {} exceeds keys = {}", params.preload, params.keys));
        }
        let shards = params
            .shards
            .next_power_of_two()
            .min(params.buckets.next_power_of_two());
        let item = HEADER + largest;
        let mut layout = Layout::default();
        let table = Chains::new(&mut layout, params.buckets);
        let lists = Rows::new(&mut layout, 64, shards);
        let planted = Rows::new(&mut layout, item.next_multiple_of(64), params.preload);
        let pool = Pool::new(&mut layout, s.threads, item, u64::from(s.ops));
        // A new item; its neighbours and those of the two that go; the list; four links.
        let rt = Runtime::new(&mut layout, s, params.coupling, largest / 8 + 48, pool);
        let locks = Locks::new(&mut layout, shards);
        let front = params.front.then(|| Ascii::new(&mut layout, s.threads, largest / 8));
        Ok(Memcached {
            rt,
            seed: s.seed,
            places: Places {
                table,
                lists,
                planted,
                pool,
                capacity: (params.entries / shards).max(1),
            },
            locks,
            front,
            footprint: layout.footprint(),
            params,
        })
    }
}

impl Memcached {
    fn words(&self, key: u64) -> u64 {
        let (least, most) = (self.params.smallest.0 / 8, self.params.largest.0 / 8);
        least + draw::below(rng::hash(&[self.seed, key]), most - least + 1)
    }
    /// What setup leaves: the first keys, in each shard as many as it holds.
    fn planted(&self) -> Vec<Replayed> {
        let mut shards = vec![Replayed::default(); self.places.lists.count() as usize];
        for key in 1..=self.params.preload {
            let shard = &mut shards[self.places.shard(key) as usize];
            if (shard.items.len() as u64) < self.places.capacity {
                shard.put(key, key);
            }
        }
        shards
    }
    /// The key's item in a recovered memory (0: none).
    fn item<M: Mem<Dep = ()>>(&self, m: &mut M, key: u64) -> Result<At<()>, Violation> {
        let at = self.places.table.look_up(m, key, |at| self.places.is_item(at))?;
        Ok(At::new(Addr(at)))
    }
    fn read_value<M: Mem<Dep = ()>>(&self, m: &mut M, item: At<()>, key: u64) -> Result<u64, Violation> {
        let (words, value) = (m.load(item.field(SIZE)).v, m.load(item.field(VALUE)).v);
        let whole = m.load(item.field(KEY_TAIL)).v == key_tail(key)
            && words == self.words(key)
            && value != 0
            && (1..words).all(|w| m.load(item.field(VALUE + w * 8)).v == value);
        if whole {
            Ok(value)
        } else {
            Err(Violation::at(item.addr, "an item is not whole"))
        }
    }
    /// Walks a shard's list, newest first; how often it changed, or what is wrong with it.
    fn walk<M: Mem<Dep = ()>>(&self, m: &mut M, shard: u64) -> Result<u64, Violation> {
        let list = self.places.lists.at::<()>(shard);
        let changes = m.load(list.field(CHANGES)).v;
        let wrong = |at: At<()>, why: &str| Err(Violation::at(at.addr, why));
        let (mut item, mut newer, mut time, mut count) = (m.load(list.field(NEWEST)).v, 0, changes + 1, 0);
        while item != 0 {
            let at = At::<()>::new(Addr(item));
            if !self.places.is_item(item) {
                return wrong(at, "a list leads to something that is no item");
            }
            let key = m.load(at.field(KEY)).v;
            let own = m.load(at.field(TIME)).v;
            // Times descend, so no walk ever ends up where it was.
            if own >= time || m.load(at.field(NEWER)).v != newer {
                return wrong(at, "a list is not in the order of its items' use");
            }
            if key == 0 || self.places.shard(key) != shard || self.item(m, key)?.addr.0 != item {
                return wrong(at, "a listed item is not in its chain");
            }
            (newer, time, count) = (item, own, count + 1);
            item = m.load(at.field(OLDER)).v;
        }
        if m.load(list.field(OLDEST)).v != newer || m.load(list.field(ITEMS)).v != count {
            return wrong(list, "a list's end or its number of items is not that of its items");
        }
        Ok(changes)
    }
}

impl Program for Memcached {
    type Input = Request;
    type Audit = RegisterAudit;
    type Model = Registers;
    recovered_by_logs!();

    fn footprint(&self) -> Footprint {
        self.footprint
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        let (mut next, mut store) = (0, |at: At<M::Dep>, v| m.store(at, Val::lit(v)));
        let mut planted = Vec::new();
        for (shard, list) in self
            .planted()
            .into_iter()
            .zip((0..).map(|s| self.places.lists.at::<M::Dep>(s)))
        {
            let mut newer = 0;
            for (time, key) in shard.order.iter().rev() {
                let item = self.places.planted.at::<M::Dep>(next);
                next += 1;
                let fields = [
                    (KEY_TAIL, key_tail(*key)),
                    (NEWER, newer),
                    (TIME, *time),
                    (SIZE, self.words(*key)),
                ];
                fields.iter().for_each(|(f, v)| store(item.field(*f), *v));
                (0..self.words(*key)).for_each(|w| store(item.field(VALUE + w * 8), *key));
                let before = if newer == 0 {
                    list.field(NEWEST)
                } else {
                    At::new(Addr(newer)).field(OLDER)
                };
                store(before, item.addr.0);
                newer = item.addr.0;
                planted.push((*key, item));
            }
            let ends = [
                (OLDEST, newer),
                (CHANGES, shard.changes),
                (ITEMS, shard.items.len() as u64),
            ];
            ends.iter().for_each(|(f, v)| store(list.field(*f), *v));
        }
        planted
            .into_iter()
            .for_each(|(key, item)| self.places.table.plant(m, item, key));
    }
    fn resident(&self) -> Vec<Span> {
        let p = &self.places;
        vec![p.lists.span(), p.table.span(), p.planted.span()]
    }
    fn input(&self, thread: u32, k: u32) -> Request {
        let h = |salt| rng::hash(&[self.seed, u64::from(thread), u64::from(k), salt]);
        let key = 1 + draw::below(h(1), self.params.keys);
        if draw::percent(h(2), self.params.set_percent.into()) {
            let value = (u64::from(thread) + 1) << 32 | (u64::from(k) + 1);
            let words = self.words(key);
            return Request::Set { key, value, words };
        }
        let moves = draw::percent(h(3), self.params.bump_percent.into());
        Request::Get { key, moves }
    }
    #[inline(always)]
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Request) -> Result<Outcome, Rollback> {
        pm.m.compute(sites::PROLOGUE);
        let (request, data) = self.receive(pm.m, thread, input);
        let lock = self.locks.of(self.places.shard(request.key()));
        pm.lock(lock);
        let result = self.serve(pm, (thread, k), request, data);
        pm.unlock(lock);
        if let Ok(outcome) = &result {
            self.reply(pm.m, thread, &request, outcome);
        }
        pm.m.compute(sites::EPILOGUE);
        result
    }
    fn model(&self, ops: &[OpRecord]) -> Registers {
        let mut replay = Replay::new(Builder::new(ops), self.planted(), self.places.capacity);
        for o in ops {
            let (request, op) = (self.input(o.thread, o.k), (o.thread, o.k));
            let shard = self.places.shard(request.key());
            match request {
                Request::Set { key, value, .. } => replay.change(shard, key, value, op),
                Request::Get { key, moves } => replay.got(shard, key, op, o.outcome.words[0], moves),
            }
        }
        replay.build()
    }
    fn audit_start(&self, model: &Registers, crash: &CrashPoint) -> RegisterAudit {
        model.start(crash)
    }
    /// One key, or one shard's list, a step.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Registers, m: &mut M, state: RegisterAudit) -> Flow<RegisterAudit> {
        let why = "an item or a list is that of no prefix of the operations";
        model.step(state, why, |register| match Register::of(register) {
            Register::Changes(shard) => Ok((self.walk(m, shard)?, self.places.lists.at::<()>(shard).addr)),
            Register::Value(key) => match self.item(m, key)? {
                item if item.addr.0 == 0 => Ok((0, self.places.table.span().at)),
                item => Ok((self.read_value(m, item, key)?, item.addr)),
            },
            Register::Time(key) => match self.item(m, key)? {
                item if item.addr.0 == 0 => Ok((0, self.places.table.span().at)),
                item => Ok((m.load(item.field(TIME)).v, item.addr)),
            },
        })
    }
}

#[cfg(test)]
mod tests;
