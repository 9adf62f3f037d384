//! The machine: parts put together, the event loop, a run from start to report.

mod agenda;
mod cx;
mod locks;
mod recorder;
mod report;
mod run;
mod stuck;
mod system;

pub(crate) use agenda::Ev;
pub use report::{Counters, HartReport, RunReport};
pub use stuck::Stuck;
pub use system::System;
pub(crate) use system::{ReadFor, Side, UnderWay};

use crate::frontend::ThreadBody;
use crate::memory::MemEvent;
use crate::seam::{Design, Hooks};
use crate::spec::SpecError;
use fencepost_kernel::Image;
use std::rc::Rc;

/// Everything a run needs besides the machine and its design.
pub struct Workload {
    /// Initial memory; durable when the run starts.
    pub initial: Image,
    /// One body per thread; thread `t` runs on hart `t`.
    pub threads: Vec<ThreadBody>,
    /// Instructions of each compute site.
    pub sites: Rc<[u32]>,
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
    /// More threads than harts.
    #[error("{threads} threads need {threads} hardware threads, but the machine has {harts}")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// Hardware threads there are.
        harts: u8,
    },
    /// No progress.
    #[error(transparent)]
    Stuck(#[from] Stuck),
}

/// A machine with its design, about to run or running.
pub struct Machine {
    pub(crate) sys: System,
    pub(crate) design: Box<dyn Design>,
    pub(crate) hooks: Hooks,
    pub(crate) mem_events: Vec<MemEvent>,
    pub(crate) warm_up: u64,
    pub(crate) start: Option<run::Start>,
    pub(crate) initial: Image,
}
