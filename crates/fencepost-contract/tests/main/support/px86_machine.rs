//! The operational x86 model: per-thread store buffers, per-line persist queues (PTSOsyn style), by exhaustive search.
//!
//! `crash_states` explores the machine with its persist queues and collects every NVM content. `traces` explores
//! the same machine without them and collects every execution as a trace in effect order: the contract's view of it.

use super::run::Run;
use super::{Guarded, Loc, Op, REGS, Shape, Value};
use fencepost_contract::LineOrder;
use fencepost_kernel::{Fence, Flush, HwThread, StoreId, StoreInfo, Stream, Trace, TraceKind};
use std::collections::{BTreeSet, HashSet};
use std::panic::Location;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Buffered {
    W(Loc, u64),
    Nt(Loc, u64),
    Fl(Loc),
    Fo(Loc),
    Sf,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Queued {
    Write(Loc, u64),
    Flush(usize),
}

/// What may change on the way from one state to the next; also what the trace records.
#[derive(Copy, Clone, Debug)]
enum Effect {
    Nothing,
    Store(Loc, u64, bool),
    Load(Loc, bool),
    Rmw(Loc, u64),
    Flush(Loc, Flush),
    Fence(Fence),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    pc: Vec<usize>,
    regs: Vec<[u64; REGS]>,
    buffers: Vec<Vec<Buffered>>,
    /// Coherent memory (what loads see beyond the thread's own buffer).
    memory: Vec<u64>,
    nvm: Vec<u64>,
    /// Persist queues: one per line (its first location), or one per location without line order.
    queues: Vec<Vec<Queued>>,
}

/// How the machine is to behave.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Machine<'s> {
    pub shape: &'s Shape,
    pub line_order: LineOrder,
    /// With persist queues, or only what other threads can see.
    pub persists: bool,
    /// Non-temporal stores leave the buffer in program order with other stores (traces of Themis runs need it).
    pub nt_in_order: bool,
}

