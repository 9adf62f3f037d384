//! Transactional threads on the real machine, and an oracle that knows nothing of logs: memory after the first k
//! transactions of the trace.

use fencepost_designs::{Environment, MachineShape, all, find};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Addr, At, Image, Mem, Outcome, Ps, Rollback, TraceKind, Val, WriteCause, rng};
use fencepost_machine::seam::{Again, Design, disturbed, recovered};
use fencepost_machine::{
    CacheSpec, Machine, MachineSpec, Pipeline, RunReport, SimMem, StoreOrder, ThreadBody, Workload,
};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Every design with hardware transactions.
pub(super) fn hardware() -> impl Iterator<Item = &'static str> {
    all().iter().filter(|d| d.promise.honours.transactions).map(|d| d.name)
}
/// Those of them that log to memory.
pub(super) fn logged_designs() -> impl Iterator<Item = &'static str> {
    hardware().filter(|name| has(name, "log_buffer"))
}
/// Whether a design has a parameter.
pub(super) fn has(design: &str, name: &str) -> bool {
    let info = find(design).expect("registered");
    (info.params)().iter().any(|f| f.name == name)
}
/// Name of the contract of a design.
pub(super) fn contract(name: &str) -> &'static str {
    (find(name).expect("registered").contract)(Environment::new(false, true)).name()
}
/// Whether a design's commits are durable when they complete.
pub(super) fn commit_is_durable(name: &str) -> bool {
    (find(name).expect("registered").dialect)(Environment::new(false, true)).order_is_durable
}

