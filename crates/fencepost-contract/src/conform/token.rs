//! The check for contracts whose nodes are single stores: linear, but for logs by values, each choice that falls back takes a pass more.

mod counts;
mod refused;

use super::by_value::{Choices, Given};
use super::state::Settled;
use super::{ConformReport, Demands, Refusal, StoreAt};
use crate::contracts::store_of;
use crate::graph::{Axiom, CrashSpace, LocationId, NodeId};
use fencepost_kernel::planted;
use fencepost_kernel::{LineAddr, PersistRecord, StoreId, Trace, TraceKind, WriteCause};
use rustc_hash::FxHashMap;

/// Where a store's node stands among the versions of its word.
#[derive(Copy, Clone, Default)]
struct Place {
    location: u32,
    version: u32,
}

struct Check<'a> {
    trace: &'a Trace,
    space: &'a CrashSpace,
    settled: Settled<'a>,
    places: Vec<Place>,
    /// The locations of each line that was ever stored to.
    lines: FxHashMap<LineAddr, [Option<LocationId>; 8]>,
    /// Versions of each location that are durable.
    durable: Vec<u32>,
    performed: Vec<bool>,
    /// The oldest store not yet durable: of all, and per thread.
    oldest: usize,
    by_thread: Vec<(Vec<NodeId>, usize)>,
    batch: Vec<NodeId>,
    /// A store that must be durable before the next event of any thread, and its event.
    executed: Option<(NodeId, usize)>,
    /// For logs whose lines are given by value: how, and what their words can hold.
    by_value: Option<(&'a Given<'a>, Choices)>,
    /// A word whose store must be older than was thought when the words before it were read.
    older: Option<Older>,
    report: ConformReport,
}

/// A word of a record holds the version of this number, or an older one.
struct Older {
    record: usize,
    word: usize,
    location: LocationId,
    bound: u32,
}

/// A word of a line that is given by value: its location, its value, and the youngest version it can hold.
struct Open {
    record: usize,
    word: usize,
    location: LocationId,
    value: u64,
    choice: u32,
}

/// Runs the check. With `given`, words may be given by value.
pub(super) fn check(
    trace: &Trace,
    records: &[PersistRecord],
    space: &CrashSpace,
    demands: Demands,
    given: Option<&Given<'_>>,
) -> Result<ConformReport, Box<Refusal>> {
    let mut check = Check::new(trace, space);
    let Some(given) = given else {
        return check.run(records, demands);
    };
    let at_line = |r: &PersistRecord| check.lines.get(&r.line).copied().unwrap_or_default();
    let mut choices = Choices::new(given, trace, records, space, at_line);
    let mut first = None;
    loop {
        check.by_value = Some((given, choices));
        let found = check.run(records, demands);
        let Err(refusal) = found else { return found };
        let (Some((_, known)), Some(older)) = (check.by_value.take(), check.older.take()) else {
            return Err(first.unwrap_or(refusal));
        };
        first.get_or_insert(refusal);
        choices = known;
        choices.lower(older.record, older.word, older.location, older.bound);
        check = Check::new(trace, space);
    }
}

