//! A recovery in step form with its states put away: what searches it is compiled once, whatever the states are.

use super::memory::CrashMem;
use super::recovery::Recovery;
use fencepost_kernel::{CrashPoint, Flow};
use rustc_hash::FxHashMap;

/// The states of one path, and those that are kept under a number.
pub(super) trait Chain {
    /// Recovery begins: its first state comes next.
    fn start(&mut self, crash: &CrashPoint);
    /// A step from the last state of the path, which stays there; where it leads comes next.
    fn step(&mut self, m: &mut CrashMem<'_>) -> Flow<()>;
    /// A step from the state that comes next.
    fn go_on(&mut self, m: &mut CrashMem<'_>) -> Flow<()>;
    /// Whether the state that comes next was on the path at this place.
    fn was_at(&self, place: usize) -> bool;
    /// The number of the state that comes next, if an equal one is kept.
    fn number(&self) -> Option<u64>;
    /// The state that comes next is entered: it is the last of the path.
    fn enter(&mut self);
    /// States on the path.
    fn len(&self) -> usize;
    /// Leaves the last state of the path; with `keep` it gets a number, that of an equal one if there is one.
    fn leave(&mut self, keep: bool) -> Option<u64>;
    /// Leaves the whole path.
    fn leave_all(&mut self);
    /// Keeps no state any more.
    fn forget(&mut self);
}

/// The states of a recovery.
pub(super) struct States<'r, R: Recovery> {
    recovery: &'r R,
    next: Option<R::State>,
    path: Vec<R::State>,
    numbers: FxHashMap<R::State, u64>,
}
impl<'r, R: Recovery> States<'r, R> {
    pub(super) fn new(recovery: &'r R) -> States<'r, R> {
        States {
            recovery,
            next: None,
            path: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }
    fn run(&mut self, m: &mut CrashMem<'_>, state: Option<R::State>) -> Flow<()> {
        let state = state.expect("a step has a state to begin from");
        match self.recovery.step(m, state) {
            Flow::Next(next) => {
                self.next = Some(next);
                Flow::Next(())
            }
            Flow::Done(verdict) => Flow::Done(verdict),
        }
    }
}
impl<R: Recovery> Chain for States<'_, R> {
    fn start(&mut self, crash: &CrashPoint) {
        self.next = Some(self.recovery.start(crash));
    }
    fn step(&mut self, m: &mut CrashMem<'_>) -> Flow<()> {
        let last = self.path.last().cloned();
        self.run(m, last)
    }
    fn go_on(&mut self, m: &mut CrashMem<'_>) -> Flow<()> {
        let next = self.next.take();
        self.run(m, next)
    }
    fn was_at(&self, place: usize) -> bool {
        self.next.is_some() && self.path.get(place) == self.next.as_ref()
    }
    fn number(&self) -> Option<u64> {
        self.numbers.get(self.next.as_ref()?).copied()
    }
    fn enter(&mut self) {
        self.path.extend(self.next.take());
    }
    fn len(&self) -> usize {
        self.path.len()
    }
    fn leave(&mut self, keep: bool) -> Option<u64> {
        let state = self.path.pop().filter(|_| keep)?;
        let new = self.numbers.len() as u64;
        Some(*self.numbers.entry(state).or_insert(new))
    }
    fn leave_all(&mut self) {
        self.path.clear();
    }
    fn forget(&mut self) {
        self.numbers.clear();
    }
}
