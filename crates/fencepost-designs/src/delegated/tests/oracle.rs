//! A brute-force judge of persist order, written from the relations and from nothing else.

use fencepost_kernel::log::PersistRecord;
use fencepost_kernel::{Trace, TraceKind};
use std::collections::BTreeMap;

/// A relation over events as rows of bits.
struct Relation(Vec<u128>);
impl Relation {
    fn empty(n: usize) -> Relation {
        assert!(n <= 128, "the judge takes at most 128 events");
        Relation(vec![0; n])
    }
    fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }
    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }
    fn then(&self, o: &Relation) -> Relation {
        let row = |r: &u128| {
            (0..self.0.len())
                .filter(|j| r >> j & 1 == 1)
                .fold(0, |acc, j| acc | o.0[j])
        };
        Relation(self.0.iter().map(row).collect())
    }
    fn or(&self, o: &Relation) -> Relation {
        Relation(self.0.iter().zip(&o.0).map(|(a, b)| a | b).collect())
    }
    /// Transitive closure.
    fn plus(mut self) -> Relation {
        for k in 0..self.0.len() {
            let via = self.0[k];
            for row in &mut self.0 {
                if *row >> k & 1 == 1 {
                    *row |= via;
                }
            }
        }
        self
    }
    fn maybe(mut self) -> Relation {
        for i in 0..self.0.len() {
            self.add(i, i);
        }
        self
    }
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum What {
    Read,
    Write(usize),
}
struct Event {
    thread: u8,
    what: What,
    word: u64,
    /// Full fences of the thread before it.
    fences: usize,
}

/// The first pair (a, b) of stores, by index, where b became durable although a, which persists before it, had not.
///
/// PMO = (co | (prop; hb* & W x W))+ with hb = ppo | fence | rfe, prop-base = rfe?; fence; hb*,
/// prop = (prop-base & W x W) | (com*; prop-base*; fence; hb*), com = rf | co | fr (Alglave et al., TOPLAS 2014, with
/// every fence strong). With `dependent`, every access after a read of the thread depends on it (ppo); where stores lag
/// behind, that is more than program order says.
pub(super) fn first_violation(trace: &Trace, records: &[PersistRecord], dependent: bool) -> Option<(usize, usize)> {
    let (events, from) = collect(trace);
    let pmo = persist_order(&events, &from, dependent);
    let writes: Vec<usize> = (0..events.len())
        .filter(|i| matches!(events[*i].what, What::Write(_)))
        .collect();
    let pm: Vec<usize> = writes
        .into_iter()
        .filter(|i| fencepost_kernel::Addr(events[*i].word).is_persistent())
        .collect();
    // The store whose bytes each word of memory holds, as an event.
    let mut media: BTreeMap<u64, usize> = BTreeMap::new();
    for record in records {
        for (k, by) in record.data.by.iter().enumerate() {
            if let Some(store) = by {
                let event = pm.iter().find(|i| events[**i].what == What::Write(store.index()));
                media.insert(
                    record.line.base().0 + 8 * k as u64,
                    *event.expect("stored to persistent memory"),
                );
            }
        }
        let durable = |a: usize| media.get(&events[a].word).is_some_and(|m| *m >= a);
        for &b in media.values() {
            if let Some(a) = pm.iter().find(|a| pmo.has(**a, b) && **a != b && !durable(**a)) {
                return Some((*a, b));
            }
        }
    }
    None
}

