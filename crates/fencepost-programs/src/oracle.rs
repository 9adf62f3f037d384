//! The oracle every program shares: which prefixes of the operation history can a recovered word come from?
//!
//! A run is a set of operations, each writing new values into *registers* (an array cell, a key of a table, one end of a
//! queue). A recovered memory is right iff some **cut** explains it: per thread a prefix of its operations, at least the
//! acknowledged ones, at most the begun ones, closed under the order in which operations conflicted (if an operation
//! is in, so is every operation it overwrote or read from), such that every register holds the value that the cut's
//! last writer left. [`Cut`] holds lower and upper bounds; every register read narrows them.
//!
//! *Exact*: lower bounds only ever rise to what every explanation must contain, and are closed. A value that fits
//! several places of a register's history (an absent key) stays pending and is narrowed again whenever a bound moves. At
//! the fixed point the lower bound itself satisfies every reading: it is an explanation. So an audit that ends without
//! contradiction has a witness, and a contradiction means that none exists.

pub(crate) mod between;
mod cut;

pub use cut::{Cut, NoPrefix};

use cut::tighten;
use fencepost_kernel::planted;
use fencepost_kernel::{CrashPoint, OpRecord};
use std::collections::BTreeMap;

/// A dense index of an operation of the run.
type OpId = u32;

/// In a reading: some of this value's words, beside those of the one before. Of values written in place.
pub const PARTLY: u64 = 1 << 63;

/// A value that an operation leaves.
#[derive(Copy, Clone, Debug)]
struct Version {
    op: OpId,
    value: u64,
    /// Written word by word over the one before: visible, whole or in part, while the operation is not in.
    in_place: bool,
}

/// The life of one register.
#[derive(Clone, Debug, Default)]
struct Register {
    initial: u64,
    versions: Vec<Version>,
}
impl Register {
    /// Its value when so many of its versions are in.
    fn after(&self, versions: usize) -> u64 {
        versions.checked_sub(1).map_or(self.initial, |v| self.versions[v].value)
    }
}

/// What happened in a run, gathered before it is digested.
#[derive(Clone, Debug)]
pub struct Builder {
    start: Vec<u32>,
    registers: BTreeMap<u64, Register>,
    edges: Vec<(OpId, OpId)>,
}

/// A digested run: conflict clocks and the versions of every register.
#[derive(Clone, Debug)]
pub struct History {
    threads: usize,
    start: Vec<u32>,
    registers: BTreeMap<u64, Register>,
    /// Per operation and thread: how many operations of that thread are in when this one is (itself included).
    need: Vec<u32>,
    /// Per operation and thread: how many operations of that thread can be in when this one is not.
    limit: Vec<u32>,
    fault: Option<String>,
}

impl Builder {
    /// A history of the run's operations, so far without effects.
    pub fn new(ops: &[OpRecord]) -> Builder {
        let threads = ops.iter().map(|o| o.thread + 1).max().unwrap_or(0);
        let mut counts = vec![0; threads as usize];
        for op in ops {
            let c = &mut counts[op.thread as usize];
            *c = (*c).max(op.k + 1);
        }
        let mut start = vec![0];
        for c in counts {
            start.push(start[start.len() - 1] + c);
        }
        Builder {
            start,
            registers: BTreeMap::new(),
            edges: Vec::new(),
        }
    }
    fn id(&self, op: (u32, u32)) -> OpId {
        self.start[op.0 as usize] + op.1
    }
    /// Declares a register's initial value (0 unless declared).
    pub fn initial(&mut self, register: u64, value: u64) {
        self.registers.entry(register).or_default().initial = value;
    }
    /// Operation `op` = (thread, k) leaves `value` in `register`. Calls for one register come in conflict order; a second
    /// call by the same operation replaces the first, because a cut never shows the inside of an operation.
    pub fn write(&mut self, register: u64, op: (u32, u32), value: u64) {
        self.version(register, op, value, false);
    }
    /// The same, word by word over the value before, as a write that is not atomic does.
    pub fn write_in_place(&mut self, register: u64, op: (u32, u32), value: u64) {
        self.version(register, op, value, true);
    }
    fn version(&mut self, register: u64, op: (u32, u32), value: u64, in_place: bool) {
        let id = self.id(op);
        let r = self.registers.entry(register).or_default();
        let before = r.versions.last().map(|v| v.op);
        if before == Some(id) {
            r.versions.pop();
        } else if let Some(b) = before {
            self.edges.push((b, id));
        }
        let version = Version {
            op: id,
            value,
            in_place,
        };
        self.registers.entry(register).or_default().versions.push(version);
    }
    /// If `after` is in the cut, so is `before`.
    pub fn depends(&mut self, before: (u32, u32), after: (u32, u32)) {
        let edge = (self.id(before), self.id(after));
        self.edges.push(edge);
    }
    /// Digests the run. An order of conflicts with a cycle is kept as a fault that every audit reports.
    pub fn build(mut self) -> History {
        for w in self.start.windows(2) {
            self.edges.extend((w[0] + 1..w[1]).map(|id| (id - 1, id)));
        }
        let (threads, ops) = (self.start.len() - 1, self.start[self.start.len() - 1] as usize);
        let fault = None;
        let mut h = History {
            threads,
            start: self.start,
            registers: self.registers,
            need: Vec::new(),
            limit: Vec::new(),
            fault,
        };
        match topological(ops, &self.edges) {
            Some(order) => h.clock(ops, &order, &self.edges),
            None => h.fault = Some("the order of the run's conflicting operations has a cycle".into()),
        }
        h
    }
    /// The same of a run that is inconsistent in itself unless it is `explained`: `why` is what every audit reports then.
    pub fn build_if(self, explained: bool, why: &str) -> History {
        let mut history = self.build();
        if !explained {
            history.set_fault(why);
        }
        history
    }
}

