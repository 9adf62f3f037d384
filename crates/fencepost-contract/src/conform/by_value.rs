//! Lines of a log given by value: which store of that value each word holds.
//!
//! Values may repeat (a store of what is there already; A, B, A), so several stores can be meant. A log conforms if *any*
//! consistent choice does. The choices form a lattice: if two are consistent with the order and the must-sets, so is the one
//! that takes the younger store wherever they differ. Hence the youngest choice decides. It is found by passes
//! backwards (no word may hold a store that a later line of the log takes back) and forwards (what must come before has
//! to be durable): where the way forwards finds that a word holds an older store, so do the words before it, and it begins anew.

use crate::graph::{CrashSpace, LocationId};
use fencepost_kernel::{Image, PersistRecord, Trace, TraceKind};
use rustc_hash::FxHashMap;

/// How the words of a log's records are given.
pub(crate) struct Given<'a> {
    /// Of each record, a bit for every word that names its store.
    pub named: &'a [u8],
    /// Memory that was durable before the first record.
    pub initial: &'a Image,
}

/// The youngest version that each word of each record can hold, as a number of versions (0: the initial value).
pub(super) struct Choices {
    bounds: Vec<[Option<u32>; 8]>,
    counts: FxHashMap<(u32, u64), Vec<u32>>,
    /// By location: the words of records that hold it, the last record first.
    held: FxHashMap<u32, Vec<Held>>,
}

/// A word of a record.
struct Held {
    record: usize,
    word: usize,
    value: u64,
    named: bool,
}

impl Choices {
    /// Works the bounds out, from the last record to the first.
    pub(super) fn new(
        given: &Given<'_>,
        trace: &Trace,
        records: &[PersistRecord],
        space: &CrashSpace,
        at_line: impl Fn(&PersistRecord) -> [Option<LocationId>; 8],
    ) -> Choices {
        let graph = &space.graph;
        let mut counts: FxHashMap<(u32, u64), Vec<u32>> = FxHashMap::default();
        for location in 0..graph.location_count() as u32 {
            let initial = given.initial.word(graph.address(LocationId(location)));
            counts.entry((location, initial)).or_default().push(0);
            for (count, version) in (1u32..).zip(graph.versions(LocationId(location))) {
                counts.entry((location, version.value)).or_default().push(count);
            }
        }
        let mut performed = vec![u32::MAX; trace.stores.len()];
        for (event, e) in (0u32..).zip(&trace.events) {
            if let Some(store) = crate::contracts::store_of(e.kind) {
                performed[store.index()] = event;
            }
        }
        let mut choices = Choices {
            bounds: vec![[None; 8]; records.len()],
            counts,
            held: FxHashMap::default(),
        };
        let mut cap: Vec<u32> = (0..graph.location_count() as u32)
            .map(|l| graph.versions(LocationId(l)).len() as u32)
            .collect();
        for (event, e) in trace.events.iter().enumerate().rev() {
            let event = event as u32;
            let TraceKind::Durable { index } = e.kind else { continue };
            let Some(record) = records.get(index as usize) else {
                continue;
            };
            for (i, location) in at_line(record).into_iter().enumerate() {
                let Some(location) = location else { continue };
                let versions = graph.versions(location);
                let store_of = |v: &crate::graph::Version| graph.writes(v.node).first().and_then(|w| w.store);
                let named = given.named[index as usize] >> i & 1 == 1;
                choices.held.entry(location.0).or_default().push(Held {
                    record: index as usize,
                    word: i,
                    value: record.data.words[i],
                    named,
                });
                let bound = if named {
                    let until = |v: &crate::graph::Version| store_of(v).is_some_and(|s| Some(s) <= record.data.by[i]);
                    Some(versions.partition_point(until) as u32)
                } else {
                    let has = |v: &crate::graph::Version| store_of(v).is_some_and(|s| performed[s.index()] < event);
                    let most = (versions.partition_point(has) as u32).min(cap[location.index()]);
                    choices.youngest(location, record.data.words[i], most)
                };
                choices.bounds[index as usize][i] = bound;
                if let Some(bound) = bound {
                    cap[location.index()] = bound;
                }
            }
        }
        choices
    }
    /// The youngest version of `location`, among the first `most`, that has this value.
    pub(super) fn youngest(&self, location: LocationId, value: u64, most: u32) -> Option<u32> {
        let counts = self.counts.get(&(location.0, value))?;
        counts[..counts.partition_point(|c| *c <= most)].last().copied()
    }
    /// The bound of word `word` of record `record`.
    pub(super) fn bound(&self, record: usize, word: usize) -> Option<u32> {
        self.bounds[record][word]
    }
    /// A word of a record holds nothing younger than `bound`, and what the word held before is no younger either.
    pub(super) fn lower(&mut self, record: usize, word: usize, location: LocationId, bound: u32) {
        let held = self.held.remove(&location.0).unwrap_or_default();
        let this = held.iter().position(|h| (h.record, h.word) == (record, word));
        let mut cap = Some(bound);
        for h in &held[this.unwrap_or(held.len())..] {
            let known = self.bounds[h.record][h.word];
            if h.named || known.is_none() || known <= cap {
                break;
            }
            cap = cap.and_then(|most| self.youngest(location, h.value, most));
            self.bounds[h.record][h.word] = cap;
        }
        self.held.insert(location.0, held);
    }
}
