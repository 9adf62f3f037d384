//! What can be run on a crash state: step machines, programs of the kernel's kind, plain functions.

use super::before::Before;
use super::memory::{AnyMem, CrashMem};
use fencepost_kernel::{CrashPoint, Flow, Image, OpRecord, Program};
use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

/// Recovery and oracle as a chain of steps.
///
/// Everything that outlives a step must be in its state, and everything that depends on the crash point too: that is
/// what makes it sound to run equal continuations once, also across crash points. A step may read any number of
/// words, but all combinations of the values they can have are tried, so small steps explore faster.
pub trait Recovery {
    /// What outlives a step.
    type State: Clone + Eq + Hash + Debug;
    /// The first state. `crash` says what had begun and what had been acknowledged when the power failed.
    fn start(&self, crash: &CrashPoint) -> Self::State;
    /// One step: reads the crash image, writes repairs, decides.
    fn step(&self, m: &mut CrashMem<'_>, state: Self::State) -> Flow<Self::State>;
}

/// A [`Recovery`] made of two closures.
pub struct Steps<S, A, B> {
    start: A,
    step: B,
    state: PhantomData<fn() -> S>,
}
impl<S, A, B> Steps<S, A, B>
where
    S: Clone + Eq + Hash + Debug,
    A: Fn(&CrashPoint) -> S,
    B: Fn(&mut CrashMem<'_>, S) -> Flow<S>,
{
    /// Begins at `start` and repeats `step`.
    pub fn new(start: A, step: B) -> Steps<S, A, B> {
        Steps {
            start,
            step,
            state: PhantomData,
        }
    }
}
impl<S, A, B> Recovery for Steps<S, A, B>
where
    S: Clone + Eq + Hash + Debug,
    A: Fn(&CrashPoint) -> S,
    B: Fn(&mut CrashMem<'_>, S) -> Flow<S>,
{
    type State = S;
    fn start(&self, crash: &CrashPoint) -> S {
        (self.start)(crash)
    }
    fn step(&self, m: &mut CrashMem<'_>, state: S) -> Flow<S> {
        (self.step)(m, state)
    }
}

/// A program's own recovery, then its audit against the operations of the run.
pub struct Oracle<'p, P: Program> {
    program: &'p P,
    model: P::Model,
    /// What set-up left, if the audit may pass over it.
    setup: Option<Rc<Image>>,
    /// Crash images recovered so far.
    runs: Cell<u64>,
    /// Accesses that a recovery of the memory before the run takes; 0 while that was not asked.
    usual: Cell<u64>,
    /// The audit of the image before, and the states before its steps.
    series: RefCell<(Before, Vec<P::Audit>)>,
}
impl<'p, P: Program> Oracle<'p, P> {
    /// `ops` is every operation of the run, sorted by stamp ([`fencepost_kernel::Trace::ops`]).
    pub fn new(program: &'p P, ops: &[OpRecord]) -> Oracle<'p, P> {
        Oracle {
            program,
            model: program.model(ops),
            setup: None,
            runs: Cell::new(0),
            usual: Cell::new(0),
            series: RefCell::default(),
        }
    }
    /// Lets the audit pass over what is as the program's set-up left it, which is in this image.
    pub fn passing_over(mut self, setup: &Image) -> Self {
        self.setup = Some(Rc::new(setup.clone()));
        self
    }
    pub(super) fn setup(&self) -> Option<Rc<Image>> {
        self.setup.clone()
    }
    /// The program.
    pub fn program(&self) -> &'p P {
        self.program
    }
    pub(super) fn runs(&self) -> u64 {
        self.runs.get()
    }
    pub(super) fn known_usual(&self) -> u64 {
        self.usual.get()
    }
    pub(super) fn know_usual(&self, accesses: u64) {
        self.usual.set(accesses);
    }
    pub(super) fn count_run(&self) {
        self.runs.set(self.runs.get() + 1);
    }
    pub(super) fn series(&self) -> &RefCell<(Before, Vec<P::Audit>)> {
        &self.series
    }
    /// What the program's oracle knows of the run.
    pub fn model(&self) -> &P::Model {
        &self.model
    }
}

/// Where a program's recovery stands. Rebuilding carries the crash point, because the audit that follows needs it.
pub enum Phase<P: Program> {
    /// Rebuilding; the crash point is kept for the audit.
    Rebuild(P::Rebuild, Rc<CrashPoint>),
    /// Auditing.
    Audit(P::Audit),
}
impl<P: Program> Clone for Phase<P> {
    fn clone(&self) -> Self {
        match self {
            Phase::Rebuild(state, crash) => Phase::Rebuild(state.clone(), Rc::clone(crash)),
            Phase::Audit(state) => Phase::Audit(state.clone()),
        }
    }
}
impl<P: Program> PartialEq for Phase<P> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Phase::Rebuild(a, p), Phase::Rebuild(b, q)) => a == b && p == q,
            (Phase::Audit(a), Phase::Audit(b)) => a == b,
            _ => false,
        }
    }
}
impl<P: Program> Eq for Phase<P> {}
impl<P: Program> Hash for Phase<P> {
    fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
        match self {
            Phase::Rebuild(state, crash) => (0u8, state, crash).hash(h),
            Phase::Audit(state) => (1u8, state).hash(h),
        }
    }
}
impl<P: Program> Debug for Phase<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Phase::Rebuild(state, crash) => f.debug_tuple("Rebuild").field(state).field(crash).finish(),
            Phase::Audit(state) => f.debug_tuple("Audit").field(state).finish(),
        }
    }
}

impl<P: Program> Recovery for Oracle<'_, P> {
    type State = Phase<P>;
    fn start(&self, crash: &CrashPoint) -> Phase<P> {
        Phase::Rebuild(self.program.rebuild_start(), Rc::new(crash.clone()))
    }
    fn step(&self, m: &mut CrashMem<'_>, state: Phase<P>) -> Flow<Phase<P>> {
        match state {
            Phase::Rebuild(state, crash) => match self.program.rebuild(&mut AnyMem(m), state) {
                Flow::Next(next) => Flow::Next(Phase::Rebuild(next, crash)),
                Flow::Done(Ok(())) => Flow::Next(Phase::Audit(self.program.audit_start(&self.model, &crash))),
                Flow::Done(Err(violation)) => Flow::Done(Err(violation)),
            },
            Phase::Audit(state) => {
                m.setup = self.setup();
                m.relies = true;
                match self.program.audit(&self.model, &mut AnyMem(m), state) {
                    Flow::Next(next) => Flow::Next(Phase::Audit(next)),
                    Flow::Done(verdict) => Flow::Done(verdict),
                }
            }
        }
    }
}
