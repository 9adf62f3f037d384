//! Failing crash states as results print them.

use crate::config::Resolved;
use crate::replay_key::ReplayKey;
use fencepost_contract::explore::{BrokenPrefix, NamedStore, ReplayId, Witness};
use fencepost_kernel::{StoreInfo, Trace, Violation};
use fencepost_machine::RunReport;
use serde::Serialize;

/// A failing crash state.
#[derive(Clone, Debug, Serialize)]
pub struct CrashWitness {
    /// `contract cut`, `log prefix`, or `writes in flight`.
    pub kind: String,
    /// Stores that recovery read and that are durable although nothing forced them; empty where the shorter list is
    /// `missing`.
    pub persisted: Vec<String>,
    /// Stores that recovery read, that executed and are lost, each with the reason why it may be.
    pub missing: Vec<String>,
    /// When power failed again while recovery ran: the stores of recovery that are durable, and those that are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<[Vec<String>; 2]>,
    /// The last operation that each thread had completed.
    pub completed: Vec<Option<u32>>,
    /// Lines of the program involved.
    pub source: Vec<String>,
    /// What is wrong after recovery.
    pub why: String,
    /// Argument of `fencepost replay`.
    pub replay: String,
}

/// Stores listed in a witness at most.
const SHOWN: usize = 16;

fn list<'a>(stores: impl Iterator<Item = &'a NamedStore>) -> Vec<String> {
    stores.take(SHOWN).map(ToString::to_string).collect()
}

/// A witness of the explorer.
pub fn cut_witness(w: &Witness, kind: &str) -> CrashWitness {
    fn read(stores: &[NamedStore]) -> impl Iterator<Item = &NamedStore> {
        stores.iter().filter(|s| s.read)
    }
    CrashWitness {
        kind: kind.into(),
        persisted: list(read(&w.persisted)),
        missing: list(read(&w.missing)),
        recovery: w.second.as_deref().map(second),
        completed: w.completed.clone(),
        source: lines(read(&w.persisted).chain(read(&w.missing)).map(|s| s.source)),
        why: why(&w.why),
        replay: w.replay.clone(),
    }
}
fn second(w: &Witness) -> [Vec<String>; 2] {
    [list(w.persisted.iter()), list(w.missing.iter())]
}

/// A broken prefix of the log.
pub fn prefix_witness(resolved: &Resolved, b: &BrokenPrefix, report: &RunReport) -> CrashWitness {
    let empty = Trace::default();
    let trace = report.trace.as_ref().unwrap_or(&empty);
    let known = || b.missing.iter().filter(|s| s.store.index() < trace.stores.len());
    let lost = |s: &StoreInfo, operation: Option<u32>, why| {
        let operation = operation.map(|k| format!(", operation {k}")).unwrap_or_default();
        let (file, line, thread) = (s.source.file(), s.source.line(), s.thread.0);
        format!(
            "{file}:{line}  [{}] = {:#x}  (thread {thread}{operation}; {why})",
            s.addr, s.value
        )
    };
    let state = b.second.as_ref().and_then(|w| ReplayId::decode(&w.replay).ok());
    CrashWitness {
        kind: "log prefix".into(),
        persisted: Vec::new(),
        missing: known()
            .take(SHOWN)
            .map(|s| lost(trace.store(s.store), s.operation, s.why))
            .collect(),
        recovery: b.second.as_deref().map(second),
        completed: b.completed.clone(),
        source: lines(known().map(|s| trace.store(s.store).source)),
        why: why(&b.why),
        replay: ReplayKey::prefix_id(
            resolved,
            b.records as u64,
            report.log.digest(),
            state.as_ref().map(|s| &s.1),
        ),
    }
}

fn why(v: &Violation) -> String {
    v.at.map_or_else(|| v.why.clone(), |a| format!("{} (at {a})", v.why))
}

fn lines<'a>(places: impl Iterator<Item = &'a std::panic::Location<'a>>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for p in places {
        let line = format!("{}:{}", p.file(), p.line());
        if !out.contains(&line) && out.len() < SHOWN {
            out.push(line);
        }
    }
    out
}
