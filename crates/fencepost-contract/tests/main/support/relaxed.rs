//! A relaxed machine with one coherent memory: between fences a thread performs its accesses in any order that keeps
//! same-location order and dependencies. Every execution as a trace, for the fence-based contracts.

use super::px86_machine::push_store;
use super::{Op, Reg, Shape, Value};
use fencepost_kernel::{HwThread, StoreId, Stream, Trace, TraceKind};
use std::collections::BTreeSet;

#[derive(Clone)]
struct State {
    done: Vec<Vec<bool>>,
    /// What each load returned, and its event. A register is the newest load to it in program order.
    loaded: Vec<Vec<Option<(u64, u32)>>>,
    memory: Vec<(u64, Option<StoreId>)>,
    trace: Trace,
}

/// Every content of memory at any time under sequential consistency.
pub(crate) fn visible_states(shape: &Shape) -> BTreeSet<String> {
    let mut states = BTreeSet::new();
    for trace in traces(shape, true) {
        let mut memory = vec![0; shape.locations.len()];
        states.insert(shape.show(&memory));
        for event in &trace.events {
            if let TraceKind::Store(s) | TraceKind::Rmw { store: Some(s), .. } = event.kind {
                let info = trace.store(s);
                let loc = (0..memory.len()).find(|l| shape.addr(*l) == info.addr).unwrap();
                memory[loc] = info.value;
                states.insert(shape.show(&memory));
            }
        }
    }
    states
}

/// One random execution.
pub(crate) fn random_trace(shape: &Shape, in_order: bool, rng: &mut Stream) -> Trace {
    let mut s = start(shape);
    loop {
        let able = |t: usize, i: usize| !s.done[t][i] && may_perform(shape, in_order, &s, t, i);
        let ops = (0..s.done.len()).flat_map(|t| (0..s.done[t].len()).map(move |i| (t, i)));
        let ops: Vec<_> = ops.filter(|(t, i)| able(*t, *i)).collect();
        if ops.is_empty() {
            return s.trace;
        }
        let (t, i) = ops[rng.below(ops.len() as u64) as usize];
        perform(shape, &mut s, t, i);
    }
}

fn start(shape: &Shape) -> State {
    State {
        done: shape.threads.iter().map(|t| vec![false; t.len()]).collect(),
        loaded: shape.threads.iter().map(|t| vec![None; t.len()]).collect(),
        memory: vec![(0, None); shape.locations.len()],
        trace: Trace {
            threads: shape.threads.len() as u32,
            ..Trace::default()
        },
    }
}

/// Every complete execution of the shape. With `in_order`, threads perform in program order (sequential consistency).
pub(crate) fn traces(shape: &Shape, in_order: bool) -> Vec<Trace> {
    let mut found = Vec::new();
    extend(shape, in_order, start(shape), &mut found);
    found
}

fn extend(shape: &Shape, in_order: bool, s: State, found: &mut Vec<Trace>) {
    let mut stuck = true;
    for t in 0..s.done.len() {
        for i in (0..s.done[t].len()).filter(|i| !s.done[t][*i] && may_perform(shape, in_order, &s, t, *i)) {
            stuck = false;
            let mut next = s.clone();
            perform(shape, &mut next, t, i);
            extend(shape, in_order, next, found);
        }
    }
    if stuck {
        found.push(s.trace);
    }
}

fn location(op: &Op) -> Option<usize> {
    match op {
        Op::Store { loc, .. } | Op::Load { loc, .. } | Op::Rmw { loc, .. } => Some(*loc),
        Op::Flush { .. } | Op::Fence(_) => None,
    }
}

