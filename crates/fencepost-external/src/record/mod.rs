//! Recording an unmodified program under the emulator.

mod files;
mod gaps;
mod request;
mod session;

pub use request::{RecordRequest, SCHEDULES};

use crate::recording::Recording;
use fencepost_run::LabError;
pub(crate) use request::Unseen;
use serde::Serialize;
pub use session::remove_unfinished;
use session::{Outcome, Session};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Records one run of a program that nobody looks at. False, and no log, if it did nothing to the persistent files.
///
/// # Errors
/// As [`record`].
pub(crate) fn record_unseen(request: &RecordRequest, unseen: &Unseen) -> Result<bool, LabError> {
    let session = Session::new(request)?;
    session.keep()?;
    let (status, recording) = session.run(0, Some(unseen))?;
    match session.judge(&recording, status)? {
        Outcome::Nothing(_) => Ok(false),
        Outcome::Execution => session.write(&[session.log(&recording).0]).map(|()| true),
    }
}

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// The log, or the folder of logs.
    pub log: String,
    /// Executions that differ.
    pub executions: u64,
    /// Runs of the program.
    pub schedules: u64,
    /// Lines with events, of all logs.
    pub events: u64,
    /// Threads with events.
    pub threads: usize,
    /// How the program ended, each time if that varied.
    pub status: String,
    /// Programs of which processes were recorded, and the events of each.
    pub programs: BTreeMap<String, u64>,
    /// Files that were left out: mapped shared or written, and not named.
    pub left_out: Vec<String>,
    /// System calls that the emulator does not have; the program was told so.
    pub missing_calls: Vec<String>,
    /// Seconds under the recorder.
    pub seconds: f64,
    /// Nanoseconds an event, everything the emulator does included.
    pub ns_per_event: f64,
    /// Events that were named by file and line.
    pub named: u64,
}

/// Records a program. Nothing is written unless all of it was recorded.
///
/// # Errors
/// An emulator or plugin that is not there, or not one that can record; a program that cannot be started or not be followed;
/// something that it does to its files and that cannot be recorded.
pub fn record(request: &RecordRequest) -> Result<Recorded, LabError> {
    let session = Session::new(request)?;
    let mut all = All::default();
    for run in 0..u64::from(request.schedules.unwrap_or(SCHEDULES)) {
        match run {
            0 => session.keep()?,
            _ => session.restore()?,
        }
        let begun = Instant::now();
        let (status, recording) = session.run(run, None)?;
        all.seconds += begun.elapsed().as_secs_f64();
        all.runs += 1;
        all.ends.insert(status.to_string());
        match session.judge(&recording, status)? {
            Outcome::Execution => {}
            // What one run leaves behind may keep the next from its work: then its end tells.
            Outcome::Nothing(_) if run > 0 && request.schedules.is_none() => continue,
            Outcome::Nothing(why) => return Err(why.into()),
        }
        let threads = all.add(&session, recording);
        // Where no second thread reaches the files there is no other order of what happens to them.
        if request.schedules.is_none() && threads < 2 {
            break;
        }
    }
    session.write(&all.texts)?;
    Ok(all.told(request))
}

/// What the runs have in common, and their logs.
#[derive(Default)]
struct All {
    texts: Vec<String>,
    /// The logs without the instructions between their events, in which runs of one order differ, too.
    orders: BTreeSet<String>,
    ends: BTreeSet<String>,
    runs: u64,
    events: u64,
    named: u64,
    threads: usize,
    programs: BTreeMap<String, u64>,
    beside: BTreeSet<(String, String)>,
    missing: BTreeSet<String>,
    seconds: f64,
}

impl All {
    /// Adds a run; how many of its threads reached the persistent files.
    fn add(&mut self, session: &Session<'_>, recording: Recording) -> usize {
        let (text, named) = session.log(&recording);
        let threads: BTreeSet<u32> = recording.events.iter().map(|e| e.thread).collect();
        self.threads = self.threads.max(threads.len());
        let reaching = recording.events.iter().filter(|e| e.what.contains(" f"));
        let reaching: BTreeSet<u32> = reaching.map(|e| e.thread).collect();
        self.beside.extend(recording.beside);
        self.missing.extend(recording.missing);
        let is_work = |line: &&str| line.split(' ').nth(1) == Some("work");
        let order: String = text.lines().filter(|l| !is_work(l)).flat_map(|l| [l, "\n"]).collect();
        if self.orders.insert(order) {
            self.texts.push(text);
            self.events += recording.events.len() as u64;
            self.named += named;
            for process in &recording.processes {
                let name = process.program.display().to_string();
                *self.programs.entry(name).or_default() += process.events;
            }
        }
        reaching.len()
    }
    fn told(self, request: &RecordRequest) -> Recorded {
        Recorded {
            log: request.log.display().to_string(),
            executions: self.texts.len() as u64,
            schedules: self.runs,
            events: self.events,
            threads: self.threads,
            status: self.ends.into_iter().collect::<Vec<_>>().join(", "),
            programs: self.programs,
            left_out: self
                .beside
                .iter()
                .map(|(path, how)| format!("{path} ({how})"))
                .collect(),
            missing_calls: self.missing.into_iter().collect(),
            seconds: self.seconds,
            ns_per_event: self.seconds * 1e9 / self.events.max(1) as f64,
            named: self.named,
        }
    }
}
