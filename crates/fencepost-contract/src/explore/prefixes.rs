//! Checking what one simulated run really left behind: recovery on the memory image before every durable event.

mod each;
mod recovered;

pub use each::check_prefixes;
pub use recovered::Recovered;

use super::again;
use super::crash_report::{AgainReport, Verdict};
use super::log_points::{candidates, is_chosen, missing, within_node};
use super::on_image::{AnyOracle, MANY, Walk};
use super::replay_id::{ReplayError, ReplayId};
use super::search::ExploreError;
use super::walks::Walks;
use super::watch::Watch;
use super::witness::Witness;
use crate::contracts::Contract;
use crate::graph::{Extent, History, WhyLost};
use fencepost_kernel::{CrashPoint, Image, LineAddr, PersistLog, StoreId, Trace, TraceKind, Violation};
use fencepost_kernel::{planted, stop};
use recovered::Series;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::time::Instant;

/// Recoveries of one run that are interrupted at most.
const MOST_INTERRUPTED: u64 = 512;

/// A store that had performed and is lost, and why it may be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LostStore {
    /// The store.
    pub store: StoreId,
    /// The operation in which it was made.
    pub operation: Option<u32>,
    /// Why it was not durable.
    pub why: WhyLost,
}

/// A prefix of the persist log that recovery does not survive.
#[derive(Clone, Debug)]
pub struct BrokenPrefix {
    /// Number of durable events before the power failed.
    pub records: usize,
    /// Number of trace events before the power failed.
    pub event: usize,
    /// What had begun and been acknowledged.
    pub crash: CrashPoint,
    /// What is wrong after recovery.
    pub why: Violation,
    /// Stores to persistent memory that had performed, were the newest of their words, and were not durable.
    pub missing: Vec<LostStore>,
    /// The last operation that each thread had completed, if any.
    pub completed: Vec<Option<u32>>,
    /// The crash state of recovery's own stores, if it was a second power failure that recovery does not survive.
    pub second: Option<Box<Witness>>,
}

/// What the check of a persist log's prefixes found.
#[derive(Clone, Debug)]
pub struct PrefixReport {
    /// Prefixes looked at.
    pub points: u64,
    /// Recoveries run: prefixes whose memory or crash point differs from the one before.
    pub recoveries: u64,
    /// Recoveries run after power had failed again during one of those.
    pub second: u64,
    /// Clean only if every prefix was looked at; bounded if some were skipped.
    pub verdict: Verdict,
    /// Power failures during recovery, if they were tried.
    pub again: Option<AgainReport>,
    /// The first prefix that breaks.
    pub broken: Option<BrokenPrefix>,
}

/// A crash point of a run: the moment before a durable event, or the end.
struct Point<'a> {
    records: usize,
    event: usize,
    crash: &'a CrashPoint,
    image: &'a Image,
    /// The lines that were written since the crash point before; may hold repetitions.
    lines: &'a [LineAddr],
    /// Whether memory or what was acknowledged differs from the crash point before.
    differs: bool,
}

/// A check of what a run really left behind: recovery on the memory before each durable event of the run, and at its end.
///
/// The moment before a durable event is the hardest of those with the same memory: most operations are acknowledged
/// by then. Bad input (records that the log did not keep) shows as fewer points than durable events.
pub struct PrefixCheck<'a> {
    oracle: &'a dyn AnyOracle,
    initial: &'a Image,
    trace: &'a Trace,
    log: &'a PersistLog,
    budget: u64,
    until: Option<Instant>,
    again: Option<Contract>,
    /// Second recoveries that may be run.
    most_second: u64,
    extent: Extent,
}

