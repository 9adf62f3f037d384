//! Checking what one simulated run really left behind: recovery on the memory image before every durable event.

use super::guard::{CutShort, guarded};
use super::memory::ImageMem;
use super::recovery::Oracle;
use super::report::Verdict;
use super::search::endless;
use fencepost_kernel::{
    Addr, CrashPoint, Flow, Image, PersistLog, Program, StoreId, Trace, TraceKind, Violation, WriteCause,
};
use rustc_hash::FxHashMap;
use std::num::NonZeroU64;

/// Loads and steps after which a recovery of one image counts as endless.
const ENDLESS: u64 = 1 << 24;

impl<P: Program> Oracle<'_, P> {
    /// Rebuilds and audits one concrete crash image, which stays as it is.
    pub fn run(&self, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
        let mut memory = ImageMem::with_loads(image, ENDLESS);
        match guarded(|| self.run_steps(&mut memory, crash)) {
            Ok(verdict) => verdict,
            Err(CutShort::Stopped(_)) => Err(endless()),
            Err(CutShort::Panicked(text)) => Err(Violation {
                why: format!("recovery panics: {text}"),
                at: None,
            }),
        }
    }
    fn run_steps(&self, memory: &mut ImageMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
        let mut rebuild = self.program().rebuild_start();
        for _ in 0..ENDLESS {
            match self.program().rebuild(memory, rebuild) {
                Flow::Next(next) => rebuild = next,
                Flow::Done(Ok(())) => return self.run_audit(memory, crash),
                Flow::Done(Err(violation)) => return Err(violation),
            }
        }
        Err(endless())
    }
    fn run_audit(&self, memory: &mut ImageMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
        let mut audit = self.program().audit_start(self.model(), crash);
        for _ in 0..ENDLESS {
            match self.program().audit(self.model(), memory, audit) {
                Flow::Next(next) => audit = next,
                Flow::Done(verdict) => return verdict,
            }
        }
        Err(endless())
    }
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
    pub missing: Vec<StoreId>,
}

/// What the check of a persist log's prefixes found.
#[derive(Clone, Debug)]
pub struct PrefixReport {
    /// Prefixes looked at.
    pub points: u64,
    /// Recoveries run: prefixes whose memory or crash point differs from the one before.
    pub recoveries: u64,
    /// Clean only if every prefix was looked at; bounded if some were skipped.
    pub verdict: Verdict,
    /// The first prefix that breaks.
    pub broken: Option<BrokenPrefix>,
}

/// Runs recovery on the memory just before each durable event of a run, and at its end: on all of these crash points, or
/// on `budget` of them, evenly spread (the end always among them).
///
/// The moment before a durable event is the hardest of those with the same memory: most operations are acknowledged
/// by then. `hardware` does what the design's hardware does to memory after a power failure, before any software runs.
/// Bad input (records that the log did not keep) shows as fewer points than durable events.
pub fn check_prefixes<P: Program>(
    oracle: &Oracle<'_, P>,
    initial: &Image,
    trace: &Trace,
    log: &PersistLog,
    budget: NonZeroU64,
    mut hardware: impl FnMut(&Image) -> Image,
) -> PrefixReport {
    let threads = trace.threads as usize;
    let mut crash = CrashPoint {
        begun: vec![0; threads],
        acked: vec![0; threads],
    };
    let mut report = PrefixReport {
        points: 0,
        recoveries: 0,
        verdict: Verdict::Clean,
        broken: None,
    };
    let (mut image, mut records, mut candidate) = (initial.clone(), 0, 0);
    let total = candidates(log);
    let mut judged: Option<CrashPoint> = None;
    for (event, what) in trace.events.iter().map(Some).chain([None]).enumerate() {
        let record = match what.map(|w| (w.kind, w.thread)) {
            Some((TraceKind::OpBegin(k), Some(t))) => {
                crash.begun[t.index()] = k + 1;
                continue;
            }
            Some((TraceKind::Ack(k), Some(t))) => {
                crash.acked[t.index()] = k + 1;
                continue;
            }
            Some((TraceKind::Durable { index }, _)) => log.records().get(index as usize).map(|r| (index, r)),
            Some(_) => continue,
            None => None,
        };
        let inside = within_node(log, records);
        candidate += u64::from(!inside);
        if inside {
            judged = None;
        } else if !is_chosen(candidate, total, budget.get()) {
            report.verdict = Verdict::Bounded;
        } else {
            report.points += 1;
            if judged.as_ref() != Some(&crash) {
                report.recoveries += 1;
                if let Err(why) = oracle.run(&hardware(&image), &crash) {
                    let missing = missing(trace, event, log, records);
                    report.verdict = Verdict::Violated;
                    report.broken = Some(BrokenPrefix {
                        records,
                        event,
                        crash,
                        why,
                        missing,
                    });
                    return report;
                }
                judged = Some(crash.clone());
            }
        }
        let Some((index, record)) = record else { continue };
        records = index as usize + 1;
        if image.line_words(record.line) != record.data.words {
            judged = None;
        }
        image.set_line(record.line, &record.data);
    }
    report
}