impl<'s> Machine<'s> {
    pub(crate) fn new(shape: &'s Shape, line_order: LineOrder) -> Machine<'s> {
        Machine {
            shape,
            line_order,
            persists: true,
            nt_in_order: false,
        }
    }

    fn start(&self) -> State {
        let (threads, locations) = (self.shape.threads.len(), self.shape.locations.len());
        State {
            pc: vec![0; threads],
            regs: vec![[0; REGS]; threads],
            buffers: vec![Vec::new(); threads],
            memory: vec![0; locations],
            nvm: vec![0; locations],
            queues: vec![Vec::new(); locations],
        }
    }
    fn queue(&self, loc: Loc) -> usize {
        match self.line_order {
            LineOrder::Fifo => (0..=loc).find(|l| self.shape.same_line(*l, loc)).unwrap(),
            LineOrder::Unordered => loc,
        }
    }
    fn line_is_clean(&self, s: &State, loc: Loc) -> bool {
        (0..s.memory.len())
            .filter(|l| self.shape.same_line(*l, loc))
            .all(|l| s.queues[self.queue(l)].is_empty())
    }
    fn flushes_done(&self, s: &State, thread: usize) -> bool {
        !s.queues.iter().flatten().any(|q| *q == Queued::Flush(thread))
    }

    /// Every step possible, with what it does.
    fn steps(&self, s: &State) -> Vec<(usize, Effect, State)> {
        let mut out = Vec::new();
        for t in 0..s.pc.len() {
            self.issue(s, t, &mut out);
            for i in 0..s.buffers[t].len() {
                self.drain(s, t, i, &mut out);
            }
        }
        for q in 0..s.queues.len() {
            if let Some(head) = s.queues[q].first() {
                let mut n = s.clone();
                n.queues[q].remove(0);
                if let Queued::Write(loc, v) = head {
                    n.nvm[*loc] = *v;
                }
                out.push((0, Effect::Nothing, n));
            }
        }
        out
    }

    fn issue(&self, s: &State, t: usize, out: &mut Vec<(usize, Effect, State)>) {
        let Some(Guarded { when, op }) = self.shape.threads[t].get(s.pc[t]) else {
            return;
        };
        let mut n = s.clone();
        n.pc[t] += 1;
        if when.is_some_and(|(r, v)| s.regs[t][r] != v) {
            return out.push((t, Effect::Nothing, n));
        }
        let mut effect = Effect::Nothing;
        match *op {
            Op::Store { loc, value, nt } => {
                let v = match value {
                    Value::Const(v) => v,
                    Value::Reg(r) => s.regs[t][r],
                };
                n.buffers[t].push(if nt { Buffered::Nt(loc, v) } else { Buffered::W(loc, v) });
            }
            Op::Flush { loc, kind } => n.buffers[t].push(if kind == Flush::Clflush {
                Buffered::Fl(loc)
            } else {
                Buffered::Fo(loc)
            }),
            Op::Fence(Fence::Sfence) => n.buffers[t].push(Buffered::Sf),
            Op::Load { reg, loc } => {
                let own = s.buffers[t].iter().rev().find_map(|b| match b {
                    Buffered::W(l, v) | Buffered::Nt(l, v) if *l == loc => Some(*v),
                    _ => None,
                });
                n.regs[t][reg] = own.unwrap_or(s.memory[loc]);
                effect = Effect::Load(loc, own.is_some());
            }
            Op::Rmw { .. } | Op::Fence(_) if !s.buffers[t].is_empty() || !self.flushes_done(s, t) => return,
            Op::Rmw { loc, value } => {
                self.perform(&mut n, loc, value);
                effect = Effect::Rmw(loc, value);
            }
            Op::Fence(f) => effect = Effect::Fence(f),
        }
        out.push((t, effect, n));
    }

    /// A store becomes visible and enters its persist queue.
    fn perform(&self, n: &mut State, loc: Loc, value: u64) {
        n.memory[loc] = value;
        if self.persists && !self.shape.is_volatile(loc) {
            n.queues[self.queue(loc)].push(Queued::Write(loc, value));
        }
    }

    fn drain(&self, s: &State, t: usize, i: usize, out: &mut Vec<(usize, Effect, State)>) {
        let (older, entry) = (&s.buffers[t][..i], s.buffers[t][i]);
        let any = |f: &dyn Fn(&Buffered) -> bool| older.iter().any(f);
        let on_line = |b: &Buffered, loc: Loc| match b {
            Buffered::W(l, _) | Buffered::Nt(l, _) | Buffered::Fl(l) | Buffered::Fo(l) => self.shape.same_line(*l, loc),
            Buffered::Sf => false,
        };
        let sf = any(&|b| *b == Buffered::Sf);
        let strong = any(&|b| matches!(b, Buffered::W(..) | Buffered::Fl(_) | Buffered::Sf));
        let nt = any(&|b| matches!(b, Buffered::Nt(..)));
        let mut n = s.clone();
        n.buffers[t].remove(i);
        let effect = match entry {
            Buffered::W(loc, v) => {
                let passed = any(&|b| on_line(b, loc) && matches!(b, Buffered::Fo(_) | Buffered::Nt(..)));
                if strong || passed || self.nt_in_order && nt {
                    return;
                }
                self.perform(&mut n, loc, v);
                Effect::Store(loc, v, false)
            }
            Buffered::Fl(loc) => {
                if strong || any(&|b| on_line(b, loc)) || !self.line_is_clean(s, loc) {
                    return;
                }
                Effect::Flush(loc, Flush::Clflush)
            }
            Buffered::Fo(loc) => {
                if sf || any(&|b| on_line(b, loc) && !matches!(b, Buffered::Fo(_))) {
                    return;
                }
                if self.persists {
                    let mut queues: Vec<_> = (0..s.memory.len()).filter(|l| self.shape.same_line(*l, loc)).collect();
                    queues.iter_mut().for_each(|l| *l = self.queue(*l));
                    queues.dedup();
                    queues.into_iter().for_each(|q| n.queues[q].push(Queued::Flush(t)));
                }
                Effect::Flush(loc, Flush::Clwb)
            }
            Buffered::Nt(loc, v) => {
                // No write passes a `clflush` of any line, and streaming stores are writes (Intel SDM 3A, 8.2.2).
                let fl = any(&|b| matches!(b, Buffered::Fl(_)));
                let blocked = sf || fl || any(&|b| on_line(b, loc)) || !self.line_is_clean(s, loc);
                if blocked || self.nt_in_order && strong {
                    return;
                }
                n.memory[loc] = v;
                n.nvm[loc] = v;
                Effect::Store(loc, v, true)
            }
            Buffered::Sf => {
                if !older.is_empty() || !self.flushes_done(s, t) {
                    return;
                }
                Effect::Fence(Fence::Sfence)
            }
        };
        out.push((t, effect, n));
    }

    /// Every NVM content reachable at any time.
    pub(crate) fn crash_states(&self) -> BTreeSet<String> {
        let mut seen = HashSet::new();
        let mut work = vec![self.start()];
        let mut states = BTreeSet::new();
        while let Some(s) = work.pop() {
            if seen.insert(s.clone()) {
                states.insert(self.shape.show(&s.nvm));
                work.extend(self.steps(&s).into_iter().map(|(_, _, n)| n));
            }
        }
        states
    }

    /// Every content of coherent memory that another thread could see at once, at any time.
    pub(crate) fn visible_states(&self) -> BTreeSet<String> {
        let machine = Machine {
            persists: false,
            ..*self
        };
        let mut seen = HashSet::new();
        let mut work = vec![machine.start()];
        let mut states = BTreeSet::new();
        while let Some(s) = work.pop() {
            if seen.insert(s.clone()) {
                states.insert(self.shape.show(&s.memory));
                work.extend(machine.steps(&s).into_iter().map(|(_, _, n)| n));
            }
        }
        states
    }

    /// One random execution with its persist log, drained at the end with probability one half.
    pub(crate) fn random_run(&self, rng: &mut Stream) -> Run {
        let mut run = Run::new(self.shape);
        let mut s = self.start();
        loop {
            let mut steps = self.steps(&s);
            let running = s.pc.iter().zip(&self.shape.threads).any(|(pc, t)| *pc < t.len());
            if steps.is_empty() || !running && s.buffers.iter().all(Vec::is_empty) && rng.chance(1, 8) {
                return run;
            }
            let (thread, effect, next) = steps.swap_remove(rng.below(steps.len() as u64) as usize);
            self.record(&mut run.trace, thread, effect);
            for loc in (0..s.nvm.len()).filter(|l| s.nvm[*l] != next.nvm[*l]) {
                run.persist(loc, next.nvm[loc]);
            }
            s = next;
        }
    }

    /// Every complete execution, as a trace in effect order (each distinct trace once).
    pub(crate) fn traces(mut self) -> Vec<Trace> {
        self.persists = false;
        let mut found = Vec::new();
        let trace = Trace {
            threads: self.shape.threads.len() as u32,
            ..Trace::default()
        };
        self.extend(&self.start(), &trace, &mut HashSet::new(), &mut found);
        found
    }
    fn extend(&self, s: &State, trace: &Trace, seen: &mut HashSet<(State, String)>, found: &mut Vec<Trace>) {
        if !seen.insert((s.clone(), format!("{:?}", trace.events))) {
            return;
        }
        let steps = self.steps(s);
        if steps.is_empty() {
            found.push(trace.clone());
        }
        for (thread, effect, next) in steps {
            let mut longer = trace.clone();
            self.record(&mut longer, thread, effect);
            self.extend(&next, &longer, seen, found);
        }
    }
    fn record(&self, trace: &mut Trace, thread: usize, effect: Effect) {
        let hw_thread = HwThread(thread as u8);
        let last = |trace: &Trace, loc: Loc| {
            let at = trace.stores.iter().rposition(|s| s.addr == self.shape.addr(loc));
            at.and_then(StoreId::from_index)
        };
        let new =
            |trace: &mut Trace, loc: Loc, value: u64, nt: bool| push_store(trace, self.shape, thread, loc, value, nt);
        match effect {
            Effect::Nothing | Effect::Load(_, true) => {}
            Effect::Store(loc, value, nt) => {
                let id = new(trace, loc, value, nt);
                trace.push(hw_thread, TraceKind::Store(id));
            }
            Effect::Rmw(loc, value) => {
                let from = last(trace, loc);
                let store = Some(new(trace, loc, value, false));
                trace.push(
                    hw_thread,
                    TraceKind::Rmw {
                        addr: self.shape.addr(loc),
                        from,
                        store,
                    },
                );
            }
            Effect::Load(loc, false) => {
                let from = last(trace, loc);
                trace.push(
                    hw_thread,
                    TraceKind::Load {
                        addr: self.shape.addr(loc),
                        from,
                    },
                );
            }
            Effect::Flush(loc, kind) => trace.push(
                hw_thread,
                TraceKind::Flush {
                    line: self.shape.addr(loc).line(),
                    kind,
                },
            ),
            Effect::Fence(f) => trace.push(hw_thread, TraceKind::Fence(f)),
        }
    }
}

/// Adds a store to the trace's table and returns its id.
pub(crate) fn push_store(trace: &mut Trace, shape: &Shape, thread: usize, loc: Loc, value: u64, nt: bool) -> StoreId {
    let (thread, addr, source) = (HwThread(thread as u8), shape.addr(loc), Location::caller().into());
    trace.stores.push(StoreInfo {
        thread,
        addr,
        value,
        nt,
        tx: None,
        source,
    });
    StoreId::from_index(trace.stores.len() - 1).unwrap()
}
