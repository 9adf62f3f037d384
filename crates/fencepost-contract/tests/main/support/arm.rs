//! RCBSP in relations: ARMv7 after Alglave et al. (TOPLAS'14), non-multi-copy-atomic, and its multi-copy-atomic
//! variant. Every fence is a full `dmb`.

use super::candidates::{Candidate, Kind, for_each};
use super::relation::{Rel, Row};
use super::{Op, Shape};
use std::collections::BTreeSet;

/// Which ARMv7.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Stores may reach other threads at different times: the promise.
    NonMca,
    /// Stores reach all other threads at once: what the caches do.
    Mca,
}

/// Every crash state: persist-order-closed sets of every consistent complete execution.
pub(crate) fn crash_states(shape: &Shape, model: Arm, base: u64) -> BTreeSet<String> {
    let shape = with_barriers(shape);
    let stops: Vec<usize> = shape.threads.iter().map(Vec::len).collect();
    let mut states = BTreeSet::new();
    for_each(&shape, &stops, base, &mut |c| {
        if let Some(order) = persist_order(c, model) {
            closed_sets(&shape, c, &order, &mut states);
        }
    });
    states
}

/// What a thread sees that reads every persistent location, fences, and reads them all again with equal results: by
/// consistency alone, without a persist order.
pub(crate) fn double_collect(shape: &Shape, model: Arm, base: u64) -> BTreeSet<String> {
    let mut shape = with_barriers(shape);
    let read = |loc| super::Guarded {
        when: None,
        op: Op::Load {
            reg: super::REGS - 1,
            loc,
        },
    };
    let collect: Vec<_> = shape.persistent().map(read).collect();
    let fence = super::Guarded {
        when: None,
        op: Op::Fence(fencepost_kernel::Fence::Dmb),
    };
    let observer = shape.threads.len();
    shape.threads.push([&collect[..], &[fence], &collect[..]].concat());
    let stops: Vec<usize> = shape.threads.iter().map(Vec::len).collect();
    let mut states = BTreeSet::new();
    for_each(&shape, &stops, base, &mut |c| {
        let seen = c.events.iter().filter(|e| e.thread == observer && e.kind == Kind::R);
        let seen: Vec<u64> = seen.map(|e| e.value).collect();
        let (first, second) = seen.split_at(collect.len());
        if first == second && persist_order(c, model).is_some() {
            states.insert(first.iter().map(|v| char::from_digit(*v as u32, 10).unwrap()).collect());
        }
    });
    states
}

/// Flushes mean nothing; a locked instruction is an update between two barriers.
fn with_barriers(shape: &Shape) -> Shape {
    let mut shape = shape.clone();
    for thread in &mut shape.threads {
        let old = std::mem::take(thread);
        for g in old {
            let fence = super::Guarded {
                op: Op::Fence(fencepost_kernel::Fence::Dmb),
                ..g
            };
            match g.op {
                Op::Flush { .. } => {}
                Op::Rmw { .. } => thread.extend([fence, g, fence]),
                Op::Fence(_) => thread.push(fence),
                _ => thread.push(g),
            }
        }
    }
    shape
}

fn persist_order(c: &Candidate, model: Arm) -> Option<Rel> {
    let n = c.events.len();
    let (w, r) = (c.writes(), c.reads());
    let com = c.rf.or(&c.co).or(&c.fr);
    if !c.po_loc().or(&com).acyclic() {
        return None;
    }
    let is_fence = |e: usize| matches!(c.events[e].kind, Kind::Fence(_));
    let fence = Rel::from(n, |a, b| {
        (a..b).any(|f| is_fence(f) && c.po.has(a, f) && c.po.has(f, b)) && !is_fence(a) && !is_fence(b)
    });
    let dp = Rel::from(n, |a, b| c.events[b].data.contains(&a));
    let ctrl = Rel::from(n, |a, b| c.events[b].control.contains(&a));
    let ppo = preserved([&dp, &ctrl], &c.po_loc(), &c.rf, &c.co, &c.fr, &c.thread_of(), (w, r));
    let rfe = c.external(&c.rf);
    let fre = c.external(&c.fr);
    match model {
        Arm::Mca => {
            let ob = ppo.or(&fence).or(&rfe).or(&fre).or(&c.external(&c.co));
            ob.acyclic().then(|| ob.plus().or(&c.co).plus().between(w, w))
        }
        Arm::NonMca => {
            let hb = ppo.or(&fence).or(&rfe);
            let hb_star = hb.star();
            let base = rfe.reflexive().then(&fence).then(&hb_star);
            let strong = com.star().then(&base.star()).then(&fence).then(&hb_star);
            let prop = base.between(w, w).or(&strong);
            let consistent = hb.acyclic() && fre.then(&prop).then(&hb_star).irreflexive() && c.co.or(&prop).acyclic();
            consistent.then(|| c.co.or(&prop.then(&hb_star).between(w, w)).plus())
        }
    }
}

/// Preserved program order of ARMv7 (TOPLAS'14, figure 25), without instruction barriers, from data (or address) and
/// control dependences, for events with the given threads, of which `kinds` are writes and reads.
pub(crate) fn preserved(
    [dp, ctrl]: [&Rel; 2],
    po_loc: &Rel,
    rf: &Rel,
    co: &Rel,
    fr: &Rel,
    threads: &[usize],
    (w, r): (Row, Row),
) -> Rel {
    let n = threads.len();
    let external = |x: &Rel| Rel::from(n, |a, b| x.has(a, b) && threads[a] != threads[b]);
    let rfi = Rel::from(n, |a, b| rf.has(a, b) && threads[a] == threads[b]);
    let rdw = po_loc.and(&external(fr).then(&external(rf)));
    let detour = po_loc.and(&external(co).then(&external(rf)));
    let (mut ii, mut ci) = (dp.or(&rdw).or(&rfi), detour);
    let mut cc = dp.or(ctrl);
    let mut ic = Rel::new(n);
    loop {
        let ii2 = ii.or(&ci).or(&ic.then(&ci)).or(&ii.then(&ii));
        let ic2 = ic.or(&ii).or(&cc).or(&ic.then(&cc)).or(&ii.then(&ic));
        let ci2 = ci.or(&ci.then(&ii)).or(&cc.then(&ci));
        let cc2 = cc.or(&ci).or(&ci.then(&ic)).or(&cc.then(&cc));
        if (&ii2, &ic2, &ci2, &cc2) == (&ii, &ic, &ci, &cc) {
            return ii.between(r, r).or(&ic.between(r, w));
        }
        (ii, ic, ci, cc) = (ii2, ic2, ci2, cc2);
    }
}

fn closed_sets(shape: &Shape, c: &Candidate, order: &Rel, states: &mut BTreeSet<String>) {
    let persistent = c.set(|e| matches!(e.kind, Kind::W | Kind::U) && !shape.is_volatile(e.loc.unwrap()));
    let before = order.inverse();
    let mut set = persistent;
    loop {
        let closed = (0..c.events.len()).all(|e| set >> e & 1 == 0 || before.0[e] & persistent & !set == 0);
        if closed {
            let mut memory = vec![0; shape.locations.len()];
            for e in (0..c.events.len()).filter(|e| set >> e & 1 == 1) {
                let newest = c.co.0[e] & set == 0;
                if newest {
                    memory[c.events[e].loc.unwrap()] = c.events[e].value;
                }
            }
            states.insert(shape.show(&memory));
        }
        if set == 0 {
            return;
        }
        set = (set - 1) & persistent;
    }
}
