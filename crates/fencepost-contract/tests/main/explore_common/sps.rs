//! A program for tests and benches: array swaps under a lock, protected by an undo log whose flag is its commit store.

use fencepost_kernel::{
    Addr, At, Bytes, CrashPoint, Dialect, Fence, Flow, Flush, Footprint, Logging, Mem, OpRecord, Outcome, Pm, Program,
    Rollback, Val, Violation, rng,
};

/// x86 with flush and fence, memory controller inside the persistence domain.
pub(crate) const X86: Dialect = Dialect {
    name: "x86",
    logging: Logging::Software,
    flush: Some(Flush::Clwb),
    order: &[Fence::Sfence],
    log_to_data: &[Fence::Sfence],
    durable: &[Fence::Sfence],
    order_is_durable: true,
    ..Dialect::PLAIN
};
/// Persist barriers only.
pub(crate) const BARRIERS: Dialect = Dialect {
    name: "barriers",
    flush: None,
    order: &[Fence::PersistBarrier],
    log_to_data: &[Fence::PersistBarrier],
    durable: &[Fence::PersistBarrier],
    order_is_durable: false,
    ranges: false,
    ..X86
};

/// What is wrong with the program.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Right,
    NoLogFlush,
    NoLogFence,
    NoDataFlush,
    NoCommitFence,
}

/// `cells` values in lines of their own; each operation swaps two of them.
#[derive(Clone)]
pub(crate) struct Sps {
    pub cells: u64,
    pub threads: u32,
    pub variant: Variant,
}
const LOCK: Addr = Addr(64);

impl Sps {
    /// The log of a thread: two lines. The flag, alone on the first; then (address, value) twice.
    fn log(&self, thread: u32) -> At<()> {
        At::new(Addr::pm(u64::from(thread) * 128))
    }
    fn cell(&self, i: u64) -> Addr {
        Addr::pm(u64::from(self.threads) * 128 + i * 64)
    }
}

/// Rebuilding: the next thread whose log to roll back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Logs(u32);
/// Auditing: the next cell, and the range of histories (operations in lock order) that fit what was read so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Range {
    cell: u64,
    low: u32,
    high: u32,
}
/// Per cell, its values and the number of operations after which it had each.
pub(crate) struct Versions {
    cells: Vec<Vec<(u64, u32)>>,
    order: Vec<(u32, u32)>,
}

impl Program for Sps {
    type Input = ();
    type Rebuild = Logs;
    type Audit = Range;
    type Model = Versions;

    fn footprint(&self) -> Footprint {
        Footprint {
            dram: Bytes(4096),
            pm: Bytes(u64::from(self.threads) * 128 + self.cells * 64),
        }
    }
    fn setup<M: Mem>(&self, m: &mut M) {
        for i in 0..self.cells {
            m.store(At::new(self.cell(i)), Val::lit(i + 1));
        }
    }
    fn input(&self, _: u32, _: u32) {}
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, (): &()) -> Result<Outcome, Rollback> {
        let draw = |salt| rng::hash(&[salt, u64::from(thread), u64::from(k)]) % self.cells;
        let (i, j) = (draw(1), draw(2));
        let at = |a: Addr| At {
            addr: a,
            dep: M::Dep::default(),
        };
        let (a, b, log) = (at(self.cell(i)), at(self.cell(j)), at(self.log(thread).addr));
        pm.lock(at(LOCK));
        let (va, vb) = (pm.m.load(a), pm.m.load(b));
        for (offset, v) in [(64, Val::lit(a.addr.0)), (72, va), (80, Val::lit(b.addr.0)), (88, vb)] {
            pm.m.store(log.field(offset), v);
        }
        if self.variant != Variant::NoLogFlush {
            pm.persist(log.field(64), 32);
        }
        if self.variant != Variant::NoLogFence {
            pm.order();
        }
        pm.m.store(log, Val::lit(1));
        pm.persist(log, 8);
        pm.order();
        pm.m.store(a, vb);
        pm.m.store(b, va);
        if self.variant != Variant::NoDataFlush {
            pm.persist(a, 8);
            pm.persist(b, 8);
        }
        if self.variant != Variant::NoCommitFence {
            pm.order();
        }
        pm.m.store(log, Val::lit(0));
        pm.persist(log, 8);
        pm.durable();
        pm.unlock(at(LOCK));
        Ok(Outcome {
            kind: 1,
            words: [i, j, 0],
        })
    }
    fn rebuild_start(&self) -> Logs {
        Logs(0)
    }
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, Logs(t): Logs) -> Flow<Logs> {
        if t == self.threads {
            return Flow::Done(Ok(()));
        }
        let log = self.log(t);
        if m.load(log).v == 1 {
            for offset in [64, 80] {
                let at = m.load(log.field(offset)).ptr();
                if at.addr.0 < self.cell(0).0 || at.addr.0 >= self.cell(self.cells).0 || !at.addr.0.is_multiple_of(64) {
                    return Flow::Done(Err(Violation::at(log.addr, "the log is valid before it is written")));
                }
                let old = m.load(log.field(offset + 8));
                m.store(at, old);
            }
            m.store(log, Val::lit(0));
        }
        Flow::Next(Logs(t + 1))
    }
    fn model(&self, ops: &[OpRecord]) -> Versions {
        let mut cells: Vec<_> = (0..self.cells).map(|i| vec![(i + 1, 0)]).collect();
        let mut values: Vec<u64> = (1..=self.cells).collect();
        for (n, op) in ops.iter().enumerate() {
            let (i, j) = (op.outcome.words[0] as usize, op.outcome.words[1] as usize);
            values.swap(i, j);
            cells[i].push((values[i], n as u32 + 1));
            if i != j {
                cells[j].push((values[j], n as u32 + 1));
            }
        }
        Versions {
            cells,
            order: ops.iter().map(|o| (o.thread, o.k)).collect(),
        }
    }
    fn audit_start(&self, model: &Versions, crash: &CrashPoint) -> Range {
        let count = |done: &[u32]| {
            let last = model.order.iter().rposition(|(t, k)| *k < done[*t as usize]);
            last.map_or(0, |p| p as u32 + 1)
        };
        Range {
            cell: 0,
            low: count(&crash.acked),
            high: count(&crash.begun),
        }
    }
    fn audit<M: Mem<Dep = ()>>(&self, model: &Versions, m: &mut M, s: Range) -> Flow<Range> {
        let Some(versions) = model.cells.get(s.cell as usize) else {
            return Flow::Done(Ok(()));
        };
        let at = self.cell(s.cell);
        let value = m.load(At::new(at)).v;
        // A value can come back to a cell: the hull of the matching histories that still fit.
        let fits = versions
            .iter()
            .enumerate()
            .filter(|(_, v)| v.0 == value)
            .filter_map(|(x, v)| {
                let end = versions.get(x + 1).map_or(u32::MAX, |next| next.1 - 1);
                let (low, high) = (v.1.max(s.low), end.min(s.high));
                (low <= high).then_some((low, high))
            });
        match fits.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            Some((low, high)) => Flow::Next(Range {
                cell: s.cell + 1,
                low,
                high,
            }),
            None => Flow::Done(Err(Violation::at(
                at,
                "the cells are not those after any allowed history",
            ))),
        }
    }
}
