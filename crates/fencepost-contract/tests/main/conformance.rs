//! Conformance: legal executions of reference machines are never convicted, illegal ones always are.

use crate::support::px86_machine::Machine;
use crate::support::random::{self, Menu};
use crate::support::rcbsp_order;
use crate::support::run::Run;
use crate::support::{Shape, relaxed};
use fencepost_contract::{Contract, ContractKind, LineOrder};
use fencepost_kernel::{Fence, Flush, Image, StoreId, Stream, TraceEvent, TraceKind};

const X86: Menu = Menu {
    threads: 3,
    ops: 10,
    locations: &["va", "xa", "xb", "xc", "y", "z"],
    fences: &[Fence::Sfence, Fence::Sfence, Fence::Mfence],
    flushes: &[Flush::Clwb, Flush::Clwb, Flush::Clflush],
    nt: true,
    rmw: true,
    guards: true,
    copies: false,
};
const ARM: Menu = Menu {
    fences: &[Fence::Dmb, Fence::Dmb, Fence::Dsb],
    flushes: &[],
    nt: false,
    ..X86
};

#[test]
fn legal_x86_runs_are_never_accused_and_do_reorder() {
    let mut rng = Stream::new(1, "legal x86");
    let contract = Contract::from(ContractKind::Px86);
    let (mut reordered, mut in_thread, mut coalesced, mut musts) = (0, 0, 0, 0);
    for i in 0..4000 {
        let shape = random::shape(&X86, &mut rng);
        let mut run = Machine::new(&shape, LineOrder::Fifo).random_run(&mut rng);
        run.coalesce(&mut rng);
        let report = run
            .conform(&contract)
            .unwrap_or_else(|r| panic!("program {i}: {r}\n{shape:?}"));
        reordered += report.reordered;
        in_thread += report.reordered_in_thread;
        coalesced += report.coalesced;
        musts += report.musts;
    }
    assert!(reordered > 0 && in_thread > 0 && coalesced > 0 && musts > 0);
}

#[test]
fn legal_rcbsp_runs_are_never_accused_and_do_reorder() {
    let mut rng = Stream::new(2, "legal rcbsp");
    let contract = Contract::from(ContractKind::Rcbsp);
    let (mut reordered, mut musts) = (0, 0);
    for i in 0..4000 {
        let shape = random::shape(&ARM, &mut rng);
        let mut run = rcbsp_order::random_run(&shape, &mut rng);
        run.coalesce(&mut rng);
        let report = run
            .conform(&contract)
            .unwrap_or_else(|r| panic!("program {i}: {r}\n{shape:?}"));
        reordered += report.reordered_in_thread;
        musts += report.musts;
    }
    assert!(reordered > 0 && musts > 0);
}

/// One record for each store, holding nothing else of its line.
fn word_records(run: &mut Run) {
    for record in &mut run.records {
        let newest = record.data.by.iter().flatten().max().copied();
        record
            .data
            .by
            .iter_mut()
            .filter(|b| **b != newest)
            .for_each(|b| *b = None);
    }
}

/// Runs on the reference order in which every word is written once, so that every durable event stands for one store.
fn single_writer(run: &Run) -> bool {
    let mut addrs: Vec<_> = run.trace.stores.iter().map(|s| s.addr).collect();
    addrs.sort_unstable();
    addrs.windows(2).all(|w| w[0] != w[1])
}

#[test]
fn rcbsp_verdict_on_any_order_equals_the_relations() {
    let mut rng = Stream::new(3, "illegal rcbsp");
    let locations = &["va", "a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let menu = Menu {
        locations,
        guards: false,
        copies: true,
        fences: &[Fence::Dmb],
        ops: 6,
        ..ARM
    };
    let contract = Contract::from(ContractKind::Rcbsp);
    let (mut convicted, mut cleared) = (0, 0);
    for i in 0..4000 {
        let shape = random::shape(&menu, &mut rng);
        let mut run = rcbsp_order::random_run(&shape, &mut rng);
        let durable = run.durable_events();
        if durable.len() < 2 || !single_writer(&run) {
            continue;
        }
        word_records(&mut run);
        // All durable events to the end, in random order: none is too early, so only their order can be wrong.
        let mut late: Vec<TraceEvent> = run.take_durable_events();
        (1..late.len()).for_each(|k| late.swap(k, rng.below(k as u64 + 1) as usize));
        run.trace.events.extend(&late);
        let order = rcbsp_order::order(&run.trace);
        let mut done = 0u128;
        let legal = late.iter().all(|event| {
            let TraceKind::Durable { index } = event.kind else {
                unreachable!()
            };
            let store = run.records[index as usize]
                .data
                .by
                .iter()
                .flatten()
                .next()
                .unwrap()
                .index();
            let ready = order.before_store[store] & !done & !(1 << store) == 0;
            done |= 1 << store;
            ready
        });
        let verdict = run.conform(&contract);
        assert_eq!(verdict.is_ok(), legal, "program {i}: {verdict:?}\n{shape:?}");
        convicted += u32::from(!legal);
        cleared += u32::from(legal);
    }
    assert!(
        convicted > 100 && cleared > 100,
        "{convicted} convicted, {cleared} cleared"
    );
}

