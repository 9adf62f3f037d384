//! What a program is: operations indexed by number, and recovery and audit as chains of steps.

use crate::cover::Cover;
use crate::crash::CrashPoint;
use crate::dialect::Logging;
use crate::mem::Mem;
use crate::ops::{Outcome, Rollback};
use crate::pm::Pm;
use crate::private::Private;
use crate::span::{Footprint, Span};
use crate::units::{Addr, LINE_BYTES, LineAddr};
use std::fmt::Debug;
use std::hash::Hash;

/// One executed operation, as the oracle sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpRecord {
    /// Software thread.
    pub thread: u32,
    /// Index of the operation within its thread.
    pub k: u32,
    /// Global position of the operation's last lock acquisition (operations that took no lock: of its end). Operations that
    /// take all their locks before they release any are ordered by it as their locks ordered them.
    pub stamp: u64,
    /// What it did.
    pub outcome: Outcome,
}

/// Why a recovered state is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    /// One sentence for the user.
    pub why: String,
    /// The word that shows it, where one does.
    pub at: Option<Addr>,
}
impl Violation {
    /// A violation shown by the word at `at`.
    pub fn at(at: Addr, why: impl Into<String>) -> Violation {
        Violation {
            why: why.into(),
            at: Some(at),
        }
    }
}

/// Result of one step of recovery or audit.
#[derive(Clone, Debug)]
pub enum Flow<S> {
    /// Continue from this state. All that outlives a step is in it.
    Next(S),
    /// Finished: sound, or not.
    Done(Result<(), Violation>),
}

/// A persistent program.
///
/// What an operation is given (its keys, values, random choices) is its *input*, made before the measured stretch begins: operation
/// `k` of thread `t` is a pure function of (the program's parameters, `t`, `k`, its input, memory), and its input one of (parameters,
/// seed, `t`, `k`). Inputs carry what makes stored values tell which operation stored them; roll-back, prefix oracles and replay rely
/// on that. Recovery is `rebuild` (no history, so explorers may share it between crash points), then
/// `audit` (the oracle). Both are chains of *steps*: a step may use any Rust inside, but everything that outlives
/// it is its state, which makes merging of equal states sound.
pub trait Program: Clone + Send + Sync + 'static {
    /// What one operation is given.
    type Input;
    /// State between two steps of recovery.
    type Rebuild: Clone + Eq + Hash + Debug;
    /// State between two steps of the audit.
    type Audit: Clone + Eq + Hash + Debug;
    /// What the oracle precomputes from a whole run's operations.
    type Model;

    /// Whether threads load what others store at the same time, on purpose. In a checked run of a program that does not say
    /// so, such a load is a violation.
    const RACES: bool = false;

    /// How much memory its layout takes, whatever of it a run touches: what lies beyond does not exist for recovery.
    fn footprint(&self) -> Footprint;
    /// Builds the initial structure. Untimed; the image it leaves is durable.
    fn setup<M: Mem>(&self, m: &mut M);
    /// The data that stays in a cache of sufficient size while the program runs, hottest first: it is read before measuring begins. Logs
    /// and pools are left out, they are warmed by operations.
    fn resident(&self) -> Vec<Span> {
        Vec::new()
    }
    /// The memory that `thread` has bound to write sub-queues before it begins, where the design has them: a range for each
    /// allocation. All threads that use a range name it. Lines in none go through the default queue.
    fn ranges(&self, _thread: u32) -> Vec<Span> {
        self.resident()
    }
    /// What operation `k` of `thread` is given. Not part of the measured stretch.
    fn input(&self, thread: u32, k: u32) -> Self::Input;
    /// Runs operation `k` of `thread`: the measured stretch.
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32, input: &Self::Input) -> Result<Outcome, Rollback>;

    /// First state of recovery.
    fn rebuild_start(&self) -> Self::Rebuild;
    /// One step of recovery: reads the crash image, writes its repairs.
    fn rebuild<M: Mem<Dep = ()>>(&self, m: &mut M, state: Self::Rebuild) -> Flow<Self::Rebuild>;
    /// Digests a run for the oracle. `ops` is sorted by stamp and holds every operation of the run.
    fn model(&self, ops: &[OpRecord]) -> Self::Model;
    /// First state of the audit of one crash point.
    fn audit_start(&self, model: &Self::Model, crash: &CrashPoint) -> Self::Audit;
    /// One step of the audit of the recovered memory.
    fn audit<M: Mem<Dep = ()>>(&self, model: &Self::Model, m: &mut M, state: Self::Audit) -> Flow<Self::Audit>;
}