pub(super) type Set<'a> = &'a [(&'a str, Raw)];

/// A fresh mechanism.
pub(super) fn design(name: &str, set: Set<'_>, hw_threads: u8) -> Box<dyn Design> {
    let shape = MachineShape {
        hw_threads,
        cores: hw_threads,
        ..MachineShape::default()
    };
    let set: Vec<(String, Raw)> = set.iter().map(|(n, r)| (n.to_string(), r.clone())).collect();
    (find(name).expect("registered").build)(&set, shape).unwrap_or_else(|e| panic!("{e}"))
}

fn cache(lines: u64, ways: u32, ns: u64) -> CacheSpec {
    CacheSpec {
        size: fencepost_kernel::Bytes(lines * 64),
        ways,
        latency: Ps::from_ns(ns),
        mshrs: 4,
        writeback_buffer: 4,
    }
}
/// In-order cores with three levels large enough for everything a test touches.
pub(super) fn roomy(cores: u8) -> MachineSpec {
    let mut spec = MachineSpec::default();
    spec.core.cores = cores;
    spec.core.pipeline = Pipeline::InOrder;
    spec.core.store_order = StoreOrder::Tso;
    spec.l1 = cache(256, 2, 1);
    spec.l2 = Some(cache(1024, 8, 8));
    spec.llc = cache(4096, 16, 21);
    spec
}
/// Three levels of a few lines each: versions overflow, lines are evicted before and after they are logged.
pub(super) fn cramped(cores: u8) -> MachineSpec {
    let mut spec = roomy(cores);
    spec.l1 = cache(4, 2, 1);
    spec.l2 = Some(cache(8, 2, 8));
    spec.llc = cache(8, 2, 21);
    spec
}
/// Out-of-order cores with two levels and queues of one.
pub(super) fn ones(cores: u8) -> MachineSpec {
    let mut spec = cramped(cores);
    spec.core.pipeline = Pipeline::OutOfOrder;
    spec.core.store_order = StoreOrder::Relaxed;
    (spec.core.rob, spec.core.load_queue, spec.core.store_queue) = (4, 1, 1);
    spec.l2 = None;
    for c in [&mut spec.l1, &mut spec.llc] {
        (c.mshrs, c.writeback_buffer) = (1, 1);
    }
    (spec.pm.controller.write_queue, spec.pm.controller.read_queue) = (1, 1);
    spec
}

pub(super) fn pm(offset: u64) -> At<u32> {
    At::new(Addr::pm(offset))
}
/// A lock in volatile memory.
pub(super) fn lock(i: u64) -> At<u32> {
    At::new(Addr(4096 + i * 64))
}

/// Runs threads, recorded.
pub(super) fn run(spec: &MachineSpec, design: Box<dyn Design>, threads: Vec<ThreadBody>) -> RunReport {
    run_on(spec, design, threads, Image::default())
}
/// Runs threads on initial memory.
pub(super) fn run_on(
    spec: &MachineSpec,
    design: Box<dyn Design>,
    threads: Vec<ThreadBody>,
    initial: Image,
) -> RunReport {
    let work = Workload {
        initial,
        threads,
        sites: Rc::from([1u32, 20]),
        resident: Default::default(),
        warm_up: 0,
        record: true,
    };
    let machine = Machine::new(spec, design, work).unwrap_or_else(|e| panic!("{e}"));
    machine.run().unwrap_or_else(|e| panic!("{e}"))
}

/// Runs operations 0..n of a thread, again from where the hardware rolled it back.
pub(super) fn operations(m: &mut SimMem<'_>, n: u32, mut op: impl FnMut(&mut SimMem<'_>, u32) -> Result<(), Rollback>) {
    let mut k = 0;
    loop {
        while k < n {
            m.op_begin(k);
            match op(m, k) {
                Ok(()) => {
                    m.op_end(k, Outcome::default());
                    k += 1;
                }
                Err(r) => k = r.op,
            }
        }
        match m.tx_begin() {
            Ok(_) => return m.tx_commit(),
            Err(r) => k = r.op,
        }
    }
}

/// What random threads do.
#[derive(Copy, Clone, Debug)]
pub(super) struct Shape {
    pub seed: u64,
    pub threads: u8,
    pub ops: u32,
    /// Lines touched; every line has words of every thread.
    pub lines: u64,
    /// Stores of a transaction, at most.
    pub stores: u64,
    /// One operation in this many ends with a flush; 0 never.
    pub flush: u64,
    /// One operation in this many aborts itself once; 0 never.
    pub abort: u64,
    /// One operation in this many only reads; 0 never.
    pub reads: u64,
}

/// Random transactional threads. Word `t` of each line is thread `t`'s own; word 7 is everybody's, under one lock.
pub(super) fn random_threads(s: Shape) -> Vec<ThreadBody> {
    (0..s.threads)
        .map(|t| -> ThreadBody { Box::new(move |m| random_thread(m, s, t)) })
        .collect()
}
fn random_thread(m: &mut SimMem<'_>, s: Shape, t: u8) {
    let mut aborted = BTreeSet::new();
    operations(m, s.ops, |m, k| {
        let h = |i: u64| rng::hash(&[s.seed, u64::from(t), u64::from(k), i]);
        let shared = h(1) % 2 == 0;
        if shared {
            m.lock(lock(0));
        }
        let begun = m.tx_begin();
        if let Err(r) = begun {
            if shared {
                m.unlock(lock(0));
            }
            return Err(r);
        }
        let only_reads = s.reads > 0 && h(6) % s.reads == 0;
        let aborts = s.abort > 0 && h(3) % s.abort == 0 && aborted.insert(k);
        let stores = 1 + h(2) % s.stores;
        // An operation that aborts itself does so anywhere, before its first store too.
        for i in 0..if aborts { h(7) % (stores + 1) } else { stores } {
            let word = if shared && h(10 + i) % 3 == 0 { 7 } else { u64::from(t) };
            let at = pm(h(100 + i) % s.lines * 64 + word * 8);
            let old = m.load(at);
            if only_reads {
                continue;
            }
            m.store(at, old.map(|v| rng::mix(v ^ h(1000 + i)) | 1));
        }
        if aborts {
            m.tx_abort();
        } else {
            m.tx_commit();
        }
        if shared {
            m.unlock(lock(0));
        }
        if s.flush > 0 && h(4) % s.flush == 0 {
            m.tx_flush();
        }
        m.compute(fencepost_kernel::Site((h(5) % 2) as u16));
        Ok(())
    });
}

/// A committed transaction of a trace.
#[derive(Clone, Debug)]
pub(super) struct Committed {
    /// Words with their values at its end.
    pub writes: BTreeMap<Addr, u64>,
}

/// The transactions of a run in commit order, and after every trace event how many must be durable.
pub(super) struct History {
    pub committed: Vec<Committed>,
    /// Per persist-log record: how many transactions were promised before it became durable.
    pub promised: Vec<usize>,
    /// At the end.
    pub promised_at_end: usize,
    pub aborted: usize,
}

/// Reads a run's history from its trace.
pub(super) fn history(report: &RunReport, commit_is_durable: bool) -> History {
    let trace = report.trace.as_ref().expect("recorded");
    let mut open: BTreeMap<u8, BTreeMap<Addr, u64>> = BTreeMap::new();
    let mut last: BTreeMap<u8, usize> = BTreeMap::new();
    let mut h = History {
        committed: Vec::new(),
        promised: Vec::new(),
        promised_at_end: 0,
        aborted: 0,
    };
    for e in &trace.events {
        let hw_thread = e.thread.map_or(255, |t| t.0);
        match e.kind {
            TraceKind::Store(id) | TraceKind::Rmw { store: Some(id), .. } => {
                let s = trace.store(id);
                if s.tx.is_some() && s.addr.is_persistent() {
                    open.entry(hw_thread).or_default().insert(s.addr, s.value);
                }
            }
            TraceKind::TxAbort(_) => {
                h.aborted += 1;
                open.remove(&hw_thread);
            }
            TraceKind::TxCommit(_) => {
                let writes = open.remove(&hw_thread).unwrap_or_default();
                if !writes.is_empty() {
                    h.committed.push(Committed { writes });
                }
                // A transaction that wrote nothing stands behind all that it may have read.
                last.insert(hw_thread, h.committed.len());
                if commit_is_durable {
                    h.promised_at_end = h.committed.len();
                }
            }
            TraceKind::TxFlush => h.promised_at_end = h.promised_at_end.max(*last.get(&hw_thread).unwrap_or(&0)),
            TraceKind::Durable { .. } => h.promised.push(h.promised_at_end),
            _ => {}
        }
    }
    h
}

/// Why a run is wrong.
pub(super) type Wrong = String;

/// Checks every crash state of a run: after hardware recovery, memory is that after the first k transactions, for some k
/// that is at least what was promised; and k never shrinks. Returns how many states were looked at.
pub(super) fn check_crashes(report: &RunReport, name: &str, set: Set<'_>) -> Result<usize, Wrong> {
    let d = design(name, set, 1);
    let h = history(report, commit_is_durable(name));
    if h.committed.is_empty() {
        return Err("nothing committed".into());
    }
    let words: BTreeSet<Addr> = h.committed.iter().flat_map(|c| c.writes.keys().copied()).collect();
    let (mut image, mut k, mut looked) = (without_writers(&report.initial), 0, 0);
    let mut expected: BTreeMap<Addr, u64> = words.iter().map(|w| (*w, report.initial.word(*w))).collect();
    let records = report.log.records();
    for i in 0..=records.len() {
        if i == 0 || records[i - 1].cause != WriteCause::LogPart {
            looked += 1;
            let recovered = recovered(&*d, &image).map_or_else(|| image.clone(), |left| left.0);
            let fits = |e: &BTreeMap<Addr, u64>| e.iter().all(|(a, v)| recovered.word(*a) == *v);
            while !fits(&expected) {
                let Some(next) = h.committed.get(k) else {
                    return Err(format!(
                        "after {i} of {} records no prefix explains memory",
                        records.len()
                    ));
                };
                expected.extend(&next.writes);
                k += 1;
            }
            let promised = h.promised.get(i).copied().unwrap_or(h.promised_at_end);
            if k < promised {
                return Err(format!(
                    "after {i} records {k} transactions are recovered, {promised} were promised"
                ));
            }
            if looked % 16 == 0 {
                let (left, _) = disturbed(&*d, &image, Again { depth: 2, states: 64 });
                if let Some(other) = left.get(1) {
                    return Err(format!(
                        "after {i} records, {}",
                        other.how.as_deref().unwrap_or("recovery differs")
                    ));
                }
            }
        }
        if let Some(r) = records.get(i) {
            image.set_line(r.line, &r.data);
        }
    }
    if k != h.committed.len() {
        return Err(format!("{k} of {} transactions at the end", h.committed.len()));
    }
    Ok(looked)
}

/// A copy of an image that does not remember who wrote what: recovery needs bytes only.
fn without_writers(image: &Image) -> Image {
    let mut copy = Image::default();
    for line in image.pm_lines() {
        copy.set_line(line, &image.line(line));
    }
    copy
}

/// Everything that must hold of a correct run; returns the number of crash states.
pub(super) fn check_run(report: &RunReport, name: &str, set: Set<'_>) -> Result<usize, Wrong> {
    let h = history(report, false);
    let mut memory: BTreeMap<Addr, u64> = BTreeMap::new();
    h.committed.iter().for_each(|c| memory.extend(&c.writes));
    if let Some((a, v)) = memory.iter().find(|(a, v)| report.coherent.word(**a) != **v) {
        return Err(format!("{a} holds {} instead of {v}", report.coherent.word(*a)));
    }
    let (races, stale) = (report.counters.races, report.counters.stale_reads);
    if (races, stale) != (0, 0) {
        return Err(format!("{races} races, {stale} stale reads"));
    }
    if let Some(w) = memory
        .keys()
        .find(|a| report.durable.word(**a) != report.coherent.word(**a))
    {
        return Err(format!("{w} never went home"));
    }
    for (i, hw_thread) in report.hw_threads.iter().enumerate() {
        if hw_thread.account.total() != hw_thread.finished.saturating_sub(hw_thread.started) {
            return Err(format!("stalls of hardware thread {i} do not add up"));
        }
    }
    check_crashes(report, name, set)
}

/// The persist order against the design's contract.
pub(super) fn conforms(report: &RunReport, contract: &str) -> Result<(), Wrong> {
    use fencepost_contract::{Contract, ContractKind, Demands, conform};
    let kind: ContractKind = contract.parse().map_err(|_| "no such contract")?;
    let trace = report.trace.as_ref().ok_or("not recorded")?;
    let demands = Demands { complete: true };
    let checked = conform(trace, report.log.records(), &Contract::from(kind), demands);
    checked.map(|_| ()).map_err(|e| e.to_string())
}
/// A counter of the design.
pub(super) fn stat(report: &RunReport, name: &str) -> u64 {
    report.design_count(name).expect("the counter exists")
}
/// A store of a constant.
pub(super) fn put(m: &mut SimMem<'_>, offset: u64, v: u64) {
    m.store(pm(offset), Val::lit(v));
}
