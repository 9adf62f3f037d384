//! Executions whose stores become durable in any order, and which of them a contract allows by its crash states alone.

use super::random::{self, Menu};
use super::run::Run;
use super::{Shape, relaxed};
use fencepost_contract::{Contract, ContractKind};
use fencepost_kernel::{Fence, Flush, Image, StoreId, Stream, TraceKind};

const MENU: Menu = Menu {
    threads: 3,
    ops: 6,
    locations: &["va", "xa", "xb", "y", "z"],
    fences: &[
        Fence::Sfence,
        Fence::Mfence,
        Fence::Pcommit,
        Fence::Dsb,
        Fence::PersistBarrier,
        Fence::NewStrand,
    ],
    flushes: &[Flush::Clwb, Flush::Clwb, Flush::Clflush],
    nt: true,
    rmw: true,
    guards: true,
    copies: false,
};

/// Conformance refuses a random execution exactly if it leaves the crash states of the contract. Whether it stays within them.
pub(crate) fn judged_by_states(rng: &mut Stream, kind: ContractKind, i: u64) -> bool {
    let contract = Contract::from(kind);
    let shape = random::shape(&MENU, rng);
    let run = random_order(&shape, rng);
    let legal = every_prefix_is_a_crash_state(&run, &contract);
    let verdict = run.conform(&contract);
    assert_eq!(verdict.is_ok(), legal, "{kind}, program {i}: {verdict:?}\n{shape:?}");
    legal
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
            let pick = if wild { rng.below(open.len() as u64) as usize } else { 0 };
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
