//! Conformance: legal executions of reference machines are never accused, illegal ones always are.

mod support;

use fencepost_contract::graph::{Axiom, NodeId};
use fencepost_contract::{Contract, ContractKind, LineOrder, Refusal};
use fencepost_kernel::{Fence, Flush, Image, StoreId, Stream, TraceEvent, TraceKind};
use support::px86_machine::Machine;
use support::random::{self, Menu};
use support::rcbsp_order;
use support::run::Run;
use support::{Shape, relaxed};

const X86: Menu = Menu {
    threads: 3,
    ops: 10,
    locations: &["va", "xa", "xb", "xc", "y", "z"],
    fences: &[Fence::Sfence, Fence::Sfence, Fence::Mfence],
    flushes: &[Flush::Clwb, Flush::Clwb, Flush::Clflush],
    nt: true,
    rmw: true,
    guards: true,
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

/// Makes the store durable at this event instead of where the run did.
fn move_durable(run: &Run, from: usize, to: usize) -> Run {
    let mut moved = run.clone();
    let event = moved.trace.events.remove(from);
    moved.trace.events.insert(to, event);
    moved
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
        fences: &[Fence::Dmb],
        ops: 6,
        ..ARM
    };
    let contract = Contract::from(ContractKind::Rcbsp);
    let (mut accused, mut cleared) = (0, 0);
    for i in 0..4000 {
        let shape = random::shape(&menu, &mut rng);
        let mut run = rcbsp_order::random_run(&shape, &mut rng);
        let durable = run.durable_events();
        if durable.len() < 2 || !single_writer(&run) {
            continue;
        }
        word_records(&mut run);
        // All durable events to the end, in random order: none is too early, so only their order can be wrong.
        let mut late: Vec<TraceEvent> = durable.iter().rev().map(|d| run.trace.events.remove(*d)).collect();
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
        accused += u32::from(!legal);
        cleared += u32::from(legal);
    }
    assert!(accused > 100 && cleared > 100, "{accused} accused, {cleared} cleared");
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
        let (mut accused, mut cleared) = (0, 0);
        for i in 0..400 {
            let shape = random::shape(&menu, &mut rng);
            let run = random_order(&shape, &mut rng);
            let legal = every_prefix_is_a_crash_state(&run, &contract);
            let verdict = run.conform(&contract);
            assert_eq!(verdict.is_ok(), legal, "{kind}, program {i}: {verdict:?}\n{shape:?}");
            accused += u32::from(!legal);
            cleared += u32::from(legal);
        }
        assert!(
            accused > 5 && cleared > 5,
            "{kind}: {accused} accused, {cleared} cleared"
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

/// The trace of a one-thread program and a run in which nothing is durable yet.
fn idle_run(program: &str) -> Run {
    let shape = Shape::parse(program);
    let mut run = Run::new(&shape);
    run.trace = relaxed::random_trace(&shape, true, &mut Stream::new(0, "one thread"));
    run
}
fn id(n: usize) -> StoreId {
    StoreId::from_index(n).unwrap()
}

#[test]
fn an_order_refusal_names_the_rule_and_both_stores() {
    let mut run = idle_run("x=1; dmb; y=1");
    run.persist_store(id(1));
    let refusal = run.conform(&ContractKind::Rcbsp.into()).unwrap_err();
    let Refusal::Order { missing, chain, event } = &*refusal else {
        panic!("{refusal}")
    };
    assert_eq!((missing.store, chain.len(), *event), (id(0), 1, 3));
    assert_eq!(
        (chain[0].axiom, chain[0].to.unwrap().store),
        (Axiom::FenceCumulativity, id(1))
    );
    let text = refusal.to_string();
    assert!(
        text.contains("fence cumulativity") && text.contains("px86_machine.rs"),
        "{text}"
    );
}

#[test]
fn a_chain_through_another_thread_is_told_step_by_step() {
    let shape = Shape::parse("w=1; x=1; dmb; y=1 // r=y; dmb; z=1");
    let mut run = Run::new(&shape);
    let traces = relaxed::traces(&shape, true);
    let passes = |t: &&fencepost_kernel::Trace| {
        t.events
            .iter()
            .any(|e| matches!(e.kind, TraceKind::Load { from: Some(_), .. }))
    };
    run.trace = traces.iter().find(passes).unwrap().clone();
    run.persist_store(id(0));
    run.persist_store(id(2));
    let refusal = run.conform(&ContractKind::Rcbsp.into()).unwrap_err();
    let Refusal::Order { missing, chain, .. } = &*refusal else {
        panic!("{refusal}")
    };
    assert_eq!(missing.store, id(1), "{refusal}");
    assert_eq!(chain.last().unwrap().to.unwrap().store, id(2));
}

#[test]
fn must_sets_are_checked_when_the_fence_completes() {
    let mut run = idle_run("x=1; clwb x; sfence; y=1");
    run.persist_store(id(0));
    let refusal = run.conform(&ContractKind::Px86.into()).unwrap_err();
    assert!(
        matches!(
            *refusal,
            Refusal::Must {
                axiom: Axiom::FlushFence,
                event: 2,
                ..
            }
        ),
        "{refusal}"
    );
    let moved = move_durable(&run, 4, 1);
    assert_eq!(moved.conform(&ContractKind::Px86.into()).unwrap().musts, 1);
    // Flush and fence promise nothing before a pcommit.
    assert!(run.conform(&ContractKind::Px86Pcommit.into()).is_ok());
}

#[test]
fn coherence_values_places_and_times_are_checked() {
    let px86 = Contract::from(ContractKind::Px86);
    let mut run = idle_run("x=1; x=2; y=1");
    run.persist_store(id(1));
    run.persist_store(id(0));
    assert!(matches!(
        *run.conform(&px86).unwrap_err(),
        Refusal::Reversed { older: Some(_), .. }
    ));
    run.records[1].data.by[0] = None;
    assert!(matches!(
        *run.conform(&px86).unwrap_err(),
        Refusal::Reversed { older: None, .. }
    ));

    let mut run = idle_run("x=1; y=1");
    run.persist_store(id(0));
    let mut wrong = run.clone();
    wrong.records[0].data.words[0] = 7;
    assert!(matches!(
        *wrong.conform(&px86).unwrap_err(),
        Refusal::Value { found: 7, .. }
    ));
    let mut wrong = run.clone();
    wrong.records[0].line.0 += 1;
    assert!(matches!(*wrong.conform(&px86).unwrap_err(), Refusal::Misplaced { .. }));
    let wrong = move_durable(&run, 2, 0);
    assert!(matches!(*wrong.conform(&px86).unwrap_err(), Refusal::Future { .. }));
    let mut wrong = run.clone();
    wrong.records.clear();
    assert!(matches!(*wrong.conform(&px86).unwrap_err(), Refusal::Unknown { .. }));
    let mut wrong = run.clone();
    wrong.records[0].data.by[0] = Some(id(9));
    assert!(matches!(*wrong.conform(&px86).unwrap_err(), Refusal::Unknown { .. }));
}

#[test]
fn a_drained_run_may_not_lose_a_store() {
    let mut run = idle_run("x=1; x=2; y=1");
    run.persist_store(id(1));
    let demands = fencepost_contract::Demands { complete: true };
    let check = |run: &Run| fencepost_contract::conform(&run.trace, &run.records, &ContractKind::Px86.into(), demands);
    assert!(matches!(*check(&run).unwrap_err(), Refusal::Lost { first, count: 1 } if first.store == id(2)));
    run.persist_store(id(2));
    let report = check(&run).unwrap();
    assert_eq!(
        (report.stores, report.persisted, report.coalesced, report.pending),
        (3, 2, 1, 0)
    );
    assert_eq!((report.reordered, report.example), (0, None));
}

#[test]
fn a_store_that_overtakes_is_counted_with_an_example() {
    let mut run = idle_run("x=1; y=1");
    run.persist_store(id(1));
    run.persist_store(id(0));
    let report = run.conform(&ContractKind::Px86.into()).unwrap();
    assert_eq!((report.reordered, report.reordered_in_thread), (1, 1));
    let example = report.example.unwrap();
    assert_eq!((example.older.store, example.younger.store), (id(0), id(1)));
}

#[test]
fn one_line_write_may_carry_a_store_and_what_it_depends_on() {
    let mut run = idle_run("xa=1; dmb; xb=1");
    run.persist_store(id(0));
    run.persist_store(id(1));
    let first = run.durable_events()[0];
    run.trace.events.remove(first);
    assert!(run.conform(&ContractKind::Rcbsp.into()).is_ok());
    run.records[1].data.by[0] = None;
    assert!(run.conform(&ContractKind::Rcbsp.into()).is_err());
}

#[test]
fn nodes_and_stores_correspond() {
    let run = idle_run("x=1; v=1; dmb; y=1");
    let space = Contract::from(ContractKind::Rcbsp).space(&run.trace, &Image::default());
    let nodes: Vec<NodeId> = space.node_of.iter().map(|n| n.unwrap()).collect();
    assert!(!space.graph.is_barrier(nodes[0]) && space.graph.is_barrier(nodes[1]));
    assert!(space.graph.is_before(nodes[0], nodes[2]) && space.graph.is_before(nodes[1], nodes[2]));
    assert!(!space.graph.is_before(nodes[0], nodes[1]));
}
