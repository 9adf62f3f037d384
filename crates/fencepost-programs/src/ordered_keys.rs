//! What the audits of search trees share: a walk meets pairs in ascending order of their keys, and each is judged against the operations.

use crate::oracle::{Cut, History, NoPrefix};
use fencepost_kernel::{Addr, At, CrashPoint, Flow, Mem, Violation};
use std::ops::Range;

/// What the oracle knows of a run over a dictionary.
#[derive(Clone, Debug)]
pub struct KeyModel {
    pub(crate) history: History,
    /// Every key that may be in the structure, ascending.
    pub(crate) keys: Vec<u64>,
    /// Those that stood there before the run, ascending, with their values.
    pub(crate) planted: Vec<(u64, u64)>,
    /// Those that operations wrote, ascending.
    pub(crate) written: Vec<u64>,
    /// Of every key of `keys`: the value it has in every cut, where no operation writes it.
    fixed: Vec<Option<u64>>,
}

/// How far a walk has judged the keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ascent {
    /// Next of the model's keys that has not been judged.
    next: usize,
    cut: Cut,
}

/// One step of a walk: the state after it, or `None` at its end.
pub type Step<S> = Result<Option<S>, Violation>;

/// What a step leads to.
pub(crate) fn flow<S>(step: Step<S>) -> Flow<S> {
    match step {
        Ok(Some(next)) => Flow::Next(next),
        Ok(None) => Flow::Done(Ok(())),
        Err(v) => Flow::Done(Err(v)),
    }
}
/// A violation that the node at `at` shows.
pub fn wrong(at: u64, why: &str) -> Violation {
    Violation::at(Addr(at), why)
}
/// A word of a node.
pub fn get<M: Mem<Dep = ()>>(m: &mut M, node: u64, offset: u64) -> u64 {
    m.load(At::new(Addr(node)).field(offset)).v
}

impl KeyModel {
    /// The keys of this history.
    pub(crate) fn new(history: History) -> KeyModel {
        let keys: Vec<u64> = history.registers().collect();
        let before = |key: &u64| (*key, history.initial(*key).unwrap_or(0));
        let all: Vec<(u64, u64)> = keys.iter().map(before).collect();
        let written: Vec<u64> = history.written().collect();
        let stands = |pair: &(u64, u64)| written.binary_search(&pair.0).is_err().then_some(pair.1);
        KeyModel {
            fixed: all.iter().map(stands).collect(),
            planted: all.into_iter().filter(|pair| pair.1 != 0).collect(),
            written,
            history,
            keys,
        }
    }
    /// Whether a cut within the bounds leaves this value in the key at this place of `keys`; narrows the bounds to those that do.
    fn observe(&self, cut: &mut Cut, place: usize, value: u64) -> Result<(), NoPrefix> {
        match self.fixed[place] {
            Some(fixed) => cut.holds(fixed == value),
            None => self.history.observe(cut, self.keys[place], value),
        }
    }
    /// The keys of `from..=to` that operations wrote.
    pub(crate) fn written_within(&self, from: u64, to: u64) -> &[u64] {
        let first = self.written.partition_point(|k| *k < from);
        let end = self.written.partition_point(|k| *k <= to);
        &self.written[first..end]
    }
    /// The value that a key had before the run; 0: none.
    pub(crate) fn planted_value(&self, key: u64) -> u64 {
        let at = self.planted.binary_search_by_key(&key, |pair| pair.0);
        at.map_or(0, |i| self.planted[i].1)
    }
    /// What contradicts itself in the run, before any crash.
    pub(crate) fn sound(&self) -> Result<(), Violation> {
        match self.history.fault() {
            None => Ok(()),
            Some(fault) => Err(Violation {
                why: fault.into(),
                at: None,
            }),
        }
    }
}

impl Ascent {
    /// Before the first key.
    pub fn start(model: &KeyModel, crash: &CrashPoint) -> Ascent {
        Ascent {
            next: 0,
            cut: model.history.cut(crash),
        }
    }
    /// The walk meets a pair: keys ascend over the whole walk, the keys passed over are absent, and this one has its value. `at` shows it.
    pub fn pair(&mut self, model: &KeyModel, at: u64, key: u64, value: u64) -> Result<(), Violation> {
        self.in_order(model, at, key)?;
        let place = self.next;
        self.next += 1;
        // The oracle's 0 means absent.
        if value == 0 {
            return Err(wrong(at, "a key has no value"));
        }
        let seen = model.observe(&mut self.cut, place, value);
        seen.map_err(|_| wrong(at, "a key has the value of no prefix of the operations"))
    }
    /// The walk passes over a part that is as set-up left it and holds exactly these of the planted pairs, one at least. `at` shows it.
    pub(crate) fn pass_over(&mut self, model: &KeyModel, at: u64, planted: Range<usize>) -> Result<(), Violation> {
        let (first, last) = (model.planted[planted.start].0, model.planted[planted.end - 1].0);
        self.in_order(model, at, first)?;
        for key in model.written_within(first, last) {
            let seen = model.history.observe(&mut self.cut, *key, model.planted_value(*key));
            seen.map_err(|_| wrong(at, "a key has the value of no prefix of the operations"))?;
        }
        self.next = model.keys.partition_point(|k| *k <= last);
        Ok(())
    }
    /// The walk comes to a key: those passed over are absent, and it is the next of those that may be there.
    fn in_order(&mut self, model: &KeyModel, at: u64, key: u64) -> Result<(), Violation> {
        self.absent_before(model, Some(key))?;
        match model.keys.get(self.next) == Some(&key) {
            true => Ok(()),
            false => Err(wrong(at, "a key is out of order, twice there or of no operation")),
        }
    }
    /// The walk ends: the keys that it did not reach are absent.
    pub fn finish(&mut self, model: &KeyModel) -> Result<(), Violation> {
        self.absent_before(model, None)
    }
    /// Every key before this one (all, if there is none) that was passed over is absent.
    fn absent_before(&mut self, model: &KeyModel, key: Option<u64>) -> Result<(), Violation> {
        while let Some(passed) = model.keys.get(self.next).filter(|k| key.is_none_or(|key| **k < key)) {
            let seen = model.observe(&mut self.cut, self.next, 0);
            seen.map_err(|_| Violation {
                why: format!("key {passed:#x} is absent in no prefix of the operations"),
                at: None,
            })?;
            self.next += 1;
        }
        Ok(())
    }
}
