//! Crash states of a contract by brute force: every closed set of every cut.

use super::Shape;
use fencepost_contract::recorded::parse;
use fencepost_contract::{Contract, ContractKind, Cut, PersistGraph};
use fencepost_kernel::{Addr, Image, Trace};
use std::collections::BTreeSet;

/// Memories that a failure may leave, each as the values of the words that a test looks at.
pub(crate) type Memories = BTreeSet<Vec<u64>>;

/// Calls `visit` with every closed set of the cut, as the cut narrowed to one state (barriers as low as possible).
pub(crate) fn for_each_state(graph: &PersistGraph, cut: &Cut, visit: &mut impl FnMut(&Cut)) {
    let Some(node) = cut.free_nodes(graph).find(|n| !graph.is_barrier(*n)) else {
        return visit(cut);
    };
    let mut with = cut.clone();
    graph.include(&mut with, node);
    for_each_state(graph, &with, visit);
    let mut without = cut.clone();
    graph.exclude(&mut without, node);
    for_each_state(graph, &without, visit);
}

/// A contract allows exactly the memories of `history`: at its start, and after each event of a log.
pub(crate) fn allows_exactly(kind: ContractKind, log: &str, words: &[Addr], history: &[Memories], i: u64) {
    let trace = parse(log).expect("the program is well formed").trace;
    let space = Contract::from(kind).space(&trace, &Image::default());
    for (point, cut) in space.cuts() {
        let mut got = Memories::new();
        for_each_state(&space.graph, &cut, &mut |state| {
            let image = space.graph.smallest_image(state);
            got.insert(words.iter().map(|at| image.word(*at)).collect());
        });
        let event = point.event;
        assert_eq!(got, history[event], "{kind}, program {i}, after event {event}:\n{log}");
    }
}

/// Every crash state of one execution under a contract, as the values of the shape's persistent locations.
pub(crate) fn crash_states(shape: &Shape, trace: &Trace, contract: &Contract, into: &mut BTreeSet<String>) {
    let space = contract.space(trace, &Image::default());
    for (_, cut) in space.cuts() {
        for_each_state(&space.graph, &cut, &mut |state| {
            let image = space.graph.smallest_image(state);
            let memory: Vec<u64> = (0..shape.locations.len()).map(|l| image.word(shape.addr(l))).collect();
            let alone = |l| space.graph.smallest_word(state, shape.addr(l));
            assert!((0..memory.len()).map(alone).eq(memory.iter().copied()));
            into.insert(shape.show(&memory));
        });
    }
}

/// The union over executions.
pub(crate) fn union_of_states<'a>(
    shape: &Shape,
    traces: impl IntoIterator<Item = &'a Trace>,
    contract: &Contract,
) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    traces
        .into_iter()
        .for_each(|t| crash_states(shape, t, contract, &mut all));
    all
}

/// A list of states as the tables write it.
pub(crate) fn list(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Every state over `n` locations with values below `base`.
pub(crate) fn all_states(n: usize, base: u32) -> BTreeSet<String> {
    let mut states = vec![String::new()];
    for _ in 0..n {
        let longer = |s: &String| (0..base).map(|d| format!("{s}{d}")).collect::<Vec<_>>();
        states = states.iter().flat_map(longer).collect();
    }
    states.into_iter().collect()
}
