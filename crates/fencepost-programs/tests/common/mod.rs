//! Test back ends: a recorder that runs whole operations in a seeded interleaving, and crash images drawn from two
//! models: strict (every prefix of the stores) and x86 (flush, fence, pcommit; everything else at random).
#![allow(dead_code, reason = "each test binary uses a part")]

use fencepost_kernel::*;
use std::collections::{BTreeMap, BTreeSet};

const SFENCE: &[Fence] = &[Fence::Sfence];
const SYNC: &[Fence] = &[Fence::Sfence, Fence::Pcommit, Fence::Sfence];
const DMB: &[Fence] = &[Fence::Dmb];

/// Synchronous ordering on a device-durable medium.
pub const SO: Dialect = Dialect {
    name: "so",
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: SYNC,
    log_path: LogPath::Temporal,
    log_to_data: SYNC,
    durable: SYNC,
    lock_acquire: &[],
    unlock_release: &[],
    order_is_durable: true,
};
/// x86 with a durable controller queue and non-temporal logs.
pub const ADR: Dialect = Dialect {
    name: "x86-adr",
    order: SFENCE,
    log_path: LogPath::NonTemporal,
    log_to_data: SFENCE,
    durable: SFENCE,
    ..SO
};
/// Barriers without flushes, acknowledged only at the end.
pub const DELEGATED: Dialect = Dialect {
    name: "delegated",
    flush: None,
    order: DMB,
    log_to_data: DMB,
    durable: &[Fence::Dsb],
    lock_acquire: DMB,
    unlock_release: DMB,
    order_is_durable: false,
    ..SO
};
/// Hardware transactions.
pub const HARDWARE: Dialect = Dialect {
    name: "hardware",
    logging: Logging::Hardware,
    flush: None,
    order: &[],
    log_to_data: &[],
    durable: &[],
    order_is_durable: false,
    ..SO
};
/// Structure and locks only.
pub const VOLATILE: Dialect = Dialect {
    name: "volatile",
    logging: Logging::None,
    ..HARDWARE
};

/// What the recorder saw.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Event {
    Store {
        thread: u32,
        word: u64,
        value: u64,
        nt: bool,
    },
    Flush {
        thread: u32,
        line: u64,
    },
    Fence {
        thread: u32,
        kind: Fence,
    },
    TxBegin,
    TxCommit,
    Begin {
        thread: u32,
        k: u32,
    },
    Ack {
        thread: u32,
        k: u32,
    },
}

/// A recorded run.
pub struct Run {
    pub threads: u32,
    pub initial: Image,
    pub events: Vec<Event>,
    pub ops: Vec<OpRecord>,
    pub last: Image,
    /// Memory operations and compute markers, for cost tables.
    pub computes: BTreeMap<u16, u64>,
}

