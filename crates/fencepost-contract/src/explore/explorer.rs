//! Exploring every failure point of an execution, within a budget.

use super::bounded::Neighbours;
use super::count::Counter;
use super::known::Known;
use super::order::Order;
use super::path::Path;
use super::replay::{ReplayError, ReplayId};
use super::report::{Budget, Report, Verdict};
use super::search::{Allowance, Broken, Ending, ExploreError, Rules, Subject, Tally};
use super::witness::{Deviation, Witness};
use crate::graph::CrashSpace;
use fencepost_kernel::Violation;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

/// Nodes that counting crash states may look at, over one exploration.
const COUNTING_EFFORT: u64 = 50_000_000;

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
    order: Rc<Order>,
    budget: Budget,
    prefix: String,
    rules: Rules,
    minimising: u64,
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
            marks_per_path: 1 << 22,
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
    /// (a violation). The defaults are 2^26 and 2^22.
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
        let undecided: Vec<_> = path.known.free().collect();
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
    fn advance(&self, path: &mut Path, point: usize) {
        let at = &self.space.points[point];
        path.reset();
        path.known.advance(
            at.executed,
            self.space.must[at.newly_must.clone()].iter().map(|m| m.node),
        );
    }
}

/// A round of bounded exploration ended before its end: by a violation, or because the budget is spent.
struct Early {
    found: Option<(usize, Broken)>,
}

/// One exploration under way.
struct Work<'e, 's> {
    explorer: &'e Explorer<'s>,
    /// Stands at the failure point under exploration.
    path: Path,
    report: Report,
    tally: Tally,
    begun: Instant,
    counter: Counter,
    /// Failure points whose states have been counted.
    counted: usize,
    /// Failure points whose states were not all covered.
    unfinished: Vec<usize>,
}

