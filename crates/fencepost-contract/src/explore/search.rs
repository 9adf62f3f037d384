//! The search at one failure point, shared by both forms of recovery: what ends it, what it counts.

use super::guard::CutShort;
use super::path::{Path, size};
use super::stop::Stop;
use fencepost_kernel::{CrashPoint, Violation, stop};
use std::time::Instant;

/// Why an exploration could not be trusted or carried out. None of these is a verdict on the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExploreError {
    /// Recovery read other words when it was run again on equal values.
    #[error(
        "recovery is not deterministic: run again on the same values it made other loads; \
             it must not depend on time, addresses of its own or random numbers"
    )]
    Nondeterministic,
    /// Crash states were counted for which recovery was not run.
    #[error("the checker counted {counted} recoveries and ran {run}: its verdict means nothing")]
    Skipped {
        /// Recoveries, or failure points, that it counted.
        counted: u64,
        /// Those that were run.
        run: u64,
    },
    /// An audit of what changed finds what an audit of everything does not.
    #[error("an audit of what may have changed finds a violation that a whole audit does not: {why}")]
    ShortAudit {
        /// What the short one says.
        why: String,
    },
    /// A merge would have hidden a violation.
    #[error(
        "a merge would have hidden this violation: {why}; what a cut mark is given (or a step's state) must \
             contain everything that is used later"
    )]
    UnsoundMerge {
        /// The violation found behind the merge.
        why: String,
    },
}

/// How much work an exploration may still do.
#[derive(Copy, Clone, Debug)]
pub struct Allowance {
    pub recoveries: u64,
    pub steps: u64,
    pub until: Option<Instant>,
}
impl Allowance {
    pub const ENDLESS: Allowance = Allowance {
        recoveries: u64::MAX,
        steps: u64::MAX,
        until: None,
    };
    pub fn is_spent(&self, tally: &Tally) -> bool {
        stop::look();
        let counted = tally.recoveries >= self.recoveries || tally.steps >= self.steps;
        counted || self.until.is_some_and(|t| Instant::now() >= t)
    }
}

/// What has been done.
#[derive(Copy, Clone, Debug, Default)]
pub struct Tally {
    pub recoveries: u64,
    pub steps: u64,
    pub merges: u64,
}

/// Which merged continuations are run nevertheless, to see that they end as they should.
#[derive(Copy, Clone, Debug, Default)]
pub struct Doubt {
    /// So many at the beginning.
    pub first: u64,
    /// Then one in so many.
    pub one_in: Option<u64>,
}
impl Doubt {
    /// Whether the merge with this number (from 1) is doubted.
    pub fn applies(self, merge: u64) -> bool {
        merge <= self.first || self.one_in.is_some_and(|n| merge.is_multiple_of(n))
    }
}

/// Limits and switches of one search.
#[derive(Copy, Clone, Debug)]
pub struct Rules {
    pub merge: bool,
    /// Which merges are explored nevertheless.
    pub doubt: Doubt,
    pub loads_per_run: u64,
    pub marks_per_path: usize,
    pub allowance: Allowance,
}

/// A crash state that recovery does not survive, as far as recovery looked at it.
#[derive(Clone, Debug)]
pub struct Broken {
    pub violation: Violation,
    /// The state with the fewest durable nodes, or the one with the most, that looks the same: whichever deviates
    /// in fewer nodes.
    pub durable: Vec<bool>,
    /// The nodes that what recovery read decides, with what the order implies.
    pub decided: Vec<bool>,
    pub size: u32,
}

/// How the search at a failure point ended.
#[derive(Clone, Debug)]
pub enum Ending {
    /// All states explored; in a minimising search: the best state found, if any was better than the bound.
    Explored(Option<Broken>),
    /// First violation.
    Broken(Broken),
    /// The allowance ran out; what a minimising search had found so far.
    Spent(Option<Broken>),
}

/// Collects violations of one search.
pub(super) struct Finds {
    minimise: bool,
    best: Option<Broken>,
}
impl Finds {
    pub(super) fn new(path: &Path) -> Finds {
        Finds {
            minimise: path.better_than.is_some(),
            best: None,
        }
    }
    pub(super) fn into_best(self) -> Option<Broken> {
        self.best
    }
    /// Handles a run that ended in a violation. Returns it if the search ends here.
    pub(super) fn violation(&mut self, path: &mut Path, violation: Violation) -> Result<Option<Broken>, ExploreError> {
        path.not_clean();
        if path.is_doubted() {
            return Err(ExploreError::UnsoundMerge { why: violation.why });
        }
        let broken = Broken::new(path, violation);
        if !self.minimise {
            return Ok(Some(broken));
        }
        if path.better_than.is_some_and(|best| broken.size < best) {
            path.better_than = Some(broken.size);
            self.best = Some(broken);
        }
        Ok(None)
    }
}
impl Broken {
    pub fn new(path: &Path, violation: Violation) -> Broken {
        let (durable, decided) = path.known.closest();
        let (included, excluded) = path.known.decided();
        Broken {
            violation,
            durable,
            decided,
            size: size(included, excluded),
        }
    }
}

/// What a run that did not end by itself means.
pub(super) fn cut_short(path: &mut Path, how: CutShort) -> Result<Option<Violation>, ExploreError> {
    match how {
        CutShort::Stopped(Stop::Merged) => Ok(None),
        CutShort::Stopped(Stop::NotSmaller) => {
            path.not_clean();
            Ok(None)
        }
        CutShort::Stopped(Stop::Endless) => Ok(Some(path.watch.endless())),
        CutShort::Stopped(Stop::Fault(fault)) => Ok(Some(fault.violation())),
        CutShort::Stopped(Stop::OutOfTime) => {
            path.not_clean();
            Ok(None)
        }
        CutShort::Stopped(Stop::Diverged) => Err(ExploreError::Nondeterministic),
        CutShort::Panicked(text) => Ok(Some(Violation {
            why: format!("recovery panics: {text}"),
            at: None,
        })),
    }
}
/// A recovery in either form, ready to be explored.
pub trait Subject: sealed::Sealed {}

pub(super) mod sealed {
    use super::{CrashPoint, Ending, ExploreError, Path, Rules, Tally, Violation};
    /// What the explorer needs of a recovery.
    pub trait Sealed {
        /// Forgets merged states: they name words by the numbers of one path and hold for one execution.
        fn forget(&mut self);
        /// Explores every crash state of the failure point at which `path` stands.
        fn search(
            &mut self,
            path: &mut Path,
            crash: &CrashPoint,
            rules: &Rules,
            tally: &mut Tally,
        ) -> Result<Ending, ExploreError>;
        /// Runs recovery once on the single state to which `path` is settled.
        fn once(
            &mut self,
            path: &mut Path,
            crash: &CrashPoint,
            rules: &Rules,
            tally: &mut Tally,
        ) -> Result<Result<(), Violation>, ExploreError>;
    }
}
