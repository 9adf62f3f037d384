//! One run of a test on a machine, and what it left.

use super::lower::Lowering;
use super::neighbour::Neighbour;
use super::thread::{LitmusThread, Open, Shared};
use super::way::Way;
use crate::config::Resolved;
use crate::error::LabError;
use crate::simulate::{build_design, refuse};
use fencepost_contract::{Contract, Demands, conform};
use fencepost_kernel::{Addr, Bytes, Image, LineAddr, Stream};
use fencepost_litmus::condition::Atom;
use fencepost_litmus::crash::Layout;
use fencepost_litmus::op::{Op, Width};
use fencepost_litmus::{Program, Test};
use fencepost_machine::frontend::Dataflow;
use fencepost_machine::{Machine, MachineSpec, RunReport, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A thread's instructions, and the ways through them.
type Instructions = (Rc<[Op]>, Rc<[Way]>);

/// A test made ready for machines.
pub struct Prepared<'t> {
    /// The test.
    pub test: &'t Test,
    layout: Layout,
    threads: Vec<Instructions>,
    widths: BTreeMap<u64, Width>,
}

/// What a run left.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The final state: values of [`Test::shown`]; `None` if the test's filter drops it.
    pub state: Option<Vec<u64>>,
    /// What a power failure after each persist leaves: values of the persistent words in alphabetical order.
    pub crash_states: BTreeSet<Vec<u64>>,
    /// Why the order of persists is not one that the contract allows.
    pub refused: Option<String>,
    /// Whether bytes were lost: lines whose newest bytes are neither durable nor dirty in a cache. Only a run with a rule broken loses any.
    pub lost: bool,
    /// A rule of the machine's own that the run broke: a defect of the simulator or of the design, or planted.
    pub defect: Option<String>,
}

