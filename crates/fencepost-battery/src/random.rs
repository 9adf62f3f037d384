//! Random programs on random small machines: a run from a seed, and what must hold of it.

use super::found::Found;
use super::issued::Issued;
use super::remote;
use fencepost_contract::explore::{Oracle, check_prefixes};
use fencepost_contract::{ConformReport, ContractKind, Demands, conform};
use fencepost_designs::info::{Values, raw};
use fencepost_designs::{DesignInfo, Environment};
use fencepost_harness::thread_body;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Bytes, Image, Ps, Stream, TraceKind};
use fencepost_machine::memory::DurableAt;
use fencepost_machine::seam::Design;
use fencepost_machine::{CacheSpec, Machine, MachineSpec, Pipeline, RunReport, StoreOrder, Workload};
use fencepost_programs::random::Random;
use fencepost_programs::{Described, Scheme, Settings};
use fencepost_run::config::shape_of;
use fencepost_run::fire::Hardware;
use fencepost_run::functional::{self, hardware};
use std::num::NonZeroU64;
use std::rc::Rc;

/// A design on a small machine with a random program, all drawn from a seed.
#[derive(Clone)]
pub struct Case {
    /// The design.
    pub info: &'static DesignInfo,
    /// What everything else was drawn from.
    pub seed: u64,
    /// Parameters of the design.
    pub values: Vec<(String, Raw)>,
    /// The machine.
    pub spec: MachineSpec,
    /// How the program is built.
    pub settings: Settings,
}

/// What a sound run showed.
#[derive(Clone, Debug)]
pub struct Sound {
    /// What conformance counted.
    pub conform: ConformReport,
    /// Crash points tried.
    pub crash_points: u64,
    /// Transactions rolled back.
    pub aborted: u64,
    /// The instructions of the run.
    pub issued: Issued,
}

