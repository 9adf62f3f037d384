//! Tests on the mock: the paper's walk-throughs, the rules one by one, and random programs held to the contract.

mod oracle;
mod path;
mod random;
mod rules;
mod walkthrough;

use super::{Delegated, DelegatedParams, Entry, Kind, Newness, checked};
use crate::info::MachineShape;
use crate::testkit::Bench;
use fencepost_kernel::{CoreId, Fence, HwThread, LineAddr, Ps};
use fencepost_machine::seam::{Cx as _, Gate, Instr};

const DMB: Instr = Instr::Fence(Fence::Dmb);

/// A design on a machine of `cores` single-threaded cores.
fn build(params: &DelegatedParams, cores: u8, threads_per_core: u8, merge: bool) -> Delegated {
    let shape = MachineShape {
        hw_threads: cores * threads_per_core,
        cores,
        ..MachineShape::default()
    };
    Delegated::new(checked(params.clone()).expect("sound parameters"), shape, merge)
}
fn bench_with(params: &DelegatedParams, cores: u8, queue: usize) -> Bench<Delegated> {
    Bench::new(build(params, cores, 1, false), cores, 1, queue)
}
/// Defaults, but the path is slow: nothing drains before 100 ns have passed.
fn slow() -> DelegatedParams {
    DelegatedParams {
        path_slot: Ps::from_ns(100),
        ..DelegatedParams::default()
    }
}
fn bench(cores: u8) -> Bench<Delegated> {
    bench_with(&slow(), cores, 64)
}
impl Bench<Delegated> {
    fn entries(&self, core: u8) -> Vec<&Entry> {
        self.design.front.tracker.ports[usize::from(core)]
            .entries
            .iter()
            .collect()
    }
    /// The hardware ids that an entry waits for, as {core, slot}.
    fn dp(&self, core: u8, index: usize) -> Vec<(u8, usize)> {
        let t = &self.design.front.tracker;
        let slots = usize::from(slow().entries);
        self.entries(core)[index]
            .deps
            .open(&t.drained)
            .map(|(c, s)| (c.0, s.slot(slots)))
            .collect()
    }
    /// The hardware ids in AccumDP.
    fn accum(&self, core: u8) -> Vec<(u8, usize)> {
        let t = &self.design.front.tracker;
        let slots = usize::from(slow().entries);
        let deps = &t.ports[usize::from(core)].accum;
        deps.open(&t.drained).map(|(c, s)| (c.0, s.slot(slots))).collect()
    }
    /// The Youngest bit of an entry.
    fn youngest(&self, core: u8, index: usize) -> bool {
        matches!(
            self.entries(core)[index].kind,
            Kind::Persist {
                newness: Newness::Youngest,
                ..
            }
        )
    }
    fn fence(&mut self, hw_thread: u8) {
        assert_eq!(self.instr(hw_thread, DMB), Gate::Go);
    }
    /// One entry drains: the next slot of the path.
    fn one_slot(&mut self) {
        self.run_for(Ps::from_ns(100));
    }
    fn core(&self, hw_thread: u8) -> CoreId {
        self.cx.core_of(HwThread(hw_thread))
    }
    fn lines(&self) -> Vec<LineAddr> {
        self.cx.written_lines()
    }
}
