//! Which moments of a persist log are crash points, and what is not durable there.

use fencepost_kernel::{Addr, PersistLog, StoreId, Trace, WriteCause};
use rustc_hash::FxHashMap;

/// Crash points of a log: before each durable event that does not complete an atomic node, and at the end.
pub(super) fn candidates(log: &PersistLog) -> u64 {
    let parts = log.records().iter().filter(|r| r.cause == WriteCause::LogPart);
    log.records().len() as u64 + 1 - parts.count() as u64
}

/// Whether the `candidate`-th of `total` crash points (from 1) is one of `budget` evenly spread ones.
pub fn is_chosen(candidate: u64, total: u64, budget: u64) -> bool {
    let chosen_up_to = |c: u64| u128::from(c) * u128::from(budget.min(total)) / u128::from(total.max(1));
    chosen_up_to(candidate) > chosen_up_to(candidate.saturating_sub(1))
}

/// Whether the record after the first `records` ones completes an atomic node with them: no crash state lies in between.
pub(super) fn within_node(log: &PersistLog, records: usize) -> bool {
    let last = records.checked_sub(1).and_then(|i| log.records().get(i));
    last.is_some_and(|r| r.cause == WriteCause::LogPart)
}

/// The newest performed store of each word that the first `records` records do not hold, in program order.
pub(super) fn missing(trace: &Trace, events: usize, log: &PersistLog, records: usize) -> Vec<StoreId> {
    let mut durable: FxHashMap<Addr, StoreId> = FxHashMap::default();
    for record in &log.records()[..records] {
        for (i, by) in record
            .data
            .by
            .iter()
            .enumerate()
            .filter_map(|(i, by)| Some((i as u64, (*by)?)))
        {
            durable.insert(Addr(record.line.base().0 + i * 8), by);
        }
    }
    let mut newest: FxHashMap<Addr, StoreId> = FxHashMap::default();
    for event in &trace.events[..events] {
        if let Some(id) = crate::contracts::store_of(event.kind).filter(|s| trace.store(*s).addr.is_persistent()) {
            newest.insert(trace.store(id).addr, id);
        }
    }
    let mut missing: Vec<_> = newest
        .into_iter()
        .filter(|(at, id)| durable.get(at) != Some(id))
        .map(|n| n.1)
        .collect();
    missing.sort_unstable();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn as_many_crash_points_as_the_budget_allows_evenly_spread_and_the_end() {
        for total in 1..60 {
            for budget in 1..80 {
                let chosen: Vec<u64> = (1..=total).filter(|c| is_chosen(*c, total, budget)).collect();
                assert_eq!(chosen.len() as u64, budget.min(total));
                assert_eq!(chosen.last(), Some(&total));
                let gaps = chosen.windows(2).map(|w| w[1] - w[0]);
                let (least, most) = gaps.fold((u64::MAX, 0), |(a, b), g| (a.min(g), b.max(g)));
                assert!(chosen.len() < 2 || most - least <= 1, "{total} {budget}: {chosen:?}");
            }
        }
    }
}
