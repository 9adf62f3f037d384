//! What conformance says of single runs: which rule, which stores, which event, and what it counts.

use crate::support::run::Run;
use crate::support::{Shape, relaxed};
use fencepost_contract::graph::{Axiom, NodeId};
use fencepost_contract::{Contract, ContractKind, Refusal};
use fencepost_kernel::{Image, StoreId, Stream, TraceKind};

/// Makes the store durable at this event instead of where the run did.
fn move_durable(run: &Run, from: usize, to: usize) -> Run {
    let mut moved = run.clone();
    let event = moved.trace.events.remove(from);
    moved.trace.events.insert(to, event);
    moved
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
fn a_pcommit_that_ignores_another_core_is_convicted() {
    let shape = Shape::parse("x=1; clwb x; sfence; v=1 // r=v; sfence; pcommit; sfence; y=1");
    let passes = |t: &&fencepost_kernel::Trace| {
        t.events
            .iter()
            .any(|e| matches!(e.kind, TraceKind::Load { from: Some(_), .. }))
    };
    let mut run = Run::new(&shape);
    run.trace = relaxed::traces(&shape, true).iter().find(passes).unwrap().clone();
    let refusal = run.conform(&ContractKind::Px86Pcommit.into()).unwrap_err();
    assert!(matches!(*refusal, Refusal::Must { axiom: Axiom::Pcommit, missing, .. } if missing.store == id(0)));
    // Durable before the second fence of thread 1 completes: the promise is kept.
    run.persist_store(id(0));
    let last = run.durable_events()[0];
    assert!(run.conform(&ContractKind::Px86Pcommit.into()).is_err());
    assert!(
        move_durable(&run, last, 5)
            .conform(&ContractKind::Px86Pcommit.into())
            .is_ok()
    );
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

/// Of a log that gives words by value: the stores before the one whose value became durable have been replaced.
#[test]
fn stores_that_a_value_replaces_are_coalesced() {
    let log = "fencepost-log 1\n0 store pm+0 1\n0 store pm+0 2\n0 store pm+0 3\ndurable pm+0 : 0=3\n";
    let log = fencepost_contract::recorded::parse(log).unwrap();
    let report = log
        .conform(&ContractKind::Px86.into(), fencepost_contract::Demands::default())
        .unwrap();
    assert_eq!((report.persisted, report.coalesced, report.pending), (1, 2, 0));
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
