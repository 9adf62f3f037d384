//! Conformance: legal executions of reference machines are never convicted, illegal ones always are.

use crate::support::any_order::judged_by_states;
use crate::support::px86_machine::Machine;
use crate::support::random::{self, Menu};
use crate::support::rcbsp_order;
use crate::support::recoverable::judged_anew;
use crate::support::run::Run;
use fencepost_contract::{Contract, ContractKind, LineOrder};
use fencepost_kernel::{Fence, Flush, Stream, TraceEvent, TraceKind};

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
    let kinds = ContractKind::ALL.into_iter().filter(|k| !k.is_transactional());
    for kind in kinds {
        let (mut convicted, mut cleared) = (0, 0);
        for i in 0..800 {
            let legal = judged_by_states(&mut rng, kind, i);
            convicted += u32::from(!legal);
            cleared += u32::from(legal);
        }
        assert!(
            convicted > 5 && cleared > 5,
            "{kind}: {convicted} convicted, {cleared} cleared"
        );
    }
}

/// Log and home writes of transactions in any order: refused exactly if something is home, or called durable, that would not survive.
#[test]
fn transactions_conform_exactly_while_what_is_home_would_survive() {
    let mut rng = Stream::new(11, "transactions in any order");
    let conform = (0..600).filter(|i| judged_anew(&mut rng, *i)).count();
    assert!((100..500).contains(&conform), "{conform} conform");
}
