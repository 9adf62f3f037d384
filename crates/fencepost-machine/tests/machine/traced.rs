//! Threads that replay traces: where the memory of their processes lies, and which of their commits are left.

use super::common::{Plain, SITES, body, pm};
use fencepost_kernel::{Addr, HwThread, Image, Mem, Trace, TraceKind, Val};
use fencepost_machine::{Machine, MachineSpec, ThreadBody, Workload};
use std::rc::Rc;

/// What the threads of so many processes do, whose memory lies `APART` bytes apart.
fn traced(processes: usize, threads: Vec<ThreadBody>) -> Trace {
    let work = Workload {
        initial: Image::default(),
        threads,
        sites: Rc::from(SITES),
        resident: Default::default(),
        warm_up: 0,
        record: true,
    };
    let machine = Machine::traced(&MachineSpec::default(), Box::new(Plain), work, (processes, APART));
    let report = machine.expect("a machine").run().unwrap_or_else(|e| panic!("{e}"));
    report.trace.expect("it was recorded")
}
const APART: u64 = 1 << 20;

/// The second store depends on what the first one left: each process reads its own memory.
#[test]
fn each_process_has_memory_of_its_own() {
    let thread = || {
        body(|m| {
            m.store(pm(8), Val::lit(64));
            let at = m.load(pm(8));
            m.store(at.index(Addr::pm(0), 1), Val::lit(7));
            m.store(at.index(Addr(4096), 1), Val::lit(9));
        })
    };
    let trace = traced(4, (0..4).map(|_| thread()).collect());
    for process in 0..4 {
        let own = trace.stores.iter().filter(|s| s.thread == HwThread(process));
        let mut own: Vec<(Addr, u64)> = own.map(|s| (s.addr, s.value)).collect();
        own.sort_unstable();
        let behind = u64::from(process) * APART;
        let at = [Addr::pm(8 + behind), Addr::pm(64 + behind), Addr(4096 + 64 + behind)];
        assert_eq!(own, [(at[2], 9), (at[0], 64), (at[1], 7)], "process {process}");
    }
    let loads = trace.events.iter().filter_map(|e| match e.kind {
        TraceKind::Load { addr, from } => Some((addr, from.map(|s| trace.store(s).thread), e.thread)),
        _ => None,
    });
    for (addr, from, by) in loads {
        let process = by.expect("a thread loads").0;
        assert_eq!((addr, from), (Addr::pm(8 + u64::from(process) * APART), by));
    }
}

/// A queue that has just been committed holds nothing, one that was stored to since may.
#[test]
fn only_a_commit_right_behind_another_of_its_queue_is_left_out() {
    let commits = |does: &'static str| {
        let thread = body(move |m| {
            m.op_begin(0);
            let queue = m.bind(Addr::pm(0), 4096);
            for what in does.chars() {
                match what {
                    'c' => m.commit_queue(queue),
                    's' => m.store(pm(0), Val::lit(1)),
                    _ => drop(m.load(pm(64))),
                }
            }
        });
        let trace = traced(1, vec![thread]);
        let commit = |k: TraceKind| matches!(k, TraceKind::CommitQueue(_));
        trace.events.iter().filter(|e| commit(e.kind)).count()
    };
    assert_eq!(commits("sc"), 1);
    assert_eq!(commits("scc"), 1);
    assert_eq!(commits("scsc"), 2);
    assert_eq!(commits("sccsccc"), 2);
    assert_eq!(commits("sclc"), 2, "no further than right behind");
}