impl Case {
    /// The case of a seed in an environment in which the design keeps its promise.
    pub fn draw(info: &'static DesignInfo, seed: u64) -> Case {
        let mut dice = Stream::new(seed, "battery");
        let mut sound: Vec<Environment> = Environment::ALL.into_iter().filter(|e| (info.sound)(*e)).collect();
        if sound.is_empty() {
            sound.extend(Environment::ALL);
        }
        let environment = sound[dice.below(sound.len() as u64) as usize];
        let mut case = Case::in_environment(info, seed, environment);
        // Half of the runs take the defaults, the others one of the declared variants.
        if !info.variants.is_empty() && dice.chance(1, 2) {
            case.set(info.variants[dice.below(info.variants.len() as u64) as usize]);
        }
        match dice.below(10) {
            0 => case.smallest(),
            1 => case.small_queues(),
            _ => {}
        }
        case
    }
    /// The case of a seed in a given environment, with the design's defaults.
    pub fn in_environment(info: &'static DesignInfo, seed: u64, environment: Environment) -> Case {
        let mut dice = Stream::new(seed, "battery machine");
        let mut spec = machine(&mut dice, environment);
        spec.network = remote::network(info, &mut Stream::new(seed, "battery network"));
        let threads = 1 + dice.below(u64::from(spec.hw_threads())) as u32;
        let int = |name: &str, value: u64| (name.to_owned(), Raw::Int(value as i64));
        let params = vec![
            int("lines", 1 + dice.below(6)),
            int("length", 3 + dice.below(5)),
            int("abort_percent", 30),
            int(
                "handed_on",
                8 * u64::from(Stream::new(seed, "battery chains").chance(1, 4)),
            ),
        ];
        let settings = Settings {
            threads,
            ops: 2 + dice.below(4) as u32,
            seed,
            scheme: Scheme::Raw,
            params,
            honours: Some(info.promise.honours),
            ..Settings::default()
        };
        Case {
            info,
            seed,
            values: Vec::new(),
            spec,
            settings,
        }
    }
    /// Sets parameters of the design.
    pub fn set(&mut self, values: Values) {
        self.values.extend(raw(values));
    }
    /// Every queue of machine and design at its smallest.
    pub fn smallest(&mut self) {
        self.small_queues();
        self.set(self.info.smallest);
    }
    /// Every queue of the machine at size one.
    pub fn small_queues(&mut self) {
        let s = &mut self.spec;
        (s.core.rob, s.core.load_queue, s.core.store_queue) = (2, 1, 1);
        for c in [Some(&mut s.l1), s.l2.as_mut(), Some(&mut s.llc)].into_iter().flatten() {
            (c.mshrs, c.writeback_buffer) = (1, 1);
        }
        for m in [&mut s.pm, &mut s.dram] {
            (m.controller.write_queue, m.controller.read_queue) = (1, 1);
        }
    }
    /// What dialect and contract depend on.
    pub fn environment(&self) -> Environment {
        let accept = self.spec.pm.controller.durable_at(&self.spec.pm.media) == DurableAt::Accept;
        Environment::new(accept, self.spec.core.store_order == StoreOrder::Tso)
    }
    /// Whether a parameter of the design has this value by a setting.
    fn is_set(&self, name: &str, value: &str) -> bool {
        let last = self.values.iter().rev().find(|v| v.0 == name);
        last.is_some_and(|v| v.1 == Raw::Text(value.to_owned()))
    }
    fn design(&self) -> Result<Box<dyn Design>, String> {
        (self.info.build)(&self.values, shape_of(&self.spec)).map_err(|e| e.to_string())
    }
    /// Persistent lines that the program uses.
    fn lines(&self) -> u64 {
        let given = self.settings.params.iter().find(|p| p.0 == "lines");
        match given {
            Some((_, Raw::Int(n))) => *n as u64,
            _ => 1,
        }
    }
    fn program(&self) -> Result<Random, String> {
        Random::checked(&self.settings).map_err(|e| e.to_string())
    }
    /// Runs it, recorded.
    ///
    /// # Errors
    /// The machine could not be built, or got stuck.
    pub fn run(&self) -> Result<RunReport, String> {
        self.machine()?.run().map_err(|e| e.to_string())
    }
    fn machine(&self) -> Result<Machine, String> {
        let (program, dialect) = (self.program()?, (self.info.dialect)(self.environment()));
        let body = |t| thread_body(&program, dialect, (self.settings.ops, self.seed.is_multiple_of(8)), t);
        let work = Workload {
            initial: Image::default(),
            threads: (0..self.settings.threads).map(body).collect(),
            sites: Rc::from([20; 32]),
            resident: Default::default(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::new(&self.spec, self.design()?, work).map_err(|e| e.to_string())?;
        let clients = remote::transactions(self.seed, self.lines());
        let machine = match self.spec.network.clients {
            0 => Ok(machine),
            _ => machine.with_clients(clients, self.seed),
        };
        machine.map_err(|e| e.to_string())
    }
    /// Whether the persist order is one that the contract allows.
    ///
    /// # Errors
    /// The refusal.
    pub fn conforms(&self, report: &RunReport) -> Result<ConformReport, String> {
        let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
        let demands = Demands {
            complete: self.info.promise.persists_every_store,
        };
        let contract = self.info.contract_of(self.environment());
        conform(trace, report.log.records(), &contract, demands).map_err(|refusal| refusal.to_string())
    }
    /// Recovery after every durable event; how many there are.
    ///
    /// # Errors
    /// What is wrong after one of them.
    pub fn recovers(&self, report: &RunReport) -> Result<u64, String> {
        // The program's audit knows nothing of words that clients wrote.
        if self.spec.network.clients > 0 && remote::shares_words(self.seed) {
            return Ok(0);
        }
        // Nothing is promised, whatever a program acknowledges.
        if self.info.contract_of(self.environment()).kind == ContractKind::None {
            return Ok(0);
        }
        let trace = report.trace.as_ref().ok_or("the run was not recorded")?;
        let (program, design) = (self.program()?, self.design()?);
        let oracle = Oracle::new(&program, &trace.ops);
        let mut hardware = Hardware::new(&*design, report.log.len() + 1, 1);
        let hardware = |image: &Image| hardware.recover(image);
        let found = check_prefixes(&oracle, &report.initial, trace, &report.log, NonZeroU64::MAX, hardware);
        match found.broken {
            None => Ok(found.points),
            Some(b) => Err(format!("after durable event {}: {}", b.records, b.why.why)),
        }
    }
    /// Everything that must hold of a run.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn judge(&self, report: &RunReport) -> Result<Sound, String> {
        if let Some(stale) = &report.stale {
            return Err(stale.to_string());
        }
        if let Some(disorder) = report.disorder {
            return Err(disorder.to_string());
        }
        if report.counters.stale_reads > 0 {
            return Err(format!("{} reads missed the newest bytes", report.counters.stale_reads));
        }
        if let Some(rule) = &report.broken_rule {
            return Err(rule.clone());
        }
        self.functional(report)?;
        self.machine()?
            .looking_for_sleepers()
            .run()
            .map_err(|e| e.to_string())?;
        let conform = self.conforms(report)?;
        remote::replica(report, self.seed, self.lines())?;
        self.nothing_lost(report)?;
        // Without transactions the audit sees less than conformance does, and takes longer.
        let recovery = self.info.promise.honours.transactions || self.seed.is_multiple_of(4);

        let aborts = |k: &TraceKind| matches!(k, TraceKind::TxAbort(_));
        let events = report.trace.iter().flat_map(|t| &t.events);
        Ok(Sound {
            conform,
            crash_points: if recovery { self.recovers(report)? } else { 0 },
            aborted: events.filter(|e| aborts(&e.kind)).count() as u64,
            issued: report.trace.as_ref().map(Issued::of).unwrap_or_default(),
        })
    }
    /// What the functional reference says of it.
    fn functional(&self, report: &RunReport) -> Result<(), String> {
        let names = self.info.contract_of(self.environment()).kind == ContractKind::Rcbsp;
        let names = names && !self.is_set("forward", "false");
        let persists = self.info.promise.persists_every_store;
        let hardware = hardware(&self.spec, &*self.design()?, persists, names);
        functional::judge(report, &self.spec, hardware, true).map_err(|breach| breach.to_string())
    }
    /// At the end non-temporal stores are durable, and every store is where the design says so.
    fn nothing_lost(&self, r: &RunReport) -> Result<(), String> {
        let lines = r.coherent.pm_lines();
        let differs = |l: &fencepost_kernel::LineAddr| r.durable.line_words(*l) != r.coherent.line_words(*l);
        if self.info.promise.persists_every_store
            && let Some(line) = lines.into_iter().find(differs)
        {
            return Err(format!("what was last stored to {line:?} never became durable"));
        }
        // What no range registers stays in the module's volatile cache.
        if self.design()?.controller(&self.spec.pm.module).module.is_volatile() {
            return Ok(());
        }
        let trace = r.trace.as_ref().ok_or("the run was not recorded")?;
        for s in trace.stores.iter().filter(|s| s.nt && s.addr.is_persistent()) {
            let newest = r.coherent.writer(s.addr).map(|w| trace.store(w));
            if newest.is_some_and(|w| w.nt) && r.durable.word(s.addr) != r.coherent.word(s.addr) {
                return Err(format!("the non-temporal store to {} never became durable", s.addr));
            }
        }
        Ok(())
    }
}

/// A machine with small caches, so that lines are evicted, and a slow medium, so that order matters.
fn machine(dice: &mut Stream, environment: Environment) -> MachineSpec {
    let mut spec = MachineSpec::default();
    (spec.core.cores, spec.core.threads_per_core) = if dice.chance(1, 7) { (2, 2) } else { (3, 1) };
    spec.core.store_order = if environment.tso {
        StoreOrder::Tso
    } else {
        StoreOrder::Relaxed
    };
    if dice.chance(1, 4) {
        spec.core.pipeline = Pipeline::InOrder;
    }
    let lines = |dice: &mut Stream, of: [u64; 3]| Bytes(64 * of[dice.below(3) as usize]);
    (spec.l1.size, spec.l1.ways) = (lines(dice, [4, 8, 64]), 2);
    (spec.llc.size, spec.llc.ways) = (lines(dice, [8, 32, 256]), 4);
    if dice.chance(1, 5) {
        spec.l2 = Some(CacheSpec {
            size: spec.l1.size,
            ways: 4,
            ..spec.l1.clone()
        });
    }
    spec.pm.media.write_pulse = Ps::from_ns(150);
    spec.pm.media.durable_at = if environment.durable_on_accept {
        DurableAt::Accept
    } else {
        DurableAt::Device
    };
    // A hardware log of as little as one group of blocks: it wraps, and must grow.
    spec.log_area = Bytes(512 * [2, 3, 10, 65_536][dice.below(4) as usize]);
    spec
}

fn sound_somewhere(info: &DesignInfo) -> bool {
    Environment::ALL.into_iter().any(info.sound)
}

/// Runs and judges the cases of some seeds, up to the first that is wrong.
fn all_sound(cases: impl Iterator<Item = Case>) -> Found {
    let mut found = Found::default();
    for case in cases {
        match case.run().and_then(|r| case.judge(&r)) {
            Ok(sound) => {
                found.runs += 1;
                found.reordered += sound.conform.reordered;
                found.crash_points += sound.crash_points;
                found.aborted += sound.aborted;
                found.issued.add(&sound.issued);
            }
            Err(why) => {
                let (seed, values) = (case.seed, &case.values);
                found
                    .wrong
                    .push(format!("random program {seed} with {values:?}: {why}"));
                break;
            }
        }
    }
    found
}

/// Random programs keep the contract. A design that can keep it nowhere is left to [`super::faults::unsound`].
pub fn conformance(info: &'static DesignInfo, seeds: impl Iterator<Item = u64>) -> Found {
    if !sound_somewhere(info) {
        return Found::default();
    }
    all_sound(seeds.map(|seed| Case::draw(info, seed)))
}

/// Random programs keep the contract with every queue at its smallest.
pub fn smallest(info: &'static DesignInfo, programs: u64) -> Found {
    if !sound_somewhere(info) {
        return Found::default();
    }
    let case = |seed| {
        let mut case = Case::draw(info, (1 << 32) + seed);
        case.values.clear();
        case.smallest();
        case
    };
    all_sound((0..programs).map(case))
}

/// The same seed gives the same run, to the byte; some other seed another.
pub fn same_seed(info: &'static DesignInfo) -> Found {
    let once = |seed| {
        let report = Case::draw(info, seed).run()?;
        Ok::<_, String>((report.log.digest(), report.time, report.events))
    };
    let mut found = Found::default();
    let mut seen = Vec::new();
    for seed in 0..20 {
        match (once(seed), once(seed)) {
            (Ok(a), Ok(b)) if a == b => seen.push(a),
            (Ok(_), Ok(_)) => found
                .wrong
                .push(format!("random program {seed} gives two different runs")),
            (Err(why), _) | (_, Err(why)) => found.wrong.push(format!("random program {seed}: {why}")),
        }
        found.runs += 2;
    }
    seen.dedup();
    if found.wrong.is_empty() && seen.len() < 10 {
        found.wrong.push("different seeds give the same run".into());
    }
    found
}
