//! Helpers of the machine's tests.
#![allow(dead_code)]

pub(super) mod double;

use fencepost_kernel::{Addr, At, Image};
use fencepost_machine::seam::Design;
use fencepost_machine::{Machine, MachineSpec, RunReport, SimMem, ThreadBody, Workload};
use std::rc::Rc;

/// A design without any hook.
pub(super) struct Plain;
impl Design for Plain {}

/// A thread body.
pub(super) fn body(f: impl FnOnce(&mut SimMem<'_>) + 'static) -> ThreadBody {
    Box::new(f)
}

/// A persistent address.
pub(super) fn pm(offset: u64) -> At<u32> {
    At::new(Addr::pm(offset))
}
/// A volatile address.
pub(super) fn dram(offset: u64) -> At<u32> {
    At::new(Addr(offset))
}

/// Compute site `i` of test workloads stands for this many instructions.
pub(super) const SITES: [u32; 4] = [1, 10, 100, 1000];

/// Runs threads on a machine, recorded.
pub(super) fn run(spec: &MachineSpec, design: impl Design + 'static, threads: Vec<ThreadBody>) -> RunReport {
    let work = Workload {
        initial: Image::default(),
        threads,
        sites: Rc::from(SITES),
        resident: Default::default(),
        warm_up: 0,
        record: true,
    };
    Machine::new(spec, Box::new(design), work)
        .unwrap()
        .run()
        .unwrap_or_else(|e| panic!("{e}"))
}
