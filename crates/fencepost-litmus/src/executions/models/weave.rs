//! What the models share about one path: program order, fences, dependences as rows.

use super::graph::Rows;
use crate::executions::relation::{bits, low};
use crate::format::op::Barrier;
use crate::paths::path::{Path, Set};

/// The sets and rows of one path.
pub(super) struct Weave<'p> {
    pub path: &'p Path,
    pub n: usize,
    pub reads: Set,
    pub writes: Set,
    /// Reads and writes; flushes are in neither.
    pub memory: Set,
}

impl<'p> Weave<'p> {
    pub(super) fn new(path: &'p Path) -> Weave<'p> {
        let set = |f: fn(&crate::paths::path::Event) -> bool| {
            let members = path.events.iter().enumerate().filter(|(_, e)| f(e));
            members.fold(0, |s, (i, _)| s | 1 << i)
        };
        let (reads, writes) = (set(|e| e.is_read()), set(|e| e.is_write()));
        Weave {
            path,
            n: path.events.len(),
            reads,
            writes,
            memory: reads | writes,
        }
    }
    pub(super) fn none(&self) -> Rows {
        vec![0; self.n]
    }
    /// Events after `i` in program order that are in memory.
    pub(super) fn after(&self, i: usize) -> Set {
        self.memory & !low(i + 1)
    }
    /// Events before `i` in program order that are in memory.
    pub(super) fn before(&self, i: usize) -> Set {
        self.memory & low(i)
    }
    /// Adds pairs across fences: `kind` says which sets a fence orders, if any.
    pub(super) fn fences(&self, rows: &mut Rows, kind: impl Fn(Barrier) -> Option<(Set, Set)>) {
        for (at, barrier) in &self.path.fences {
            if let Some((from, to)) = kind(*barrier) {
                let at = usize::from(*at);
                for i in bits(from & self.before(at)) {
                    rows[i] |= to & self.memory & !low(at);
                }
            }
        }
    }
    /// Adds, for every event, pairs of the reads that it needs with it.
    pub(super) fn needed(&self, rows: &mut Rows, of: impl Fn(&crate::paths::path::Needs) -> Set, targets: Set) {
        for i in bits(targets) {
            for r in bits(of(&self.path.events[i].needs)) {
                rows[r] |= 1 << i;
            }
        }
    }
    /// Adds pairs of the reads that an address needed with accesses after it.
    pub(super) fn address_then(&self, rows: &mut Rows, targets: Set) {
        for i in bits(self.memory) {
            for r in bits(self.path.events[i].needs.addr) {
                rows[r] |= self.after(i) & targets;
            }
        }
    }
    /// Program order to one location.
    pub(super) fn po_loc(&self) -> Rows {
        let e = &self.path.events;
        let same = |i: usize| {
            bits(self.after(i))
                .filter(|j| e[*j].addr == e[i].addr)
                .fold(0, |s, j| s | 1 << j)
        };
        (0..self.n)
            .map(|i| if self.memory >> i & 1 == 1 { same(i) } else { 0 })
            .collect()
    }
    /// Writes with the reads of the thread that follow with no write to the location between.
    pub(super) fn local_reads(&self) -> Rows {
        let po_loc = self.po_loc();
        let mut rows = self.none();
        for w in bits(self.writes) {
            for j in bits(po_loc[w]) {
                if self.writes >> j & 1 == 1 {
                    break;
                }
                rows[w] |= 1 << j;
            }
        }
        rows
    }
}

/// Adds rows to rows.
pub(super) fn add(to: &mut Rows, from: &Rows) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t |= f);
}

/// Composition.
pub(super) fn then(a: &Rows, b: &Rows) -> Rows {
    a.iter().map(|row| bits(*row).fold(0, |s, j| s | b[j])).collect()
}

/// Transitive closure.
pub(super) fn plus(rows: &Rows) -> Rows {
    let mut out = rows.clone();
    for k in 0..out.len() {
        let via = out[k];
        out.iter_mut().filter(|r| **r >> k & 1 == 1).for_each(|r| *r |= via);
    }
    out
}
