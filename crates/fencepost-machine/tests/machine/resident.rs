//! Machines of a process share the caches that the first of them filled.

use super::common::{Plain, SITES, body, dram};
use fencepost_kernel::{Bytes, HwThread, Image, LineAddr, Mem, Val};
use fencepost_machine::{CacheSpec, Machine, MachineSpec, Resident, Workload};
use std::rc::Rc;

const THREADS: u64 = 3;
const LINES: u64 = 600;

/// More lines than private caches hold, of three threads in turn.
fn lines() -> Resident {
    let line = |i| (HwThread((i % THREADS) as u8), LineAddr(dram(0).addr.line().0 + i));
    (0..LINES).map(line).collect()
}
/// What a run shows of its caches: every thread loads every third line and stores to some.
fn shown(spec: &MachineSpec, resident: Resident) -> String {
    let thread = |t: u64| {
        body(move |m| {
            for i in (t..LINES).step_by(2) {
                m.load(dram(i * 64));
                if i % 7 == t {
                    m.store(dram(i * 64), Val::lit(i));
                }
            }
        })
    };
    let work = Workload {
        initial: Image::default(),
        threads: (0..THREADS).map(thread).collect(),
        sites: Rc::from(SITES),
        resident,
        warm_up: 0,
        record: false,
    };
    let machine = Machine::new(spec, Box::new(Plain), work).expect("a machine");
    let report = machine.run().unwrap_or_else(|e| panic!("{e}"));
    format!("{} {:?}", report.time, report.counters)
}

/// The first machine of a shape fills its caches, the second, too, and from then on they are copied: all run as one that is alone. One of
/// another shape in between gets caches of its own.
#[test]
fn shared_warm_caches_are_those_that_each_would_fill() {
    let small = |l1: u64, cores| {
        let mut spec = MachineSpec::default();
        (spec.l1.size, spec.llc.size, spec.core.cores) = (Bytes(l1), Bytes(1 << 14), cores);
        spec.core.threads_per_core = if cores == 1 { 4 } else { 1 };
        spec
    };
    let mut with_l2 = small(1 << 10, 4);
    with_l2.l2 = Some(CacheSpec {
        size: Bytes(1 << 11),
        ..with_l2.l1.clone()
    });
    let specs = [small(1 << 10, 4), small(1 << 12, 4), small(1 << 10, 1), with_l2];
    let alone: Vec<String> = specs.iter().map(|s| shown(s, lines())).collect();
    for (i, one) in alone.iter().enumerate() {
        assert!(!alone[..i].contains(one), "the shapes differ in what they show: {one}");
    }
    let shared = lines();
    for shape in [0, 0, 0, 0, 1, 0, 0, 0, 2, 2, 2, 3, 3, 3, 0] {
        assert_eq!(shown(&specs[shape], shared.clone()), alone[shape], "shape {shape}");
    }
}
