//! One exploration under way: exact search first, then the neighbourhoods of what it could not finish.

use super::again::{self, Explore, Interrupted};
use super::bounded::Neighbours;
use super::count::Counter;
use super::crash_report::{Budget, Report, Verdict};
use super::explorer::Explorer;
use super::judged::Judging;
use super::path::{Ends, Path};
use super::search::{Allowance, Broken, Doubt, Ending, ExploreError, Rules, Subject, Tally};
use super::witness::Witness;
use fencepost_kernel::planted;
use std::ops::ControlFlow;
use std::time::Instant;

/// Time that the search for the smallest witness may take at least, if the budget has it.
const SHRINKING: std::time::Duration = std::time::Duration::from_secs(2);
/// Steps that the search for the smallest witness may take, for each recovery it may take.
const MINIMISING_STEPS: u64 = 100;

/// Nodes of an execution beyond which its recoveries are not interrupted.
const SMALL: u32 = 20_000;
/// Recoveries of one exploration that are interrupted at most.
const MOST_INTERRUPTED: usize = 512;

/// A round of bounded exploration ended before its end: by a violation, or because the budget is spent.
struct Early {
    found: Option<(usize, Broken)>,
}

/// One exploration under way.
pub(super) struct Work<'e, 's> {
    explorer: &'e Explorer<'s>,
    /// Stands at the failure point under exploration.
    path: Path,
    report: Report,
    tally: Tally,
    begun: Instant,
    counter: Counter,
    /// Failure points whose states have been counted.
    counted: usize,
    /// Where recoveries ended that could be interrupted: failure point and durable nodes.
    ended: Vec<(usize, Vec<bool>)>,
    /// Failure points whose states were not all covered.
    pub unfinished: Vec<usize>,
}

