//! From a paper's published figures, which unstated inputs are consistent with them.
//!
//! Every open input of a paper has declared readings. A joint reading takes one of each. A directed search ([`search`]) looks for
//! those that meet the most measured claims, for every claim on its own, and for pairs of claims together; [`judge`] simulates them,
//! sharing runs by content; [`findings`] says what the tried ones have in common. What comes out is never a reproduction: the
//! primaries are that, and their column stands first.
//!
//! How far an inference can be trusted is measured too: the claims are cut in two halves (by fixed splits), inputs are inferred from
//! one half alone, by a search that never sees the other, and the other half is predicted with them.

mod archive;
mod findings;
mod judge;
mod outcome;
mod page;
mod search;
mod space;

pub use outcome::{HeldOut, Inference, Joint, Line, NeedLine};
pub use page::page;

use crate::experiment::claims::{self, Claim};
use crate::experiment::engine::Step;
use crate::experiment::kinds::Kind;
use crate::experiment::readings::{Choice, Readings};
use crate::experiment::rule::Rule;
use crate::experiment::runs::Cell;
use crate::experiment::spec::{self, Experiment, Scale};
use crate::experiment::statement::Statements;
use crate::reproduce::papers;
use archive::{Archive, Judged};
use fencepost_run::store::Store;
use fencepost_run::{BadInput, LabError};
use judge::Simulation;
use search::{Length, Search};
use space::{Space, Taken};
use std::collections::HashMap;

/// What to infer from, and how.
pub struct Options<'a> {
    /// Short name of the paper.
    pub paper: &'a str,
    /// Joint readings to try, about.
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
}

/// How often a claim of `first` counts.
const FIRST: usize = 4;

/// A paper, prepared: its inputs, and its measured claims about simulated runs.
struct Subject {
    experiment: Experiment,
    readings: Readings,
    space: Space,
    /// Claims about the headline experiments, which the search looks at.
    headline: Vec<Claim>,
    /// All measured claims about simulated runs, those of the headline first.
    all: Vec<Claim>,
    statements: Statements,
}

impl Subject {
    fn read(paper: &str) -> Result<Subject, LabError> {
        let experiment: Experiment = spec::read(paper, "experiment.toml")?;
        let readings = Readings::of_paper(paper, &experiment)?;
        if readings.input.is_empty() {
            return Err(BadInput::new(format!("{paper} has no open inputs")).into());
        }
        let simulated = |c: &Claim| c.by.tag().is_some() || matches!(c.by, Rule::Check { .. });
        let measured = |c: &Claim| c.rests_on == Kind::Measured && simulated(c);
        let mut all: Vec<Claim> = claims::of_paper(paper)?.into_iter().filter(measured).collect();
        let of_headline = |c: &Claim| c.by.tag().is_some_and(|t| readings.headline.iter().any(|h| h == t));
        all.sort_by_key(|r| !of_headline(r));
        Ok(Subject {
            space: Space::new(readings.input.iter().map(|i| i.reading.len()).collect()),
            headline: all.iter().filter(|r| of_headline(r)).cloned().collect(),
            all,
            statements: papers::statements(),
            experiment,
            readings,
        })
    }
    /// Indices of the headline's claims, those of `first` several times.
    fn weighted(&self, first: &[String]) -> Result<Vec<usize>, BadInput> {
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
    fn joint(&self, words: &str) -> Result<Taken, BadInput> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Ok(Choice::asked(&self.readings, &words)?.taken)
    }
    fn simulation<'a>(
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
            progress,
            known: HashMap::new(),
            asked: 0,
            ran: 0,
        }
    }
}

