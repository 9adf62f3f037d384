//! Random programs, machines and runs.

use fencepost_contract::{ConformReport, Demands, conform};
use fencepost_designs::{DesignInfo, Environment, MachineShape, find};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Addr, At, Bytes, Image, Mem, Pm, Ps, Rmw, Site, Stream, Val};
use fencepost_machine::memory::DurableAt;
use fencepost_machine::seam::Design;
use fencepost_machine::{Machine, MachineSpec, RunReport, SimMem, StoreOrder, ThreadBody, Workload};
use std::rc::Rc;

/// One statement of a program that fits every dialect.
#[derive(Copy, Clone, Debug)]
pub(super) enum Statement {
    /// Load a word.
    Load(Addr),
    /// Store a word.
    Store(Addr),
    /// Store a word and start making it persistent.
    Persist(Addr),
    /// Load a word, store a value computed from it to another, and start making that persistent.
    Copy(Addr, Addr),
    /// Non-temporal store.
    NtStore(Addr),
    /// Order everything persisted before against everything after.
    Order,
    /// Everything persisted before is durable now.
    Durable,
    /// Atomic addition.
    Add(Addr),
    /// Lock, store, persist, order, unlock.
    Critical(Addr, Addr),
    /// Some other work.
    Compute,
}

/// A random program for each thread, over `lines` persistent lines and two volatile ones.
pub(super) fn programs(seed: u64, threads: usize, statements: usize, lines: u64) -> Vec<Vec<Statement>> {
    let mut dice = Stream::new(seed, "machine-programs");
    let mut one = |_| {
        let word = 8 * dice.below(2);
        let at = match dice.below(lines + 2) {
            l if l < lines => Addr::pm(64 * l + word),
            l => Addr(64 * (l - lines) + word),
        };
        let pm = Addr::pm(64 * dice.below(lines) + word);
        match dice.below(27) {
            0..=4 => Statement::Load(at),
            5..=7 => Statement::Store(at),
            8..=13 => Statement::Persist(pm),
            14..=18 => Statement::Order,
            19 => Statement::Add(at),
            20 => Statement::Critical(Addr(1024), pm),
            21 => Statement::NtStore(pm),
            22 => Statement::Compute,
            23..=25 => Statement::Copy(at, pm),
            _ => Statement::Durable,
        }
    };
    (0..threads).map(|_| (0..statements).map(&mut one).collect()).collect()
}

/// What a run is made of besides its programs.
#[derive(Clone)]
pub(super) struct Setup {
    pub info: &'static DesignInfo,
    pub settings: Vec<(String, Raw)>,
    pub spec: MachineSpec,
}
impl Setup {
    pub(super) fn new(design: &str) -> Setup {
        let mut spec = MachineSpec::default();
        spec.core.cores = 3;
        // Small caches, so that lines are evicted; a slow medium, so that order matters.
        spec.l1.size = Bytes(512);
        spec.l1.ways = 2;
        spec.llc.size = Bytes(2048);
        spec.llc.ways = 4;
        spec.pm.media.write_pulse = Ps::from_ns(150);
        Setup {
            info: find(design).expect("registered"),
            settings: Vec::new(),
            spec,
        }
    }
    pub(super) fn with(mut self, name: &str, value: &str) -> Setup {
        self.settings.push((name.into(), Raw::Text(value.into())));
        self
    }
    pub(super) fn durable_on_accept(mut self, yes: bool) -> Setup {
        self.spec.pm.media.durable_at = if yes { DurableAt::Accept } else { DurableAt::Device };
        self
    }
    pub(super) fn tso(mut self, yes: bool) -> Setup {
        self.spec.core.store_order = if yes { StoreOrder::Tso } else { StoreOrder::Relaxed };
        self
    }
    pub(super) fn environment(&self) -> Environment {
        let accept = self.spec.pm.controller.durable_at(&self.spec.pm.media) == DurableAt::Accept;
        Environment::new(accept, self.spec.core.store_order == StoreOrder::Tso)
    }
    pub(super) fn design(&self) -> Box<dyn Design> {
        let shape = MachineShape {
            hw_threads: self.spec.hw_threads(),
            cores: self.spec.core.cores,
            ..MachineShape::default()
        };
        (self.info.build)(&self.settings, shape).expect("sound parameters")
    }
    /// Runs the programs, recorded.
    pub(super) fn run(&self, programs: &[Vec<Statement>]) -> RunReport {
        let bodies = programs
            .iter()
            .cloned()
            .enumerate()
            .map(|(t, p)| self.body(t as u64, p))
            .collect();
        self.run_bodies(bodies)
    }
    pub(super) fn run_bodies(&self, threads: Vec<ThreadBody>) -> RunReport {
        let work = Workload {
            initial: Image::default(),
            threads,
            sites: Rc::from([20]),
            resident: Default::default(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::new(&self.spec, self.design(), work).expect("a sound machine");
        machine.run().unwrap_or_else(|e| panic!("{}: {e}", self.info.name))
    }
    fn body(&self, thread: u64, program: Vec<Statement>) -> ThreadBody {
        let dialect = (self.info.dialect)(self.environment());
        Box::new(move |m: &mut SimMem<'_>| {
            let mut pm = Pm::new(m, dialect);
            for (k, s) in program.into_iter().enumerate() {
                execute(&mut pm, s, thread << 32 | (k as u64 + 1));
            }
        })
    }
    /// Whether the run kept the contract of this design in this setting.
    pub(super) fn judge(&self, r: &RunReport) -> Result<ConformReport, String> {
        let demands = Demands {
            complete: self.info.promise.persists_every_store,
        };
        let trace = r.trace.as_ref().expect("recorded");
        let contract = self.info.contract_of(self.environment());
        conform(trace, r.log.records(), &contract, demands).map_err(|refusal| refusal.to_string())
    }
}

fn execute(pm: &mut Pm<'_, SimMem<'_>>, statement: Statement, unique: u64) {
    let value = Val::lit(unique);
    match statement {
        Statement::Load(a) => drop(pm.m.load(At::new(a))),
        Statement::Store(a) => pm.m.store(At::new(a), value),
        Statement::Persist(a) => {
            pm.m.store(At::new(a), value);
            pm.persist(At::new(a), 8);
        }
        Statement::Copy(from, to) => {
            let read = pm.m.load(At::new(from));
            pm.m.store(At::new(to), read.map(|_| unique));
            pm.persist(At::new(to), 8);
        }
        Statement::NtStore(a) => pm.m.nt_store(At::new(a), value),
        Statement::Order => pm.order(),
        Statement::Durable => pm.durable(),
        Statement::Add(a) => drop(pm.m.rmw(At::new(a), Rmw::Add(1))),
        Statement::Compute => pm.m.compute(Site(0)),
        Statement::Critical(lock, a) => {
            pm.lock(At::new(lock));
            pm.m.store(At::new(a), value);
            pm.persist(At::new(a), 8);
            pm.order();
            pm.unlock(At::new(lock));
        }
    }
}
