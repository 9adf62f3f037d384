//! What a recorded run notes of its loads: those that race, and what depends on them.

use super::common::{Plain, SITES, body, pm, run};
use fencepost_kernel::{Addr, At, HwThread, Image, Mem, TraceKind, Val, Width};
use fencepost_machine::{Machine, MachineSpec, SimMem, ThreadBody, Workload};
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
    assert_eq!(depends(thread), [(64, 0), (128, 64), (192, 0)]);
}

/// Of two reads that give address and value the later one is noted, whichever gives which.
#[test]
fn an_event_depends_on_the_later_of_two_reads() {
    let both = |how: fn(&mut SimMem<'_>, At<u32>, Val<u32>)| {
        let thread = body(move |m| {
            let (a, b) = (m.load(pm(0)), m.load(pm(64)));
            how(m, At { dep: a.dep, ..pm(128) }, b);
            how(m, At { dep: b.dep, ..pm(192) }, a);
        });
        assert_eq!(depends(thread), [(128, 64), (192, 64)]);
    };
    both(|m, at, v| m.store(at, v));
    both(|m, at, v| m.store_n(at, v, Width::B4));
    both(|m, at, v| m.nt_store(at, v));
    both(|m, at, v| m.store_release(at, v));
}

/// A load that its own thread's store answers hands on what the store and its own address needed, the later of the two.
#[test]
fn what_is_loaded_from_a_store_of_its_own_needs_what_that_needed() {
    let thread = body(|m| {
        let (a, b) = (m.load(pm(0)), m.load(pm(64)));
        for (words, [first, second]) in [(128, [a, b]), (512, [b, a])] {
            m.store(
                At {
                    dep: first.dep,
                    ..pm(words)
                },
                Val::lit(1),
            );
            let own = m.load(At {
                dep: second.dep,
                ..pm(words)
            });
            m.store(pm(words + 64), own);
        }
    });
    let of_last: Vec<_> = depends(thread)
        .into_iter()
        .filter(|d| [192, 576].contains(&d.0))
        .collect();
    assert_eq!(of_last, [(192, 64), (576, 64)]);
}

/// Words that are stored or loaded, each with the word whose read it needs, of a run of one thread.
fn depends(thread: ThreadBody) -> Vec<(u64, u64)> {
    let report = run(&MachineSpec::default(), Plain, vec![thread]);
    let trace = report.trace.expect("it was recorded");
    let of = |event: u32| match trace.events[event as usize].kind {
        TraceKind::Load { addr, .. } => addr,
        TraceKind::Store(id) => trace.store(id).addr,
        kind => panic!("{kind:?} neither loads nor stores"),
    };
    let word = |event| of(event).0 - Addr::pm(0).0;
    let mut found: Vec<(u64, u64)> = trace.dependences.iter().map(|d| (word(d.event), word(d.on))).collect();
    found.sort_unstable();
    found
}
