//! The operational x86 model: per-thread store buffers and per-line persist queues (PTSOsyn style), by exhaustive search.

mod drain;
mod issue;
pub(super) mod record;

use super::layout::Layout;
use crate::format::op::FlushKind;
use crate::format::test::Thread;
use crate::paths::exec::{Registers, Unrolled};
use crate::paths::program::{Program, ProgramError};
use fencepost_contract::LineOrder;
use fencepost_kernel::{Fence, Trace};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// What waits in a store buffer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Buffered {
    Store(usize, u64, bool),
    Flush(usize, FlushKind),
    Sfence,
}

/// What waits to become durable.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Queued {
    Write(usize, u64),
    Flush(usize),
}

/// What a step does that others may notice; words by number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Effect {
    Nothing,
    Store(usize, u64, bool),
    Load(usize),
    /// The value written, if any.
    Rmw(usize, Option<u64>),
    Flush(usize, FlushKind),
    Fence(Fence),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PerThread {
    at: usize,
    regs: Registers,
    back: Unrolled,
    buffer: Vec<Buffered>,
    /// The path jumps back too often or leaves memory: it is not counted.
    lost: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    hw_threads: Vec<PerThread>,
    /// Coherent memory: what loads see beyond the thread's own buffer.
    memory: Vec<u64>,
    nvm: Vec<u64>,
    /// One per line (its first word), or one per word without line order.
    queues: Vec<Vec<Queued>>,
}

/// The machine running one test.
pub struct Machine<'p> {
    threads: &'p [Thread],
    layout: &'p Layout,
    line_order: LineOrder,
    /// With persist queues, or only what other threads can see.
    persists: bool,
    /// Non-temporal stores leave the buffer in program order with other stores, as where they order later stores.
    nt_in_order: bool,
}

/// A final state: registers of each thread (by number) and memory (by word).
pub type FinalState = (Vec<Vec<u64>>, Vec<u64>);

/// A step: who, what, and the state after it.
type Step = (usize, Effect, State);

/// States looked at before a search is given up.
const MAX_STATES: usize = 3_000_000;

impl<'p> Machine<'p> {
    /// A machine with persist queues.
    pub fn new(program: &Program<'p>, layout: &'p Layout, line_order: LineOrder) -> Machine<'p> {
        Machine {
            threads: &program.test.threads,
            layout,
            line_order,
            persists: true,
            nt_in_order: false,
        }
    }
    /// Without persist queues: for traces and what can be seen.
    #[must_use]
    pub fn visible(mut self, nt_in_order: bool) -> Machine<'p> {
        (self.persists, self.nt_in_order) = (false, nt_in_order);
        self
    }

    fn start(&self) -> State {
        let hw_thread = |thread: &Thread| PerThread {
            at: 0,
            regs: Registers::initial(thread),
            back: Unrolled::default(),
            buffer: Vec::new(),
            lost: false,
        };
        let words = &self.layout.words;
        let mut state = State {
            hw_threads: self.threads.iter().map(hw_thread).collect(),
            memory: words.iter().map(|w| w.initial).collect(),
            nvm: words.iter().map(|w| w.initial).collect(),
            queues: vec![Vec::new(); words.len()],
        };
        (0..state.hw_threads.len()).for_each(|t| self.settle(&mut state, t));
        state
    }

    /// Every step possible.
    fn steps(&self, s: &State) -> Vec<Step> {
        let mut out = Vec::new();
        for t in 0..s.hw_threads.len() {
            self.issue(s, t, &mut out);
            for i in 0..s.hw_threads[t].buffer.len() {
                self.drain(s, t, i, &mut out);
            }
        }
        for (q, queue) in s.queues.iter().enumerate() {
            if let Some(head) = queue.first() {
                let mut n = s.clone();
                n.queues[q].remove(0);
                if let Queued::Write(word, value) = *head {
                    n.nvm[word] = value;
                }
                out.push((0, Effect::Nothing, n));
            }
        }
        out
    }

    fn search(&self, mut visit: impl FnMut(&State, bool)) -> Result<(), ProgramError> {
        let mut seen = FxHashSet::default();
        let mut work = vec![self.start()];
        while let Some(s) = work.pop() {
            if seen.contains(&s) {
                continue;
            }
            if seen.len() > MAX_STATES {
                return Err(ProgramError::TooManyCandidates);
            }
            let steps = self.steps(&s);
            let ended =
                (s.hw_threads.iter().zip(self.threads)).all(|(h, t)| h.at >= t.code.len() && h.buffer.is_empty());
            visit(&s, ended && !s.hw_threads.iter().any(|h| h.lost));
            seen.insert(s);
            work.extend(steps.into_iter().map(|(_, _, n)| n));
        }
        Ok(())
    }

    /// Every content of persistent words in NVM at any time.
    ///
    /// # Errors
    /// If there are too many states.
    pub fn crash_states(&self) -> Result<BTreeSet<Vec<u64>>, ProgramError> {
        let mut states = BTreeSet::new();
        self.search(|s, _| {
            states.insert(self.persistent(&s.nvm));
        })?;
        Ok(states)
    }
    /// Every content of persistent words in coherent memory at any time.
    ///
    /// # Errors
    /// If there are too many states.
    pub fn visible_states(&self) -> Result<BTreeSet<Vec<u64>>, ProgramError> {
        let mut states = BTreeSet::new();
        self.search(|s, _| {
            states.insert(self.persistent(&s.memory));
        })?;
        Ok(states)
    }
    /// Every final state.
    ///
    /// # Errors
    /// If there are too many states.
    pub fn final_states(&self) -> Result<BTreeSet<FinalState>, ProgramError> {
        let mut states = BTreeSet::new();
        self.search(|s, ended| {
            if ended {
                let registers = s.hw_threads.iter().map(|h| h.regs.values()).collect();
                states.insert((registers, s.memory.clone()));
            }
        })?;
        Ok(states)
    }
    fn persistent(&self, memory: &[u64]) -> Vec<u64> {
        let words = self.layout.words.iter().zip(memory);
        words.filter(|(w, _)| w.persistent).map(|(_, v)| *v).collect()
    }

    /// Calls `visit` with every complete execution, as a trace in effect order.
    ///
    /// # Errors
    /// If there are too many.
    pub fn traces(&self, mut visit: impl FnMut(&Trace)) -> Result<(), ProgramError> {
        let mut seen = FxHashSet::default();
        let mut work = vec![(self.start(), Vec::new())];
        while let Some((s, effects)) = work.pop() {
            let steps = self.steps(&s);
            if steps.is_empty() {
                visit(&self.trace(&effects));
                continue;
            }
            for (thread, effect, next) in steps {
                let mut longer = effects.clone();
                if effect != Effect::Nothing {
                    longer.push((thread as u8, effect));
                }
                if seen.insert((next.clone(), longer.clone())) {
                    work.push((next, longer));
                }
            }
            if seen.len() > MAX_STATES / 8 {
                return Err(ProgramError::TooManyCandidates);
            }
        }
        Ok(())
    }
}