/// Adjacency in compressed rows: `rows[i]..rows[i+1]` indexes the successors of `i`.
fn rows(ops: usize, edges: impl Iterator<Item = (OpId, OpId)> + Clone) -> (Vec<u32>, Vec<OpId>) {
    let mut begin = vec![0u32; ops + 1];
    for (a, _) in edges.clone() {
        begin[a as usize + 1] += 1;
    }
    for i in 0..ops {
        begin[i + 1] += begin[i];
    }
    let (mut fill, mut out) = (begin.clone(), vec![0; begin[ops] as usize]);
    for (a, b) in edges {
        out[fill[a as usize] as usize] = b;
        fill[a as usize] += 1;
    }
    (begin, out)
}

fn topological(ops: usize, edges: &[(OpId, OpId)]) -> Option<Vec<OpId>> {
    let (begin, out) = rows(ops, edges.iter().copied());
    let mut missing = vec![0u32; ops];
    edges.iter().for_each(|e| missing[e.1 as usize] += 1);
    let mut order: Vec<OpId> = (0..ops as u32).filter(|i| missing[*i as usize] == 0).collect();
    let mut done = 0;
    while done < order.len() {
        let i = order[done] as usize;
        done += 1;
        for next in &out[begin[i] as usize..begin[i + 1] as usize] {
            missing[*next as usize] -= 1;
            if missing[*next as usize] == 0 {
                order.push(*next);
            }
        }
    }
    (done == ops).then_some(order)
}

