//! Searching recoveries written as plain Rust, with `cut` marks where paths may merge.

use super::cuts::Cuts;
use super::guard::guarded;
use super::memo::Memo;
use super::memory::CrashMem;
use super::path::Path;
use super::search::sealed::Sealed;
use super::search::{Doubt, Ending, ExploreError, Finds, Rules, Subject, Tally, cut_short};
use fencepost_kernel::{CrashPoint, Violation};

/// A recovery in plain Rust under exploration.
pub struct PlainSubject<F> {
    recovery: F,
    cuts: Cuts,
}
/// Explores a recovery (with its checks) written as plain Rust.
///
/// It is run from its beginning for each combination of values it reads. A call of [`fencepost_kernel::Mem::cut`]
/// with a hash of every local variable that is still needed, once per turn of a loop say, lets equal continuations
/// be run once. It must be deterministic, and must take what it knows about the run from the [`CrashPoint`].
pub fn plain<F>(recovery: F) -> PlainSubject<F>
where
    F: Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation>,
{
    let memo = Memo::new();
    let cuts = Cuts {
        memo,
        lives: Vec::new(),
        merge: true,
        doubt: Doubt::default(),
        most: usize::MAX,
        merges: 0,
        marks: 0,
    };
    PlainSubject { recovery, cuts }
}
impl<F> Subject for PlainSubject<F> where F: Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation> {}

impl<F> PlainSubject<F>
where
    F: Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation>,
{
    /// One run; the violation in which it ended, if any.
    fn run(&mut self, path: &mut Path, crash: &CrashPoint) -> Result<Option<Violation>, ExploreError> {
        let PlainSubject { recovery, cuts } = self;
        match guarded(|| recovery(&mut CrashMem::new(path, Some(cuts)), crash)) {
            // A run that ends before all its earlier choices came up again has diverged.
            Ok(_) if path.replaying() => Err(ExploreError::Nondeterministic),
            Ok(verdict) => Ok(verdict.err()),
            Err(how) => cut_short(path, how),
        }
    }
}

impl<F> Sealed for PlainSubject<F>
where
    F: Fn(&mut CrashMem<'_>, &CrashPoint) -> Result<(), Violation>,
{
    fn forget(&mut self) {
        self.cuts.memo.clear();
    }
    fn search(
        &mut self,
        path: &mut Path,
        crash: &CrashPoint,
        rules: &Rules,
        tally: &mut Tally,
    ) -> Result<Ending, ExploreError> {
        path.reset();
        // What recovery knows of the crash point is not in the marks' hashes, so results hold for this point only.
        self.cuts.memo.clear();
        self.cuts.lives.clear();
        (self.cuts.merge, self.cuts.doubt, self.cuts.most) = (rules.merge, rules.doubt, rules.marks_per_path);
        let mut finds = Finds::new(path);
        loop {
            path.rewind(rules.loads_per_run);
            let (merges, marks) = (self.cuts.merges, self.cuts.marks);
            let ended = self.run(path, crash)?;
            tally.recoveries += 1;
            tally.merges += self.cuts.merges - merges;
            tally.steps += 1 + self.cuts.marks - marks;
            match ended {
                Some(violation) => {
                    if let Some(broken) = finds.violation(path, violation)? {
                        return Ok(Ending::Broken(broken));
                    }
                }
                None => path.note_end(),
            }
            if rules.allowance.is_spent(tally) {
                return Ok(Ending::Spent(finds.into_best()));
            }
            let Cuts { memo, lives, .. } = &mut self.cuts;
            let more = path.backtrack(|known, mark, words| {
                let live = lives.pop();
                if let Some(live) = live.filter(|_| mark.keep && mark.clean && rules.merge) {
                    if memo.is_full() {
                        memo.clear();
                    }
                    memo.keep(live, known, words);
                }
            });
            if !more {
                return Ok(Ending::Explored(finds.into_best()));
            }
        }
    }
    fn once(
        &mut self,
        path: &mut Path,
        crash: &CrashPoint,
        rules: &Rules,
        tally: &mut Tally,
    ) -> Result<Result<(), Violation>, ExploreError> {
        tally.recoveries += 1;
        tally.steps += 1;
        path.allow_loads(rules.loads_per_run);
        let recovery = &self.recovery;
        Ok(match guarded(|| recovery(&mut CrashMem::new(path, None), crash)) {
            Ok(verdict) => verdict,
            Err(how) => cut_short(path, how)?.map_or(Ok(()), Err),
        })
    }
}
