//! Arm v8: the external visibility requirement of Arm's `aarch64.cat`. Everything but the communication between threads is fixed
//! by the paths.

use super::graph::{Graph, Rows, Statics};
use super::weave::{Weave, add, plus, then};
use crate::executions::relation::{Rel, bits, low};
use crate::format::op::Barrier;
use crate::paths::path::{Event, Path, Set};

pub(super) fn statics(path: &Path) -> Statics {
    let w = Weave::new(path);
    let local_reads = w.local_reads();
    let mut order = dependences(&w, &local_reads);
    add(&mut order, &choices(&w));
    add(&mut order, &atomics(&w, &local_reads));
    add(&mut order, &barriers(&w));
    // Local write successor.
    for (i, row) in w.po_loc().into_iter().enumerate() {
        order[i] |= row & w.writes;
    }
    let mut order = plus(&order);
    // What a choice needs comes before all that is ordered after what was chosen, as far as that writes.
    let mut picked = w.none();
    w.needed(&mut picked, |n| n.pick, w.memory);
    let behind = then(&picked, &order);
    order.iter_mut().zip(behind).for_each(|(row, b)| *row |= b & w.writes);
    Statics {
        order: plus(&order),
        ..Statics::default()
    }
}

/// Dependency-ordered-before.
fn dependences(w: &Weave<'_>, local_reads: &Rows) -> Rows {
    let mut direct = w.none();
    w.needed(&mut direct, |n| n.addr, w.memory);
    w.needed(&mut direct, |n| n.data, w.writes);
    let mut order = then(&direct, local_reads);
    add(&mut order, &direct);
    w.needed(&mut order, |n| n.ctrl, w.writes);
    w.needed(&mut order, |n| n.isync_ctrl, w.memory);
    w.needed(&mut order, |n| n.isync_addr, w.reads);
    w.address_then(&mut order, w.writes);
    order
}

/// Pick-ordered-before.
fn choices(w: &Weave<'_>) -> Rows {
    let mut order = w.none();
    w.needed(&mut order, |n| n.pick | n.pick_addr_po, w.writes);
    w.needed(&mut order, |n| n.isync_pick, w.memory);
    order
}

fn set(w: &Weave<'_>, f: impl Fn(&Event) -> bool) -> Set {
    bits(w.memory)
        .filter(|i| f(&w.path.events[*i]))
        .fold(0, |s, i| s | 1 << i)
}

/// Atomic-ordered-before.
fn atomics(w: &Weave<'_>, local_reads: &Rows) -> Rows {
    let acquires = set(w, |e| e.order.acquire || e.order.acquire_pc);
    let mut order = w.none();
    for i in bits(w.writes) {
        if let Some(read) = w.path.events[i].rmw {
            order[usize::from(read)] |= 1 << i | local_reads[i] & acquires;
        }
    }
    order
}

/// Barrier-ordered-before.
fn barriers(w: &Weave<'_>) -> Rows {
    let mut order = w.none();
    let returning = w.reads & !set(w, |e| e.no_return);
    let (all, writes) = (w.memory, w.writes);
    w.fences(&mut order, |barrier| match barrier {
        Barrier::Full | Barrier::FullSync => Some((all, all)),
        Barrier::Load | Barrier::LoadSync | Barrier::Lfence => Some((returning, all)),
        Barrier::Store | Barrier::StoreSync | Barrier::Sfence | Barrier::Eieio => Some((writes, writes)),
        Barrier::Light => Some((all, writes)),
        _ => None,
    });
    w.fences(&mut order, |barrier| match barrier {
        Barrier::Light => Some((w.reads, all)),
        _ => None,
    });
    let acquire = set(w, |e| e.is_read() && e.order.acquire);
    let weak_acquire = set(w, |e| e.is_read() && e.order.acquire_pc);
    let release = set(w, |e| e.is_write() && e.order.release);
    for i in bits(acquire | weak_acquire) {
        order[i] |= w.after(i);
    }
    for i in bits(release) {
        for j in bits(low(i) & w.memory) {
            order[j] |= 1 << i;
        }
        order[i] |= w.after(i) & acquire;
        // An atomic instruction that acquires and releases orders as a barrier from its write on.
        let event = &w.path.events[i];
        if event.atomic && event.rmw.is_some_and(|r| acquire >> r & 1 == 1) {
            order[i] |= w.after(i);
        }
    }
    order
}

fn global(g: &Graph) -> Rel {
    let mut rel = g.communication();
    rel.join(&g.order);
    rel
}

pub(super) fn allows(g: &Graph) -> bool {
    global(g).acyclic()
}

pub(super) fn axioms(g: &Graph) -> Vec<(&'static str, Rel)> {
    vec![("external", global(g))]
}
