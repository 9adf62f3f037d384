//! The oracle of `sdg`, and the audit of the lists, a vertex a step.

use super::graph::{DEGREE, NEXT, PREV, Sdg, TARGET, WEIGHT};
use crate::dict::Keys;
use crate::oracle::{Cut, History};
use fencepost_kernel::{Addr, At, CrashPoint, Flow, Mem, OpRecord, Violation};
use std::collections::BTreeMap;

/// State between two steps of the audit: the next vertex of the run, and what is known so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SdgAudit {
    next: usize,
    cut: Cut,
}

/// What the oracle knows of a run.
#[derive(Clone, Debug)]
pub struct SdgModel {
    history: History,
    /// Vertices that operations of the run concern, each with every edge that may leave it: target and key.
    vertices: Vec<(u64, BTreeMap<u64, u64>)>,
}

impl SdgAudit {
    pub(super) fn start(model: &SdgModel, crash: &CrashPoint) -> SdgAudit {
        SdgAudit {
            next: 0,
            cut: model.history.cut(crash),
        }
    }
}

impl Sdg {
    /// What the oracle knows of a run of these operations.
    pub(super) fn digest(&self, ops: &[OpRecord]) -> SdgModel {
        let history = self.dict.history(ops, |key| self.locks.stripe(self.ends(key).0));
        let drawn = |o: &OpRecord| {
            (0..self.dict.batch)
                .map(|sub| self.dict.key(o.thread, o.k, sub))
                .collect::<Vec<_>>()
        };
        let mut vertices = BTreeMap::<u64, BTreeMap<u64, u64>>::new();
        for from in ops.iter().flat_map(drawn).map(|key| self.ends(key).0) {
            vertices.entry(from).or_insert_with(|| {
                let keys = from * self.neighbours + 1..=(from + 1) * self.neighbours;
                keys.map(|key| (self.ends(key).1, key)).collect()
            });
        }
        SdgModel {
            history,
            vertices: vertices.into_iter().collect(),
        }
    }
    /// Walks one vertex's list; target and weight of its edges, or what is wrong with it.
    fn list<M: Mem<Dep = ()>>(&self, m: &mut M, vertex: At<()>) -> Result<BTreeMap<u64, u64>, Violation> {
        let mut found = BTreeMap::new();
        let (mut before, mut at) = (vertex.addr.0, m.load(vertex.field(NEXT)).v);
        while at != vertex.addr.0 {
            let node = At::new(Addr(at));
            if !self.planted.owns(at) && !self.rt.pool().owns(Addr(at)) {
                return Err(Violation::at(Addr(before), "a list leads to something that is no edge"));
            }
            if m.load(node.field(PREV)).v != before {
                return Err(Violation::at(
                    Addr(at),
                    "an edge does not lead back to the one before it",
                ));
            }
            let (to, weight) = (m.load(node.field(TARGET)).v, m.load(node.field(WEIGHT)).v);
            if weight == 0 {
                return Err(Violation::at(Addr(at), "an edge is not whole: it has no weight"));
            }
            if found.insert(to, weight).is_some() {
                return Err(Violation::at(Addr(at), "an edge is in its list twice"));
            }
            (before, at) = (at, m.load(node.field(NEXT)).v);
        }
        if m.load(vertex.field(PREV)).v != before {
            return Err(Violation::at(
                vertex.addr,
                "a vertex does not lead back to its last edge",
            ));
        }
        if m.load(vertex.field(DEGREE)).v != found.len() as u64 {
            return Err(Violation::at(
                vertex.addr,
                "a vertex counts other edges than its list has",
            ));
        }
        Ok(found)
    }
    /// One step of the audit.
    pub(super) fn judge<M: Mem<Dep = ()>>(&self, model: &SdgModel, m: &mut M, state: SdgAudit) -> Flow<SdgAudit> {
        let SdgAudit { next, mut cut } = state;
        if let Some(why) = model.history.fault() {
            let why = why.into();
            return Flow::Done(Err(Violation { why, at: None }));
        }
        let Some((from, edges)) = model.vertices.get(next) else {
            return Flow::Done(Ok(()));
        };
        let vertex = self.vertices.at::<()>(*from);
        let found = match self.list(m, vertex) {
            Ok(found) => found,
            Err(v) => return Flow::Done(Err(v)),
        };
        if let Some(to) = found.keys().find(|to| !edges.contains_key(to)) {
            let why = format!("vertex {from} has an edge to {to}, which nothing inserts");
            return Flow::Done(Err(Violation::at(vertex.addr, why)));
        }
        for (to, key) in edges {
            let weight = found.get(to).copied().unwrap_or(0);
            if model.history.observe(&mut cut, *key, weight).is_err() {
                let state = if weight == 0 { "absent" } else { "there" };
                let why = format!("the edge from {from} to {to} is {state} in no prefix of the operations");
                return Flow::Done(Err(Violation::at(vertex.addr, why)));
            }
        }
        Flow::Next(SdgAudit { next: next + 1, cut })
    }
}
