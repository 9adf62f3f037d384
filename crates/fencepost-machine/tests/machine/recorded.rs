//! What a recorded run notes of its loads: those that race, and what depends on them.

use super::common::{Plain, SITES, body, pm, run};
use fencepost_kernel::{Addr, At, HwThread, Image, Mem, TraceKind, Val};
use fencepost_machine::{Machine, MachineSpec, Workload};
use std::rc::Rc;

/// A thread loads words of a line that it has while another stores to two of them, for which it has to take the line first.
#[test]
fn the_first_load_that_races_is_named() {
    let raced = |loads: &'static [u64]| {
        let stores = body(|m| [0, 8].iter().for_each(|w| m.store(pm(*w), Val::lit(1))));
        let loads = body(move |m| {
            for w in loads {
                m.load(pm(*w));
            }
        });
        let work = Workload {
            initial: Image::default(),
            threads: vec![stores, loads],
            sites: Rc::from(SITES),
            resident: [(HwThread(1), Addr::pm(0).line())].into_iter().collect(),
            warm_up: 0,
            record: true,
        };
        let machine = Machine::new(&MachineSpec::default(), Box::new(Plain), work).expect("a machine");
        let report = machine.run().unwrap_or_else(|e| panic!("{e}"));
        (report.counters.races, report.race.map(|r| (r.thread, r.addr)))
    };
    let named = |word| Some((HwThread(1), Addr::pm(word)));
    assert_eq!(raced(&[0, 8]), (2, named(0)));
    assert_eq!(raced(&[16, 8, 0]), (2, named(8)));
    assert_eq!(raced(&[16, 24]), (0, None));
}

/// A load or store needs the read that gave its address, a store also the one that gave its value.
#[test]
fn an_event_depends_on_the_read_that_gave_its_address_or_value() {
    let thread = body(|m| {
        let a = m.load(pm(0));
        let b = m.load(a.index(Addr::pm(64), 8));
        m.store(pm(128), b);
        m.store(At { dep: a.dep, ..pm(192) }, Val::lit(1));
        m.store(pm(256), Val::lit(1));
    });
    let report = run(&MachineSpec::default(), Plain, vec![thread]);
    let trace = report.trace.expect("it was recorded");
    let of = |event: u32| match trace.events[event as usize].kind {
        TraceKind::Load { addr, .. } => addr,
        TraceKind::Store(id) => trace.store(id).addr,
        kind => panic!("{kind:?} neither loads nor stores"),
    };
    let mut found: Vec<(Addr, Addr)> = trace.dependences.iter().map(|d| (of(d.event), of(d.on))).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [(64, 0), (128, 64), (192, 0)].map(|(a, b)| (Addr::pm(a), Addr::pm(b)))
    );
}
