//! Failures as results print them: one type, whatever found them.

use crate::config::Resolved;
use crate::replay_key::ReplayKey;
use fencepost_contract::explore::{self, BrokenPrefix, NamedStore, ReplayId};
use fencepost_kernel::{Place, StoreId, StoreInfo, Trace, Violation};
use fencepost_machine::RunReport;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One failure, with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// The crash state that recovery does not survive, where it is told apart from others.
    #[serde(flatten)]
    pub state: Option<CrashState>,
    /// Number of durable events before the power failed, where it failed between two of a simulated run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// Time of the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ps: Option<u64>,
    /// What is wrong.
    pub why: String,
    /// Lines of the program involved.
    pub source: Vec<String>,
    /// Argument of `fencepost replay`, where there is a state to run recovery on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// A crash state, by what is durable and what is lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CrashState {
    /// What was searched; absent for a recorded log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Searched>,
    /// Stores that recovery read and that are durable although nothing forced them; empty where the shorter list is
    /// `missing`.
    pub persisted: Vec<String>,
    /// Stores that recovery read, that executed and are lost, each with the reason why it may be.
    pub missing: Vec<String>,
    /// When power failed again while recovery ran: the stores of recovery that are durable, and those that are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<[Vec<String>; 2]>,
    /// The last operation that each thread had completed, of our programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Vec<Option<u32>>>,
    /// The stores by themselves, for pictures; documents have the lists above.
    #[serde(skip)]
    pub stores: Vec<Placed>,
    /// What orders them, beside program order, where it is known.
    #[serde(skip)]
    pub edges: Vec<Ordered>,
}

/// Two stores of a crash state, the first before the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Place of the first in the execution.
    pub before: usize,
    /// Place of the second.
    pub after: usize,
    /// The rule of the contract by which the first becomes durable first; none where another thread only saw it.
    pub rule: Option<&'static str>,
}

/// A store of a crash state, durable or lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its place in the execution.
    pub order: usize,
    /// Who stored.
    pub thread: u8,
    /// The operation in which it was made, if in one.
    pub operation: Option<u32>,
    /// The line of the program.
    pub source: String,
    /// The line of the library that made it for the program, where one did.
    pub own: Option<String>,
    /// Where it wrote.
    pub address: String,
    /// What it wrote.
    pub value: u64,
    /// Whether it is durable.
    pub durable: bool,
    /// Why it may be lost, where it is.
    pub lost: Option<String>,
}

/// Crash states among which one was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Searched {
    /// Those that a contract allows.
    #[serde(rename = "contract cut")]
    Contract,
    /// The prefixes of a simulated run's log.
    #[serde(rename = "log prefix")]
    Log,
    /// Those with the writes in flight of a simulated run in other orders.
    #[serde(rename = "writes in flight")]
    InFlight,
}
impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Searched::Contract => "contract cut",
            Searched::Log => "log prefix",
            Searched::InFlight => "writes in flight",
        })
    }
}

impl Witness {
    /// A failure of which no more is known than what is wrong.
    pub fn of(why: impl Into<String>) -> Witness {
        Witness {
            why: why.into(),
            ..Witness::default()
        }
    }
}

/// Stores listed in a witness at most.
const SHOWN: usize = 16;

fn list<'a>(stores: impl Iterator<Item = &'a NamedStore>) -> Vec<String> {
    stores.take(SHOWN).map(ToString::to_string).collect()
}

/// A witness of the explorer.
pub fn cut_witness(w: &explore::Witness, kind: Searched) -> Witness {
    fn read(stores: &[NamedStore]) -> impl Iterator<Item = &NamedStore> {
        stores.iter().filter(|s| s.read)
    }
    Witness {
        state: Some(CrashState {
            kind: Some(kind),
            persisted: list(read(&w.persisted)),
            missing: list(read(&w.missing)),
            recovery: w.second.as_deref().map(second),
            completed: Some(w.completed.clone()),
            stores: placed(&w.persisted, &w.missing),
            edges: w.edges.iter().map(ordered).collect(),
        }),
        source: lines(read(&w.persisted).chain(read(&w.missing)).map(|s| s.source)),
        replay: Some(w.replay.clone()),
        ..Witness::of(why(&w.why))
    }
}
fn second(w: &explore::Witness) -> [Vec<String>; 2] {
    [list(w.persisted.iter()), list(w.missing.iter())]
}

fn ordered(e: &explore::Edge) -> Ordered {
    Ordered {
        before: e.before.index(),
        after: e.after.index(),
        rule: e.rule.map(|r| r.name()),
    }
}

