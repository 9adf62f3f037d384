//! Machines of the x86 kind, and runs on them.

use fencepost_contract::{ConformReport, Contract, ContractKind, Demands, conform};
use fencepost_designs::{DesignInfo, MachineShape, find};
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Addr, At, Bytes, Hertz, Image, LineAddr, Ps};
use fencepost_machine::memory::DurableAt;
use fencepost_machine::{Machine, MachineSpec, RunReport, SimMem, StoreOrder, ThreadBody, Workload};
use std::rc::Rc;

/// A machine, a design and its settings.
#[derive(Clone)]
pub struct Setup {
    pub info: &'static DesignInfo,
    pub settings: Vec<(String, Raw)>,
    pub spec: MachineSpec,
}

impl Setup {
    /// Three x86 cores with caches so small that lines are evicted, and a controller in the persistence domain.
    pub fn new(design: &str) -> Setup {
        let mut spec = MachineSpec::default();
        spec.core.cores = 3;
        spec.core.clock = Hertz(3_000_000_000);
        spec.core.store_order = StoreOrder::Tso;
        (spec.l1.size, spec.l1.ways) = (Bytes(256), 2);
        (spec.llc.size, spec.llc.ways) = (Bytes(512), 4);
        spec.pm.media.durable_at = DurableAt::Accept;
        spec.pm.media.write_pulse = Ps::from_ns(150);
        Setup {
            info: find(design).expect("registered"),
            settings: Vec::new(),
            spec,
        }
    }
    /// With a parameter of the design set.
    pub fn with(mut self, name: &str, value: &str) -> Setup {
        self.settings.push((name.into(), Raw::Text(value.into())));
        self
    }
    /// With caches that hold everything.
    pub fn roomy(mut self) -> Setup {
        (self.spec.l1.size, self.spec.l1.ways) = (Bytes(64 << 10), 4);
        (self.spec.llc.size, self.spec.llc.ways) = (Bytes(1 << 20), 16);
        self
    }
    pub fn shape(&self) -> MachineShape {
        MachineShape {
            hw_threads: self.spec.hw_threads(),
            cores: self.spec.core.cores,
            cycle: self.spec.core.clock.period(),
            ..MachineShape::default()
        }
    }
    /// Runs thread bodies, recorded.
    pub fn run(&self, threads: Vec<ThreadBody>) -> RunReport {
        let design = (self.info.build)(&self.settings, self.shape()).expect("sound parameters");
        let work = Workload {
            initial: Image::default(),
            threads,
            sites: Rc::from([20, 200]),
            resident: Vec::new(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::new(&self.spec, design, work).expect("a sound machine");
        machine.run().unwrap_or_else(|e| panic!("{}: {e}", self.info.name))
    }
}

/// Holds a run to a contract.
pub fn judge(r: &RunReport, kind: ContractKind) -> Result<ConformReport, String> {
    let trace = r.trace.as_ref().expect("recorded");
    conform(trace, r.log.records(), &Contract::from(kind), Demands::default()).map_err(|e| e.to_string())
}
/// What holds of every run: time is accounted for, nothing stale was read, every non-temporal store is durable.
pub fn sound(r: &RunReport) -> Result<(), String> {
    for (i, h) in r.hw_threads.iter().enumerate() {
        if h.account.total() != h.finished.saturating_sub(h.started) {
            return Err(format!("hardware thread {i}: busy time and stalls do not add up"));
        }
    }
    if r.counters.stale_reads > 0 {
        return Err(format!("{} reads missed the newest bytes", r.counters.stale_reads));
    }
    let trace = r.trace.as_ref().expect("recorded");
    for s in trace.stores.iter().filter(|s| s.nt && s.addr.is_persistent()) {
        let newest = r.coherent.writer(s.addr).map(|w| trace.store(w));
        if newest.is_some_and(|w| w.nt) && r.durable.word(s.addr) != r.coherent.word(s.addr) {
            return Err(format!("the non-temporal store to {} never became durable", s.addr));
        }
    }
    Ok(())
}
/// When a value became durable at a word: its position among the durable events.
pub fn durable_at(r: &RunReport, at: Addr, value: u64) -> Option<usize> {
    let holds = |line: LineAddr, words: &[u64; 8]| line == at.line() && words[at.word_in_line()] == value;
    r.log.records().iter().position(|w| holds(w.line, &w.data.words))
}
/// A thread body.
pub fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}
/// The first word of persistent line `line`.
pub fn pm(line: u64) -> At<u32> {
    At::new(Addr::pm(64 * line))
}
/// The first word of volatile line `line`.
pub fn dram(line: u64) -> At<u32> {
    At::new(Addr(64 * line))
}
