//! Handwritten programs of a few lines on a paper's machine: what happens, and which of two lines becomes durable first.

use fencepost_contract::{Demands, conform};
use fencepost_kernel::{Addr, At, Bytes, Fence, Flush, Image, Mem, Site, Val};
use fencepost_machine::{CacheSpec, Machine, RunReport, SimMem, ThreadBody, Workload};
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;
use std::cmp::Ordering;

/// A design on a machine preset, with settings as `--set` takes them.
pub struct Paths {
    resolved: Resolved,
}

impl Paths {
    /// The design on preset `themis` under these settings.
    pub fn new(design: &str, sets: &[String]) -> Result<Paths, String> {
        Paths::on("themis", None, design, sets)
    }
    /// The design on a machine preset, with the preset's medium or another one.
    pub fn on(machine: &str, media: Option<&str>, design: &str, sets: &[String]) -> Result<Paths, String> {
        let request = Request {
            design: design.into(),
            machine: machine.into(),
            media: media.map(str::to_owned),
            sets: sets.to_vec(),
            ..Request::default()
        };
        let resolved = Resolved::resolve(&request).map_err(|e| e.to_string())?;
        Ok(Paths { resolved })
    }
    /// The same with its buffer slowed down: an entry stays at least so long.
    pub fn slowed(design: &str, delay: &str) -> Result<Paths, String> {
        Paths::new(design, &[format!("design.{design}.drain_delay={delay}")])
    }
    /// With caches of a few lines and a write-back buffer of one, so that a handful of stores evicts.
    pub fn with_tiny_caches(mut self) -> Paths {
        let spec = &mut self.resolved.machine.spec;
        let small = |c: &mut CacheSpec, lines: u64, ways| {
            (c.size, c.ways, c.writeback_buffer) = (Bytes(64 * lines), ways, 1);
        };
        small(&mut spec.l1, 4, 2);
        small(&mut spec.llc, 8, 4);
        self
    }
    /// Runs these threads and holds the run to the design's contract.
    pub fn run(&self, threads: Vec<ThreadBody>) -> Result<RunReport, String> {
        let r = &self.resolved;
        let design = fencepost_run::simulate::build_design(r).map_err(|e| e.to_string())?;
        let work = Workload {
            initial: Image::default(),
            threads,
            sites: SITES.into(),
            resident: Vec::new(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::new(&r.machine.spec, design, work).map_err(|e| e.to_string())?;
        let report = machine.run().map_err(|e| format!("{}: {e}", r.design.name))?;
        let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
        let contract = r.design.contract_of(r.environment());
        conform(trace, report.log.records(), &contract, Demands::default())
            .map_err(|e| format!("{} breaks its contract: {e}", r.design.name))?;
        Ok(report)
    }
    /// A counter of the design in a report.
    pub fn count(&self, report: &RunReport, name: &str) -> Result<u64, String> {
        report.design_count(name).ok_or_else(|| format!("no counter `{name}`"))
    }
    /// Runs these threads: which of the lines [`FIRST`] and [`SECOND`] was durable first.
    pub fn order(&self, threads: Vec<ThreadBody>) -> Result<Ordering, String> {
        let report = self.run(threads)?;
        let place = |line: u64| {
            let at = pm(line).addr;
            let holds = |r: &fencepost_kernel::PersistRecord| r.line == at.line() && r.data.words[0] == 1;
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

/// Instructions of the site [`LATER`].
const SITES: [u32; 1] = [20_000];
/// A compute site that takes some microseconds: longer than a handful of misses.
pub const LATER: Site = Site(0);

/// The line that the paper's equations call A.
pub const FIRST: u64 = 0;
/// The line that they call B.
pub const SECOND: u64 = 1;

/// A thread body.
pub fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
/// The first word of a persistent line.
pub fn pm(line: u64) -> At<u32> {
    At::new(Addr::pm(64 * line))
}
/// The first word of a volatile line.
pub fn dram(line: u64) -> At<u32> {
    At::new(Addr(64 * line))
}
/// Stores 1 to a line on the temporal path.
pub fn store(m: &mut SimMem<'_>, line: u64) {
    m.store(pm(line), Val::lit(1));
}
/// Stores 1 to a line on the non-temporal path.
pub fn nt_store(m: &mut SimMem<'_>, line: u64) {
    m.nt_store(pm(line), Val::lit(1));
}
/// Writes a line back and waits for it.
pub fn persist(m: &mut SimMem<'_>, line: u64) {
    m.flush(pm(line), Flush::Clwb);
    m.fence(Fence::Sfence);
}
