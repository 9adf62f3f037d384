//! Joint readings judged by simulation: the runs of each, shared by content, and the claims measured on them.

use super::archive::Judged;
use super::search::Length;
use super::space::Taken;
use crate::experiment::claims::Claim;
use crate::experiment::engine::{Engine, Step};
use crate::experiment::readings::{Choice, Readings};
use crate::experiment::rule::Rule;
use crate::experiment::runs::{Cell, Job, Runs};
use crate::experiment::score::{Found, outcome};
use crate::experiment::spec::{Experiment, Scale};
use crate::experiment::statement::Statements;
use crate::reproduce::{plan_registered, runs_of};
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::kept::Identity;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::run::identified;
use fencepost_run::store::Store;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Runs elsewhere what is asked for, and keeps it in the folder.
pub type Ahead<'a> = &'a dyn Fn(&[Request]) -> Result<(), LabError>;

/// The jobs of a joint reading with the keys of their results.
type Keyed = Vec<(String, Job)>;

/// What was resolved, by the key of its result.
type Ready = HashMap<String, (Identity, Resolved)>;

/// Judges joint readings of a paper.
pub(super) struct Simulation<'a> {
    /// The experiment as written, with the matrices that the rows look at.
    pub experiment: Experiment,
    /// The inputs.
    pub readings: &'a Readings,
    /// The claims.
    pub rows: &'a [Claim],
    /// What claims about statements rest on.
    pub statements: &'a Statements,
    /// How much work.
    pub scale: Scale,
    /// Seed of every run.
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Where results are kept.
    pub store: &'a Store,
    /// Told of the runs that come next.
    pub ahead: Ahead<'a>,
    /// Told of every run.
    pub progress: &'a (dyn Fn(&Cell, Step) + Sync),
    /// Results by the key of their configuration.
    pub known: HashMap<String, RunResult>,
    /// Keys of configurations by their requests; `None` of those that cannot be built.
    pub keys: HashMap<String, Option<String>>,
    /// Instructions of the longest run of each program so far.
    pub lengths: HashMap<String, u64>,
    /// Runs that joint readings asked for, and those that differed from all others.
    pub asked: usize,
    /// Runs executed by this call; the others were known or in the store.
    pub ran: usize,
}

