//! What a picture of a crash state shows.

use crate::witness::{Ordered, Placed, Witness};

/// Where nothing orders a store that is lost before a younger one of its thread that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Index of the lost store.
    pub lost: usize,
    /// Index of the durable one; none where the operation had ended, which promised that its stores are durable.
    pub durable: Option<usize>,
    /// Whether a flush is missing too.
    pub flush: bool,
}

/// The stores of a witness in the order of execution; empty where it names no state.
pub fn stores(w: &Witness) -> Vec<&Placed> {
    let mut all: Vec<&Placed> = w.state.iter().flat_map(|s| &s.stores).collect();
    all.sort_by_key(|s| s.order);
    all
}

/// The gaps of a state, one before each durable store and at most one at the end of a thread. Stores come in the order of execution;
/// `completed` is the last operation that each thread had completed.
pub fn gaps(stores: &[&Placed], completed: &[Option<u32>]) -> Vec<Gap> {
    let mut out: Vec<Gap> = Vec::new();
    for (lost, a) in stores.iter().enumerate().filter(|(_, s)| !s.durable) {
        let younger = |(_, b): &(usize, &&Placed)| b.thread == a.thread && b.durable;
        let durable = stores.iter().enumerate().skip(lost + 1).find(younger).map(|d| d.0);
        let last = completed.get(usize::from(a.thread)).copied().flatten();
        let ended = a.operation.zip(last).is_some_and(|(k, last)| k <= last);
        if durable.is_none() && !ended {
            continue;
        }
        // One fence orders every lost store before it: the last of them shows where.
        let same = |g: &&mut Gap| g.durable == durable && stores[g.lost].thread == a.thread;
        let flush = a.lost.as_deref() == Some("never flushed");
        match out.iter_mut().find(same) {
            Some(gap) => (gap.lost, gap.flush) = (lost, gap.flush || flush),
            None => out.push(Gap { lost, durable, flush }),
        }
    }
    out
}

impl Gap {
    /// What is missing there, in words.
    pub fn missing(&self) -> String {
        let what = if self.flush {
            "a flush and a fence are missing"
        } else {
            "a fence is missing"
        };
        let place = if self.durable.is_some() {
            "here"
        } else {
            "before the operation ends"
        };
        format!("{what} {place}")
    }
}

pub(super) fn gaps_of(w: &Witness, stores: &[&Placed]) -> Vec<Gap> {
    let completed = w.state.as_ref().and_then(|s| s.completed.as_deref());
    gaps(stores, completed.unwrap_or_default())
}

/// What orders the stores beside program order. That each word or line has one order says nothing of a fence, and is left out.
pub(super) fn edges(w: &Witness) -> impl Iterator<Item = &Ordered> {
    let plain = ["coherence order", "same-line order"];
    w.state
        .iter()
        .flat_map(|s| &s.edges)
        .filter(move |e| !e.rule.is_some_and(|r| plain.contains(&r)))
}

pub(super) fn threads(stores: &[&Placed]) -> Option<Vec<u8>> {
    let mut all: Vec<u8> = stores.iter().map(|s| s.thread).collect();
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then_some(all)
}

/// A place in the program without its folders.
pub(super) fn file(source: &str) -> &str {
    source.rsplit('/').next().unwrap_or(source)
}

pub(super) fn about(s: &Placed) -> String {
    let own = s.own.as_deref().map(|own| format!("by {}", file(own)));
    let operation = s.operation.map(|k| format!("operation {k}"));
    own.into_iter()
        .chain(operation)
        .chain(s.lost.clone())
        .collect::<Vec<_>>()
        .join("; ")
}