#[test]
fn every_contract_accuses_exactly_the_orders_that_leave_its_crash_states() {
    let mut rng = Stream::new(4, "all contracts");
    let fences = &[
        Fence::Sfence,
        Fence::Mfence,
        Fence::Pcommit,
        Fence::Dsb,
        Fence::PersistBarrier,
        Fence::NewStrand,
    ];
    let menu = Menu {
        locations: &["va", "xa", "xb", "y", "z"],
        fences,
        ops: 6,
        ..X86
    };
    let kinds = ContractKind::ALL.into_iter().filter(|k| !k.is_transactional());
    for kind in kinds {
        let contract = Contract::from(kind);
        let (mut convicted, mut cleared) = (0, 0);
        for i in 0..800 {
            let shape = random::shape(&menu, &mut rng);
            let run = random_order(&shape, &mut rng);
            let legal = every_prefix_is_a_crash_state(&run, &contract);
            let verdict = run.conform(&contract);
            assert_eq!(verdict.is_ok(), legal, "{kind}, program {i}: {verdict:?}\n{shape:?}");
            convicted += u32::from(!legal);
            cleared += u32::from(legal);
        }
        assert!(
            convicted > 5 && cleared > 5,
            "{kind}: {convicted} convicted, {cleared} cleared"
        );
    }
}

/// An execution in program order whose stores become durable in any order that keeps each word's: mostly in order.
fn random_order(shape: &Shape, rng: &mut Stream) -> Run {
    let plain = relaxed::random_trace(shape, true, rng);
    let mut run = Run::new(shape);
    run.trace.stores = plain.stores.clone();
    let (eager, wild) = (rng.chance(1, 3), rng.chance(1, 2));
    let mut open: Vec<StoreId> = Vec::new();
    for event in &plain.events {
        run.trace.events.push(*event);
        if let TraceKind::Store(s) | TraceKind::Rmw { store: Some(s), .. } = event.kind
            && run.trace.store(s).addr.is_persistent()
        {
            open.push(s);
        }
        while !open.is_empty() && (eager || rng.chance(1, 3)) {
            let pick = if !wild {
                0
            } else {
                rng.below(open.len() as u64) as usize
            };
            let addr = run.trace.store(open[pick]).addr;
            let first = open.iter().position(|s| run.trace.store(*s).addr == addr).unwrap();
            run.persist_store(open.remove(first));
        }
    }
    run
}

/// By the crash space alone: after every event, what is durable is closed, has performed, and contains the must-set.
fn every_prefix_is_a_crash_state(run: &Run, contract: &Contract) -> bool {
    let space = contract.space(&run.trace, &Image::default());
    let graph = &space.graph;
    let mut cut = graph.all_states();
    let mut durable = vec![false; graph.node_count()];
    for (index, event) in run.trace.events.iter().enumerate() {
        if let TraceKind::Durable { index } = event.kind {
            for store in run.records[index as usize].data.by.iter().flatten() {
                let node = space.node_of[store.index()].unwrap();
                durable[node.index()] = true;
                graph.include(&mut cut, node);
            }
        }
        // Under eADR a store's own durable event can only follow it: it may come up to the next event of a thread.
        let lag = usize::from(contract.kind == ContractKind::Eadr);
        let next_thread = |i: &usize| {
            run.trace
                .events
                .get(i + lag)
                .is_none_or(|e| lag == 0 || e.thread.is_some())
        };
        let due = (0..=index).rev().take_while(|_| next_thread(&index));
        let must = space.must.iter().filter(|m| due.clone().any(|i| i == m.event));
        must.for_each(|m| graph.include(&mut cut, m.node));
        let closed = graph
            .nodes()
            .all(|n| graph.is_barrier(n) || !cut.is_in(n) || durable[n.index()]);
        if !closed {
            return false;
        }
    }
    true
}
