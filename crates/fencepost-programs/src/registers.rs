//! The step-wise audit of programs whose recovered state is read register by register: cells of an array, rows of a table.

use crate::oracle::{Cut, History};
use fencepost_kernel::{Addr, CrashPoint, Flow, Violation};

/// What the oracle knows of a run, and the registers to read, in order.
#[derive(Clone, Debug)]
pub struct Registers {
    history: History,
    list: Vec<u64>,
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
        Registers { history, list }
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
        for register in self.list[next..].iter().take(at_once) {
            let settled = self.history.settled_value(&cut, *register);
            match read(*register) {
                Err(v) => return Flow::Done(Err(v)),
                Ok((value, _)) if settled == Some(value) => {}
                Ok((value, at)) if self.history.observe(&mut cut, *register, value).is_err() => {
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
