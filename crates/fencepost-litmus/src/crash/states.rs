//! Crash states of a contract: every closed set of every cut of an execution.

use super::layout::Layout;
use fencepost_contract::{Contract, Cut, PersistGraph};
use fencepost_kernel::{Image, Trace};
use std::collections::BTreeSet;

/// Adds every crash state that a contract allows of an execution: values of the persistent words.
pub(super) fn of_trace(layout: &Layout, trace: &Trace, contract: &Contract, into: &mut BTreeSet<Vec<u64>>) {
    let mut initial = Image::default();
    for word in layout.persistent() {
        initial.set_word(word.addr, word.initial, None);
    }
    let space = contract.space(trace, &initial);
    for (_, cut) in space.cuts() {
        closed_sets(&space.graph, cut, &mut |state| {
            let words = layout.persistent();
            into.insert(words.map(|w| space.graph.smallest_word(state, w.addr)).collect());
        });
    }
}

/// Calls `visit` with every closed set of the cut, as the cut narrowed to one state (barriers as low as possible).
fn closed_sets(graph: &PersistGraph, mut cut: Cut, visit: &mut impl FnMut(&Cut)) {
    let next = |cut: &Cut| cut.free_nodes(graph).find(|n| !graph.is_barrier(*n));
    while let Some(node) = next(&cut) {
        let mut with = cut.clone();
        graph.include(&mut with, node);
        closed_sets(graph, with, visit);
        graph.exclude(&mut cut, node);
    }
    visit(&cut);
}