impl<'t> Prepared<'t> {
    /// Makes a test ready.
    pub fn new(program: &Program<'t>) -> Prepared<'t> {
        let threads = program.test.threads.iter().zip(&program.paths);
        let events = program.paths.iter().flatten().flat_map(|p| &p.events);
        Prepared {
            test: program.test,
            layout: Layout::new(program),
            threads: threads
                .map(|(t, paths)| (t.code.clone().into(), paths.iter().map(Way::new).collect()))
                .collect(),
            widths: (events.filter(|e| e.is_read() || e.is_write()))
                .map(|e| (e.addr, e.width))
                .collect(),
        }
    }

    /// Where the words lie in one of several ways: lines side by side, pages apart, in different banks, or scattered.
    pub(super) fn place(&self, dice: &mut Stream) -> BTreeMap<u64, Addr> {
        let kind = dice.below(4);
        let apart: Vec<u64> = self.layout.words.iter().map(|_| dice.below(64)).collect();
        // Of scattered words no two may come to lie on one line.
        let lines = self.layout.words.len().max(16) as u64;
        let place = |word: &fencepost_litmus::crash::Word| {
            let base = if word.persistent { Addr::pm(0).0 } else { 0x40_0000 };
            let at = word.addr.0 - if word.persistent { base } else { 0 };
            let (n, within) = (at / 4096, at % 4096);
            let line = match kind {
                0 => 64 * n,
                1 => 4096 * n,
                2 => 64 * n + (n % 3) * 0x800 + n / 3 * 0x1_0000,
                _ => 64 * (n + lines * apart[n as usize % apart.len()]),
            };
            Addr(base + line + within)
        };
        self.layout.words.iter().map(|w| (w.at, place(w))).collect()
    }

    /// Runs the test once. The seed draws placement, padding, delays, and whether caches are small.
    ///
    /// # Errors
    /// The machine could not be built, or got stuck.
    pub fn run(&self, resolved: &Resolved, seed: u64) -> Result<Ran, LabError> {
        let mut dice = Stream::new(seed, "litmus");
        let place = self.place(&mut dice);
        let mut spec = resolved.machine.spec.clone();
        if dice.chance(3, 4) {
            small_caches(&mut spec);
        }
        let environment = resolved.environment();
        let shared = Rc::new(Shared {
            place,
            lowering: Lowering::new(resolved.design.promise.honours, environment.tso),
            begins: begins(self.threads.len(), &mut dice),
        });
        let (mut threads, mut open): (Vec<Box<dyn Dataflow>>, Vec<Open>) = (Vec::new(), Vec::new());
        for (t, (code, ways)) in self.threads.iter().enumerate() {
            let dice = Stream::new(seed << 8 | t as u64, "litmus thread");
            let (thread, ways) = LitmusThread::new(code.clone(), ways.clone(), shared.clone(), t as u64, dice);
            threads.push(Box::new(thread));
            open.push(ways);
        }
        let words: Vec<Addr> = shared.place.values().copied().collect();
        let beside = if words.is_empty() {
            0
        } else {
            neighbours(&spec, threads.len(), &mut dice)
        };
        for n in 0..beside {
            let owner = (self.threads.len() + n) as u64;
            let dice = Stream::new(seed << 8 | owner, "litmus neighbour");
            threads.push(Box::new(Neighbour::new(&words, shared.lowering, owner, dice)));
        }
        let report = self.simulate(&spec, resolved, threads, &shared.place)?;
        let contract = resolved.design.contract_of(environment);
        self.judge(&report, &contract, &open, &shared.place, resolved)
    }

    fn simulate(
        &self,
        spec: &MachineSpec,
        resolved: &Resolved,
        threads: Vec<Box<dyn Dataflow>>,
        place: &BTreeMap<u64, Addr>,
    ) -> Result<RunReport, LabError> {
        let mut initial = Image::default();
        for word in self.layout.words.iter().filter(|w| w.initial != 0) {
            initial.set_word(place[&word.at], word.initial, None);
        }
        let work = Workload {
            initial,
            threads: Vec::new(),
            sites: Rc::from([]),
            resident: Default::default(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::dataflow(spec, build_design(resolved)?, work, threads).map_err(refuse)?;
        machine.run().map_err(refuse)
    }

    fn judge(
        &self,
        report: &RunReport,
        contract: &Contract,
        open: &[Open],
        place: &BTreeMap<u64, Addr>,
        resolved: &Resolved,
    ) -> Result<Ran, LabError> {
        let internal = |why: String| Err(LabError::Internal(format!("{}: {why}", self.test.name)));
        let stale = report.stale.as_ref().map(ToString::to_string);
        let defect = stale.or_else(|| report.disorder.map(|d| d.to_string()));
        let Some(trace) = &report.trace else {
            return internal("the run was not recorded".into());
        };
        let ends: Option<Vec<usize>> = open.iter().map(|o| o.borrow().first().copied()).collect();
        let Some(ends) = ends else {
            return internal("a load returned what no store wrote".into());
        };
        let value = |atom: &Atom| match atom {
            Atom::Memory(at) => match place.get(at) {
                Some(addr) => self.cut(*at, report.coherent.word(*addr)),
                None => self.test.locations.initial(*at),
            },
            Atom::Register(thread, reg, _) => {
                let registers = &self.threads[*thread].1[ends[*thread]].registers;
                registers.get(usize::from(*reg)).copied().unwrap_or(0)
            }
        };
        let counts = self.test.filter.as_ref().is_none_or(|f| f.holds(&value));
        let complete = resolved.design.promise.persists_every_store;
        let refused = conform(trace, report.log.records(), contract, Demands { complete }).err();
        let behind = |l: &LineAddr| !report.coherent.same_line(&report.durable, *l);
        Ok(Ran {
            lost: report.coherent.pm_lines().filter(behind).count() > report.left_dirty,
            state: counts.then(|| self.test.shown.iter().map(value).collect()),
            crash_states: self.shown(report, place),
            refused: refused.map(|r| r.to_string()),
            defect,
        })
    }

    fn cut(&self, at: u64, value: u64) -> u64 {
        self.widths.get(&at).map_or(value, |w| w.cut(value))
    }

    /// What every prefix of the durable log leaves behind.
    fn shown(&self, report: &RunReport, place: &BTreeMap<u64, Addr>) -> BTreeSet<Vec<u64>> {
        let mut image = report.initial.clone().without_writers();
        let read = |image: &Image| {
            let words = self.layout.persistent();
            words.map(|w| self.cut(w.at, image.word(place[&w.at]))).collect()
        };
        let mut seen = BTreeSet::from([read(&image)]);
        for record in report.log.records().iter().filter(|r| !r.cause.is_log()) {
            image.set_line(record.line, &record.data);
            seen.insert(read(&image));
        }
        seen
    }
}

/// When threads begin: all at once, one behind the other in a drawn order, so that one may see what another did, or any time.
fn begins(threads: usize, dice: &mut Stream) -> Vec<u64> {
    match dice.below(6) {
        0 | 1 => vec![0; threads],
        2 => {
            let gap = [100, 2500, 9000][dice.below(3) as usize];
            let mut begins: Vec<u64> = (0..threads as u64).map(|n| n * gap).collect();
            for i in (1..threads).rev() {
                begins.swap(i, dice.below(i as u64 + 1) as usize);
            }
            begins
        }
        _ => (0..threads)
            .map(|_| dice.below(6).saturating_sub(2) * dice.below(6000))
            .collect(),
    }
}

/// How many of the hardware threads that a test leaves idle do something beside it.
fn neighbours(spec: &MachineSpec, used: usize, dice: &mut Stream) -> usize {
    let idle = usize::from(spec.hw_threads()).saturating_sub(used);
    (dice.below(4) as usize).min(idle)
}

/// Caches of a few lines, so that what a test wrote is driven out while it runs.
fn small_caches(spec: &mut MachineSpec) {
    let shrink = |cache: &mut fencepost_machine::CacheSpec, lines: u64, ways: u32| {
        (cache.size, cache.ways) = (Bytes(64 * lines), ways);
    };
    shrink(&mut spec.l1, 4, 2);
    if let Some(l2) = &mut spec.l2 {
        shrink(l2, 8, 4);
    }
    shrink(&mut spec.llc, 16, 4);
}
