//! What a run needs, and why it could not start or finish.

use super::resident::Resident;
use super::stuck::Stuck;
use crate::frontend::ThreadBody;
use crate::spec::SpecError;
use fencepost_kernel::{Image, Ps};
use std::rc::Rc;

/// Everything a run needs besides the machine and its design.
pub struct Workload {
    /// Initial memory; durable when the run starts.
    pub initial: Image,
    /// One body per thread; thread `t` runs on hardware thread `t`.
    pub threads: Vec<ThreadBody>,
    /// Instructions of each compute site.
    pub sites: Rc<[u32]>,
    /// What is in the caches when the run begins.
    pub resident: Resident,
    /// Operations each thread finishes before measurement starts.
    pub warm_up: u64,
    /// Keep the trace and the records of the persist log.
    pub record: bool,
}

/// Why a run could not start or finish.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The specification is impossible.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A memory's specification is impossible.
    #[error("{0}: {1}")]
    Memory(&'static str, crate::memory::SpecError),
    /// More threads than hardware threads.
    #[error("{threads} threads need {threads} hardware threads, but the machine has {hw_threads}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// Hardware threads there are.
        hw_threads: u8,
    },
    /// The deadline passed before the run was over.
    #[error("the run was not over at its deadline")]
    OutOfTime,
    /// A thread finished before the time that was to be measured had passed.
    #[error("a thread has no operations left before the cycles to measure have passed; give more operations (--ops)")]
    OutOfWork,
    /// Clients, and a design that has no port for them.
    #[error("network: this design takes no writes from a network")]
    NoPort,
    /// Something waits that might go on, in a run that looks for that ([`super::Machine::looking_for_sleepers`]).
    #[error("at {at}, {who} waits although it might go on: nothing has woken it")]
    Asleep {
        /// What waits.
        who: String,
        /// Since when, or later.
        at: Ps,
    },
    /// Something is in a state that it may not be in, in a run that looks for that ([`super::Machine::looking_for_sleepers`]).
    #[error("at {at}, {what} is wrong")]
    Unsound {
        /// What.
        what: String,
        /// When that was seen.
        at: Ps,
    },
    /// No progress.
    #[error(transparent)]
    Stuck(#[from] Stuck),
}
