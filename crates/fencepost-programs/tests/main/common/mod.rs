//! Test back ends: a recorder that runs whole operations in a seeded interleaving, and crash images drawn from two
//! models: strict (every prefix of the stores) and x86 (flush, fence, pcommit; everything else at random).

use fencepost_kernel::*;
use std::collections::{BTreeMap, BTreeSet};

mod models;
mod recording_mem;
pub(crate) use models::*;
pub(crate) use recording_mem::RecordingMem;

const SFENCE: &[Fence] = &[Fence::Sfence];
const SYNC: &[Fence] = &[Fence::Sfence, Fence::Pcommit, Fence::Sfence];
const MFENCE: &[Fence] = &[Fence::Mfence];
const DMB: &[Fence] = &[Fence::Dmb];

/// Synchronous ordering on a device-durable medium.
pub(crate) const SO: Dialect = Dialect {
    name: "so",
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: SYNC,
    log_to_data: SYNC,
    durable: SYNC,
    order_is_durable: true,
    ..Dialect::PLAIN
};
/// x86 with a durable controller queue and non-temporal logs.
pub(crate) const ADR: Dialect = Dialect {
    name: "x86-adr",
    order: SFENCE,
    log_path: LogPath::NonTemporal,
    log_to_data: SFENCE,
    durable: SFENCE,
    ..SO
};
/// Per-task committing: what is persisted is committed after the fence.
pub(crate) const COMMIT: Dialect = Dialect {
    name: "per-task-commit",
    flush: Some(Flush::Clflush),
    order: MFENCE,
    log_to_data: MFENCE,
    durable: MFENCE,
    ranges: true,
    ..SO
};
/// Barriers without flushes, acknowledged only at the end.
pub(crate) const DELEGATED: Dialect = Dialect {
    name: "delegated",
    flush: None,
    order: DMB,
    log_to_data: DMB,
    durable: &[Fence::Dsb],
    lock_acquire: DMB,
    unlock_release: DMB,
    order_is_durable: false,
    ranges: false,
    ..SO
};
/// Hardware transactions.
pub(crate) const HARDWARE: Dialect = Dialect {
    name: "hardware",
    logging: Logging::Hardware,
    flush: None,
    order: &[],
    log_to_data: &[],
    durable: &[],
    order_is_durable: false,
    ranges: false,
    ..SO
};
/// Structure and locks only.
pub(crate) const VOLATILE: Dialect = Dialect {
    name: "volatile",
    logging: Logging::None,
    ..HARDWARE
};

/// What the recorder saw.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Event {
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
pub(crate) struct Run {
    pub threads: u32,
    pub initial: Image,
    pub events: Vec<Event>,
    pub ops: Vec<OpRecord>,
    pub last: Image,
    /// Memory operations and compute markers, for cost tables.
    pub computes: BTreeMap<u16, u64>,
    /// Stores of operations to volatile memory.
    pub volatile_stores: u64,
    /// Lines that operations loaded.
    pub loaded: BTreeSet<LineAddr>,
}

/// Runs `ops` operations of each thread, whole operations in an order drawn from `seed`.
pub(crate) fn record<P: Program>(p: &P, dialect: Dialect, threads: u32, ops: u32, seed: u64) -> Run {
    let mut m = RecordingMem::new();
    p.setup(&mut m);
    m.events.clear();
    m.loaded.clear();
    m.volatile_stores = 0;
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
        volatile_stores: m.volatile_stores,
        loaded: m.loaded,
    }
}

/// Memory after a crash: an image, read and repaired by recovery.
pub(crate) struct After(pub Image);
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
pub(crate) fn recover<P: Program>(p: &P, m: &mut After, stop_after: Option<usize>) -> Result<(), Violation> {
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
pub(crate) fn audit<P: Program>(p: &P, model: &P::Model, m: &mut After, crash: &CrashPoint) -> Result<(), Violation> {
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
pub(crate) fn judge<P: Program>(p: &P, model: &P::Model, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
    let mut m = After(image.clone());
    recover(p, &mut m, None)?;
    audit(p, model, &mut m, crash)
}

/// The persistent part of an image.
pub(crate) fn persistent(image: &Image) -> Image {
    let mut out = Image::default();
    image.pm_lines().for_each(|l| out.set_line(l, &image.line(l)));
    out
}

/// Tracks what had begun and what was acknowledged.
pub(crate) fn crash_point(run: &Run) -> CrashPoint {
    CrashPoint {
        begun: vec![0; run.threads as usize],
        acked: vec![0; run.threads as usize],
    }
}
pub(crate) fn progress(crash: &mut CrashPoint, e: &Event) {
    match e {
        Event::Begin { thread, k } => crash.begun[*thread as usize] = k + 1,
        Event::Ack { thread, k } => crash.acked[*thread as usize] = k + 1,
        _ => {}
    }
}

pub(crate) const THREADS: u32 = 3;
pub(crate) const OPS: u32 = 12;

/// Settings with small parameters, so that operations collide.
pub(crate) fn settings(
    program: &str,
    scheme: fencepost_programs::Scheme,
    variant: fencepost_programs::Variant,
    seed: u64,
) -> fencepost_programs::Settings {
    let programs = fencepost_programs::programs();
    let about = programs.iter().find(|p| p.name == program).expect("a listed program");
    let params = about.small_params();
    fencepost_programs::Settings {
        log_stagger: 0,
        threads: THREADS,
        ops: OPS,
        seed,
        scheme,
        variant,
        params,
        ..Default::default()
    }
}

/// The programs that can do the application's work around their transactions.
pub(crate) fn with_front() -> Vec<fencepost_programs::About> {
    let mut programs = fencepost_programs::programs();
    programs.retain(|p| p.fields.iter().any(|f| f.name == "front"));
    programs
}
/// The parameter that has them do it.
pub(crate) fn front() -> [(String, fencepost_kernel::params::Raw); 1] {
    let application = fencepost_kernel::params::Raw::Text("application".into());
    [("front".into(), application)]
}