impl<'a> PrefixCheck<'a> {
    /// Examines every crash point of a run that started from the durable memory `initial`.
    pub fn new(oracle: &'a dyn AnyOracle, initial: &'a Image, trace: &'a Trace, log: &'a PersistLog) -> Self {
        PrefixCheck {
            oracle,
            initial,
            trace,
            log,
            budget: u64::MAX,
            until: None,
            again: None,
            most_second: u64::MAX,
            extent: oracle.extent(),
        }
    }
    /// Examines only so many crash points, evenly spread (the end always among them).
    pub fn budget(mut self, points: NonZeroU64) -> Self {
        self.budget = points.get();
        self
    }
    /// Stops at this moment.
    pub fn until(mut self, deadline: Option<Instant>) -> Self {
        self.until = deadline;
        self
    }
    /// Lets power fail again while recovery runs, under `contract`: see [`super::Explorer::power_fails_again`].
    pub fn power_fails_again(mut self, contract: Option<Contract>) -> Self {
        self.again = contract;
        self
    }
    /// Runs at most so many recoveries after power failed again, all crash points together.
    pub fn most_second(mut self, recoveries: u64) -> Self {
        self.most_second = recoveries;
        self
    }
    fn watch(&self, tape: bool) -> Watch {
        let mut watch = Watch::new();
        watch.extent = self.extent;
        if tape {
            watch.start_tape();
        }
        watch
    }
    /// Recovers one memory and audits it; the watch has recovery's stores if they are taped.
    fn recover(&self, image: &Image, point: &Point<'_>, tape: bool, walk: Walk) -> (Result<(), Violation>, Watch) {
        self.oracle.recover(image, point.crash, (self.watch(tape), walk, None))
    }
    /// Visits the crash points in order.
    fn walk<B>(&self, mut visit: impl FnMut(&Point<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let threads = self.trace.threads as usize;
        let mut crash = CrashPoint {
            begun: vec![0; threads],
            acked: vec![0; threads],
        };
        let (mut image, mut records, mut differs) = (self.initial.clone(), 0, true);
        let mut lines = Vec::new();
        for (event, what) in self.trace.events.iter().map(Some).chain([None]).enumerate() {
            let record = match what.map(|w| (w.kind, w.thread)) {
                Some((TraceKind::OpBegin(k), Some(t))) => {
                    crash.begun[t.index()] = k + 1;
                    differs = true;
                    continue;
                }
                Some((TraceKind::Ack(k), Some(t))) => {
                    crash.acked[t.index()] = k + 1;
                    differs = true;
                    continue;
                }
                Some((TraceKind::Durable { index }, _)) => self.log.records().get(index as usize).map(|r| (index, r)),
                Some(_) => continue,
                None => None,
            };
            if within_node(self.log, records) {
                differs = true;
            } else {
                visit(&Point {
                    records,
                    event,
                    crash: &crash,
                    image: &image,
                    lines: &lines,
                    differs,
                })?;
                lines.clear();
                differs = false;
            }
            let Some((index, record)) = record else { continue };
            records = index as usize + 1;
            differs |= image.line_words(record.line) != record.data.words;
            image.set_line(record.line, &record.data);
            lines.push(record.line);
        }
        ControlFlow::Continue(())
    }
    /// Runs the check until a crash point breaks. `hardware` does what the design's hardware does to memory after a
    /// power failure, before any software runs: it returns every memory that it may leave.
    pub fn run<R: Into<Recovered>>(&self, mut hardware: impl FnMut(&Image) -> R) -> Result<PrefixReport, ExploreError> {
        let mut report = PrefixReport {
            points: 0,
            recoveries: 0,
            second: 0,
            verdict: Verdict::Clean,
            again: None,
            broken: None,
        };
        let mut again = self.again.map(|_| AgainReport {
            complete: true,
            ..AgainReport::default()
        });
        let before = self.oracle.images_recovered();
        let (total, mut candidate, mut differs) = (candidates(self.log), 0, true);
        let (mut walks, mut series) = (Walks::default(), Series::default());
        self.oracle.begin_series();
        let flow = self.walk(|point| {
            stop::look();
            candidate += 1;
            differs |= point.differs;
            series.wrote(point.lines);
            let late = self.until.is_some_and(|t| Instant::now() >= t);
            if late || !is_chosen(candidate, total, self.budget) {
                report.verdict = Verdict::Bounded;
                return ControlFlow::Continue(());
            }
            report.points += 1;
            if std::mem::take(&mut differs) {
                report.recoveries += 1;
                let left: Recovered = hardware(point.image).into();
                let (image, others) = (left.memory(point.image), &left.others);
                let may = |a: AgainReport| a.recoveries < MOST_INTERRUPTED && report.second < self.most_second;
                let tape = again.is_some_and(may);
                let skips = planted!(
                    "explorer.prefix-counted-not-run",
                    "every crash point that is counted is recovered"
                );
                if skips && report.recoveries.is_multiple_of(2) {
                    return ControlFlow::Continue(());
                }
                let walk = walks.next(report.recoveries, candidate == total);
                let whole = walk == Walk::Whole;
                let since = if whole { None } else { series.next(&left) };
                let how = (self.watch(tape), walk, since.as_deref());
                let (verdict, watch) = self.oracle.recover(image, point.crash, how);
                walks.done(walk, watch.accesses());
                if let Err(why) = verdict {
                    report.recoveries += u64::from(!whole);
                    if !whole && self.recover(image, point, false, Walk::Whole).0.is_ok() {
                        return ControlFlow::Break(Err(ExploreError::ShortAudit { why: why.why }));
                    }
                    return ControlFlow::Break(Ok(self.broken(point, why, None)));
                }
                for other in others {
                    report.recoveries += 1;
                    if let Some(why) = self.other_breaks(other, point) {
                        return ControlFlow::Break(Ok(self.broken(point, why, None)));
                    }
                }
                if let (Some(tape), Some(contract), Some(again)) = (&watch.tape, self.again, &mut again) {
                    match self.interrupt(point, contract, image, tape, (again, &mut report.second)) {
                        Ok(None) => {}
                        Ok(Some(second)) => {
                            let why = second.why.clone();
                            return ControlFlow::Break(Ok(self.broken(point, why, Some(second))));
                        }
                        Err(error) => return ControlFlow::Break(Err(error)),
                    }
                }
            }
            ControlFlow::Continue(())
        });
        let run = self.oracle.images_recovered() - before;
        if run != report.recoveries {
            let counted = report.recoveries;
            return Err(ExploreError::Skipped { counted, run });
        }
        if let ControlFlow::Break(broken) = flow {
            report.broken = Some(broken?);
            report.verdict = Verdict::Violated;
        } else if report.points == 0 {
            report.verdict = Verdict::NothingExplored;
        }
        if let Some(again) = &mut again {
            let all = again.recoveries < MOST_INTERRUPTED && report.second < self.most_second;
            again.complete &= all && report.verdict == Verdict::Clean;
        }
        report.again = again;
        Ok(report)
    }
    /// What is wrong after the recovery from a memory that disturbed hardware leaves.
    fn other_breaks(&self, (image, how): &(Image, String), point: &Point<'_>) -> Option<Violation> {
        let (verdict, _) = self.recover(image, point, false, Walk::Changed);
        let Violation { why, at } = verdict.err()?;
        let why = format!("{why} ({how})");
        Some(Violation { why, at })
    }
    /// Lets power fail again in the recovery that is on `tape`.
    fn interrupt(
        &self,
        point: &Point<'_>,
        contract: Contract,
        image: &Image,
        tape: &Trace,
        (report, second): (&mut AgainReport, &mut u64),
    ) -> Result<Option<Witness>, ExploreError> {
        let Some(space) = again::space_of(contract, tape, image, point.crash, self.extent) else {
            return Ok(None);
        };
        report.recoveries += 1;
        report.fenced |= again::is_fenced(tape);
        let left = again::at_most(self.most_second - *second);
        let found = again::explorer(&space, self.loads())
            .budget(left)
            .until(self.until)
            .explore(&mut *self.oracle.subject())?;
        *second += found.recoveries;
        report.states = report.states.saturating_add(found.states_covered);
        report.complete &= found.verdict == Verdict::Clean;
        Ok(found.witness)
    }
    /// Accesses after which a recovery behind an interrupted one counts as endless.
    fn loads(&self) -> u64 {
        MANY.saturating_mul(self.oracle.usual(self.trace.threads as usize))
    }
    fn broken(&self, point: &Point<'_>, why: Violation, second: Option<Witness>) -> BrokenPrefix {
        let mut history = History::of(self.trace, &Image::default());
        history.by_flush = self
            .trace
            .events
            .iter()
            .any(|e| matches!(e.kind, TraceKind::Flush { .. }));
        let lost = |store: StoreId| {
            let info = self.trace.store(store);
            let named = (info.thread, info.addr, info.nt, info.tx.is_some());
            LostStore {
                store,
                operation: history.operation_of(store, info.thread),
                why: history.why_lost(Some(store), named, point.event),
            }
        };
        let missing = missing(self.trace, point.event, self.log, point.records);
        BrokenPrefix {
            records: point.records,
            event: point.event,
            crash: point.crash.clone(),
            why,
            missing: missing.into_iter().map(lost).collect(),
            completed: history.completed(point.event),
            second: second.map(Box::new),
        }
    }
    /// Runs recovery again on one crash point, the one before durable event `records` (from 0; their number: the end);
    /// with `second`, on a crash state of recovery's own stores there.
    ///
    /// # Errors
    /// [`ReplayError::OtherExecution`] if the run has no such crash point.
    pub fn replay<R: Into<Recovered>>(
        &self,
        records: u64,
        second: Option<&ReplayId>,
        mut hardware: impl FnMut(&Image) -> R,
    ) -> Result<Option<BrokenPrefix>, ReplayError> {
        let no = |why| Err(ReplayError::OtherExecution(why));
        let flow = self.walk(|point| {
            if point.records as u64 != records {
                return ControlFlow::Continue(());
            }
            let left: Recovered = hardware(point.image).into();
            let (image, others) = (left.memory(point.image), &left.others);
            let (verdict, watch) = self.recover(image, point, second.is_some(), Walk::Whole);
            let verdict = verdict.and_then(|()| {
                let wrong = others.iter().find_map(|other| self.other_breaks(other, point));
                wrong.map_or(Ok(()), Err)
            });
            let (Some(second), Some(tape), Some(contract)) = (second, &watch.tape, self.again) else {
                return ControlFlow::Break(Ok(verdict.err().map(|why| self.broken(point, why, None))));
            };
            let Some(space) = again::space_of(contract, tape, image, point.crash, self.extent) else {
                return ControlFlow::Break(no("its recovery stores nothing"));
            };
            let again = again::explorer(&space, self.loads());
            let again = again.replay_state(&mut *self.oracle.subject(), "", second);
            ControlFlow::Break(again.map(|r| Some(self.broken(point, r.verdict.err()?, r.witness))))
        });
        match flow {
            ControlFlow::Break(found) => found,
            ControlFlow::Continue(()) => no("it has no such crash point"),
        }
    }
}