impl History {
    fn clock(&mut self, ops: usize, order: &[OpId], edges: &[(OpId, OpId)]) {
        let t = self.threads;
        let (begin, out) = rows(ops, edges.iter().copied());
        self.need = vec![0; ops * t];
        self.limit = vec![u32::MAX; ops * t];
        for id in 0..ops {
            let (thread, k) = self.op(id as u32);
            self.need[id * t + thread] = k + 1;
            self.limit[id * t + thread] = k;
        }
        for id in order.iter().map(|i| *i as usize) {
            for next in out[begin[id] as usize..begin[id + 1] as usize]
                .iter()
                .map(|n| *n as usize)
            {
                for u in 0..t {
                    self.need[next * t + u] = self.need[next * t + u].max(self.need[id * t + u]);
                }
            }
        }
        for id in order.iter().rev().map(|i| *i as usize) {
            for next in out[begin[id] as usize..begin[id + 1] as usize]
                .iter()
                .map(|n| *n as usize)
            {
                for u in 0..t {
                    self.limit[id * t + u] = self.limit[id * t + u].min(self.limit[next * t + u]);
                }
            }
        }
    }
    /// Thread and index of an operation.
    fn op(&self, id: OpId) -> (usize, u32) {
        let thread = self.start.partition_point(|s| *s <= id) - 1;
        (thread, id - self.start[thread])
    }
    /// Why the run itself is inconsistent, if it is: then no crash state can be judged.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
    /// Marks the run itself as inconsistent.
    pub fn set_fault(&mut self, why: impl Into<String>) {
        self.fault.get_or_insert(why.into());
    }
    /// Every register that some operation wrote or that was declared, in order.
    pub fn registers(&self) -> impl Iterator<Item = u64> + '_ {
        self.registers.keys().copied()
    }
    /// Every register that some operation wrote, in order.
    pub fn written(&self) -> impl Iterator<Item = u64> + '_ {
        let written = self.registers.iter().filter(|r| !r.1.versions.is_empty());
        written.map(|r| *r.0)
    }
    /// The initial value of a known register.
    pub fn initial(&self, register: u64) -> Option<u64> {
        self.registers.get(&register).map(|r| r.initial)
    }
    /// The bounds before anything is read: acknowledged operations are in, operations that had not begun are out.
    pub fn cut(&self, crash: &CrashPoint) -> Cut {
        let hi = |s: &[u32]| self.fault.as_ref().map_or(s[1] - s[0], |_| u32::MAX);
        let mut cut = Cut {
            lo: vec![0; self.threads].into(),
            hi: self.start.windows(2).map(hi).collect::<Vec<u32>>().into(),
            begun: crash.begun.clone().into(),
            pending: Vec::new(),
        };
        if self.fault.is_some() {
            return cut;
        }
        for u in 0..self.threads {
            let count = self.start[u + 1] - self.start[u];
            let of = |list: &[u32]| list.get(u).copied().unwrap_or(0);
            let (acked, begun) = (of(&crash.acked), of(&crash.begun));
            let explained = acked > 0
                && count > 0
                && !planted!(
                    "oracle.acknowledged-may-be-lost",
                    "an acknowledged operation is in every explanation"
                );
            if explained {
                self.include(&mut cut, self.start[u] + acked.min(count) - 1);
            }
            if begun < count {
                self.exclude(&mut cut, self.start[u] + begun);
            }
        }
        cut
    }
    fn include(&self, cut: &mut Cut, id: OpId) {
        let row = &self.need[id as usize * self.threads..][..self.threads];
        tighten(&mut cut.lo, row, u32::max);
    }
    fn exclude(&self, cut: &mut Cut, id: OpId) {
        let row = &self.limit[id as usize * self.threads..][..self.threads];
        tighten(&mut cut.hi, row, u32::min);
    }
    /// Narrows the cut: the recovered memory holds `value` in `register`. An unknown register may hold nothing but 0.
    pub fn observe(&self, cut: &mut Cut, register: u64, value: u64) -> Result<(), NoPrefix> {
        match self.registers.get(&register) {
            None if value == 0 => return Ok(()),
            None => return Err(NoPrefix),
            // What no operation wrote is the same in every cut.
            Some(r) if r.versions.is_empty() => return cut.holds(r.initial == value),
            Some(_) => {}
        }
        let moved = self.narrowed(cut, register, value)?;
        // What was pending was read at a fixed point: unless a bound has moved since, it has nothing new to say.
        if moved && !cut.pending.is_empty() {
            self.settle(cut)?;
        }
        Ok(())
    }
    /// As [`History::narrow`], with the reading kept while it is pending; true if a bound moved.
    fn narrowed(&self, cut: &mut Cut, register: u64, value: u64) -> Result<bool, NoPrefix> {
        let (open, moved) = self.narrow(cut, register, value)?;
        if open {
            // Readings are a set: in order, equal states of an audit meet.
            let reading = (register, value);
            let (Ok(at) | Err(at)) = cut.pending.binary_search(&reading);
            cut.pending.insert(at, reading);
        }
        Ok(moved)
    }
    /// Repeats pending readings until nothing moves.
    fn settle(&self, cut: &mut Cut) -> Result<(), NoPrefix> {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for (register, value) in std::mem::take(&mut cut.pending) {
                moved |= self.narrowed(cut, register, value)?;
            }
        }
        Ok(())
    }
    /// The value that may be written over a register's while so many of its versions are in.
    fn coming(&self, cut: &Cut, r: &Register, versions: usize) -> Option<u64> {
        let next = r.versions.get(versions).filter(|v| v.in_place)?;
        let (thread, k) = self.op(next.op);
        let begun = cut.begun.get(thread).copied().unwrap_or(0);
        (k < begun).then_some(next.value)
    }
    /// The one value that every cut within the bounds leaves in a register, if they agree on its last writer.
    pub fn settled_value(&self, cut: &Cut, register: u64) -> Option<u64> {
        let r = self.registers.get(&register)?;
        let (least, most) = self.bounds(cut, r);
        (least == most && self.coming(cut, r, least).is_none()).then(|| r.after(least))
    }
    /// How many of a register's versions are in: at least and at most. Both are prefixes, because cuts are closed.
    fn bounds(&self, cut: &Cut, r: &Register) -> (usize, usize) {
        let within = |bound: &[u32], id: OpId| {
            let (thread, k) = self.op(id);
            k < bound[thread]
        };
        let least = r.versions.partition_point(|v| within(&cut.lo, v.op));
        let more = r.versions[least..].partition_point(|v| within(&cut.hi, v.op));
        (least, least + more)
    }
    /// Narrows by one reading; whether it still fits several places of the register's history, and whether a bound moved.
    fn narrow(&self, cut: &mut Cut, register: u64, value: u64) -> Result<(bool, bool), NoPrefix> {
        let r = &self.registers[&register];
        let (least, most) = self.bounds(cut, r);
        let holds = |p: &usize| {
            let coming = self.coming(cut, r, *p);
            value == r.after(*p) || coming.is_some_and(|v| value == v || value == v | PARTLY)
        };
        let first = (least..=most).find(holds).ok_or(NoPrefix)?;
        let last = (first..=most).rev().find(holds).ok_or(NoPrefix)?;
        if first > least {
            self.include(cut, r.versions[first - 1].op);
        }
        if last < most {
            self.exclude(cut, r.versions[last].op);
        }
        cut.holds(true)?;
        Ok((first < last, first > least || last < most))
    }
}

#[cfg(test)]
#[path = "oracle_tests.rs"]
mod tests;
