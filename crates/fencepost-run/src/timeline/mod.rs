//! A run as a page that shows where everything was at every moment, and what a power failure there would leave.

mod allowed;
#[cfg(test)]
mod browser_tests;
mod crashes;
mod events;
mod export;
#[cfg(test)]
mod export_tests;
mod konata;
mod lanes;
mod page;
mod perfetto;
mod proto;
mod tracks;

pub use export::TraceFile;
pub use page::{Opened, render};

use crate::check::Recorded;
use crate::config::Resolved;
use crate::error::LabError;
use crate::progress::Progress;
use crate::request::Request;
use crate::simulate::{program_of, simulate_timed, warning};
use serde::Serialize;

/// Crash points that are recovered unless the request says otherwise.
const RECOVERED: u64 = 400;

/// One run on one design.
#[derive(Serialize)]
pub struct Timeline {
    program: String,
    design: String,
    contract: String,
    threads: u32,
    /// When the last thread finished, and when nothing was buffered any more.
    finished_ps: u64,
    end_ps: u64,
    /// Events of the trace and stalls: what the page holds.
    events: usize,
    warning: Option<String>,
    tracks: tracks::Tracks,
    crashes: crashes::Crashes,
}

impl Timeline {
    /// What is drawn.
    pub fn events(&self) -> usize {
        self.events
    }
    /// Crash points that were recovered, and those of them that broke.
    pub fn recovered(&self) -> [usize; 2] {
        self.crashes.counts()
    }
    /// Design.
    pub fn design(&self) -> &str {
        &self.design
    }
}

/// Runs a request and records everything that a page shows. `at` is a crash point, by the durable events before it, that is
/// recovered besides.
///
/// # Errors
/// A request that cannot be run; a defect of ours.
pub fn timeline(request: &Request, at: Option<u64>, progress: &dyn Progress) -> Result<Timeline, LabError> {
    let request = Request {
        budget: request.budget.or(Some(RECOVERED)),
        check: true,
        ..request.clone()
    };
    let (resolved, design) = Resolved::built(&request)?;
    let program = program_of(&resolved)?;
    let report = simulate_timed(&resolved, design, &*program)?.report;
    let trace = crate::check::recorded(&report)?;
    let oracle = program.oracle(&trace.ops, &report.initial);
    let run = Recorded {
        resolved: &resolved,
        oracle: &*oracle,
        report: &report,
    };
    let stalls: usize = report.stalls.iter().map(Vec::len).sum();
    let happened = events::Events::of(&resolved, &report, trace);
    Ok(Timeline {
        program: request.program.clone(),
        design: request.design.clone(),
        contract: resolved.contract().to_owned(),
        threads: resolved.threads,
        finished_ps: report.hw_threads.iter().map(|h| h.finished.0).max().unwrap_or(0),
        end_ps: happened.end.0,
        events: trace.events.len() + stalls,
        warning: warning(&resolved),
        tracks: tracks::tracks(&happened).map_err(|e| LabError::Internal(e.to_string()))?,
        crashes: crashes::crashes(&run, (at, &happened.place), progress)?,
    })
}
