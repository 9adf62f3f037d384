//! Candidate executions of a shape: control paths, reads-from, coherence order. Consistency is the models' business.

use super::relation::{Rel, Row, choices, permutations};
use super::{Loc, Op, REGS, Reg, Shape, Value};
use fencepost_kernel::{Fence, Flush};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    R,
    W,
    U,
    Fence(Fence),
    Flush(Flush),
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub thread: usize,
    pub kind: Kind,
    pub loc: Option<Loc>,
    /// Value read (R) or written (W, U).
    pub value: u64,
    /// Loads of the same thread that the value, or the execution, depends on (event numbers).
    pub data: Vec<usize>,
    pub control: Vec<usize>,
}

/// One candidate.
pub(crate) struct Candidate {
    pub events: Vec<Event>,
    pub po: Rel,
    pub rf: Rel,
    pub co: Rel,
    pub fr: Rel,
    /// Reads (and updates) of the initial value.
    pub initial: Row,
}

impl Candidate {
    pub(crate) fn set(&self, f: impl Fn(&Event) -> bool) -> Row {
        self.events
            .iter()
            .enumerate()
            .filter(|(_, e)| f(e))
            .fold(0, |s, (i, _)| s | (1 as Row) << i)
    }
    pub(crate) fn writes(&self) -> Row {
        self.set(|e| matches!(e.kind, Kind::W | Kind::U))
    }
    pub(crate) fn reads(&self) -> Row {
        self.set(|e| matches!(e.kind, Kind::R | Kind::U))
    }
    pub(crate) fn external(&self, r: &Rel) -> Rel {
        let n = self.events.len();
        Rel::from(n, |a, b| r.has(a, b) && self.events[a].thread != self.events[b].thread)
    }
    pub(crate) fn thread_of(&self) -> Vec<usize> {
        self.events.iter().map(|e| e.thread).collect()
    }
    pub(crate) fn po_loc(&self) -> Rel {
        let n = self.events.len();
        let loc = |e: usize| {
            self.events[e]
                .loc
                .filter(|_| !matches!(self.events[e].kind, Kind::Flush(_)))
        };
        Rel::from(n, |a, b| self.po.has(a, b) && loc(a).is_some() && loc(a) == loc(b))
    }
}

/// Control paths of a thread: event lists for every guess of the values read (below `base`), cut after `stop` operations.
fn paths(shape: &Shape, thread: usize, stop: usize, base: u64) -> Vec<Vec<Event>> {
    type Path = (Vec<Event>, [u64; REGS], [Option<usize>; REGS], Vec<usize>);
    let mut done: Vec<Path> = vec![(Vec::new(), [0; REGS], [None; REGS], Vec::new())];
    for g in &shape.threads[thread][..stop] {
        let mut longer = Vec::new();
        for (events, regs, sources, control) in done {
            let mut control = control.clone();
            if let Some((r, v)) = g.when {
                control.extend(sources[r]);
                control.sort_unstable();
                control.dedup();
                if regs[r] != v {
                    longer.push((events, regs, sources, control));
                    continue;
                }
            }
            let mut push = |kind, loc, value, from: Option<Reg>, reg: Option<Reg>| {
                let (mut events, mut regs, mut sources) = (events.clone(), regs, sources);
                let data = from.and_then(|r| sources[r]).into_iter().collect();
                if let Some(r) = reg {
                    (regs[r], sources[r]) = (value, Some(events.len()));
                }
                events.push(Event {
                    thread,
                    kind,
                    loc,
                    value,
                    data,
                    control: control.clone(),
                });
                longer.push((events, regs, sources, control.clone()));
            };
            match g.op {
                Op::Store {
                    loc,
                    value: Value::Const(v),
                    ..
                } => push(Kind::W, Some(loc), v, None, None),
                Op::Store {
                    loc,
                    value: Value::Reg(r),
                    ..
                } => push(Kind::W, Some(loc), regs[r], Some(r), None),
                Op::Load { reg, loc } => (0..base).for_each(|v| push(Kind::R, Some(loc), v, None, Some(reg))),
                Op::Rmw { loc, value } => push(Kind::U, Some(loc), value, None, None),
                Op::Flush { loc, kind } => push(Kind::Flush(kind), Some(loc), 0, None, None),
                Op::Fence(f) => push(Kind::Fence(f), None, 0, None, None),
            }
        }
        done = longer;
    }
    done.into_iter().map(|d| d.0).collect()
}