/// The stores of a crash state that recovery read, for a picture.
fn placed(persisted: &[NamedStore], missing: &[NamedStore]) -> Vec<Placed> {
    let one = |(s, durable): (&NamedStore, bool)| Placed {
        order: s.store.map_or(0, |id| id.index()),
        thread: s.thread.0,
        operation: s.operation,
        source: s.source.of_program(),
        own: s.source.of_library(),
        address: s.at.to_string(),
        value: s.value,
        durable,
        lost: s.lost.filter(|_| !durable).map(|why| why.to_string()),
    };
    let of = |stores: &[NamedStore], durable| {
        let read = stores.iter().filter(|s| s.read).take(SHOWN);
        read.map(|s| one((s, durable))).collect::<Vec<_>>()
    };
    [of(persisted, true), of(missing, false)].concat()
}

/// The lost stores of a broken prefix, and of each thread the first durable store that is younger than one of them.
fn around(trace: &Trace, b: &BrokenPrefix, report: &RunReport) -> Vec<Placed> {
    let records = report.log.records().iter().take(b.records);
    let durable: BTreeSet<StoreId> = records.flat_map(|r| r.data.by.into_iter().flatten()).collect();
    let one = |id: StoreId, operation, lost: Option<String>| {
        let s = trace.store(id);
        Placed {
            order: id.index(),
            thread: s.thread.0,
            operation,
            source: s.source.of_program(),
            own: s.source.of_library(),
            address: s.addr.to_string(),
            value: s.value,
            durable: lost.is_none(),
            lost,
        }
    };
    let known = b.missing.iter().filter(|s| s.store.index() < trace.stores.len());
    let lost: Vec<Placed> = (known.take(SHOWN))
        .map(|s| one(s.store, s.operation, Some(s.why.to_string())))
        .collect();
    let mut younger: BTreeMap<u8, StoreId> = BTreeMap::new();
    for id in &durable {
        let thread = trace.store(*id).thread.0;
        let after = |s: &Placed| s.thread == thread && s.order < id.index();
        if lost.iter().any(after) {
            younger.entry(thread).or_insert(*id);
        }
    }
    let younger = younger.into_values().map(|id| one(id, None, None));
    lost.iter().cloned().chain(younger).collect()
}

/// A broken prefix of the log.
pub fn prefix_witness(resolved: &Resolved, b: &BrokenPrefix, report: &RunReport) -> Witness {
    let empty = Trace::default();
    let trace = report.trace.as_ref().unwrap_or(&empty);
    let known = || b.missing.iter().filter(|s| s.store.index() < trace.stores.len());
    let lost = |s: &StoreInfo, operation: Option<u32>, why| {
        let operation = operation.map(|k| format!(", operation {k}")).unwrap_or_default();
        format!(
            "{}  [{}] = {:#x}  (thread {}{operation}; {why})",
            s.source, s.addr, s.value, s.thread.0
        )
    };
    let state = b.second.as_ref().and_then(|w| ReplayId::decode(&w.replay).ok());
    let missing = known().take(SHOWN);
    let missing = missing.map(|s| lost(trace.store(s.store), s.operation, s.why));
    let second_state = state.as_ref().map(|s| &s.1);
    Witness {
        state: Some(CrashState {
            kind: Some(Searched::Log),
            persisted: Vec::new(),
            missing: missing.collect(),
            recovery: b.second.as_deref().map(second),
            completed: Some(b.completed.clone()),
            stores: around(trace, b, report),
            edges: Vec::new(),
        }),
        source: lines(known().map(|s| trace.store(s.store).source)),
        replay: Some(ReplayKey::prefix_id(
            resolved,
            b.records as u64,
            report.log.digest(),
            second_state,
        )),
        ..Witness::of(why(&b.why))
    }
}

fn why(v: &Violation) -> String {
    v.at.map_or_else(|| v.why.clone(), |a| format!("{} (at {a})", v.why))
}

/// The lines of the program, each once.
fn lines(places: impl Iterator<Item = Place>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for p in places {
        let line = p.of_program();
        if !out.contains(&line) && out.len() < SHOWN {
            out.push(line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_in_the_document() {
        let plain = Witness::of("lost");
        let json = serde_json::to_string(&plain).expect("a document");
        assert_eq!(json, "{\"why\":\"lost\",\"source\":[]}");
        let state = Witness {
            state: Some(CrashState {
                kind: Some(Searched::Contract),
                persisted: vec!["a".into()],
                missing: Vec::new(),
                recovery: None,
                completed: Some(vec![None, Some(3)]),
                stores: Vec::new(),
                edges: Vec::new(),
            }),
            event: Some(7),
            ..plain.clone()
        };
        for w in [plain, state] {
            let json = serde_json::to_string(&w).expect("a document");
            assert_eq!(
                serde_json::from_str::<Witness>(&json).expect("the same witness"),
                w,
                "{json}"
            );
        }
    }
}