/// Runs operations `from..to` of one thread, restarting where the hardware rolled transactions back.
///
/// Under hardware logging the last operation may have been rolled back too: an empty transaction at the end finds out.
pub fn run_thread<P: Program, M: Mem>(program: &P, pm: &mut Pm<'_, M>, thread: u32, from: u32, to: u32) {
    if from == 0 && pm.idiom().ranges {
        program.ranges(thread).into_iter().for_each(|r| pm.bind(r));
    }
    let mut k = from;
    loop {
        while k < to {
            pm.m.op_begin(k);
            match program.op(pm, thread, k, &program.input(thread, k)) {
                Ok(outcome) => {
                    pm.finish_op(k, outcome);
                    k += 1;
                }
                Err(rollback) => k = again_from(pm, rollback),
            }
        }
        if pm.idiom().logging != Logging::Hardware {
            return;
        }
        match pm.m.tx_begin() {
            Ok(_) => return pm.m.tx_commit(),
            Err(rollback) => k = again_from(pm, rollback),
        }
    }
}

/// The operation to go on with. What the program kept in private memory stems from transactions that no longer exist.
fn again_from<M: Mem>(pm: &mut Pm<'_, M>, rollback: Rollback) -> u32 {
    pm.private = Private::default();
    rollback.op
}

/// Runs one operation of `thread` for each of the inputs, from operation `from`: a batch whose inputs were made beforehand, where
/// instructions are counted or timed. Not for hardware transactions, which may be rolled back beyond a batch.
#[inline(always)]
pub fn run_batch<P: Program, M: Mem>(program: &P, pm: &mut Pm<'_, M>, thread: u32, from: u32, inputs: &[P::Input]) {
    for (k, input) in (from..).zip(inputs) {
        pm.m.op_begin(k);
        if let Ok(outcome) = program.op(pm, thread, k, input) {
            pm.finish_op(k, outcome);
        }
    }
}

/// The lines of `spans` that are `thread`'s before measuring begins, of `threads`: its share of the hottest `limit` bytes, the hottest
/// last, none twice.
pub fn resident(spans: &[Span], limit: u64, thread: u32, threads: u32) -> Vec<LineAddr> {
    let mut seen = Cover::default();
    let lines = spans
        .iter()
        .map(|s| s.at.line().0..Addr(s.at.0 + s.len.max(1) - 1).line().0 + 1)
        .flat_map(|lines| seen.add(lines))
        .flatten();
    let hottest: Vec<u64> = lines.take((limit / LINE_BYTES) as usize).collect();
    let own = hottest
        .into_iter()
        .skip(thread as usize)
        .step_by(threads.max(1) as usize);
    let mut own: Vec<LineAddr> = own.map(LineAddr).collect();
    own.reverse();
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn threads_share_the_hottest_lines_and_read_the_hottest_last() {
        let spans = [(0, 64), (1000, 100), (4096, 640)].map(|(at, len)| Span { at: Addr::pm(at), len });
        let first = Addr::pm(0).line().0;
        let shares = [0, 1].map(|t| {
            resident(&spans, 6 * 64, t, 2)
                .iter()
                .map(|l| l.0 - first)
                .collect::<Vec<_>>()
        });
        // One line; 1000..1100 lies on lines 15 to 17; two of the ten of the last.
        assert_eq!(shares, [vec![64, 16, 0], vec![65, 17, 15]]);
        assert!(resident(&spans, 0, 0, 1).is_empty());
    }
}
