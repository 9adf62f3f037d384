//! The check for contracts whose nodes are hardware transactions.
//!
//! A store is *recoverable* once a log record or its home line holds it. Transactions 1..k (in commit order) are
//! recoverable when, for some j >= k, the newest version that 1..j wrote of each word is recoverable: a version that
//! a committed successor overwrites need never reach memory (Lu et al., ICCD'14, section IV: dependency pairs). A home
//! line may carry a store only when its transaction is recoverable, and a completed `tx_flush` needs all earlier
//! transactions of its thread recoverable. Under `kiln` the last-level cache is the log, so commit is enough.

mod versions;

use super::{ConformReport, Demands, Refusal, StoreAt};
use crate::contracts::{ContractKind, store_of};
use crate::graph::{Axiom, CrashSpace, NodeId};
use fencepost_kernel::{Addr, PersistRecord, StoreId, Trace, TraceKind};
use rustc_hash::FxHashMap;
use versions::Versions;

struct Check<'a> {
    trace: &'a Trace,
    space: &'a CrashSpace,
    cache_is_log: bool,
    performed: Vec<bool>,
    versions: Versions,
    /// Transactions in commit order, and each node's position among them.
    order: Vec<NodeId>,
    position: Vec<Option<u32>>,
    committed: usize,
    home: FxHashMap<Addr, StoreId>,
    report: ConformReport,
}

/// Runs the check.
pub(super) fn check(
    trace: &Trace,
    records: &[PersistRecord],
    space: &CrashSpace,
    kind: ContractKind,
    demands: Demands,
) -> Result<ConformReport, Box<Refusal>> {
    let mut check = Check::new(trace, space, kind);
    let mut must = space.must.iter().peekable();
    let mut commits = commit_events(trace, space, &check.order).into_iter().peekable();
    for (index, event) in trace.events.iter().enumerate() {
        if let Some(id) = store_of(event.kind) {
            check.performed[id.index()] = true;
        }
        if commits.next_if_eq(&index).is_some() {
            check.commit();
        }
        if let TraceKind::Durable { index: record } = event.kind {
            let record = records.get(record as usize).ok_or_else(|| Refusal::Unknown {
                what: format!("record {record} of {}", records.len()),
                event: index,
            })?;
            check.durable(record, index)?;
        }
        while let Some(m) = must.next_if(|m| m.event == index) {
            check.must(m.node, m.axiom, index)?;
        }
    }
    check.finish(demands)
}

/// The event at which each transaction of `order` committed.
fn commit_events(trace: &Trace, space: &CrashSpace, order: &[NodeId]) -> Vec<usize> {
    let mut threads: Vec<Option<NodeId>> = Vec::new();
    let mut events = Vec::with_capacity(order.len());
    for (index, event) in trace.events.iter().enumerate() {
        let Some(thread) = event.thread else { continue };
        let newest = crate::contracts::entry(&mut threads, thread.index());
        match event.kind {
            TraceKind::TxCommit(_) if newest.take().is_some() => events.push(index),
            TraceKind::TxAbort(_) | TraceKind::TxBegin(_) => *newest = None,
            kind => {
                let in_tx = store_of(kind).filter(|s| trace.store(*s).tx.is_some());
                *newest = newest.or(in_tx.and_then(|s| space.node_of[s.index()]));
            }
        }
    }
    events
}

