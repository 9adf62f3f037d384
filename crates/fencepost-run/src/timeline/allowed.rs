//! Crash states that a contract allows at moments of a run, for the reader to pick from.

use super::tracks::step;
use fencepost_contract::explore::{AnyOracle, Explorer, Moment, Pick, Picked};
use fencepost_kernel::{Ps, StoreId};
use serde::Serialize;
use std::collections::HashMap;

/// Moments with states, and states of each, at most.
const MOMENTS: usize = 100;
const EACH: usize = 10;
/// Stores named of a state at most.
const NAMED: usize = 12;

/// What may be left at a moment.
#[derive(Serialize)]
pub(super) struct Allowed {
    /// When, in steps of the page.
    time: u64,
    states: Vec<State>,
}

/// A crash state. Stores are named by their place in the page's list.
#[derive(Serialize)]
struct State {
    pick: &'static str,
    /// The store that is early or late.
    store: Option<usize>,
    /// Stores that are durable although nothing forced them, and those that are lost.
    counts: [usize; 2],
    /// The fewer of them, or the first ones.
    named: Vec<usize>,
    /// What recovery fails with, if it fails.
    why: Option<String>,
}

/// Picks states and recovers each. `place` finds a store in the page's list, `times` has the time of each event of the trace.
pub(super) fn allowed(
    explorer: &Explorer<'_>,
    oracle: &dyn AnyOracle,
    place: &HashMap<StoreId, usize>,
    times: &[Ps],
) -> Vec<Allowed> {
    let of = |m: Moment| Allowed {
        time: m
            .event
            .checked_sub(1)
            .and_then(|e| times.get(e))
            .map_or(0, |t| step(*t)),
        states: m.states.iter().map(|s| state(s, place)).collect(),
    };
    explorer.picked(oracle, MOMENTS, EACH).into_iter().map(of).collect()
}

fn state(s: &Picked, place: &HashMap<StoreId, usize>) -> State {
    let (pick, store) = match s.pick {
        Pick::Least => ("least", None),
        Pick::Most => ("most", None),
        Pick::Early(store) => ("early", Some(store)),
        Pick::Late(store) => ("late", Some(store)),
    };
    let fewer = match s.pick {
        Pick::Least | Pick::Early(_) => &s.durable,
        Pick::Most | Pick::Late(_) => &s.lost,
    };
    let known = |id: &StoreId| place.get(id).copied();
    State {
        pick,
        store: store.as_ref().and_then(known),
        counts: [s.durable.len(), s.lost.len()],
        named: fewer.iter().filter_map(known).take(NAMED).collect(),
        why: s.verdict.as_ref().err().map(|v| v.why.clone()),
    }
}