impl Simulation<'_> {
    /// The claims under joint readings; `None` where a configuration cannot be built.
    pub(super) fn judge(&mut self, all: &[Taken], length: Length) -> Result<Vec<Option<Vec<Judged>>>, LabError> {
        let keyed = self.finish(all, length)?;
        self.asked += keyed.iter().flatten().map(Vec::len).sum::<usize>();
        Ok(all
            .iter()
            .zip(keyed)
            .map(|(t, k)| Some(self.measured(t, &k?)))
            .collect())
    }
    /// The runs of one joint reading; `None` where a configuration cannot be built.
    pub(super) fn runs(&mut self, taken: &Taken, length: Length) -> Result<Option<Runs>, LabError> {
        let keyed = self.finish_one(taken, length)?;
        Ok(keyed.map(|keyed| self.runs_of(taken, &keyed)))
    }
    /// Runs what the primaries need.
    ///
    /// # Errors
    /// Of a run, and of a configuration that cannot be built: without the primaries there is nothing to compare with.
    pub(super) fn begin(&mut self, primaries: &Taken, length: Length) -> Result<(), LabError> {
        for job in self.plan(primaries, length)?.1 {
            identified(&job.request)?;
        }
        self.finish_together(std::slice::from_ref(primaries), length).map(drop)
    }
    /// Runs what these joint readings need and is not known; their jobs with the keys of their results, `None` where one cannot be built.
    fn finish(&mut self, all: &[Taken], length: Length) -> Result<Vec<Option<Keyed>>, LabError> {
        match self.finish_together(all, length) {
            // Some part of a machine refuses a value only once it is built: which reading that is shows one by one.
            Err(LabError::Input(_)) if all.len() > 1 => all.iter().map(|t| self.finish_one(t, length)).collect(),
            Err(LabError::Input(_)) => Ok(vec![None]),
            done => done,
        }
    }
    fn finish_one(&mut self, taken: &Taken, length: Length) -> Result<Option<Keyed>, LabError> {
        Ok(self.finish(std::slice::from_ref(taken), length)?.pop().flatten())
    }
    fn finish_together(&mut self, all: &[Taken], length: Length) -> Result<Vec<Option<Keyed>>, LabError> {
        let plans: Vec<_> = all.iter().map(|t| self.plan(t, length)).collect::<Result<_, _>>()?;
        let ready = self.resolve(plans.iter().flat_map(|p| &p.1));
        let keyed: Vec<Option<Keyed>> = plans.iter().map(|p| self.keyed(&p.1)).collect();
        let mut missing: Vec<Job> = Vec::new();
        let mut keys: HashSet<&str> = HashSet::new();
        for (key, job) in keyed.iter().flatten().flatten() {
            if !self.known.contains_key(key) && keys.insert(key) {
                let cell = Cell {
                    choice: key.clone(),
                    ..job.cell.clone()
                };
                missing.push(Job { cell, ..job.clone() });
            }
        }
        // What takes long begins first, so that no thread is left alone with it.
        missing.sort_by_key(|j| std::cmp::Reverse(self.lengths.get(&j.cell.program).copied()));
        let requests: Vec<Request> = missing.iter().map(|j| j.request.clone()).collect();
        (self.ahead)(&requests)?;
        let done = Engine {
            store: Some(self.store),
            jobs: self.jobs,
            resolve: &|job| match ready.get(&job.cell.choice) {
                Some(ready) => Ok(ready.clone()),
                None => identified(&job.request),
            },
            run: &fencepost_run::run::run_resolved,
            shares: &Resolved::first_memory,
            progress: self.progress,
        }
        .execute(&missing)?;
        self.ran += done.ran;
        for (cell, r) in &done.by_cell {
            let longest = self.lengths.entry(cell.program.clone()).or_default();
            *longest = r.instructions.max(*longest);
        }
        self.known.extend(done.by_cell.into_iter().map(|(c, r)| (c.choice, r)));
        Ok(keyed)
    }
    /// Resolves what of these jobs was never asked for, side by side: that takes a millisecond each, and joint readings have most of their
    /// requests in common.
    fn resolve<'j>(&mut self, jobs: impl Iterator<Item = &'j Job>) -> Ready {
        let mut unknown: Vec<(String, &Request)> = Vec::new();
        for job in jobs {
            let asked = format!("{:?}", job.request);
            if let Entry::Vacant(free) = self.keys.entry(asked.clone()) {
                free.insert(None);
                unknown.push((asked, &job.request));
            }
        }
        let share = unknown.len().div_ceil(self.jobs).max(1);
        let resolved = std::thread::scope(|s| {
            let of = |some: &[(String, &Request)]| some.iter().map(|u| identified(u.1).ok()).collect::<Vec<_>>();
            let parts: Vec<_> = unknown.chunks(share).map(|some| s.spawn(move || of(some))).collect();
            let joined = parts
                .into_iter()
                .flat_map(|p| p.join().expect("resolving returns its errors"));
            joined.collect::<Vec<_>>()
        });
        let mut ready = Ready::new();
        for ((asked, _), resolved) in unknown.into_iter().zip(resolved) {
            let Some(resolved) = resolved else { continue };
            let key = resolved.0.key.clone();
            self.keys.insert(asked, Some(key.clone()));
            ready.insert(key, resolved);
        }
        ready
    }
    /// The jobs with the keys of their configurations; `None` where one cannot be built.
    fn keyed(&self, jobs: &[Job]) -> Option<Keyed> {
        let of = |j: &Job| Some((self.keys.get(&format!("{:?}", j.request))?.clone()?, j.clone()));
        jobs.iter().map(of).collect()
    }
    /// The experiment under a joint reading, and its jobs.
    pub(super) fn plan(&self, taken: &Taken, length: Length) -> Result<(Experiment, Vec<Job>), LabError> {
        let choice = Choice {
            label: String::new(),
            taken: taken.clone(),
        };
        let e = choice.apply(&self.experiment, self.readings);
        let mut jobs = plan_registered(&e, self.scale, self.seed)?.jobs;
        let part = length.of();
        if part > 1 {
            for r in jobs.iter_mut().map(|j| &mut j.request) {
                r.warmup = r.warmup.div_ceil(part);
                // Where cycles are measured, operations are only what there must be enough of.
                match &mut r.cycles {
                    Some(cycles) => *cycles = cycles.div_ceil(part.into()),
                    None => r.ops = r.ops.div_ceil(part),
                }
            }
        }
        Ok((e, jobs))
    }
    fn measured(&self, taken: &Taken, keyed: &[(String, Job)]) -> Vec<Judged> {
        let runs = self.runs_of(taken, keyed);
        self.rows.iter().map(|c| judged(c, self.statements, &runs)).collect()
    }
    fn runs_of(&self, taken: &Taken, keyed: &[(String, Job)]) -> Runs {
        let choice = Choice {
            label: String::new(),
            taken: taken.clone(),
        };
        let e = choice.apply(&self.experiment, self.readings);
        let found = |(key, job): &(String, Job)| Some((job.cell.clone(), self.known.get(key)?.clone()));
        Runs {
            by_cell: keyed.iter().filter_map(found).collect(),
            ..runs_of(&e)
        }
    }
}

/// A claim on the runs of one joint reading.
fn judged(claim: &Claim, statements: &Statements, runs: &Runs) -> Judged {
    if let Rule::Check { test } = &claim.by {
        return Judged::order(statements.find(test).is_some_and(|s| s.test(runs).is_ok()));
    }
    match (outcome(claim, runs), claim.number()) {
        (None, _) => Judged::default(),
        (
            Some(Found {
                value: Some(value),
                met,
            }),
            Some(paper),
        ) => Judged::number(value, paper, met),
        (Some(Found { value, met }), _) => Judged {
            value,
            ..Judged::order(met)
        },
    }
}