impl<'a> Check<'a> {
    fn new(trace: &'a Trace, space: &'a CrashSpace) -> Check<'a> {
        let graph = &space.graph;
        let mut lines: FxHashMap<LineAddr, [Option<LocationId>; 8]> = FxHashMap::default();
        let mut places = vec![Place::default(); graph.node_count()];
        for location in 0..graph.location_count() as u32 {
            let at = graph.address(LocationId(location));
            lines.entry(at.line()).or_default()[at.word_in_line()] = Some(LocationId(location));
            let versions = graph.versions(LocationId(location));
            for (i, v) in versions.iter().enumerate() {
                places[v.node.index()] = Place {
                    location,
                    version: i as u32,
                };
            }
        }
        let mut by_thread: Vec<(Vec<NodeId>, usize)> = Vec::new();
        let mut report = ConformReport::default();
        for node in graph.nodes().filter(|n| !graph.is_barrier(*n)) {
            let thread = graph.writes(node)[0].thread;
            crate::contracts::entry(&mut by_thread, thread.index()).0.push(node);
            report.stores += 1;
        }
        Check {
            trace,
            space,
            settled: Settled::new(graph),
            places,
            lines,
            durable: vec![0; graph.location_count()],
            performed: vec![false; trace.stores.len()],
            oldest: 0,
            by_thread,
            batch: Vec::new(),
            executed: None,
            by_value: None,
            older: None,
            report,
        }
    }

    /// Goes through the execution once.
    fn run(&mut self, records: &[PersistRecord], demands: Demands) -> Result<ConformReport, Box<Refusal>> {
        let space = self.space;
        let mut must = space.must.iter().peekable();
        for (index, event) in self.trace.events.iter().enumerate() {
            if event.thread.is_some() {
                self.check_executed()?;
            }
            if let Some(id) = store_of(event.kind) {
                self.performed[id.index()] = true;
            }
            if let TraceKind::Durable { index: record } = event.kind {
                let number = record as usize;
                let record = records.get(number).ok_or_else(|| Refusal::Unknown {
                    what: format!("record {record} of {}", records.len()),
                    event: index,
                })?;
                self.durable(record, number, index)?;
            }
            while let Some(m) = must.next_if(|m| m.event == index) {
                match m.axiom {
                    // The store's own durable event can only follow it: it must come before any thread goes on.
                    Axiom::ExecutedIsDurable => self.executed = Some((m.node, index)),
                    _ => self.must(m.node, m.axiom, index)?,
                }
            }
        }
        self.check_executed()?;
        self.finish(demands)
    }

    fn at(&self, store: StoreId) -> StoreAt {
        StoreAt::of(self.trace, store)
    }
    fn store_at(&self, node: NodeId) -> Option<StoreAt> {
        self.space
            .graph
            .writes(node)
            .first()
            .and_then(|w| w.store)
            .map(|s| self.at(s))
    }

    /// One line write: all its words at once.
    fn durable(&mut self, record: &PersistRecord, number: usize, event: usize) -> Result<(), Box<Refusal>> {
        self.report.records += 1;
        self.batch.clear();
        let mut open = Vec::new();
        let locations = self.lines.get(&record.line).copied().unwrap_or_default();
        for (i, (by, location)) in record.data.by.iter().zip(locations).enumerate() {
            let at = record.line.base().0 + i as u64 * 8;
            match (&self.by_value, by, location) {
                (Some((given, choices)), _, Some(location)) if given.named[number] >> i & 1 == 0 => {
                    let value = record.data.words[i];
                    let lowest = self.durable[location.index()];
                    match choices.bound(number, i).filter(|c| *c >= lowest) {
                        Some(choice) => open.push(Open {
                            record: number,
                            word: i,
                            location,
                            value,
                            choice,
                        }),
                        None => return Err(Box::new(self.taken_back(location, value, event))),
                    }
                }
                (Some(_), None, _) => {}
                (_, Some(store), _) => self.word(*store, at, record, event)?,
                (None, None, Some(location)) => self.unwritten_word(location, event)?,
                (None, None, None) => {}
            }
        }
        self.settle(&mut open, event)?;
        for word in &open {
            let before = self.durable[word.location.index()];
            if word.choice > before {
                self.report.persisted += 1;
                self.report.coalesced += u64::from(word.choice - before - 1);
                self.durable[word.location.index()] = word.choice;
            }
        }
        self.count_reorderings();
        Ok(())
    }

    /// Settles the batch and, of every open word, the versions up to its choice. A choice that would have to come after
    /// something not durable falls back to the next older one of the same value.
    fn settle(&mut self, open: &mut [Open], event: usize) -> Result<(), Box<Refusal>> {
        let named = self.batch.len();
        loop {
            self.batch.truncate(named);
            for word in open.iter() {
                let versions = self.space.graph.versions(word.location);
                let durable = self.durable[word.location.index()] as usize;
                let chosen = versions.get(durable..word.choice as usize).unwrap_or(&[]);
                self.batch.extend(chosen.iter().map(|v| v.node));
            }
            let mut batch = self.batch.clone();
            batch.sort_unstable();
            let done = self.settled.position();
            let blocked = batch.iter().copied().find(|node| {
                let ready = self.settled.is_ready(*node);
                if ready {
                    self.settled.settle(*node);
                }
                !ready
            });
            let Some(node) = blocked else {
                for node in &batch[..] {
                    let place = self.places[node.index()];
                    let durable = &mut self.durable[place.location as usize];
                    if !open.iter().any(|w| w.location.0 == place.location) {
                        *durable = (*durable).max(place.version + 1);
                    }
                }
                self.batch = batch;
                return Ok(());
            };
            let place = self.places[node.index()];
            let lower = open
                .iter_mut()
                .find(|w| w.location.0 == place.location)
                .and_then(|word| {
                    let (_, choices) = self.by_value.as_ref()?;
                    let older = choices.youngest(word.location, word.value, place.version)?;
                    let fits = older >= self.durable[word.location.index()];
                    if !fits {
                        // What the word held before was older, too.
                        self.older = Some(Older {
                            record: word.record,
                            word: word.word,
                            location: word.location,
                            bound: older,
                        });
                    }
                    fits.then(|| word.choice = older)
                });
            if lower.is_none() {
                return Err(Box::new(self.refuse_order(node, event)));
            }
            self.settled.undo_to(done);
        }
    }
    /// Notes what one word of the line makes durable: its store and the older ones that it replaces.
    fn word(&mut self, store: StoreId, word: u64, record: &PersistRecord, event: usize) -> Result<(), Box<Refusal>> {
        if store.index() >= self.trace.stores.len() {
            return Err(Box::new(Refusal::Unknown {
                what: format!("store {}", store.index() + 1),
                event,
            }));
        }
        let info = self.trace.store(store);
        if info.addr.word().0 != word {
            // A hardware log holds stores at addresses of its own; what it means is the design's business.
            return match record.cause {
                WriteCause::Log => Ok(()),
                _ => Err(Box::new(Refusal::Misplaced {
                    store: self.at(store),
                    line: record.line,
                    event,
                })),
            };
        }
        let found = record.data.words[info.addr.word_in_line()];
        if found != info.value {
            return Err(Box::new(Refusal::Value {
                store: self.at(store),
                found,
                event,
            }));
        }
        if !self.performed[store.index()] {
            return Err(Box::new(Refusal::Future {
                store: self.at(store),
                event,
            }));
        }
        let Some(node) = self.space.node_of[store.index()] else {
            return Ok(());
        };
        if self.space.graph.is_barrier(node) {
            return Ok(()); // volatile memory
        }
        let place = self.places[node.index()];
        let versions = self.space.graph.versions(LocationId(place.location));
        let durable = self.durable[place.location as usize];
        if place.version + 1 < durable {
            let newer = self
                .store_at(versions[durable as usize - 1].node)
                .expect("durable versions are stores");
            return Err(Box::new(Refusal::Reversed {
                older: Some(self.at(store)),
                newer,
                event,
            }));
        }
        if place.version >= durable {
            self.report.persisted += 1;
            self.report.coalesced += u64::from(place.version - durable);
            self.batch.extend(
                versions[durable as usize..=place.version as usize]
                    .iter()
                    .map(|v| v.node),
            );
        }
        Ok(())
    }

    /// A word that nobody claims must not hide a durable store.
    fn unwritten_word(&self, location: LocationId, event: usize) -> Result<(), Box<Refusal>> {
        let Some(newest) = self.durable[location.index()].checked_sub(1) else {
            return Ok(());
        };
        let node = self.space.graph.versions(location)[newest as usize].node;
        let newer = self.store_at(node).expect("durable versions are stores");
        Err(Box::new(Refusal::Reversed {
            older: None,
            newer,
            event,
        }))
    }

    fn check_executed(&mut self) -> Result<(), Box<Refusal>> {
        match self.executed.take() {
            Some((node, event)) => self.must(node, Axiom::ExecutedIsDurable, event),
            None => Ok(()),
        }
    }

    fn must(&mut self, node: NodeId, axiom: Axiom, event: usize) -> Result<(), Box<Refusal>> {
        self.report.musts += 1;
        let durable =
            self.settled.is_settled(node) || planted!("conform.must-unchecked", "what a fence made durable is durable");
        if durable {
            return Ok(());
        }
        let missing = self.store_at(node).unwrap_or_else(|| {
            let (missing, _) = self.settled.missing_before(node);
            self.store_at(missing).expect("an unsettled barrier waits for a store")
        });
        Err(Box::new(Refusal::Must { missing, axiom, event }))
    }
}