impl<'e, 's> Work<'e, 's> {
    fn new(explorer: &'e Explorer<'s>) -> Self {
        let path = Path::new(Known::new(Rc::clone(&explorer.order)));
        let (report, tally) = (Report::new(), Tally::default());
        Work {
            explorer,
            path,
            report,
            tally,
            begun: Instant::now(),
            counter: Counter::new(COUNTING_EFFORT),
            counted: 0,
            unfinished: Vec::new(),
        }
    }
    /// What may be spent: `part` of `parts` of the budget, counted from its beginning.
    fn allowance(&self, part: f64) -> Allowance {
        match self.explorer.budget {
            Budget::Unlimited => Allowance::ENDLESS,
            Budget::States(n) => Allowance {
                recoveries: (n as f64 * part) as u64,
                until: None,
            },
            Budget::Time(t) => Allowance {
                recoveries: u64::MAX,
                until: Some(self.begun + t.mul_f64(part)),
            },
        }
    }
    fn allowance_of_point(&self, point: usize) -> Allowance {
        // Half of the budget is for exact search; what early points leave over goes to later ones.
        let points = self.explorer.space.points.len() as f64;
        self.allowance(0.5 * (point + 1) as f64 / points)
    }
    /// Counts the crash states of the failure point at which the path stands, and adds them to the total.
    fn count_states(&mut self) -> Option<u128> {
        let states = self.counter.count(&mut self.path.known);
        self.counted += 1;
        self.report.states_total = self.report.states_total.zip(states).and_then(|(a, b)| a.checked_add(b));
        states
    }
    /// Searches every failure point; those that take too long are noted as unfinished.
    fn exactly(&mut self, subject: &mut impl Subject) -> Result<Option<(usize, Broken)>, ExploreError> {
        let explorer = self.explorer;
        for (i, point) in explorer.space.points.iter().enumerate() {
            explorer.advance(&mut self.path, i);
            let states = self.count_states();
            self.report.crash_points += 1;
            let rules = Rules {
                allowance: self.allowance_of_point(i),
                ..explorer.rules
            };
            let before = self.tally.recoveries;
            let ending = match rules.allowance.is_spent(&self.tally) {
                true => Ending::Spent(None),
                false => subject.search(&mut self.path, &point.crash, &rules, &mut self.tally)?,
            };
            match ending {
                Ending::Explored(_) => {
                    // Every run of recovery covers at least one state of its own.
                    let at_least = u128::from(self.tally.recoveries - before).max(1);
                    let covered = states.unwrap_or(at_least);
                    self.report.states_covered = self.report.states_covered.saturating_add(covered);
                }
                Ending::Broken(broken) => return Ok(Some((i, broken))),
                Ending::Spent(_) => self.unfinished.push(i),
            }
        }
        Ok(None)
    }
    /// Runs the states near the two ends of every unfinished failure point, nearest first.
    fn boundedly(&mut self, subject: &mut impl Subject) -> Result<Option<(usize, Broken)>, ExploreError> {
        let explorer = self.explorer;
        let mut near: Vec<Option<Neighbours>> = self.unfinished.iter().map(|_| None).collect();
        let mut end = None;
        for t in 0.. {
            self.path = Path::new(Known::new(Rc::clone(&explorer.order)));
            subject.forget();
            let (mut reached, mut more) = (0, false);
            for (i, near) in near.iter_mut().enumerate() {
                let point = self.unfinished[i];
                (reached..=point).for_each(|p| explorer.advance(&mut self.path, p));
                reached = point + 1;
                let near = near.get_or_insert_with(|| Neighbours::new(&self.path.known, &explorer.space.graph));
                more |= t < near.lines();
                end = self.at_distance(subject, point, near, t)?;
                if end.is_some() {
                    break;
                }
            }
            if end.is_some() {
                break;
            }
            self.report.lines_deviating = Some(t);
            if !more {
                self.unfinished.clear();
                break;
            }
        }
        let visited: u128 = near.iter().flatten().map(Neighbours::visited).sum();
        let found = end.and_then(|Early { found }| found);
        let survived = visited - u128::from(found.is_some());
        self.report.states_covered = self.report.states_covered.saturating_add(survived);
        Ok(found)
    }
    /// Runs the states of one failure point in which exactly `t` lines deviate; `Some` if that had to end early.
    fn at_distance(
        &mut self,
        subject: &mut impl Subject,
        point: usize,
        near: &mut Neighbours,
        t: u32,
    ) -> Result<Option<Early>, ExploreError> {
        let (explorer, allowance) = (self.explorer, self.allowance(1.0));
        let rules = Rules {
            allowance: Allowance::ENDLESS,
            ..explorer.rules
        };
        let crash = &explorer.space.points[point].crash;
        let tally = &mut self.tally;
        let flow = near.visit(&mut self.path, t, &mut |path| {
            if allowance.is_spent(tally) {
                return ControlFlow::Break(Ok(Early { found: None }));
            }
            let mark = path.known.mark();
            let verdict = subject.once(path, crash, &rules, tally);
            path.known.undo_to(mark);
            match verdict {
                Ok(Ok(())) => ControlFlow::Continue(()),
                Ok(Err(violation)) => {
                    let found = Some((point, Broken::new(path, violation)));
                    ControlFlow::Break(Ok(Early { found }))
                }
                Err(error) => ControlFlow::Break(Err(error)),
            }
        });
        match flow {
            ControlFlow::Continue(()) => Ok(None),
            ControlFlow::Break(early) => early.map(Some),
        }
    }
    /// Shrinks the violation to the smallest crash state of its failure point and reports it.
    fn convict(mut self, subject: &mut impl Subject, point: usize, found: Broken) -> Result<Report, ExploreError> {
        let explorer = self.explorer;
        self.path.better_than = Some(found.size);
        let recoveries = explorer.minimising;
        let rules = Rules {
            allowance: Allowance {
                recoveries,
                until: None,
            },
            doubt: None,
            ..explorer.rules
        };
        let crash = &explorer.space.points[point].crash;
        let (smallest, better) = match subject.search(&mut self.path, crash, &rules, &mut Tally::default())? {
            Ending::Explored(better) => (true, better),
            Ending::Spent(better) => (false, better),
            Ending::Broken(broken) => (false, Some(broken)),
        };
        let broken = better.unwrap_or(found);
        let id = (explorer.prefix.as_str(), explorer.order.digest() as u32);
        let witness = Witness::new(explorer.space, point, &broken.durable, broken.violation, smallest, id);
        self.report.witness = Some(witness);
        self.report.verdict = Verdict::Violated;
        self.report.states_covered = self.report.states_covered.saturating_add(1);
        for later in self.counted..explorer.space.points.len() {
            explorer.advance(&mut self.path, later);
            self.count_states();
        }
        self.report.complete = false;
        Ok(self.finish())
    }
    fn acquit(mut self) -> Report {
        self.report.complete = self.unfinished.is_empty();
        self.report.verdict = if self.report.complete {
            Verdict::Clean
        } else {
            Verdict::Bounded
        };
        if self.report.complete {
            self.report.lines_deviating = None;
        }
        self.finish()
    }
    fn finish(mut self) -> Report {
        self.report.recoveries = self.tally.recoveries;
        self.report.steps = self.tally.steps;
        self.report.merges = self.tally.merges;
        self.report
    }
}