/// Infers; `told` hears how many joint readings have been tried, and what is looked for.
pub fn infer(
    o: &Options<'_>,
    told: &dyn Fn(usize, &str),
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Inference, LabError> {
    let subject = Subject::read(o.paper)?;
    let weighted = subject.weighted(o.first)?;
    let primaries = Choice::primaries(&subject.readings).taken;
    let from = o.from.iter().map(|text| subject.joint(text));
    let from: Vec<Taken> = from.collect::<Result<_, _>>()?;
    let mut simulation = subject.simulation(o, (&subject.headline, Scale::Quick), progress);
    let mut judge = |all: &[Taken], length: Length| simulation.judge(all, length);
    let mut search = Search::new(&subject.space, o.seed, 2 * o.jobs, &mut judge);
    broad(&mut search, &primaries, (&weighted, o.tries), told)?;
    search.try_all(from)?;
    guided(&mut search, (&weighted, subject.headline.len(), o.tries), told)?;
    let (mut archive, mut impossible) = (search.archive, search.impossible.len());
    let mut held_out = Vec::new();
    for split in 0..o.splits as u64 {
        told(archive.tried.len(), "what half of the claims predicts");
        let ids: Vec<&str> = subject.headline.iter().map(|c| c.id.as_str()).collect();
        let [seen, hidden] = findings::halves(&ids, split);
        let mut judge = |all: &[Taken], length: Length| simulation.judge(all, length);
        let mut search = Search::new(&subject.space, o.seed + 1 + split, 2 * o.jobs, &mut judge);
        broad(&mut search, &primaries, (&seen, o.tries / 4), &|_, _| {})?;
        search.towards(&seen, o.tries / (4 * o.splits))?;
        held_out.push(HeldOut::of(&search.archive, &primaries, &seen, &hidden));
        impossible += search.impossible.len();
        search.archive.tried.into_iter().for_each(|t| archive.add(t));
    }
    let best = archive.best(&weighted, 1)[0].taken.clone();
    told(archive.tried.len(), "the rows beyond the headline");
    let finals = [primaries.clone(), best.clone()];
    let whole = final_rows(&subject, o, Scale::Quick, &finals, progress)?;
    let full = match o.full {
        true => Some(final_rows(&subject, o, Scale::Full, &finals, progress)?),
        false => None,
    };
    let counts = [
        archive.tried.len(),
        impossible,
        simulation.asked,
        simulation.known.len(),
        simulation.ran,
    ];
    Ok(Inference::of(
        &subject,
        o,
        &archive,
        (primaries, best),
        (whole, full),
        held_out,
        counts,
    ))
}

/// What is tried whatever comes of it: the primaries, every other reading alone, and a sample, of which the better part runs whole.
fn broad(
    search: &mut Search<'_, LabError>,
    primaries: &Taken,
    (rows, tries): (&[usize], usize),
    told: &dyn Fn(usize, &str),
) -> Result<(), LabError> {
    told(search.count(), "every reading alone");
    search.try_all(vec![primaries.clone()])?;
    search.try_all(search.space.neighbours(primaries))?;
    told(search.count(), "a broad sample");
    search.sample(tries / 2, rows)
}

/// The directed part: most claims together, every claim that was never met, every pair that was never met together.
fn guided(
    search: &mut Search<'_, LabError>,
    (weighted, rows, tries): (&[usize], usize, usize),
    told: &dyn Fn(usize, &str),
) -> Result<(), LabError> {
    let rows: Vec<usize> = (0..rows).collect();
    told(search.count(), "most claims together");
    search.towards(weighted, tries * 2 / 5)?;
    told(search.count(), "claims that were never met");
    let never = findings::unreached(&search.archive, &rows);
    for row in &never {
        search.towards(&[*row], tries * 3 / 20 / never.len())?;
    }
    told(search.count(), "pairs of claims that were never met together");
    let pairs = findings::never_together(&search.archive, &rows);
    for pair in &pairs {
        search.towards(pair, (tries * 3 / 20).div_ceil(pairs.len()))?;
    }
    Ok(())
}

/// All measured rows under these joint readings.
fn final_rows(
    subject: &Subject,
    o: &Options<'_>,
    scale: Scale,
    finals: &[Taken],
    progress: &(dyn Fn(&Cell, Step) + Sync),
) -> Result<Vec<Vec<Judged>>, LabError> {
    let mut simulation = subject.simulation(o, (&subject.all, scale), progress);
    let judged = simulation.judge(finals, Length::Whole)?;
    let nothing = || vec![Judged::default(); subject.all.len()];
    Ok(judged.into_iter().map(|j| j.unwrap_or_else(nothing)).collect())
}

impl HeldOut {
    /// How the best joint reading by the rows seen does on the rows hidden, beside what the primaries do there.
    fn of(archive: &Archive, primaries: &Taken, seen: &[usize], hidden: &[usize]) -> HeldOut {
        let met = |taken: &Taken, rows: &[usize]| archive.get(taken).map_or(0, |t| t.rank(rows).0);
        let best = archive.best(seen, 1)[0].taken.clone();
        HeldOut {
            seen: seen.len(),
            seen_met: met(&best, seen),
            hidden: hidden.len(),
            predicted: met(&best, hidden),
            by_text: met(primaries, hidden),
        }
    }
}