/// Calls `visit` with every candidate in which each thread runs its first `stops[t]` operations.
pub(crate) fn for_each(shape: &Shape, stops: &[usize], base: u64, visit: &mut impl FnMut(&Candidate)) {
    let paths: Vec<Vec<Vec<Event>>> = (0..stops.len()).map(|t| paths(shape, t, stops[t], base)).collect();
    let indices: Vec<Vec<usize>> = paths.iter().map(|p| (0..p.len()).collect()).collect();
    for pick in choices(&indices) {
        let mut events: Vec<Event> = Vec::new();
        for (t, p) in pick.iter().enumerate() {
            let shift = events.len();
            events.extend(paths[t][*p].iter().cloned().map(|mut e| {
                e.data.iter_mut().chain(&mut e.control).for_each(|d| *d += shift);
                e
            }));
        }
        resolve(shape, events, visit);
    }
}

/// Every reads-from and coherence order of one set of events.
fn resolve(shape: &Shape, events: Vec<Event>, visit: &mut impl FnMut(&Candidate)) {
    let n = events.len();
    assert!(n <= 128, "a shape has at most 128 events");
    let po = Rel::from(n, |a, b| a < b && events[a].thread == events[b].thread);
    let is_write = |e: usize| matches!(events[e].kind, Kind::W | Kind::U);
    let writes_to = |loc| {
        (0..n)
            .filter(|w| is_write(*w) && events[*w].loc == Some(loc))
            .collect::<Vec<usize>>()
    };
    let readers: Vec<usize> = (0..n)
        .filter(|e| matches!(events[*e].kind, Kind::R | Kind::U))
        .collect();
    let sources: Vec<Vec<Option<usize>>> = readers
        .iter()
        .map(|r| {
            let writes = writes_to(events[*r].loc.unwrap()).into_iter().filter(|w| w != r);
            let any_value = events[*r].kind == Kind::U;
            let fitting = writes
                .filter(|w| any_value || events[*w].value == events[*r].value)
                .map(Some);
            let initial = (any_value || events[*r].value == 0).then_some(None);
            fitting.chain(initial).collect()
        })
        .collect();
    let orders: Vec<Vec<Vec<usize>>> = (0..shape.locations.len())
        .map(|l| permutations(&writes_to(l)))
        .collect();
    let order_choices = choices(&orders.iter().map(|o| (0..o.len()).collect()).collect::<Vec<_>>());
    for from in choices(&sources) {
        for order in &order_choices {
            let mut co = Rel::new(n);
            for (l, o) in order.iter().enumerate() {
                let chain = &orders[l][*o];
                (0..chain.len()).for_each(|i| chain[i + 1..].iter().for_each(|b| co.add(chain[i], *b)));
            }
            let (mut rf, mut initial) = (Rel::new(n), 0 as Row);
            for (r, w) in readers.iter().zip(&from) {
                match w {
                    Some(w) => rf.add(*w, *r),
                    None => initial |= 1 << r,
                }
            }
            let same = |a: usize, b: usize| events[a].loc == events[b].loc && is_write(b) && a != b;
            let before_all = Rel::from(n, |a, b| initial >> a & 1 == 1 && same(a, b));
            let mut fr = rf.inverse().then(&co).or(&before_all);
            (0..n).for_each(|i| fr.0[i] &= !(1 << i));
            visit(&Candidate {
                events: events.clone(),
                po: po.clone(),
                rf,
                co,
                fr,
                initial,
            });
        }
    }
}

/// Every vector of stops: each thread runs any prefix of its operations.
pub(crate) fn prefixes(shape: &Shape) -> Vec<Vec<usize>> {
    choices(
        &shape
            .threads
            .iter()
            .map(|t| (0..=t.len()).collect())
            .collect::<Vec<_>>(),
    )
}
