//! Exploring every failure point of an execution, within a budget.

use super::crash_report::Budget;
use super::known::{Known, Status};
use super::on_image::MANY;
use super::order::Order;
use super::path::Path;
use super::replay_id::{Deviation, ReplayError, ReplayId};
use super::search::{Allowance, Doubt, Rules, Subject, Tally};
use super::witness::Witness;
use crate::contracts::Contract;
use crate::graph::{CrashSpace, Extent};
use fencepost_kernel::Violation;
use fencepost_kernel::planted;
use std::rc::Rc;
use std::time::Instant;

/// Explores the crash states of one execution under one contract.
///
/// ```no_run
/// # use fencepost_contract::{CrashSpace, explore::{Budget, Explorer, plain}};
/// # use fencepost_kernel::{Addr, At, Mem, Violation};
/// # fn example(space: &CrashSpace) -> Result<(), Box<dyn std::error::Error>> {
/// let report = Explorer::new(space).budget(Budget::States(10_000)).explore(&mut plain(|m, _crash| {
///     let (flag, data) = (At::new(Addr::pm(0)), At::new(Addr::pm(64)));
///     if m.load(flag).v == 1 && m.load(data).v == 0 {
///         return Err(Violation::at(data.addr, "the flag validates data that is not there"));
///     }
///     Ok(())
/// }))?;
/// print!("{report}");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Explorer<'s> {
    pub(super) space: &'s CrashSpace,
    pub(super) order: Rc<Order>,
    pub(super) budget: Budget,
    pub(super) prefix: String,
    pub(super) rules: Rules,
    pub(super) minimising: u64,
    /// When everything has to be over, whatever the budget says.
    pub(super) deadline: Option<Instant>,
    /// Steps that exploring may take, and nodes that counting states may look at.
    pub(super) steps: u64,
    pub(super) counting: u64,
    /// Whether what cannot be explored exactly is left out, instead of the states near its ends being tried.
    pub(super) exact_only: bool,
    /// The memory that exists for recovery.
    pub(super) extent: Extent,
    /// Whether the oldest value of a word is tried first.
    pub(super) oldest_first: bool,
    /// Whether every audit reads everything.
    pub(super) whole_audits: bool,
    /// The contract under which recovery itself is interrupted, if it is.
    pub(super) again: Option<Contract>,
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
            doubt: Doubt::default(),
            loads_per_run: 1 << 22,
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
            deadline: None,
            steps: u64::MAX,
            counting: 50_000_000,
            exact_only: false,
            extent: space.history.extent,
            oldest_first: false,
            whole_audits: false,
            again: None,
        }
    }
    /// The memory that exists for recovery; a little more than the execution touched, unless this says so.
    pub fn memory(mut self, extent: Extent) -> Self {
        self.extent = extent;
        self.rules.loads_per_run = extent.endless_after(self.rules.loads_per_run);
        self
    }
    /// Recovery takes so many accesses of a memory that is sound: no recovery counts as endless before it has made many times as many.
    pub fn recoveries_take(self, accesses: u64) -> Self {
        self.endless_after_loads(MANY.saturating_mul(accesses))
    }
    /// No recovery counts as endless before it has made so many accesses.
    pub(super) fn endless_after_loads(mut self, loads: u64) -> Self {
        self.rules.loads_per_run = self.rules.loads_per_run.max(loads);
        self
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
    /// Whether the oldest value of each word is tried first, not the newest. The exploration takes another way and says the same.
    pub fn oldest_first(mut self, oldest_first: bool) -> Self {
        self.oldest_first = oldest_first;
        self
    }
    /// Paranoid mode: every audit reads everything, not only what may have changed since the failure point before. It says the same.
    pub fn whole_audits(mut self) -> Self {
        self.whole_audits = true;
        self
    }
    /// Paranoid mode: runs one in `n` merged continuations nevertheless, and reports a violation found there as
    /// [`super::ExploreError::UnsoundMerge`]. For recoveries whose `cut` marks or step states may have forgotten something.
    pub fn doubt_one_merge_in(mut self, n: u64) -> Self {
        self.rules.doubt.one_in = Some(n.max(1));
        self
    }
    /// Paranoid mode for small runs: as [`Explorer::doubt_one_merge_in`], for the first `n` merges.
    pub fn doubt_first_merges(mut self, n: u64) -> Self {
        self.rules.doubt.first = n;
        self
    }
    /// Lets power fail again while recovery runs (once), under `contract`, and recovery start again.
    ///
    /// One recovery is interrupted for every way in which recovery was run to its end and stored something: in each crash
    /// state that the contract allows of recovery's own stores. A recovery without a flush or fence is taken to store
    /// durably and in order.
    pub fn power_fails_again(mut self, contract: Contract) -> Self {
        self.again = Some(contract);
        self
    }
    /// Explores in at most so many steps, and exactly or not at all: for a check that runs beside others and has to take
    /// the same time and say the same on every machine.
    pub fn beside_others(mut self, steps: u64) -> Self {
        (self.steps, self.counting, self.exact_only) = (steps, steps, true);
        self.minimising = self.minimising.min(steps / 100);
        self
    }
    /// Ends everything, exploring or shrinking, at this moment.
    pub fn until(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }
    /// After how many memory operations without a mark or step, and after how many marks or steps, a recovery counts as
    /// endless (a violation, with the place that it had reached). The defaults are 2^22, or what a large memory takes to be read
    /// ([`Explorer::memory`]), and 2^20. A step machine that comes back to a state without having read anything new is noticed at once.
    pub fn endless_after(mut self, loads: u64, steps: usize) -> Self {
        (self.rules.loads_per_run, self.rules.marks_per_path) = (loads.max(1), steps.max(1));
        self
    }
    /// Recoveries that the search for the smallest witness may take after a violation was found (default 100,000).
    pub fn minimising(mut self, recoveries: u64) -> Self {
        self.minimising = recoveries;
        self
    }

    /// Number of nodes of the persist order.
    pub fn nodes(&self) -> u32 {
        self.order.nodes()
    }
    /// A digest of everything that the crash states depend on: executions with equal digests need exploring once.
    pub fn digest(&self) -> u64 {
        let fold = |h: u64, x: u64| fencepost_kernel::rng::mix(h ^ x).wrapping_add(x);
        let musts = self.space.must.iter().map(|m| u64::from(m.node.0));
        let points = self.space.points.iter().flat_map(|p| {
            let crash = p.crash.begun.iter().chain(&p.crash.acked).map(|k| u64::from(*k));
            [u64::from(p.executed), p.newly_must.end as u64]
                .into_iter()
                .chain(crash)
        });
        musts.chain(points).fold(self.order.digest(), fold)
    }
    /// Runs recovery on the one state that a replay id, taken apart, names.
    pub(super) fn replay_state(
        &self,
        subject: &mut dyn Subject,
        prefix: &str,
        state: &ReplayId,
    ) -> Result<Replayed, ReplayError> {
        let (mut path, durable) = self.settled(state)?;
        let point = state.point as usize;
        let crash = &self.space.points[point].crash;
        let verdict = subject.once(&mut path, crash, &self.rules, &mut Tally::default())?;
        let decided = vec![true; durable.len()];
        let witness = verdict.clone().err().map(|why| {
            let id = (prefix, state.digest);
            Witness::new(self.space, point, (&durable, &decided), why, false, id)
        });
        Ok(Replayed { verdict, witness })
    }
    /// A path settled to the crash state of an id, and the nodes that are durable there.
    pub(super) fn settled(&self, state: &ReplayId) -> Result<(Path, Vec<bool>), ReplayError> {
        if state.digest != self.order.digest() as u32 {
            return Err(ReplayError::OtherExecution("its persist order is another one"));
        }
        let point = state.point as usize;
        if point >= self.space.points.len() {
            return Err(ReplayError::OtherExecution("it has no such failure point"));
        }
        let mut path = self.path();
        (0..=point).for_each(|p| self.advance(&mut path, p));
        let other = planted!(
            "explorer.replay-of-another-state",
            "an id names the crash state that it was printed for"
        );
        let listed = (state.deviation == Deviation::Persisted) != other;
        let undecided: Vec<_> = path.known.open_stores().collect();
        let wanted = |n| undecided.binary_search(&n).is_ok() && state.nodes.binary_search(&n).is_ok() == listed;
        let closed = path.known.settle(wanted);
        if !closed || state.nodes.iter().any(|n| undecided.binary_search(n).is_err()) {
            return Err(ReplayError::OtherExecution(
                "the contract does not allow its crash state",
            ));
        }
        let durable = self.order.ids().map(|n| path.known.status(n) == Status::In).collect();
        Ok((path, durable))
    }
    /// A path before the first failure point.
    pub(super) fn path(&self) -> Path {
        let mut path = Path::new(Known::new(Rc::clone(&self.order)));
        path.watch.extent = self.extent;
        path.oldest_first = self.oldest_first;
        path
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