fn collect(trace: &Trace) -> (Vec<Event>, Vec<Option<usize>>) {
    let mut events: Vec<Event> = Vec::new();
    let mut from: Vec<Option<usize>> = Vec::new();
    let mut fences: BTreeMap<u8, usize> = BTreeMap::new();
    let mut of_store: BTreeMap<usize, usize> = BTreeMap::new();
    for e in &trace.events {
        let Some(thread) = e.thread.map(|t| t.0) else { continue };
        let fences = fences.entry(thread).or_default();
        let mut push = |what, word, source| {
            let fences = *fences;
            events.push(Event {
                thread,
                what,
                word,
                fences,
            });
            from.push(source);
        };
        match e.kind {
            TraceKind::Fence(_) => *fences += 1,
            TraceKind::Store(id) => {
                push(What::Write(id.index()), trace.store(id).addr.0, None);
                of_store.insert(id.index(), events.len() - 1);
            }
            TraceKind::Load { addr, from } => push(What::Read, addr.0, from.map(|s| of_store[&s.index()])),
            _ => {}
        }
    }
    (events, from)
}

fn persist_order(events: &[Event], from: &[Option<usize>], dependent: bool) -> Relation {
    let n = events.len();
    let (mut ppo, mut fence, mut rf, mut rfe) = (
        Relation::empty(n),
        Relation::empty(n),
        Relation::empty(n),
        Relation::empty(n),
    );
    let (mut co, mut fr) = (Relation::empty(n), Relation::empty(n));
    let is_write = |i: usize| matches!(events[i].what, What::Write(_));
    for (i, a) in events.iter().enumerate() {
        if let Some(w) = from[i] {
            rf.add(w, i);
            if events[w].thread != a.thread {
                rfe.add(w, i);
            }
        }
        for (j, b) in events.iter().enumerate().skip(i + 1) {
            // Events are in the order in which they took effect; it agrees with program order where that matters.
            if a.thread == b.thread && a.fences < b.fences {
                fence.add(i, j);
            }
            if a.thread == b.thread && dependent && !is_write(i) {
                ppo.add(i, j);
            }
            if a.word == b.word && is_write(j) {
                if is_write(i) {
                    co.add(i, j);
                } else {
                    fr.add(i, j);
                }
            }
        }
    }
    let hb = ppo.or(&fence).or(&rfe);
    let hb_star = hb.plus().maybe();
    let prop_base = rfe.maybe().then(&fence).then(&hb_star);
    let com_star = rf.or(&co).or(&fr).plus().maybe();
    let strong = com_star
        .then(&Relation(prop_base.0.clone()).plus().maybe())
        .then(&fence)
        .then(&hb_star);
    let prop = prop_base.or(&strong).then(&hb_star);
    let mut pmo = co;
    for i in (0..n).filter(|i| is_write(*i)) {
        for j in (0..n).filter(|j| is_write(*j) && prop.has(i, *j)) {
            pmo.add(i, j);
        }
    }
    pmo.plus()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::pm_line;
    use fencepost_kernel::{Addr, Fence, HwThread, LineData, Ps, StoreId, StoreInfo, WriteCause};

    /// `x; FENCE; y`, then memory sees `order`.
    fn two_stores(fenced: bool, order: [usize; 2]) -> Option<(usize, usize)> {
        let mut trace = Trace::default();
        let id = |i| StoreId::from_index(i).expect("small");
        for i in 0..2 {
            trace.stores.push(StoreInfo {
                thread: HwThread(0),
                addr: Addr(pm_line(i).base().0),
                value: i,
                nt: false,
                tx: None,
                source: std::panic::Location::caller().into(),
            });
            trace.push(HwThread(0), TraceKind::Store(id(i as usize)));
            if fenced {
                trace.push(HwThread(0), TraceKind::Fence(Fence::Dmb));
            }
        }
        let record = |i: usize| {
            let mut data = LineData::default();
            data.by[0] = Some(id(i));
            PersistRecord {
                time: Ps::ZERO,
                line: pm_line(i as u64),
                data,
                cause: WriteCause::Persist,
            }
        };
        first_violation(&trace, &order.map(record), true)
    }

    #[test]
    fn the_judge_knows_the_simplest_program() {
        assert_eq!(two_stores(true, [0, 1]), None);
        assert_eq!(two_stores(true, [1, 0]), Some((0, 1)));
        assert_eq!(two_stores(false, [1, 0]), None);
    }
}
