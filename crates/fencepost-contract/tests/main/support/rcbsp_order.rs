//! RCBSP's persist order of one trace, straight from the relations: PMO = (co | (prop;hb* & W x W))+ with
//! hb = ppo | fence | rfe, ppo being what the trace's dependences make of it. And a random machine that keeps exactly this order.

use super::relation::{Rel, Row};
use super::run::Run;
use super::{Shape, arm, relaxed};
use fencepost_kernel::{Addr, Dependence, Fence, StoreId, Stream, Trace, TraceKind};

struct Access {
    /// Its event.
    event: u32,
    thread: usize,
    addr: Option<Addr>,
    store: Option<StoreId>,
    from: Option<StoreId>,
    fence: bool,
    drain: bool,
}

fn accesses(trace: &Trace) -> Vec<Access> {
    let events = trace.events.iter().enumerate().filter_map(|(i, e)| {
        let (addr, store, from, fence) = match e.kind {
            TraceKind::Store(s) => (Some(trace.store(s).addr), Some(s), None, None),
            TraceKind::Load { addr, from } => (Some(addr), None, from, None),
            TraceKind::Rmw { addr, from, store } => (Some(addr), store, from, None),
            TraceKind::Fence(f) => (None, None, None, Some(f)),
            _ => return None,
        };
        let (drain, fence) = (fence == Some(Fence::Dsb), fence.is_some());
        Some(Access {
            event: i as u32,
            thread: e.thread?.index(),
            addr,
            store,
            from,
            fence,
            drain,
        })
    });
    events.collect()
}

fn ppo(trace: &Trace, e: &[Access], rf: &Rel, co: &Rel, fr: &Rel) -> Rel {
    let n = e.len();
    let needs = |a: usize, b: usize| {
        let edge = |d: &Dependence| d.on == e[a].event && d.event == e[b].event;
        trace.dependences.iter().any(edge)
    };
    let (dp, none) = (Rel::from(n, needs), Rel::new(n));
    // Events are in effect order, which is program order for one thread's accesses to one word.
    let po_loc = Rel::from(n, |a, b| {
        a < b && e[a].thread == e[b].thread && e[a].addr.is_some() && e[a].addr == e[b].addr
    });
    let threads: Vec<usize> = e.iter().map(|a| a.thread).collect();
    let of = |f: fn(&Access) -> bool| (0..n).filter(|i| f(&e[*i])).fold(0 as Row, |s, i| s | 1 << i);
    let kinds = (of(|a| a.store.is_some()), of(|a| a.addr.is_some() && a.store.is_none()));
    arm::preserved([&dp, &none], &po_loc, rf, co, fr, &threads, kinds)
}

/// Per store, and per drain (in trace order), the stores that come before it.
pub(crate) struct Order {
    pub before_store: Vec<Row>,
    pub before_drain: Vec<Row>,
}

/// Computes the order by relational algebra.
pub(crate) fn order(trace: &Trace) -> Order {
    let e = accesses(trace);
    let n = e.len();
    let writes = (0..n)
        .filter(|i| e[*i].store.is_some())
        .fold(0 as Row, |s, i| s | 1 << i);
    let po = |a: usize, b: usize| a < b && e[a].thread == e[b].thread;
    let co = Rel::from(n, |a, b| {
        a < b && e[a].store.is_some() && e[b].store.is_some() && e[a].addr == e[b].addr
    });
    let rf = Rel::from(n, |a, b| a != b && e[a].store.is_some() && e[a].store == e[b].from);
    let stamp = |s: Option<StoreId>| s.map_or(0, |s| s.index() + 1);
    let fr = Rel::from(n, |a, b| {
        let reads = e[a].addr.is_some() && (e[a].store.is_none() || e[a].from.is_some());
        a != b && reads && e[b].store.is_some() && e[a].addr == e[b].addr && stamp(e[a].from) < stamp(e[b].store)
    });
    let fence = Rel::from(n, |a, b| {
        !e[a].fence
            && (!e[b].fence || e[b].drain)
            && ((a + 1)..=b).any(|f| e[f].fence && po(a, f) && (f == b || po(f, b)))
    });
    let rfe = Rel::from(n, |a, b| rf.has(a, b) && e[a].thread != e[b].thread);
    let hb_star = ppo(trace, &e, &rf, &co, &fr).or(&fence).or(&rfe).star();
    let base = rfe.reflexive().then(&fence).then(&hb_star);
    let com = co.or(&rf).or(&fr);
    let prop = base
        .or(&com.star().then(&base.star()).then(&fence).then(&hb_star))
        .then(&hb_star);
    let drains = (0..n).filter(|i| e[*i].drain).fold(0 as Row, |s, i| s | 1 << i);
    let pmo = co.or(&prop.between(writes, writes)).plus();
    let to_drain = pmo.reflexive().then(&prop.between(writes, drains));
    let stores_in = |row: Row| {
        let ids = (0..n).filter(|i| row >> i & 1 == 1).filter_map(|i| e[i].store);
        ids.filter(|s| trace.store(*s).addr.is_persistent())
            .fold(0 as Row, |r, s| r | 1 << s.index())
    };
    let mut before_store = vec![0; trace.stores.len()];
    let inverse = pmo.inverse();
    (0..n).for_each(|i| {
        if let Some(s) = e[i].store {
            before_store[s.index()] = stores_in(inverse.0[i]);
        }
    });
    let inverse = to_drain.inverse();
    let before_drain = (0..n)
        .filter(|i| e[*i].drain)
        .map(|i| stores_in(inverse.0[i]))
        .collect();
    Order {
        before_store,
        before_drain,
    }
}

/// A random execution of the shape on a machine that persists in any order the relations allow, and drains at `dsb`.
pub(crate) fn random_run(shape: &Shape, rng: &mut Stream) -> Run {
    let plain = relaxed::random_trace(shape, false, rng);
    let order = order(&plain);
    let mut run = Run::new(shape);
    let events = plain.events.clone();
    run.trace.stores = plain.stores;
    let (mut performed, mut durable, mut drains) = (0 as Row, 0 as Row, 0);
    let mut moved = Vec::new();
    for event in events.iter().map(Some).chain([None]) {
        let drain = matches!(event.map(|e| e.kind), Some(TraceKind::Fence(Fence::Dsb)));
        let needed = if drain { order.before_drain[drains] } else { 0 };
        drains += usize::from(drain);
        loop {
            let ready = |s: &usize| {
                let open = performed & !durable;
                open >> s & 1 == 1 && order.before_store[*s] & !durable & !(1 << s) == 0
            };
            let ready: Vec<usize> = (0..run.trace.stores.len()).filter(ready).collect();
            let idle = needed & !durable == 0 && rng.chance(2, 3);
            if ready.is_empty() || idle {
                break;
            }
            let s = ready[rng.below(ready.len() as u64) as usize];
            durable |= 1 << s;
            run.persist_store(StoreId::from_index(s).unwrap());
        }
        assert_eq!(needed & !durable, 0, "the machine drains");
        if let Some(event) = event {
            moved.push(run.trace.next_event());
            run.trace.events.push(*event);
            if let TraceKind::Store(s) | TraceKind::Rmw { store: Some(s), .. } = event.kind
                && run.trace.store(s).addr.is_persistent()
            {
                performed |= 1 << s.index();
            }
        }
    }
    run.trace.dependences = plain.dependences;
    super::run::move_dependences(&mut run.trace, &moved);
    run
}
