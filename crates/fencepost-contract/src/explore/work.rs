//! One exploration under way: exact search first, then the neighbourhoods of what it could not finish.

use super::bounded::Neighbours;
use super::count::Counter;
use super::explorer::Explorer;
use super::known::Known;
use super::path::Path;
use super::report::{Budget, Report, Verdict};
use super::search::{Allowance, Broken, Ending, ExploreError, Rules, Subject, Tally};
use super::witness::Witness;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

/// Nodes that counting crash states may look at, over one exploration.
const COUNTING_EFFORT: u64 = 50_000_000;
/// Steps that the search for the smallest witness may take, for each recovery it may take.
const MINIMISING_STEPS: u64 = 100;

/// A round of bounded exploration ended before its end: by a violation, or because the budget is spent.
struct Early {
    found: Option<(usize, Broken)>,
}

/// One exploration under way.
pub struct Work<'e, 's> {
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
    pub unfinished: Vec<usize>,
}

impl<'e, 's> Work<'e, 's> {
    pub fn new(explorer: &'e Explorer<'s>) -> Self {
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
    /// What may be spent: this part of the budget, counted from its beginning.
    fn allowance(&self, part: f64) -> Allowance {
        match self.explorer.budget {
            Budget::Unlimited => Allowance::ENDLESS,
            Budget::States(n) => Allowance {
                recoveries: (n as f64 * part) as u64,
                ..Allowance::ENDLESS
            },
            Budget::Time(t) => Allowance {
                until: Some(self.begun + t.mul_f64(part)),
                ..Allowance::ENDLESS
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
    pub fn exactly(&mut self, subject: &mut impl Subject) -> Result<Option<(usize, Broken)>, ExploreError> {
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
    pub fn boundedly(&mut self, subject: &mut impl Subject) -> Result<Option<(usize, Broken)>, ExploreError> {
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
        // The state at which the walk ended early broke, or was not run any more.
        let survived = visited - u128::from(end.is_some());
        let found = end.and_then(|Early { found }| found);
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
    pub fn convict(mut self, subject: &mut impl Subject, point: usize, found: Broken) -> Result<Report, ExploreError> {
        let explorer = self.explorer;
        self.path.better_than = Some(found.size);
        let allowance = Allowance {
            recoveries: explorer.minimising,
            steps: explorer.minimising.saturating_mul(MINIMISING_STEPS),
            until: match explorer.budget {
                Budget::Time(t) => Some(Instant::now() + t),
                Budget::Unlimited | Budget::States(_) => None,
            },
        };
        let rules = Rules {
            allowance,
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
    pub fn acquit(mut self) -> Report {
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
