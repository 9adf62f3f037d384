//! Searching recoveries in step form.

use super::chain::{Chain, States};
use super::guard::guarded;
use super::memo::Memo;
use super::memory::CrashMem;
use super::path::Path;
use super::recovery::Recovery;
use super::search::sealed::Sealed;
use super::search::{Ending, ExploreError, Finds, Rules, Subject, Tally, cut_short};
use fencepost_kernel::{CrashPoint, Flow, Violation};

/// A step machine under exploration, with the table of merged states that all failure points share.
pub struct StepSubject<'r> {
    chain: Box<dyn Chain + 'r>,
    memo: Memo,
}
/// Explores a recovery in step form.
pub fn steps<R: Recovery>(recovery: &R) -> StepSubject<'_> {
    StepSubject {
        chain: Box::new(States::new(recovery)),
        memo: Memo::new(),
    }
}
impl Subject for StepSubject<'_> {}

/// Whether the next state was reached before on this path with nothing written or learnt since: then it goes on for ever.
/// Compares with the last state whose number is a power of two (Brent's cycle search), so every cycle is found
/// within three times its length and that of the way to it.
fn goes_round(path: &Path, chain: &dyn Chain) -> bool {
    let anchor = (chain.len().max(1)).ilog2();
    let anchor = (1usize << anchor) - 1;
    chain.was_at(anchor) && !path.moved_since(anchor)
}

/// How one run of a step ended.
enum Run {
    Next,
    Ended(Option<Violation>),
}

impl StepSubject<'_> {
    fn run(&mut self, path: &mut Path, rules: &Rules) -> Result<Run, ExploreError> {
        path.rewind_to_mark(rules.loads_per_run);
        let chain = &mut self.chain;
        let result = guarded(|| chain.step(&mut CrashMem::new(path, None)));
        Ok(match result {
            Ok(Flow::Next(())) if path.depth() >= rules.marks_per_path => Run::Ended(Some(path.watch.endless())),
            Ok(Flow::Next(())) if goes_round(path, &*self.chain) => Run::Ended(Some(path.watch.endless())),
            Ok(Flow::Next(())) => Run::Next,
            Ok(Flow::Done(verdict)) => Run::Ended(verdict.err()),
            Err(how) => Run::Ended(cut_short(path, how)?),
        })
    }
    /// Enters the next state, unless it is known to end well from here.
    fn enter(&mut self, path: &mut Path, rules: &Rules, tally: &mut Tally) -> bool {
        let mut doubted = false;
        if rules.merge
            && path.should_ask()
            && let Some(number) = self.chain.number()
            && let Some(words) = self.memo.find(number, &path.known)
        {
            tally.merges += 1;
            doubted = rules.doubt.applies(tally.merges);
            if !doubted {
                path.read_also(&words);
                return false;
            }
        }
        path.enter(doubted);
        self.chain.enter();
        true
    }
    /// Forgets what is known before it takes too much memory.
    fn make_room(&mut self) {
        if self.memo.is_full() {
            self.memo.clear();
            self.chain.forget();
        }
    }
}

impl Sealed for StepSubject<'_> {
    fn forget(&mut self) {
        self.memo.clear();
        self.chain.forget();
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
        self.chain.leave_all();
        if let Err(how) = guarded(|| self.chain.start(crash)) {
            let violation = cut_short(path, how)?.unwrap_or_else(|| path.watch.endless());
            return Ok(finds
                .violation(path, violation)?
                .map_or(Ending::Explored(None), Ending::Broken));
        }
        if !self.enter(path, rules, tally) {
            return Ok(Ending::Explored(None));
        }
        while self.chain.len() > 0 {
            tally.steps += 1;
            match self.run(path, rules)? {
                Run::Next => {
                    if self.enter(path, rules, tally) {
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
            self.make_room();
            let StepSubject { chain, memo } = self;
            path.backtrack(|known, mark, words| {
                if let Some(number) = chain.leave(mark.keep && mark.clean && rules.merge) {
                    memo.keep(number, known, words);
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
        if let Err(how) = guarded(|| self.chain.start(crash)) {
            return Ok(cut_short(path, how)?.map_or(Ok(()), Err));
        }
        for _ in 0..rules.marks_per_path {
            tally.steps += 1;
            path.allow_loads(rules.loads_per_run);
            match guarded(|| self.chain.go_on(&mut CrashMem::new(path, None))) {
                Ok(Flow::Next(())) => {}
                Ok(Flow::Done(verdict)) => return Ok(verdict),
                Err(how) => return Ok(cut_short(path, how)?.map_or(Ok(()), Err)),
            }
        }
        Ok(Err(path.watch.endless()))
    }
}