/// Functional memory that records.
pub struct Recorder {
    pub image: Image,
    pub events: Vec<Event>,
    pub computes: BTreeMap<u16, u64>,
    pub outcome: Option<Outcome>,
    thread: u32,
    in_tx: bool,
}
impl Recorder {
    pub fn new() -> Recorder {
        let (image, events, computes) = (Image::default(), Vec::new(), BTreeMap::new());
        Recorder {
            image,
            events,
            computes,
            outcome: None,
            thread: 0,
            in_tx: false,
        }
    }
    fn put(&mut self, addr: Addr, v: u64, width: Width, nt: bool) {
        assert_eq!(addr.0 % width.bytes(), 0, "unaligned access at {addr}");
        let value = width.insert(self.image.word(addr), addr.0, v);
        self.image.set_word(addr.word(), value, None);
        if addr.is_persistent() {
            self.events.push(Event::Store {
                thread: self.thread,
                word: addr.word().0,
                value,
                nt,
            });
        }
    }
}
impl Mem for Recorder {
    type Dep = ();
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        assert_eq!(at.addr.0 % width.bytes(), 0, "unaligned access at {}", at.addr);
        Val::lit(width.extract(self.image.word(at.addr), at.addr.0))
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        self.put(at.addr, v.v, width, false);
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.put(at.addr, v.v, Width::B8, true);
    }
    fn flush(&mut self, at: At<()>, _: Flush) {
        self.events.push(Event::Flush {
            thread: self.thread,
            line: at.line().0,
        });
    }
    fn fence(&mut self, kind: Fence) {
        self.events.push(Event::Fence {
            thread: self.thread,
            kind,
        });
    }
    fn rmw(&mut self, at: At<()>, op: Rmw) -> Val<()> {
        let old = self.image.word(at.addr);
        match op {
            Rmw::Cas { expect, new } if old == expect => self.put(at.addr, new, Width::B8, false),
            Rmw::Cas { .. } => {}
            Rmw::Add(n) => self.put(at.addr, old.wrapping_add(n), Width::B8, false),
            Rmw::Swap(n) => self.put(at.addr, n, Width::B8, false),
        }
        Val::lit(old)
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.load(at)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn lock(&mut self, at: At<()>) {
        assert!(!at.addr.is_persistent(), "locks live in DRAM");
        assert_eq!(
            self.image.word(at.addr),
            0,
            "lock taken twice or kept beyond its operation"
        );
        self.image.set_word(at.addr, 1, None);
    }
    fn unlock(&mut self, at: At<()>) {
        assert_eq!(self.image.word(at.addr), 1, "unlock of a free lock");
        self.image.set_word(at.addr, 0, None);
    }
    fn tx_begin(&mut self) -> Result<TxId, Rollback> {
        assert!(!std::mem::replace(&mut self.in_tx, true), "nested transaction");
        self.events.push(Event::TxBegin);
        Ok(TxId(1))
    }
    fn tx_commit(&mut self) {
        assert!(
            std::mem::replace(&mut self.in_tx, false),
            "commit outside a transaction"
        );
        self.events.push(Event::TxCommit);
    }
    fn compute(&mut self, site: Site) {
        *self.computes.entry(site.0).or_default() += 1;
    }
    fn op_end(&mut self, _: u32, outcome: Outcome) {
        self.outcome = Some(outcome);
    }
    fn ack(&mut self, op: u32) {
        self.events.push(Event::Ack {
            thread: self.thread,
            k: op,
        });
    }
}

/// Runs `ops` operations of each thread, whole operations in an order drawn from `seed`.
pub fn record<P: Program>(p: &P, dialect: Dialect, threads: u32, ops: u32, seed: u64) -> Run {
    let mut m = Recorder::new();
    p.setup(&mut m);
    m.events.clear();
    let initial = m.image.clone();
    let (mut rng, mut next, mut records) = (Stream::new(seed, "interleaving"), vec![0; threads as usize], Vec::new());
    while records.len() < (threads * ops) as usize {
        let t = rng.below(u64::from(threads)) as u32;
        let k = next[t as usize];
        if k == ops {
            continue;
        }
        m.thread = t;
        m.events.push(Event::Begin { thread: t, k });
        run_thread(p, &mut Pm::new(&mut m, dialect), t, k, k + 1);
        let outcome = m.outcome.take().expect("the operation ended");
        records.push(OpRecord {
            thread: t,
            k,
            stamp: records.len() as u64,
            outcome,
        });
        next[t as usize] += 1;
    }
    Run {
        threads,
        initial,
        events: m.events,
        ops: records,
        last: m.image,
        computes: m.computes,
    }
}