impl<'a> Check<'a> {
    fn new(trace: &'a Trace, space: &'a CrashSpace, kind: ContractKind) -> Check<'a> {
        let mut position = vec![None; space.graph.node_count()];
        let mut order = Vec::new();
        for node in space.graph.nodes() {
            let in_tx = space
                .graph
                .writes(node)
                .first()
                .and_then(|w| w.store)
                .and_then(|s| trace.store(s).tx);
            if in_tx.is_some() {
                position[node.index()] = Some(order.len() as u32);
                order.push(node);
            }
        }
        let persistent = trace.stores.iter().filter(|s| s.addr.is_persistent()).count();
        Check {
            trace,
            space,
            cache_is_log: kind == ContractKind::Kiln,
            performed: vec![false; trace.stores.len()],
            versions: Versions::of(trace.stores.len()),
            order,
            position,
            committed: 0,
            home: FxHashMap::default(),
            report: ConformReport {
                stores: persistent as u64,
                ..ConformReport::default()
            },
        }
    }

    fn durable(&mut self, record: &PersistRecord, event: usize) -> Result<(), Box<Refusal>> {
        self.report.records += 1;
        for (i, by) in record.data.by.iter().enumerate() {
            let Some(store) = *by else { continue };
            let Some(info) = self.trace.stores.get(store.index()) else {
                return Err(Box::new(Refusal::Unknown {
                    what: format!("store {}", store.index() + 1),
                    event,
                }));
            };
            let at = StoreAt::of(self.trace, store);
            if !self.performed[store.index()] {
                return Err(Box::new(Refusal::Future { store: at, event }));
            }
            let found = record.data.words[i];
            if found != info.value {
                return Err(Box::new(Refusal::Value {
                    store: at,
                    found,
                    event,
                }));
            }
            if !record.cause.is_log() {
                if info.addr.word().0 != record.line.base().0 + i as u64 * 8 {
                    return Err(Box::new(Refusal::Misplaced {
                        store: at,
                        line: record.line,
                        event,
                    }));
                }
                self.in_place(store, event)?;
            }
            if self.versions.hold(store) {
                self.report.persisted += 1;
                self.report.reordered += u64::from(self.passes(store));
            }
        }
        Ok(())
    }

    fn in_place(&mut self, store: StoreId, event: usize) -> Result<(), Box<Refusal>> {
        let (info, at) = (self.trace.store(store), StoreAt::of(self.trace, store));
        if info.tx.is_some() {
            let place = self.space.node_of[store.index()].and_then(|n| self.position[n.index()]);
            let refuse = |axiom, state| {
                Box::new(Refusal::InPlace {
                    store: at,
                    axiom,
                    state,
                    event,
                })
            };
            let Some(place) = place.map(|p| p as usize).filter(|p| *p < self.committed) else {
                return Err(refuse(Axiom::Atomicity, "committed"));
            };
            if !self.recover(place + 1) {
                return Err(refuse(Axiom::CommitOrder, "recoverable with all before it"));
            }
        }
        if let Some(newer) = self.home.insert(info.addr.word(), store).filter(|n| *n > store) {
            let newer = StoreAt::of(self.trace, newer);
            return Err(Box::new(Refusal::Reversed {
                older: Some(at),
                newer,
                event,
            }));
        }
        Ok(())
    }

    /// Whether a store that has just become recoverable passed an earlier transaction that is not.
    fn passes(&mut self, store: StoreId) -> bool {
        let place = self.space.node_of[store.index()].and_then(|n| self.position[n.index()]);
        !self.cache_is_log && place.is_some_and(|p| !self.recover((p as usize).min(self.committed)))
    }

    fn commit(&mut self) {
        if !self.cache_is_log {
            self.versions
                .commit(self.space.graph.writes(self.order[self.committed]));
        }
        self.committed += 1;
    }

    /// Whether transactions 1..k are recoverable.
    fn recover(&mut self, k: usize) -> bool {
        match self.cache_is_log {
            true => k <= self.committed,
            false => self.versions.recover(k),
        }
    }

    fn must(&mut self, node: NodeId, axiom: Axiom, event: usize) -> Result<(), Box<Refusal>> {
        self.report.musts += 1;
        let Some(place) = self.position[node.index()] else {
            return Ok(());
        };
        if self.recover(place as usize + 1) {
            return Ok(());
        }
        let unheld = self.order[self.versions.prefix..=place as usize]
            .iter()
            .flat_map(|n| self.space.graph.writes(*n));
        let missing = unheld.filter_map(|w| w.store).find(|s| !self.versions.held[s.index()]);
        match missing {
            Some(s) => Err(Box::new(Refusal::Must {
                missing: StoreAt::of(self.trace, s),
                axiom,
                event,
            })),
            None => Ok(()),
        }
    }

    fn finish(mut self, demands: Demands) -> Result<ConformReport, Box<Refusal>> {
        let all = self.committed;
        let done = self.recover(all);
        let rest = &self.order[self.versions.prefix..all];
        let missing = rest
            .iter()
            .flat_map(|n| self.space.graph.writes(*n))
            .filter_map(|w| w.store);
        let missing: Vec<_> = missing.filter(|s| !self.versions.held[s.index()]).collect();
        self.report.pending = missing.len() as u64;
        match missing.first() {
            Some(first) if demands.complete && !done => {
                let first = StoreAt::of(self.trace, *first);
                Err(Box::new(Refusal::Lost {
                    first,
                    count: self.report.pending,
                }))
            }
            _ => Ok(self.report),
        }
    }
}
