//! What a program is: operations indexed by number, and recovery and audit as chains of steps.

use crate::dialect::{Logging, Pm};
use crate::mem::Mem;
use crate::ops::{Outcome, Rollback};
use crate::units::Addr;
use std::fmt::Debug;
use std::hash::Hash;

/// One executed operation, as the oracle sees it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpRecord {
    /// Software thread.
    pub thread: u32,
    /// Index of the operation within its thread.
    pub k: u32,
    /// Global position of the operation's first lock acquisition (operations that took no lock: of its end).
    /// Operations under one lock are ordered by it as the lock ordered them.
    pub stamp: u64,
    /// What it did.
    pub outcome: Outcome,
}

/// What had happened, per thread, when the power failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CrashPoint {
    /// Operations that had begun: none beyond these may be visible.
    pub begun: Vec<u32>,
    /// Operations acknowledged as durable: all of these must be visible.
    pub acked: Vec<u32>,
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
/// Operation `k` of thread `t` is a pure function of (the program's parameters and seed, `t`, `k`, memory), and
/// every value it stores into the structure is unique in the run: roll-back, prefix oracles, replay and native
/// batches rely on both. Recovery is `rebuild` (no history, so explorers may share it between crash points), then
/// `audit` (the oracle). Both are chains of *steps*: a step may use any Rust inside, but everything that outlives
/// it is its state, which makes merging of equal states sound.
pub trait Program: Clone + 'static {
    /// State between two steps of recovery.
    type Rebuild: Clone + Eq + Hash + Debug;
    /// State between two steps of the audit.
    type Audit: Clone + Eq + Hash + Debug;
    /// What the oracle precomputes from a whole run's operations.
    type Model;

    /// Builds the initial structure. Untimed; the image it leaves is durable.
    fn setup<M: Mem>(&self, m: &mut M);
    /// Runs operation `k` of `thread`.
    fn op<M: Mem>(&self, pm: &mut Pm<'_, M>, thread: u32, k: u32) -> Result<Outcome, Rollback>;

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
    let mut k = from;
    loop {
        while k < to {
            pm.m.op_begin(k);
            match program.op(pm, thread, k) {
                Ok(outcome) => {
                    pm.finish_op(k, outcome);
                    k += 1;
                }
                Err(Rollback { op }) => k = op,
            }
        }
        if pm.dialect.logging != Logging::Hardware {
            return;
        }
        match pm.m.tx_begin() {
            Ok(_) => return pm.m.tx_commit(),
            Err(Rollback { op }) => k = op,
        }
    }
}