/// Memory after a crash: an image, read and repaired by recovery.
pub struct After(pub Image);
impl Mem for After {
    type Dep = ();
    fn load_n(&mut self, at: At<()>, width: Width) -> Val<()> {
        Val::lit(width.extract(self.0.word(at.addr), at.addr.0))
    }
    fn store_n(&mut self, at: At<()>, v: Val<()>, width: Width) {
        let value = width.insert(self.0.word(at.addr), at.addr.0, v.v);
        self.0.set_word(at.addr.word(), value, None);
    }
    fn nt_store(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn flush(&mut self, _: At<()>, _: Flush) {}
    fn fence(&mut self, _: Fence) {}
    fn rmw(&mut self, _: At<()>, _: Rmw) -> Val<()> {
        panic!("recovery is single-threaded")
    }
    fn load_acquire(&mut self, at: At<()>) -> Val<()> {
        self.load(at)
    }
    fn store_release(&mut self, at: At<()>, v: Val<()>) {
        self.store(at, v);
    }
    fn lock(&mut self, _: At<()>) {}
    fn unlock(&mut self, _: At<()>) {}
}

/// Runs recovery to its end; `stop_after` cuts it short and begins it again once.
pub fn recover<P: Program>(p: &P, m: &mut After, stop_after: Option<usize>) -> Result<(), Violation> {
    let (mut state, mut steps, mut stop) = (p.rebuild_start(), 0, stop_after);
    loop {
        if stop == Some(steps) {
            (state, stop) = (p.rebuild_start(), None);
        }
        steps += 1;
        assert!(steps < 1_000_000, "recovery does not end");
        match p.rebuild(m, state) {
            Flow::Next(s) => state = s,
            Flow::Done(r) => return r,
        }
    }
}
/// Runs the audit to its end.
pub fn audit<P: Program>(p: &P, model: &P::Model, m: &mut After, crash: &CrashPoint) -> Result<(), Violation> {
    let mut state = p.audit_start(model, crash);
    for _ in 0..1_000_000 {
        match p.audit(model, m, state) {
            Flow::Next(s) => state = s,
            Flow::Done(r) => return r,
        }
    }
    panic!("the audit does not end")
}
/// Recovery and audit of one crash image; DRAM is lost.
pub fn judge<P: Program>(p: &P, model: &P::Model, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
    let mut m = After(image.clone());
    recover(p, &mut m, None)?;
    audit(p, model, &mut m, crash)
}

/// The persistent part of an image.
pub fn persistent(image: &Image) -> Image {
    let mut out = Image::default();
    image.pm_lines().for_each(|l| out.set_line(l, &image.line(l)));
    out
}

/// Tracks what had begun and what was acknowledged.
pub fn crash_point(run: &Run) -> CrashPoint {
    CrashPoint {
        begun: vec![0; run.threads as usize],
        acked: vec![0; run.threads as usize],
    }
}
pub fn progress(crash: &mut CrashPoint, e: &Event) {
    match e {
        Event::Begin { thread, k } => crash.begun[*thread as usize] = k + 1,
        Event::Ack { thread, k } => crash.acked[*thread as usize] = k + 1,
        _ => {}
    }
}

/// Judges the image after every prefix of the stores; the first violation, with the number of stores before it.
/// Under hardware transactions the stores of an uncommitted transaction are not in the image.
pub fn strict_prefixes<P: Program>(p: &P, run: &Run) -> Result<usize, (usize, Violation)> {
    let model = p.model(&run.ops);
    let (mut image, mut crash, mut states) = (persistent(&run.initial), crash_point(run), 0);
    let mut held: Option<Vec<(u64, u64)>> = None;
    for e in &run.events {
        progress(&mut crash, e);
        match e {
            Event::TxBegin => held = Some(Vec::new()),
            Event::TxCommit => {
                held.take()
                    .expect("begun")
                    .into_iter()
                    .for_each(|(w, v)| image.set_word(Addr(w), v, None));
            }
            Event::Store { word, value, .. } => match &mut held {
                Some(h) => h.push((*word, *value)),
                None => image.set_word(Addr(*word), *value, None),
            },
            _ => continue,
        }
        judge(p, &model, &image, &crash).map_err(|v| (states, v))?;
        states += 1;
    }
    Ok(states)
}

/// Same-line order of the x86 model.
#[derive(Copy, Clone, PartialEq)]
pub enum LineOrder {
    /// A line's stores persist in order.
    Fifo,
    /// Each 8-byte word for itself.
    None,
}

/// Per word: every value in coherence order with its global store number; and how many are surely durable.
#[derive(Default)]
struct X86 {
    words: BTreeMap<u64, Vec<(u64, u64)>>,
    durable: BTreeMap<u64, u64>,
    flushed: BTreeMap<(u32, u64), u64>,
    accepted: BTreeMap<u64, u64>,
    count: u64,
}
impl X86 {
    /// `device`: durable only once a pcommit followed acceptance.
    fn event(&mut self, e: &Event, device: bool) {
        let raise = |m: &mut BTreeMap<u64, u64>, line, n: u64| {
            let d: &mut u64 = m.entry(line).or_default();
            *d = (*d).max(n);
        };
        match *e {
            Event::Store {
                thread,
                word,
                value,
                nt,
            } => {
                self.count += 1;
                self.words.entry(word).or_default().push((self.count, value));
                if nt {
                    self.flushed.insert((thread, word / 64), self.count);
                }
            }
            Event::Flush { thread, line } => {
                self.flushed.insert((thread, line), self.count);
            }
            Event::Fence {
                thread,
                kind: Fence::Sfence | Fence::Mfence,
            } => {
                let mine: Vec<_> = self.flushed.keys().copied().filter(|k| k.0 == thread).collect();
                for key in mine {
                    let n = self.flushed.remove(&key).unwrap();
                    raise(if device { &mut self.accepted } else { &mut self.durable }, key.1, n);
                }
            }
            Event::Fence {
                kind: Fence::Pcommit, ..
            } => {
                for (line, n) in std::mem::take(&mut self.accepted) {
                    raise(&mut self.durable, line, n);
                }
            }
            _ => {}
        }
    }
    /// A crash image: every word at least as new as what is durable; newer at random, and as a whole rarely or mostly.
    fn image(&self, initial: &Image, order: LineOrder, rng: &mut Stream) -> Image {
        let mut image = persistent(initial);
        let bias = rng.below(5);
        let lines: BTreeSet<u64> = self.words.keys().map(|w| w / 64).collect();
        for line in lines {
            let floor = self.durable.get(&line).copied().unwrap_or(0);
            let words: Vec<_> = self.words.range(line * 64..line * 64 + 64).collect();
            let newer: Vec<u64> = words
                .iter()
                .flat_map(|w| w.1.iter().map(|v| v.0))
                .filter(|n| *n > floor)
                .collect();
            let pick = |rng: &mut Stream, choices: &[u64]| match rng.below(4) {
                x if x < bias.min(3) => choices.iter().copied().max().unwrap_or(floor),
                3 if !choices.is_empty() => choices[rng.below(choices.len() as u64) as usize],
                _ => floor,
            };
            let together = pick(rng, &newer);
            for (word, versions) in words {
                let own: Vec<u64> = versions.iter().map(|v| v.0).filter(|n| *n > floor).collect();
                let upto = if order == LineOrder::Fifo {
                    together
                } else {
                    pick(rng, &own)
                };
                if let Some((_, value)) = versions.iter().rev().find(|v| v.0 <= upto) {
                    image.set_word(Addr(*word), *value, None);
                }
            }
        }
        image
    }
}

/// Draws `per_event` crash images after every persist-relevant event and judges them; number of states, or the first violation.
pub fn x86_samples<P: Program>(
    p: &P,
    run: &Run,
    device: bool,
    order: LineOrder,
    per_event: usize,
    seed: u64,
) -> Result<usize, (usize, Violation)> {
    let model = p.model(&run.ops);
    let (mut x86, mut crash, mut states) = (X86::default(), crash_point(run), 0);
    let mut rng = Stream::new(seed, "crash images");
    for e in &run.events {
        progress(&mut crash, e);
        x86.event(e, device);
        if matches!(e, Event::Begin { .. }) {
            continue;
        }
        for _ in 0..per_event {
            let image = x86.image(&run.initial, order, &mut rng);
            judge(p, &model, &image, &crash).map_err(|v| (states, v))?;
            states += 1;
        }
    }
    Ok(states)
}
