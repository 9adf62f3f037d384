//! Searching recoveries in step form.

use super::guard::guarded;
use super::memo::Memo;
use super::memory::CrashMem;
use super::path::Path;
use super::recovery::Recovery;
use super::search::sealed::Sealed;
use super::search::{Ending, ExploreError, Finds, Rules, Subject, Tally, cut_short};
use fencepost_kernel::{CrashPoint, Flow, Violation};

/// A step machine under exploration, with the table of merged states that all failure points share.
pub struct StepSubject<'r, R: Recovery> {
    recovery: &'r R,
    memo: Memo<R::State>,
}
/// Explores a recovery in step form.
pub fn steps<R: Recovery>(recovery: &R) -> StepSubject<'_, R> {
    StepSubject {
        recovery,
        memo: Memo::new(),
    }
}
impl<R: Recovery> Subject for StepSubject<'_, R> {}

/// Whether `next` was reached before on this path with nothing written or learnt since: then it goes on for ever.
/// Compares with the last state whose number is a power of two (Brent's cycle search), so every cycle is found
/// within three times its length and that of the way to it.
fn goes_round<S: Eq>(path: &Path, states: &[S], next: &S) -> bool {
    let anchor = (states.len().max(1)).ilog2();
    let anchor = (1usize << anchor) - 1;
    states.get(anchor).is_some_and(|state| state == next) && !path.moved_since(anchor)
}

/// How one run of a step ended.
enum Run<S> {
    Next(S),
    Ended(Option<Violation>),
}

impl<R: Recovery> StepSubject<'_, R> {
    fn run(&self, path: &mut Path, state: R::State, rules: &Rules) -> Result<Run<R::State>, ExploreError> {
        path.rewind_to_mark(rules.loads_per_run);
        let result = guarded(|| self.recovery.step(&mut CrashMem::new(path, None), state));
        Ok(match result {
            Ok(Flow::Next(_)) if path.depth() >= rules.marks_per_path => Run::Ended(Some(path.watch.endless())),
            Ok(Flow::Next(next)) => Run::Next(next),
            Ok(Flow::Done(verdict)) => Run::Ended(verdict.err()),
            Err(how) => Run::Ended(cut_short(path, how)?),
        })
    }
    /// Enters `state`, unless it is known to end well from here.
    fn enter(&self, path: &mut Path, state: &R::State, rules: &Rules, tally: &mut Tally) -> bool {
        let mut doubted = false;
        if rules.merge
            && path.should_ask()
            && let Some(words) = self.memo.find(state, &path.known)
        {
            tally.merges += 1;
            doubted = rules.doubt.applies(tally.merges);
            if !doubted {
                path.read_also(&words);
                return false;
            }
        }
        path.enter(doubted);
        true
    }
}

impl<R: Recovery> Sealed for StepSubject<'_, R> {
    fn forget(&mut self) {
        self.memo.clear();
    }
    fn search(
        &mut self,
        path: &mut Path,
        crash: &CrashPoint,
        rules: &Rules,
        tally: &mut Tally,
    ) -> Result<Ending, ExploreError> {
        path.reset();
        let mut finds = Finds::new(path);
        let mut states = Vec::new();
        let start = guarded(|| self.recovery.start(crash));
        let start = match start {
            Ok(start) => start,
            Err(how) => {
                let violation = cut_short(path, how)?.unwrap_or_else(|| path.watch.endless());
                return Ok(finds
                    .violation(path, violation)?
                    .map_or(Ending::Explored(None), Ending::Broken));
            }
        };
        if !self.enter(path, &start, rules, tally) {
            return Ok(Ending::Explored(None));
        }
        states.push(start);
        while let Some(state) = states.last() {
            tally.steps += 1;
            let ended = match self.run(path, state.clone(), rules)? {
                Run::Next(next) if goes_round(path, &states, &next) => Run::Ended(Some(path.watch.endless())),
                ended => ended,
            };
            match ended {
                Run::Next(next) => {
                    if self.enter(path, &next, rules, tally) {
                        states.push(next);
                        continue;
                    }
                    path.note_end();
                }
                Run::Ended(None) => path.note_end(),
                Run::Ended(Some(violation)) => {
                    if let Some(broken) = finds.violation(path, violation)? {
                        tally.recoveries += 1;
                        return Ok(Ending::Broken(broken));
                    }
                }
            }
            tally.recoveries += 1;
            if rules.allowance.is_spent(tally) {
                return Ok(Ending::Spent(finds.into_best()));
            }
            let memo = &mut self.memo;
            path.backtrack(|known, mark, words| {
                let state = states.pop();
                if let Some(state) = state.filter(|_| mark.keep && mark.clean && rules.merge) {
                    memo.keep(state, known, words);
                }
            });
        }
        Ok(Ending::Explored(finds.into_best()))
    }
    fn once(
        &mut self,
        path: &mut Path,
        crash: &CrashPoint,
        rules: &Rules,
        tally: &mut Tally,
    ) -> Result<Result<(), Violation>, ExploreError> {
        tally.recoveries += 1;
        let mut state = match guarded(|| self.recovery.start(crash)) {
            Ok(state) => state,
            Err(how) => return Ok(cut_short(path, how)?.map_or(Ok(()), Err)),
        };
        for _ in 0..rules.marks_per_path {
            tally.steps += 1;
            path.allow_loads(rules.loads_per_run);
            match guarded(|| self.recovery.step(&mut CrashMem::new(path, None), state)) {
                Ok(Flow::Next(next)) => state = next,
                Ok(Flow::Done(verdict)) => return Ok(verdict),
                Err(how) => return Ok(cut_short(path, how)?.map_or(Ok(()), Err)),
            }
        }
        Ok(Err(path.watch.endless()))
    }
}
