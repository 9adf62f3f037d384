//! Where statements are tried: a machine with a design, and the few words in which their programs are written.

use crate::info::{DesignInfo, Environment, MachineShape};
use fencepost_contract::{Contract, Demands, conform};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Addr, At, Bytes, Fence, Flush, Image, Mem, PersistRecord, Site, Val};
use fencepost_machine::memory::DurableAt;
use fencepost_machine::{CacheSpec, Machine, MachineSpec, RunReport, SimMem, StoreOrder, ThreadBody, Workload};
use std::cmp::Ordering;

/// Machines of one kind: a preset, or one that a test writes out.
pub trait Machines {
    /// The machine with a design, with a named medium instead of its own, under settings `SECTION.KEY=VALUE`.
    ///
    /// # Errors
    /// There is no such medium or setting.
    fn stage(&self, design: &str, media: Option<&str>, sets: &[String]) -> Result<Stage, String>;
}
impl dyn Machines + '_ {
    /// The machine with a design, under settings.
    pub(super) fn with(&self, design: &str, sets: &[&str]) -> Result<Stage, String> {
        self.on(None, design, sets)
    }
    /// The same on a medium.
    pub(super) fn on(&self, media: Option<&str>, design: &str, sets: &[&str]) -> Result<Stage, String> {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        self.stage(design, media, &sets)
    }
}

/// A machine with a design.
#[derive(Clone)]
pub struct Stage {
    /// The design.
    pub info: &'static DesignInfo,
    /// Its parameters.
    pub settings: Vec<(String, Raw)>,
    /// The machine.
    pub spec: MachineSpec,
    /// Sizes of the machine that the design follows.
    pub shape: MachineShape,
}

impl Stage {
    /// What the design's dialect and contract depend on.
    pub fn environment(&self) -> Environment {
        let accept = self.spec.pm.controller.durable_at(&self.spec.pm.media) == DurableAt::Accept;
        Environment::new(accept, self.spec.core.store_order == StoreOrder::Tso)
    }
    /// With caches of a few lines and a write-back buffer of one, so that a handful of stores evicts.
    #[must_use]
    pub fn with_tiny_caches(mut self) -> Stage {
        let small = |c: &mut CacheSpec, lines: u64, ways| {
            (c.size, c.ways, c.writeback_buffer) = (Bytes(64 * lines), ways, 1);
        };
        small(&mut self.spec.l1, 4, 2);
        small(&mut self.spec.llc, 8, 4);
        self
    }
    /// Runs these threads, recorded, whatever order they persist in.
    ///
    /// # Errors
    /// The machine refuses its configuration, or the run.
    pub fn run_free(&self, threads: Vec<ThreadBody>) -> Result<RunReport, String> {
        let design = (self.info.build)(&self.settings, self.shape).map_err(|e| e.to_string())?;
        let work = Workload {
            initial: Image::default(),
            threads,
            sites: SITES.into(),
            resident: Default::default(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::new(&self.spec, design, work).map_err(|e| e.to_string())?;
        machine.run().map_err(|e| format!("{}: {e}", self.info.name))
    }
    /// Whether a run kept a contract.
    ///
    /// # Errors
    /// It did not, and where.
    pub fn keeps(&self, report: &RunReport, contract: &Contract, demands: Demands) -> Result<(), String> {
        let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
        conform(trace, report.log.records(), contract, demands)
            .map(drop)
            .map_err(|e| format!("{} breaks its contract: {e}", self.info.name))
    }
    /// Runs these threads and holds the run to the design's contract.
    ///
    /// # Errors
    /// As [`run_free`](Stage::run_free), or the run breaks the contract.
    pub fn run(&self, threads: Vec<ThreadBody>) -> Result<RunReport, String> {
        let report = self.run_free(threads)?;
        let contract = self.info.contract_of(self.environment());
        self.keeps(&report, &contract, Demands::default())?;
        Ok(report)
    }
    /// Runs these threads: which of the lines [`FIRST`] and [`SECOND`] was durable first.
    pub(super) fn order(&self, threads: Vec<ThreadBody>) -> Result<Ordering, String> {
        let report = self.run(threads)?;
        let place = |line: u64| {
            let at = pm(line).addr;
            let holds = |r: &PersistRecord| r.line == at.line() && r.data.words[0] == 1;
            report.log.records().iter().position(holds)
        };
        match (place(FIRST), place(SECOND)) {
            (Some(first), Some(second)) => Ok(first.cmp(&second)),
            (None, Some(_)) => Ok(Ordering::Greater),
            (Some(_), None) => Ok(Ordering::Less),
            (None, None) => Err("neither store became durable".into()),
        }
    }
}

/// A counter of the design in a report.
pub(super) fn count(report: &RunReport, name: &str) -> Result<u64, String> {
    report.design_count(name).ok_or_else(|| format!("no counter `{name}`"))
}
/// What a line's first word held, in the order in which it became durable.
pub(super) fn values(report: &RunReport, line: u64) -> Vec<u64> {
    let records = report.log.records().iter();
    let of_line = records.filter(|r| r.line == pm(line).addr.line());
    of_line.map(|r| r.data.words[0]).collect()
}

/// Instructions of the sites.
const SITES: [u32; 4] = [20_000, 4_000, 12_000, 200];
/// A compute site that takes some microseconds: longer than a handful of misses.
pub(super) const LATER: Site = Site(0);
/// Long enough for a miss.
pub(super) const ONE_MISS: Site = Site(1);
/// Long enough for two.
pub(super) const TWO_MISSES: Site = Site(2);
/// A little work.
pub(super) const WORK: Site = Site(3);

/// The line that the equations of the Themis paper call A.
pub(super) const FIRST: u64 = 0;
/// The line that they call B.
pub(super) const SECOND: u64 = 1;

/// A thread body.
pub(super) fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
/// The first word of a persistent line.
pub(super) fn pm(line: u64) -> At<u32> {
    At::new(Addr::pm(64 * line))
}
/// The first word of a volatile line.
pub(super) fn dram(line: u64) -> At<u32> {
    At::new(Addr(64 * line))
}
/// Stores 1 to a line on the temporal path.
pub(super) fn store(m: &mut SimMem<'_>, line: u64) {
    m.store(pm(line), Val::lit(1));
}
/// Stores 1 to a line on the non-temporal path.
pub(super) fn nt_store(m: &mut SimMem<'_>, line: u64) {
    m.nt_store(pm(line), Val::lit(1));
}
/// Writes a line back and waits for it.
pub(super) fn persist(m: &mut SimMem<'_>, line: u64) {
    m.flush(pm(line), Flush::Clwb);
    m.fence(Fence::Sfence);
}
/// A thread that has stored, and another that goes on when a volatile flag tells it.
pub(super) fn then(
    first: impl FnOnce(&mut SimMem<'_>) + 'static,
    other: impl FnOnce(&mut SimMem<'_>) + 'static,
) -> Vec<ThreadBody> {
    let first = body(|m| {
        first(m);
        m.store_release(dram(0), Val::lit(1));
    });
    let other = body(|m| {
        while m.load_acquire(dram(0)).v == 0 {}
        other(m);
    });
    vec![first, other]
}
