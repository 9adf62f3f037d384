//! What is inferred from, and how.

use super::judge::{Ahead, Simulation};
use super::space::{Space, Taken};
use crate::experiment::claims::{self, Claim};
use crate::experiment::engine::Step;
use crate::experiment::kinds::Kind;
use crate::experiment::readings::{Choice, Input, Readings};
use crate::experiment::rule::Rule;
use crate::experiment::runs::Cell;
use crate::experiment::spec::{self, Experiment, Scale};
use crate::experiment::statement::Statements;
use crate::reproduce::papers;
use fencepost_run::store::Store;
use fencepost_run::{BadInput, LabError};
use std::collections::HashMap;

/// What to infer from, and how.
pub struct Options<'a> {
    /// Short name of the paper.
    pub paper: &'a str,
    /// Joint readings to try besides the primaries and every other reading alone; most of them with a part of each run only.
    pub tries: usize,
    /// Claims that the best joint reading shall meet before others.
    pub first: &'a [String],
    /// Joint readings to begin from besides the primaries, each as `INPUT=READING` words. The held-out check never sees them.
    pub from: &'a [String],
    /// Splits of the claims for the held-out check.
    pub splits: usize,
    /// Whether the primaries and the best joint reading run at full scale as well.
    pub full: bool,
    /// Seed of every run and of the search.
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Folder of results; a call with the same options goes on where another ended.
    pub store: &'a Store,
    /// Told of the runs that are asked for next, before they run here: what it finishes and keeps in the folder is not run again.
    pub ahead: Ahead<'a>,
}

/// How often a claim of `first` counts.
const FIRST: usize = 4;

/// How many readings of an input a search tries: the first alone of those that change native runs only, which it does not make.
fn levels(input: &Input) -> usize {
    match input.is_native() {
        true => 1,
        false => input.reading.len(),
    }
}

/// A paper, prepared: its inputs, and its measured claims about simulated runs.
pub(super) struct Subject {
    pub(super) experiment: Experiment,
    pub(super) readings: Readings,
    pub(super) space: Space,
    /// Claims about the headline experiments, which the search looks at.
    pub(super) headline: Vec<Claim>,
    /// All measured claims about simulated runs, those of the headline first.
    pub(super) all: Vec<Claim>,
    pub(super) statements: Statements,
}

impl Subject {
    pub(super) fn read(paper: &str) -> Result<Subject, LabError> {
        let experiment: Experiment = spec::read(paper, "experiment.toml")?;
        let readings = Readings::of_paper(paper, &experiment)?;
        if readings.input.is_empty() {
            return Err(BadInput::new(format!("{paper} has no open inputs")).into());
        }
        let simulated = |c: &Claim| c.by.tag().is_some() || matches!(c.by, Rule::Check { .. });
        let measured = |c: &Claim| c.rests_on == Kind::Measured && simulated(c);
        let mut all: Vec<Claim> = claims::of_paper(paper)?.into_iter().filter(measured).collect();
        let statements = papers::statements();
        let in_headline = |tag: &str| readings.headline.iter().any(|h| h == tag);
        let of_headline = |c: &Claim| match &c.by {
            Rule::Check { test } => (statements.find(test))
                .is_some_and(|s| !s.reads.is_empty() && s.reads.iter().all(|tag| in_headline(tag))),
            by => by.tag().is_some_and(in_headline),
        };
        all.sort_by_key(|r| !of_headline(r));
        Ok(Subject {
            space: Space::new(readings.input.iter().map(levels).collect()),
            headline: all.iter().filter(|r| of_headline(r)).cloned().collect(),
            all,
            statements,
            experiment,
            readings,
        })
    }
    /// Indices of the headline's claims, those of `first` several times.
    pub(super) fn weighted(&self, first: &[String]) -> Result<Vec<usize>, BadInput> {
        let ids = || self.headline.iter().map(|c| c.id.as_str());
        let mut rows: Vec<usize> = (0..self.headline.len()).collect();
        for id in first {
            let row = ids().position(|i| i == id);
            let row = row.ok_or_else(|| BadInput::unknown("claim about the headline", id, ids()))?;
            rows.extend([row; FIRST - 1]);
        }
        Ok(rows)
    }
    /// The joint reading that words of the form `INPUT=READING` name; inputs without one are primary.
    pub(super) fn joint(&self, words: &str) -> Result<Taken, BadInput> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Ok(Choice::asked(&self.readings, &words)?.taken)
    }
    pub(super) fn simulation<'a>(
        &'a self,
        o: &Options<'a>,
        (rows, scale): (&'a [Claim], Scale),
        progress: &'a (dyn Fn(&Cell, Step) + Sync),
    ) -> Simulation<'a> {
        let mut experiment = self.experiment.clone();
        let headline = rows.len() == self.headline.len();
        experiment
            .matrix
            .retain(|m| !m.check && (!headline || self.readings.headline.contains(&m.tag)));
        Simulation {
            experiment,
            readings: &self.readings,
            rows,
            statements: &self.statements,
            scale,
            seed: o.seed,
            jobs: o.jobs,
            store: o.store,
            ahead: o.ahead,
            progress,
            known: HashMap::new(),
            keys: HashMap::new(),
            lengths: HashMap::new(),
            asked: 0,
            ran: 0,
        }
    }
}
