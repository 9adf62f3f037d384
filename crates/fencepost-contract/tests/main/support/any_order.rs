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
    // In longer programs a store may wait for many others.
    let ops = if rng.chance(1, 3) { 14 } else { MENU.ops };
    let shape = random::shape(&Menu { ops, ..MENU }, rng);
    let run = random_order(&shape, rng);
    let legal = every_prefix_is_a_crash_state(&run, &contract);
    let verdict = run.conform(&contract);
    assert_eq!(verdict.is_ok(), legal, "{kind}, program {i}: {verdict:?}\n{shape:?}");
    legal
}

/// An execution in program order whose stores become durable in any order that keeps each word's: mostly in order. Of some, all but one
/// store become durable at once: whoever has to wait for that one has all its others.
fn random_order(shape: &Shape, rng: &mut Stream) -> Run {
    let plain = relaxed::random_trace(shape, true, rng);
    let mut run = Run::new(shape);
    run.trace.stores = plain.stores.clone();
    let (eager, wild) = (rng.chance(1, 3), rng.chance(1, 2));
    let mut open: Vec<StoreId> = Vec::new();
    let late = rng
        .chance(1, 3)
        .then(|| rng.below(plain.stores.len().max(1) as u64) as usize);
    let eager = eager || late.is_some();
    for event in &plain.events {
        run.trace.events.push(*event);
        if let TraceKind::Store(s) | TraceKind::Rmw { store: Some(s), .. } = event.kind
            && run.trace.store(s).addr.is_persistent()
        {
            open.push(s);
        }
        // The late store holds back what its thread or another stores to its word, too.
        let held = open.iter().find(|s| late == Some(s.index()));
        let held = held.map(|s| run.trace.store(*s).addr);
        let mut free: Vec<StoreId> = open.clone();
        free.retain(|s| Some(run.trace.store(*s).addr) != held);
        while !free.is_empty() && (eager || rng.chance(1, 3)) {
            let pick = if wild { rng.below(free.len() as u64) as usize } else { 0 };
            let addr = run.trace.store(free[pick]).addr;
            let first = free.iter().position(|s| run.trace.store(*s).addr == addr).unwrap();
            let store = free.remove(first);
            open.retain(|s| *s != store);
            run.persist_store(store);
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
