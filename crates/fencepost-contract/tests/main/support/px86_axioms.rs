//! Px86 in axioms (after Cho et al., PLDI'21): consistency of x86-TSO with flushes, and what is guaranteed persisted.
//! No same-line order, no non-temporal stores.

use super::Shape;
use super::candidates::{Candidate, Kind, for_each, prefixes};
use super::relation::{Rel, Row, choices};
use fencepost_kernel::{Fence, Flush};
use std::collections::BTreeSet;

/// Every crash state of every consistent prefix.
pub(crate) fn crash_states(shape: &Shape, base: u64) -> BTreeSet<String> {
    let mut states = BTreeSet::new();
    for stops in prefixes(shape) {
        for_each(shape, &stops, base, &mut |c| execution(shape, c, &mut states));
    }
    states
}

fn execution(shape: &Shape, c: &Candidate, states: &mut BTreeSet<String>) {
    let n = c.events.len();
    let kind = |e: usize| c.events[e].kind;
    let (w, r) = (c.writes(), c.reads());
    let u = w & r;
    let coherent = c.po.then(&c.fr).irreflexive() && c.po.reflexive().then(&c.rf).irreflexive();
    let atomic =
        c.fr.between(u, w)
            .then(&c.co)
            .and(&Rel::from(n, |a, b| a == b))
            .0
            .iter()
            .all(|row| *row == 0);
    if !coherent || !atomic {
        return;
    }
    let full = c.set(|e| matches!(e.kind, Kind::Fence(Fence::Mfence)));
    let any_fence = full | c.set(|e| e.kind == Kind::Fence(Fence::Sfence));
    let fl = c.set(|e| e.kind == Kind::Flush(Flush::Clflush));
    let fo = c.set(|e| e.kind == Kind::Flush(Flush::Clwb));
    let po = |a, b| c.po.between(a, b);
    let ppo = po(r, w | r).or(&po(w | r, w));
    let bar = po(Row::MAX, full).then(&po(full, Row::MAX));
    let line = Rel::from(n, |a, b| c.po.has(a, b) && same_line(shape, c, a, b));
    let fob = po(w | r, fl)
        .or(&po(r, fo))
        .or(&po(w, any_fence).then(&po(any_fence, fo)))
        .or(&po(w, fl).or(&Rel::new(n).reflexive()).then(&line).between(w, fo));
    let basis = ppo
        .or(&bar)
        .or(&c.external(&c.rf))
        .or(&c.external(&c.fr))
        .or(&c.co)
        .or(&fob);
    if !basis.acyclic() {
        return;
    }
    // One persists-from source for each flush and each location of its line.
    let flushes: Vec<usize> = (0..n).filter(|e| matches!(kind(*e), Kind::Flush(_))).collect();
    let mut guesses: Vec<(usize, usize)> = Vec::new();
    for f in &flushes {
        let on_line = shape
            .persistent()
            .filter(|l| shape.same_line(*l, c.events[*f].loc.unwrap()));
        guesses.extend(on_line.map(|l| (*f, l)));
    }
    let sources: Vec<Vec<Option<usize>>> = guesses
        .iter()
        .map(|(_, l)| {
            (0..n)
                .filter(|e| w >> e & 1 == 1 && c.events[*e].loc == Some(*l))
                .map(Some)
                .chain([None])
                .collect()
        })
        .collect();
    for source in choices(&sources) {
        let (mut pf, mut fp) = (Rel::new(n), Rel::new(n));
        for ((f, l), s) in guesses.iter().zip(&source) {
            match s {
                Some(s) => pf.add(*s, *f),
                None => (0..n)
                    .filter(|e| w >> e & 1 == 1 && c.events[*e].loc == Some(*l))
                    .for_each(|e| fp.add(*f, e)),
            }
        }
        let fp = fp.or(&pf.inverse().then(&c.co));
        if basis.or(&pf).or(&fp).acyclic() {
            let committed = pf.between(w, fl).or(&pf.between(w, fo).then(&po(fo, u | any_fence)));
            collect(shape, c, w, &committed, states);
        }
    }
}

fn same_line(shape: &Shape, c: &Candidate, a: usize, b: usize) -> bool {
    matches!((c.events[a].loc, c.events[b].loc), (Some(x), Some(y)) if shape.same_line(x, y))
}

/// The product over locations of the values that may survive.
fn collect(shape: &Shape, c: &Candidate, w: Row, committed: &Rel, states: &mut BTreeSet<String>) {
    let values: Vec<Vec<u64>> = (0..shape.locations.len())
        .map(|l| {
            let writes: Vec<usize> = (0..c.events.len())
                .filter(|e| w >> e & 1 == 1 && c.events[*e].loc == Some(l))
                .collect();
            let persisted: Vec<usize> = writes.iter().copied().filter(|e| committed.0[*e] != 0).collect();
            let late = |e: &usize| persisted.iter().all(|p| p == e || c.co.has(*p, *e));
            let initial = persisted.is_empty().then_some(0);
            writes
                .iter()
                .filter(|e| late(e))
                .map(|e| c.events[*e].value)
                .chain(initial)
                .collect()
        })
        .collect();
    for memory in choices(&values) {
        states.insert(shape.show(&memory));
    }
}
