//! The step-wise audit of programs whose recovered state is read register by register: cells of an array, rows of a table.

use crate::layout::Rows;
use crate::oracle::between::Writes;
use crate::oracle::{Cut, History};
use fencepost_kernel::{Addr, CrashPoint, Flow, Judged, Mem, Violation};
use std::ops::Range;
use std::sync::OnceLock;

/// What the oracle knows of a run, and the registers to read, in order.
#[derive(Clone, Debug)]
pub struct Registers {
    history: History,
    list: Vec<u64>,
    writes: OnceLock<Writes>,
}

/// Registers read in the first step at most, while every cut within the bounds leaves the same value in them; after a step of nothing
/// else twice as many, so that the steps of an audit grow with the logarithm of the registers.
const AT_ONCE: usize = 16;

/// State between two steps of the audit: the next register, and what is known so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisterAudit {
    next: usize,
    at_once: usize,
    cut: Cut,
}

impl Registers {
    /// Judges every register that the history knows: what an operation of the run wrote or was declared.
    pub fn new(history: History) -> Registers {
        let list = history.registers().collect();
        let writes = OnceLock::new();
        Registers { history, list, writes }
    }
    /// First state of the audit of one crash point.
    pub fn start(&self, crash: &CrashPoint) -> RegisterAudit {
        RegisterAudit {
            next: 0,
            at_once: AT_ONCE,
            cut: self.history.cut(crash),
        }
    }
    /// One step: one register whose value decides something, or several that can hold one value only (any other value ends
    /// the audit, so that reading them together opens no combinations). `read` returns the value that memory holds in a register and the address that shows it, or what is wrong with it;
    /// `wrong` says what it means that no prefix of the operations leaves that value.
    pub fn step(
        &self,
        state: RegisterAudit,
        wrong: &str,
        mut read: impl FnMut(u64) -> Result<(u64, Addr), Violation>,
    ) -> Flow<RegisterAudit> {
        self.steps(&mut (), state, wrong, None, |(), _| {}, |(), register| read(register))
    }
    /// The same of registers each of which is a row of a table and shown by nothing else: what an earlier crash point has shown of rows
    /// that are as they were, and have to be, is not read again.
    pub fn step_rows<M: Mem<Dep = ()>>(
        &self,
        (rows, m): (&Rows, &mut M),
        state: RegisterAudit,
        wrong: &str,
        read: impl FnMut(&mut M, u64) -> Result<(u64, Addr), Violation>,
    ) -> Flow<RegisterAudit> {
        let due = m.judged().map(|judged| self.due(rows, &judged, &state.cut));
        let pass = |m: &mut M, places: Range<usize>| {
            let (first, last) = (self.list[places.start], self.list[places.end - 1]);
            m.relies_on(rows.part(first..last + 1));
        };
        self.steps(m, state, wrong, due.as_deref(), pass, read)
    }
    /// Places of the registers, ascending, that an earlier crash point has not judged for this one.
    fn due(&self, rows: &Rows, judged: &Judged, cut: &Cut) -> Vec<u32> {
        let writes = self.writes.get_or_init(|| self.history.writes());
        let mut due: Vec<u32> = self.history.between(writes, &judged.crash, cut).collect();
        for row in judged.changed.iter().flat_map(|line| rows.in_line(*line)) {
            due.extend(self.list.binary_search(&row).ok().map(|place| place as u32));
        }
        due.sort_unstable();
        due.dedup();
        due
    }
    /// One step over memory `m`: registers at places that are not `due` are passed over, `due` or not they count alike.
    fn steps<M>(
        &self,
        m: &mut M,
        state: RegisterAudit,
        wrong: &str,
        due: Option<&[u32]>,
        mut pass: impl FnMut(&mut M, Range<usize>),
        mut read: impl FnMut(&mut M, u64) -> Result<(u64, Addr), Violation>,
    ) -> Flow<RegisterAudit> {
        let RegisterAudit {
            mut next,
            mut at_once,
            mut cut,
        } = state;
        if let Some(fault) = self.history.fault() {
            return Flow::Done(Err(Violation {
                why: fault.into(),
                at: None,
            }));
        }
        if next == self.list.len() {
            return Flow::Done(Ok(()));
        }
        let end = self.list.len().min(next.saturating_add(at_once));
        while next < end {
            let first_due = |due: &[u32]| due.get(due.partition_point(|place| (*place as usize) < next)).copied();
            let until = due.map_or(next, |due| first_due(due).map_or(end, |place| end.min(place as usize)));
            if until > next {
                pass(m, next..until);
                next = until;
                continue;
            }
            let register = self.list[next];
            let settled = self.history.settled_value(&cut, register);
            match read(m, register) {
                Err(v) => return Flow::Done(Err(v)),
                Ok((value, _)) if settled == Some(value) => {}
                Ok((value, at)) if self.history.observe(&mut cut, register, value).is_err() => {
                    return Flow::Done(Err(Violation::at(at, wrong)));
                }
                Ok(_) => {}
            }
            next += 1;
            if settled.is_none() {
                return Flow::Next(RegisterAudit { next, at_once, cut });
            }
        }
        at_once *= 2;
        Flow::Next(RegisterAudit { next, at_once, cut })
    }
}