/// Crash points of a log: before each durable event that does not complete an atomic node, and at the end.
fn candidates(log: &PersistLog) -> u64 {
    let parts = log.records().iter().filter(|r| r.cause == WriteCause::LogPart);
    log.records().len() as u64 + 1 - parts.count() as u64
}

/// Whether the `candidate`-th of `total` crash points (from 1) is one of `budget` evenly spread ones.
fn is_chosen(candidate: u64, total: u64, budget: u64) -> bool {
    let chosen_up_to = |c: u64| u128::from(c) * u128::from(budget.min(total)) / u128::from(total.max(1));
    chosen_up_to(candidate) > chosen_up_to(candidate.saturating_sub(1))
}

/// Whether the record after the first `records` ones completes an atomic node with them: no crash state lies in between.
fn within_node(log: &PersistLog, records: usize) -> bool {
    let last = records.checked_sub(1).and_then(|i| log.records().get(i));
    last.is_some_and(|r| r.cause == WriteCause::LogPart)
}

/// The newest performed store of each word that the first `records` records do not hold, in program order.
fn missing(trace: &Trace, events: usize, log: &PersistLog, records: usize) -> Vec<StoreId> {
    let mut durable: FxHashMap<Addr, StoreId> = FxHashMap::default();
    for record in &log.records()[..records] {
        for (i, by) in record
            .data
            .by
            .iter()
            .enumerate()
            .filter_map(|(i, by)| Some((i as u64, (*by)?)))
        {
            durable.insert(Addr(record.line.base().0 + i * 8), by);
        }
    }
    let mut newest: FxHashMap<Addr, StoreId> = FxHashMap::default();
    for event in &trace.events[..events] {
        if let Some(id) = crate::contracts::store_of(event.kind).filter(|s| trace.store(*s).addr.is_persistent()) {
            newest.insert(trace.store(id).addr, id);
        }
    }
    let mut missing: Vec<_> = newest
        .into_iter()
        .filter(|(at, id)| durable.get(at) != Some(id))
        .map(|n| n.1)
        .collect();
    missing.sort_unstable();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn as_many_crash_points_as_the_budget_allows_evenly_spread_and_the_end() {
        for total in 1..60 {
            for budget in 1..80 {
                let chosen: Vec<u64> = (1..=total).filter(|c| is_chosen(*c, total, budget)).collect();
                assert_eq!(chosen.len() as u64, budget.min(total));
                assert_eq!(chosen.last(), Some(&total));
                let gaps = chosen.windows(2).map(|w| w[1] - w[0]);
                let (least, most) = gaps.fold((u64::MAX, 0), |(a, b), g| (a.min(g), b.max(g)));
                assert!(chosen.len() < 2 || most - least <= 1, "{total} {budget}: {chosen:?}");
            }
        }
    }
}
