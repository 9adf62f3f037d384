//! What memory may hold after a crash.

use super::statements::{Plan, named, value};
use crate::oracle::{Builder, Cut, History};
use fencepost_kernel::{Addr, CrashPoint, Flow, Mem, OpRecord, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// Kind of an operation that stored to persistent memory, and ended with its lines flushed and a fence.
pub(super) const SEALED: u8 = 1;
/// Kind of an operation that was a hardware transaction and stored.
pub(super) const COMMITTED: u8 = 2;

/// State between two steps of the audit: the next word to look at, and what is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RandomAudit {
    /// Without transactions.
    Plain {
        /// Index of the word.
        word: usize,
        /// How far each thread had come.
        crash: CrashPoint,
    },
    /// With transactions.
    Transactions {
        /// Index of the word.
        word: usize,
        /// Which prefixes of the transactions are still possible.
        cut: Cut,
    },
}

/// A run, digested.
#[derive(Clone, Debug)]
pub struct Model {
    /// Every word that some operation of the run stored to.
    words: Vec<Addr>,
    /// Which values each of them may hold, in the order in which each thread stored them.
    stored: BTreeMap<Addr, BTreeSet<u64>>,
    /// Per word: the last value that each operation left there that flushed and fenced all it stored.
    sealed: BTreeMap<Addr, Vec<u64>>,
    /// Where operations were transactions.
    history: Option<History>,
}

impl Model {
    pub(super) fn new(plan: &Plan, ops: &[OpRecord]) -> Model {
        let transactions = ops.iter().any(|o| o.outcome.kind == COMMITTED);
        let mut model = Model {
            words: Vec::new(),
            stored: BTreeMap::new(),
            sealed: BTreeMap::new(),
            history: transactions.then(|| history(plan, ops)),
        };
        if let Some(history) = &model.history {
            model.words = history.registers().map(Addr).collect();
            return model;
        }
        for o in ops {
            let mut last = BTreeMap::new();
            for i in 0..plan.params.length {
                let to = plan.statement(o.thread, o.k, i).stores_to();
                for at in to.filter(|a| a.is_persistent()) {
                    model.stored.entry(at).or_default().insert(value(o.thread, o.k, i));
                    last.insert(at, value(o.thread, o.k, i));
                }
            }
            if o.outcome.kind == SEALED {
                last.into_iter()
                    .for_each(|(at, v)| model.sealed.entry(at).or_default().push(v));
            }
        }
        model.words = model.stored.keys().copied().collect();
        model
    }
    pub(super) fn start(&self, crash: &CrashPoint) -> RandomAudit {
        match &self.history {
            None => RandomAudit::Plain {
                word: 0,
                crash: crash.clone(),
            },
            Some(history) => RandomAudit::Transactions {
                word: 0,
                cut: history.cut(crash),
            },
        }
    }
    /// Looks at one word.
    pub(super) fn step<M: Mem<Dep = ()>>(&self, m: &mut M, state: RandomAudit) -> Flow<RandomAudit> {
        let (RandomAudit::Plain { word, .. } | RandomAudit::Transactions { word, .. }) = state;
        let Some(at) = self.words.get(word).copied() else {
            let fault = self.history.as_ref().and_then(History::fault);
            let fault = fault.map(|why| Violation {
                why: why.into(),
                at: None,
            });
            return Flow::Done(fault.map_or(Ok(()), Err));
        };
        let held = m.load(fencepost_kernel::At::new(at)).v;
        let (next, wrong) = match (state, &self.history) {
            (RandomAudit::Transactions { mut cut, .. }, Some(history)) => {
                let wrong = history.observe(&mut cut, at.0, held).is_err();
                let why = wrong.then_some("memory is that of no prefix of the transactions");
                (RandomAudit::Transactions { word: word + 1, cut }, why)
            }
            (RandomAudit::Plain { crash, .. }, _) => {
                let why = self.refuse(&crash, at, held);
                (RandomAudit::Plain { word: word + 1, crash }, why)
            }
            (other, None) => (other, Some("transactions without a history")),
        };
        match wrong {
            None => Flow::Next(next),
            Some(why) => Flow::Done(Err(Violation::at(at, why))),
        }
    }
    /// Why the word cannot hold this value, if it cannot.
    fn refuse(&self, crash: &CrashPoint, at: Addr, held: u64) -> Option<&'static str> {
        let bound = |of: &[u32], thread: u32| of.get(thread as usize).copied().unwrap_or(0);
        let acked = |v: &&u64| named(**v).is_some_and(|(t, k, _)| k < bound(&crash.acked, t));
        let mut sealed = self.sealed.get(&at).into_iter().flatten().filter(acked);
        if held == 0 {
            return sealed.next().map(|_| "an acknowledged store is lost");
        }
        if !self.stored.get(&at).is_some_and(|s| s.contains(&held)) {
            return Some("a value that was never stored there");
        }
        let (thread, k, _) = named(held)?;
        if k >= bound(&crash.begun, thread) {
            return Some("a value of an operation that had not begun");
        }
        // Values of one thread grow with the program's order; how stores of several threads overwrote one another is not known.
        let newer = sealed.any(|v| *v > held && named(*v).is_some_and(|n| n.0 == thread));
        newer.then_some("an acknowledged store was undone")
    }
}

/// The transactions as the oracle of prefixes takes them: what each left in a word, and whose value it read.
fn history(plan: &Plan, ops: &[OpRecord]) -> History {
    let mut builder = Builder::new(ops);
    let mut writer: BTreeMap<Addr, (u32, u32)> = BTreeMap::new();
    for o in ops.iter().filter(|o| o.outcome.kind == COMMITTED) {
        let op = (o.thread, o.k);
        for (i, s) in plan.transaction(o.thread, o.k).statements.iter().enumerate() {
            if let Some(read) = s.loads_from().and_then(|a| writer.get(&a)).filter(|w| **w != op) {
                builder.depends(*read, op);
            }
            for at in s.stores_to() {
                builder.write(at.0, op, value(o.thread, o.k, i as u8));
                writer.insert(at, op);
            }
        }
    }
    builder.build()
}