impl<'e, 's> Work<'e, 's> {
    pub(super) fn new(explorer: &'e Explorer<'s>) -> Self {
        let mut path = explorer.path();
        path.ends = explorer
            .again
            .filter(|_| explorer.order.nodes() <= SMALL)
            .map(|_| Ends::at_most(MOST_INTERRUPTED));
        let (report, tally) = (Report::new(), Tally::default());
        Work {
            explorer,
            path,
            report,
            tally,
            begun: Instant::now(),
            counter: Counter::new(explorer.counting),
            counted: 0,
            ended: Vec::new(),
            unfinished: Vec::new(),
        }
    }
    /// What may be spent: this part of the budget, counted from its beginning.
    fn allowance(&self, part: f64) -> Allowance {
        let steps = self.explorer.steps;
        let mut allowance = Allowance {
            steps: if steps == u64::MAX {
                steps
            } else {
                (steps as f64 * part) as u64
            },
            until: self.explorer.deadline,
            ..Allowance::ENDLESS
        };
        match self.explorer.budget {
            Budget::Unlimited => {}
            Budget::States(n) => allowance.recoveries = (n as f64 * part) as u64,
            Budget::Time(t) => {
                let until = self.begun + t.mul_f64(part);
                allowance.until = Some(allowance.until.map_or(until, |d| d.min(until)));
            }
        }
        allowance
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
    pub(super) fn exactly(&mut self, subject: &mut dyn Subject) -> Result<Option<(usize, Broken)>, ExploreError> {
        let explorer = self.explorer;
        let mut judging = Judging::new(!explorer.whole_audits);
        for (i, point) in explorer.space.points.iter().enumerate() {
            let last = i + 1 == explorer.space.points.len();
            judging.next(&mut self.path, (point, last), |path| explorer.advance(path, i));
            self.path.watch.until = self.allowance(1.0).until;
            let states = self.count_states();
            self.report.crash_points += 1;
            let rules = Rules {
                allowance: self.allowance_of_point(i),
                ..explorer.rules
            };
            let before = self.tally.recoveries;
            let merged = self.tally.merges;
            let spent = rules.allowance.is_spent(&self.tally);
            let not_searched = !spent
                && i % 2 == 1
                && planted!(
                    "explorer.point-counted-not-searched",
                    "every failure point that is counted is searched"
                );
            let ending = match spent {
                true => Ending::Spent(None),
                false if not_searched => Ending::Explored(None),
                false => subject.search(&mut self.path, &point.crash, &rules, &mut self.tally)?,
            };
            if let Some(ends) = &mut self.path.ends {
                self.ended.extend(ends.states.drain(..).map(|durable| (i, durable)));
            }
            judging.searched(&mut self.path, matches!(ending, Ending::Explored(_)));
            match ending {
                Ending::Explored(_) if (self.tally.recoveries, self.tally.merges) == (before, merged) => {
                    let (counted, run) = (self.report.crash_points, i as u64);
                    return Err(ExploreError::Skipped { counted, run });
                }
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
    pub(super) fn boundedly(&mut self, subject: &mut dyn Subject) -> Result<Option<(usize, Broken)>, ExploreError> {
        let explorer = self.explorer;
        let mut near: Vec<Option<Neighbours>> = self.unfinished.iter().map(|_| None).collect();
        let mut end = None;
        for t in 0.. {
            self.path = explorer.path();
            self.path.watch.until = self.allowance(1.0).until;
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
        subject: &mut dyn Subject,
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
            if path.watch.until.is_some_and(|t| Instant::now() >= t) {
                return ControlFlow::Break(Ok(Early { found: None }));
            }
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
    pub(super) fn convict(
        mut self,
        subject: &mut dyn Subject,
        point: usize,
        found: Broken,
    ) -> Result<Report, ExploreError> {
        let explorer = self.explorer;
        self.path.better_than = Some(found.size);
        self.path.ends = None;
        self.path.judged.0 = None;
        // With the budget spent there is no time left for this, and shrinking must not take longer than finding.
        let soon = Instant::now() + self.begun.elapsed().max(SHRINKING);
        let recoveries = match explorer.budget {
            Budget::States(n) => explorer.minimising.min(n.saturating_sub(self.tally.recoveries)),
            Budget::Unlimited | Budget::Time(_) => explorer.minimising,
        };
        let allowance = Allowance {
            recoveries,
            steps: recoveries.saturating_mul(MINIMISING_STEPS),
            until: Some(self.allowance(1.0).until.map_or(soon, |t| t.min(soon))),
        };
        self.path.watch.until = allowance.until;
        let rules = Rules {
            allowance,
            doubt: Doubt::default(),
            ..explorer.rules
        };
        let crash = &explorer.space.points[point].crash;
        let mut shrinking = Tally::default();
        let ending = match allowance.is_spent(&shrinking) {
            true => Ending::Spent(None),
            false => subject.search(&mut self.path, crash, &rules, &mut shrinking)?,
        };
        self.tally.recoveries += shrinking.recoveries;
        self.tally.steps += shrinking.steps;
        let (smallest, better) = match ending {
            Ending::Explored(better) => (true, better),
            Ending::Spent(better) => (false, better),
            Ending::Broken(broken) => (false, Some(broken)),
        };
        let broken = better.unwrap_or(found);
        let id = (explorer.prefix.as_str(), explorer.order.digest() as u32);
        let witness = Witness::new(
            explorer.space,
            point,
            (&broken.durable, &broken.decided),
            broken.violation,
            smallest,
            id,
        );
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
    /// No state broke: lets power fail again in the recoveries that were run, then reports.
    pub(super) fn interrupt(mut self, subject: &mut dyn Subject, explore: Explore<'_>) -> Result<Report, ExploreError> {
        let ended = std::mem::take(&mut self.ended);
        let Some(contract) = self.explorer.again else {
            return Ok(self.acquit());
        };
        let allowance = self.allowance(1.0);
        let limits = (allowance, &mut self.tally);
        let (mut report, found) = again::interrupt(self.explorer, contract, &ended, subject, limits, explore)?;
        let unseen = self.path.ends.as_ref().is_none_or(|e| e.skipped > 0);
        report.complete &= !unseen && self.unfinished.is_empty();
        self.report.again = Some(report);
        Ok(match found {
            Some(found) => self.convict_second(found),
            None => self.acquit(),
        })
    }
    fn convict_second(mut self, found: Interrupted) -> Report {
        let explorer = self.explorer;
        let id = (explorer.prefix.as_str(), explorer.order.digest() as u32);
        let decided = vec![true; found.durable.len()];
        let why = found.second.why.clone();
        let first = Witness::new(explorer.space, found.point, (&found.durable, &decided), why, false, id);
        self.report.witness = Some(first.interrupted(found.second));
        self.report.verdict = Verdict::Violated;
        self.report.complete = false;
        self.finish()
    }
    fn acquit(mut self) -> Report {
        self.report.complete = self.unfinished.is_empty();
        self.report.verdict = if self.report.complete {
            Verdict::Clean
        } else if self.tally.recoveries == 0 {
            Verdict::NothingExplored
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