/// Whether nothing earlier in the thread still holds the operation back.
fn may_perform(shape: &Shape, in_order: bool, s: &State, t: usize, i: usize) -> bool {
    let thread = &shape.threads[t];
    let this = thread[i];
    let reads_reg = |r: Reg| {
        this.when.is_some_and(|w| w.0 == r) || matches!(this.op, Op::Store { value: Value::Reg(v), .. } if v == r)
    };
    (0..i).filter(|j| !s.done[t][*j]).all(|j| {
        let barrier = |op: &Op| matches!(op, Op::Fence(_) | Op::Rmw { .. });
        let earlier = &thread[j];
        let same = location(&earlier.op).is_some() && location(&earlier.op) == location(&this.op);
        let feeds = matches!(earlier.op, Op::Load { reg, .. } if reads_reg(reg));
        // A branch that is not resolved holds stores back: they are never speculative.
        let unresolved = matches!(earlier.op, Op::Load { reg, .. } if
            thread[..i].iter().any(|g| g.when.is_some_and(|w| w.0 == reg)))
            && matches!(this.op, Op::Store { .. } | Op::Rmw { .. });
        !(in_order || barrier(&earlier.op) || barrier(&this.op) || same || feeds || unresolved)
    })
}

fn perform(shape: &Shape, s: &mut State, t: usize, i: usize) {
    s.done[t][i] = true;
    let this = shape.threads[t][i];
    if this.when.is_some_and(|(r, v)| register(shape, s, t, i, r).0 != v) {
        return;
    }
    let hw_thread = HwThread(t as u8);
    match this.op {
        Op::Store { loc, value, nt } => {
            let v = match value {
                Value::Const(v) => v,
                Value::Reg(r) => register(shape, s, t, i, r).0,
            };
            let id = push_store(&mut s.trace, shape, t, loc, v, nt);
            s.memory[loc] = (v, Some(id));
            s.trace.push(hw_thread, TraceKind::Store(id));
            depend(shape, s, t, i, value);
        }
        Op::Rmw { loc, value } => {
            let from = s.memory[loc].1;
            let id = push_store(&mut s.trace, shape, t, loc, value, false);
            s.memory[loc] = (value, Some(id));
            s.trace.push(hw_thread, TraceKind::Fence(fencepost_kernel::Fence::Dmb));
            s.trace.push(
                hw_thread,
                TraceKind::Rmw {
                    addr: shape.addr(loc),
                    from,
                    store: Some(id),
                },
            );
            s.trace.push(hw_thread, TraceKind::Fence(fencepost_kernel::Fence::Dmb));
        }
        Op::Load { loc, .. } => {
            let (v, from) = s.memory[loc];
            s.loaded[t][i] = Some((v, s.trace.next_event()));
            s.trace.push(
                hw_thread,
                TraceKind::Load {
                    addr: shape.addr(loc),
                    from,
                },
            );
        }
        Op::Flush { loc, kind } => s.trace.push(
            hw_thread,
            TraceKind::Flush {
                line: shape.addr(loc).line(),
                kind,
            },
        ),
        Op::Fence(f) => s.trace.push(hw_thread, TraceKind::Fence(f)),
    }
}

/// The store performed last depends on the load its value comes from, and on those that decided every branch before it.
fn depend(shape: &Shape, s: &mut State, t: usize, i: usize, value: Value) {
    let guards = shape.threads[t][..=i].iter().enumerate();
    let mut on: Vec<u32> = guards
        .filter_map(|(g, op)| register(shape, s, t, g, op.when?.0).1)
        .collect();
    if let Value::Reg(r) = value {
        on.extend(register(shape, s, t, i, r).1);
    }
    on.sort_unstable();
    on.dedup();
    on.into_iter().for_each(|event| s.trace.depends_on(event));
}

/// A register as operation `i` reads it: its value, and the event of the load it comes from.
fn register(shape: &Shape, s: &State, t: usize, i: usize, r: Reg) -> (u64, Option<u32>) {
    let loads = (0..i).filter(|j| matches!(shape.threads[t][*j].op, Op::Load { reg, .. } if reg == r));
    let newest = loads.filter_map(|j| s.loaded[t][j]).next_back();
    newest.map_or((0, None), |(value, event)| (value, Some(event)))
}
