//! Exploring every failure point of an execution, within a budget.

use super::known::Known;
use super::order::Order;
use super::path::Path;
use super::replay::{ReplayError, ReplayId};
use super::report::{Budget, Report};
use super::search::{Allowance, ExploreError, Rules, Subject, Tally};
use super::witness::{Deviation, Witness};
use super::work::Work;
use crate::graph::CrashSpace;
use fencepost_kernel::Violation;
use std::rc::Rc;

/// Explores the crash states of one execution under one contract.
///
/// ```no_run
/// # use fencepost_contract::{CrashSpace, explore::{Budget, Explorer, plain}};
/// # use fencepost_kernel::{Addr, At, Mem, Violation};
/// # fn example(space: &CrashSpace) -> Result<(), Box<dyn std::error::Error>> {
/// let report = Explorer::new(space).budget(Budget::States(10_000)).explore(&mut plain(|m, _crash| {
///     let (flag, data) = (At::new(Addr::pm(0)), At::new(Addr::pm(64)));
///     if m.load(flag).v == 1 && m.load(data).v == 0 {
///         return Err(Violation::at(data.addr, "the flag vouches for data that is not there"));
///     }
///     Ok(())
/// }))?;
/// print!("{report}");
/// # Ok(()) }
/// ```
pub struct Explorer<'s> {
    pub(super) space: &'s CrashSpace,
    pub(super) order: Rc<Order>,
    pub(super) budget: Budget,
    pub(super) prefix: String,
    pub(super) rules: Rules,
    pub(super) minimising: u64,
}

/// The state that a replay id names, run again.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What recovery makes of it.
    pub verdict: Result<(), Violation>,
    /// The state's stores, if recovery does not survive it.
    pub witness: Option<Witness>,
}

impl<'s> Explorer<'s> {
    /// An explorer with an unlimited budget, merging, and no doubt in merges.
    pub fn new(space: &'s CrashSpace) -> Explorer<'s> {
        let rules = Rules {
            merge: true,
            doubt: None,
            loads_per_run: 1 << 26,
            marks_per_path: 1 << 20,
            allowance: Allowance::ENDLESS,
        };
        let order = Rc::new(Order::new(&space.graph));
        Explorer {
            space,
            order,
            budget: Budget::Unlimited,
            prefix: String::new(),
            rules,
            minimising: 100_000,
        }
    }
    /// Limits the work.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }
    /// What replay ids begin with; it should name the program, its options, the contract and the seed.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }
    /// Whether equal continuations are run only once. Without it the exploration is slower and says the same.
    pub fn merge(mut self, merge: bool) -> Self {
        self.rules.merge = merge;
        self
    }
    /// Paranoid mode: runs one in `n` merged continuations nevertheless, and reports a violation found there as
    /// [`ExploreError::UnsoundMerge`]. For recoveries whose `cut` marks or step states may have forgotten something.
    pub fn doubt_one_merge_in(mut self, n: u64) -> Self {
        self.rules.doubt = Some(n.max(1));
        self
    }
    /// After how many loads without a mark or step, and after how many marks or steps, a recovery counts as endless
    /// (a violation). The defaults are 2^26 and 2^20. A step machine that comes back to a state
    /// without having read anything new is noticed at once.
    pub fn endless_after(mut self, loads: u64, steps: usize) -> Self {
        (self.rules.loads_per_run, self.rules.marks_per_path) = (loads.max(1), steps.max(1));
        self
    }
    /// Recoveries that the search for the smallest witness may take after a violation was found (default 100,000).
    pub fn minimising(mut self, recoveries: u64) -> Self {
        self.minimising = recoveries;
        self
    }

    /// Explores every crash state, or as many as the budget allows, until a violation is found.
    pub fn explore(&self, subject: &mut impl Subject) -> Result<Report, ExploreError> {
        subject.forget();
        let mut work = Work::new(self);
        let found = match work.exactly(subject)? {
            None if !work.unfinished.is_empty() => work.boundedly(subject)?,
            found => found,
        };
        match found {
            Some((point, broken)) => work.convict(subject, point, broken),
            None => Ok(work.acquit()),
        }
    }
    /// Runs recovery on the one state that a replay id names.
    pub fn replay(&self, subject: &mut impl Subject, id: &str) -> Result<Replayed, ReplayError> {
        let (prefix, state) = ReplayId::decode(id)?;
        if state.digest != self.order.digest() as u32 {
            return Err(ReplayError::OtherExecution("its persist order is another one"));
        }
        let point = state.point as usize;
        let at = self
            .space
            .points
            .get(point)
            .ok_or(ReplayError::OtherExecution("it has no such failure point"))?;
        subject.forget();
        let mut path = Path::new(Known::new(Rc::clone(&self.order)));
        (0..=point).for_each(|p| self.advance(&mut path, p));
        let listed = state.deviation == Deviation::Persisted;
        let durable: Vec<bool> = self
            .order
            .ids()
            .map(|n| (state.nodes.binary_search(&n).is_ok()) == listed && n.0 < at.executed)
            .collect();
        let undecided: Vec<_> = path.known.open_stores().collect();
        let closed = path
            .known
            .settle(|n| undecided.binary_search(&n).is_ok() && durable[n.index()]);
        if !closed || state.nodes.iter().any(|n| undecided.binary_search(n).is_err()) {
            return Err(ReplayError::OtherExecution(
                "the contract does not allow its crash state",
            ));
        }
        let verdict = subject.once(&mut path, &at.crash, &self.rules, &mut Tally::default())?;
        let witness = verdict.clone().err().map(|why| {
            let id = (prefix, state.digest);
            Witness::new(self.space, point, &durable, why, false, id)
        });
        Ok(Replayed { verdict, witness })
    }
    /// Moves `path` on to the failure point after the one it stands at.
    pub(super) fn advance(&self, path: &mut Path, point: usize) {
        let at = &self.space.points[point];
        path.reset();
        path.known.advance(
            at.executed,
            self.space.must[at.newly_must.clone()].iter().map(|m| m.node),
        );
    }
}
