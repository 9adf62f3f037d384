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
        closed_sets(&space.graph, &cut, &mut |state| {
            let image = space.graph.smallest_image(state);
            into.insert(layout.persistent().map(|w| image.word(w.addr)).collect());
        });
    }
}

/// Calls `visit` with every closed set of the cut, as the cut narrowed to one state (barriers as low as possible).
fn closed_sets(graph: &PersistGraph, cut: &Cut, visit: &mut impl FnMut(&Cut)) {
    let Some(node) = cut.free_nodes(graph).find(|n| !graph.is_barrier(*n)) else {
        return visit(cut);
    };
    let mut with = cut.clone();
    graph.include(&mut with, node);
    closed_sets(graph, &with, visit);
    let mut without = cut.clone();
    graph.exclude(&mut without, node);
    closed_sets(graph, &without, visit);
}
