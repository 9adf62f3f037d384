//! Runs jobs in parallel and remembers what is finished.

use super::runs::{Cell, Job};
use fencepost_run::kept::{self, Identity};
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
use fencepost_run::{LabError, panic_text};
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What happened to a job.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It ran.
    Ran,
    /// An earlier call had finished it.
    Resumed,
}

/// Resolves a job to what identifies its run, and to what is run.
pub type ResolveJob<R> = dyn Fn(&Job) -> Result<(Identity, R), LabError> + Sync;

/// How jobs are executed. `R` is a job that is resolved.
pub struct Engine<'a, R> {
    /// Where results are kept; without one nothing is resumed.
    pub store: Option<&'a Store>,
    /// Number of worker threads.
    pub jobs: usize,
    /// Resolves a job. Equal configurations have equal identities.
    pub resolve: &'a ResolveJob<R>,
    /// Runs a job inside its worker thread.
    pub run: &'a (dyn Fn(&R) -> Result<RunResult, LabError> + Sync),
    /// Told of every finished job, and whether it ran.
    pub progress: &'a (dyn Fn(&Cell, Step) + Sync),
}

/// Results by cell, and how many of them were already there.
#[derive(Debug, Default)]
pub struct Finished {
    /// Results.
    pub by_cell: BTreeMap<Cell, RunResult>,
    /// Runs executed by this call.
    pub ran: usize,
    /// Runs found finished.
    pub resumed: usize,
}

impl<R: Sync> Engine<'_, R> {
    /// Executes every job that is not finished. Every configuration is resolved before the first run starts, so bad
    /// input costs nothing. The first error stops the rest; what finished stays.
    pub fn execute(&self, jobs: &[Job]) -> Result<Finished, LabError> {
        let resolved: Vec<(Identity, R)> = jobs.iter().map(|j| (self.resolve)(j)).collect::<Result<_, _>>()?;
        let groups = alike(&resolved);
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let done: Mutex<Result<Finished, LabError>> = Mutex::new(Ok(Finished::default()));
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, groups.len().max(1)) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(group) = groups.get(i) else { break };
                        let outcome = self.one(&jobs[group[0]], &resolved[group[0]]);
                        let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
                        match outcome {
                            Ok((result, step)) => {
                                group.iter().for_each(|j| (self.progress)(&jobs[*j].cell, step));
                                if let Ok(f) = done.as_mut() {
                                    f.by_cell
                                        .extend(group.iter().map(|j| (jobs[*j].cell.clone(), result.clone())));
                                    f.ran += usize::from(step == Step::Ran);
                                    f.resumed += usize::from(step == Step::Resumed);
                                }
                            }
                            Err(e) => {
                                stop.store(true, Ordering::Relaxed);
                                if done.is_ok() {
                                    *done = Err(e);
                                }
                            }
                        }
                    }
                });
            }
        });
        done.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn one(&self, job: &Job, (run, resolved): &(Identity, R)) -> Result<(RunResult, Step), LabError> {
        let (file, config) = (format!("runs/{}.json", run.key), format!("runs/{}.toml", run.key));
        let kept = self.store.and_then(|s| s.read(&file));
        if let Some(result) = kept.and_then(|text| kept::reusable(&text, &run.digest)) {
            return Ok((result, Step::Resumed));
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.run)(resolved)));
        let result = outcome.unwrap_or_else(|panic| {
            let c = &job.cell;
            let what = panic_text(panic.as_ref());
            Err(LabError::Internal(format!(
                "{} on {} with {}: {what}",
                c.program, c.point, c.media
            )))
        })?;
        let Some(store) = self.store else {
            return Ok((result, Step::Ran));
        };
        store.write(&config, run.config.as_bytes())?;
        store.write(&file, kept::text(&result)?.as_bytes())?;
        Ok((result, Step::Ran))
    }
}

/// Jobs by key, in the order of their first occurrence: jobs that ask for one run share it.
fn alike<R>(runs: &[(Identity, R)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for (i, (run, _)) in runs.iter().enumerate() {
        let at = *place.entry(&run.key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(i);
    }
    groups
}
