//! Runs the jobs of an experiment, or finds what is finished.

use super::runs::{Cell, Job};
use fencepost_kernel::stop;
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::kept::Identity;
use fencepost_run::result::RunResult;
use fencepost_run::store::Store;
pub use fencepost_sweep::engine::Step;
use fencepost_sweep::engine::{self, Work, default_bound};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

/// Resolves a job to what identifies its run, and to what is run.
pub type ResolveJob<'a, R> = dyn Fn(&Job) -> Result<(Identity, R), LabError> + Sync + 'a;

/// How jobs are executed. `R` is a job that is resolved.
pub struct Engine<'a, R> {
    /// Where results are kept; without one nothing is resumed.
    pub store: Option<&'a Store>,
    /// Number of worker threads.
    pub jobs: usize,
    /// Resolves a job. Equal configurations have equal identities.
    pub resolve: &'a ResolveJob<'a, R>,
    /// Runs a job inside its worker thread.
    pub run: &'a (dyn Fn(&R) -> Result<RunResult, LabError> + Sync),
    /// Names what a job shares with others, and the first of them makes.
    pub shares: &'a (dyn Fn(&R) -> String + Sync),
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

/// Simulates every job that is not finished.
///
/// # Errors
/// As [`Engine::execute`].
pub fn simulate(
    list: &[Job],
    jobs: usize,
    store: Option<&Store>,
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Finished, LabError> {
    Engine {
        store,
        jobs,
        resolve: &|job| fencepost_run::run::identified(&job.request),
        run: &fencepost_run::run::run_resolved,
        shares: &Resolved::first_memory,
        progress,
    }
    .execute(list)
}

/// The order in which jobs begin: those that share something together, in the order of the first of each, and the first of each while
/// those of an earlier one still run. It makes what the others need; if they began with it, all threads would wait for one.
fn begun(shares: &[String], threads: usize) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (job, name) in shares.iter().enumerate() {
        let group = *known.entry(name).or_insert(groups.len());
        match groups.get_mut(group) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    let (first, others): (Vec<usize>, Vec<&[usize]>) = groups.iter().map(|g| (g[0], &g[1..])).unzip();
    let (at_once, later) = first.split_at(threads.min(first.len()));
    let mut later = later.iter();
    let mut order = at_once.to_vec();
    for others in others {
        order.extend(others);
        order.extend(later.next());
    }
    order
}

impl<R: Sync> Engine<'_, R> {
    /// Executes every job that is not finished. Every configuration is resolved before the first run starts, so bad
    /// input costs nothing. The first error stops the rest; what finished stays.
    ///
    /// # Errors
    /// Of a job, or of the folder.
    pub fn execute(&self, jobs: &[Job]) -> Result<Finished, LabError> {
        let ready: Vec<(Identity, R)> = jobs.iter().map(|j| (self.resolve)(j)).collect::<Result<_, _>>()?;
        let shares: Vec<String> = ready.iter().map(|(_, r)| (self.shares)(r)).collect();
        let work = Jobs {
            engine: self,
            jobs,
            order: begun(&shares, self.jobs),
            ready,
            by_cell: Mutex::default(),
        };
        let tally = engine::Engine {
            store: self.store,
            jobs: self.jobs,
            memory: default_bound(),
            stop: stop::current(),
        }
        .execute(&work)?;
        // Work that was stopped has ended without all of its runs.
        stop::look();
        Ok(Finished {
            by_cell: work.by_cell.into_inner().unwrap_or_else(|e| e.into_inner()),
            ran: tally.ran,
            resumed: tally.resumed,
        })
    }
}

struct Jobs<'a, R> {
    engine: &'a Engine<'a, R>,
    jobs: &'a [Job],
    /// Numbers of the jobs, in the order in which they begin.
    order: Vec<usize>,
    ready: Vec<(Identity, R)>,
    by_cell: Mutex<BTreeMap<Cell, RunResult>>,
}
impl<R: Sync> Work for Jobs<'_, R> {
    /// Number of the job.
    type Ready = usize;
    fn cells(&self) -> usize {
        self.jobs.len()
    }
    fn resolve(&self, cell: usize) -> Result<(Identity, usize), LabError> {
        let job = self.order[cell];
        Ok((self.ready[job].0.clone(), job))
    }
    fn run(&self, job: &usize) -> Result<RunResult, LabError> {
        (self.engine.run)(&self.ready[*job].1)
    }
    fn ended(&self, cell: usize, outcome: Result<&RunResult, &LabError>, step: Step) -> Result<(), LabError> {
        let cell = &self.jobs[self.order[cell]].cell;
        let result =
            outcome.map_err(|e| e.in_cell(&format!("{} on {} with {}", cell.program, cell.point, cell.media)))?;
        (self.engine.progress)(cell, step);
        let mut by_cell = self.by_cell.lock().unwrap_or_else(|e| e.into_inner());
        by_cell.insert(cell.clone(), result.clone());
        Ok(())
    }
}

#[test]
fn the_first_of_each_begins_while_others_run() {
    let order = |shares: &str, threads| {
        let names: Vec<String> = shares.chars().map(String::from).collect();
        begun(&names, threads)
    };
    // Two threads make what a and b need, and c's is made while those of a run.
    assert_eq!(order("aaabbcacd", 2), [0, 3, 1, 2, 6, 5, 4, 8, 7]);
    assert_eq!(order("aab", 1), [0, 1, 2]);
    assert_eq!(order("ab", 8), [0, 1]);
    assert_eq!(order("", 2), [0; 0]);
}
