//! What an inference says.

use super::archive::{Archive, Judged};
use super::findings;
use super::space::Taken;
use super::subject::{Options, Subject};
use crate::experiment::best::Best;
use fencepost_run::short;
use serde::Serialize;
use std::collections::BTreeMap;

/// A joint reading, by what it changes of the primaries.
#[derive(Clone, Debug, Serialize)]
pub struct Joint {
    /// `input=reading` of each that is not primary.
    pub readings: Vec<String>,
    /// Measured rows that it meets, of all that are simulated.
    pub met: usize,
    /// The same at full scale, where that was asked for.
    pub met_at_full: Option<usize>,
}

/// A claim in three columns: by the text, under the best joint reading, and over everything tried.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Claim.
    pub id: String,
    /// The paper's value.
    pub paper: String,
    /// Value under the primaries; empty for orders.
    pub by_text: String,
    /// Whether the primaries meet it.
    pub by_text_met: bool,
    /// Value under the best joint reading.
    pub best: String,
    /// Whether that meets it.
    pub best_met: bool,
    /// Whether it does at full scale.
    pub best_met_at_full: Option<bool>,
    /// Least value of everything tried; empty for orders and for rows that the search does not look at.
    pub low: String,
    /// Greatest.
    pub high: String,
    /// Joint readings that meet it, of all tried; `None` for rows that the search does not look at.
    pub met_in: Option<usize>,
}

/// A reading that every joint reading meeting a claim takes.
#[derive(Clone, Debug, Serialize)]
pub struct NeedLine {
    /// Claim.
    pub id: String,
    /// `input=reading`.
    pub reading: String,
    /// How many joint readings meet the claim.
    pub met_in: usize,
}

/// One split of the claims: inputs inferred from one half, and what they predict of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldOut {
    /// Claims that the search saw.
    pub seen: usize,
    /// Of them, met by the joint reading that was inferred.
    pub seen_met: usize,
    /// Claims that it did not see.
    pub hidden: usize,
    /// Of them, met by that joint reading.
    pub predicted: usize,
    /// Of them, met by the primaries.
    pub by_text: usize,
}

/// Everything that was inferred of a paper.
#[derive(Clone, Debug, Serialize)]
pub struct Inference {
    /// Paper.
    pub paper: String,
    /// Seed of every run and of the search.
    pub seed: u64,
    /// Open inputs.
    pub inputs: usize,
    /// Joint readings that there are.
    pub possible: f64,
    /// Joint readings that were tried at whole length.
    pub tried: usize,
    /// Joint readings that were tried with a part of each run first, to choose from.
    pub in_part: usize,
    /// Joint readings whose inputs contradict each other.
    pub impossible: usize,
    /// Runs that the joint readings asked for.
    pub runs_asked: usize,
    /// Runs among them that differ.
    pub runs_distinct: usize,
    /// Runs that this call executed; an earlier one had finished the rest.
    pub ran: usize,
    /// The primaries.
    pub by_text: Joint,
    /// The joint reading that meets most.
    pub best: Joint,
    /// The claims.
    pub rows: Vec<Line>,
    /// Readings without which no joint reading that was tried meets a claim.
    pub needs: Vec<NeedLine>,
    /// Pairs of claims of which each was met, and both together never.
    pub never_together: Vec<[String; 2]>,
    /// Claims that nothing of what was tried meets.
    pub unreached: Vec<String>,
    /// The held-out check.
    pub held_out: Vec<HeldOut>,
    /// Folder of results.
    pub folder: String,
}

/// All measured rows under the primaries and under the best joint reading.
type Finals = Vec<Vec<Judged>>;

impl Inference {
    pub(super) fn of(
        subject: &Subject,
        o: &Options<'_>,
        archive: &Archive,
        (primaries, best): (Taken, Taken),
        (whole, full): (Finals, Option<Finals>),
        held_out: Vec<HeldOut>,
        [tried, in_part, impossible, runs_asked, runs_distinct, ran]: [usize; 6],
    ) -> Inference {
        let ids = |rows: &[usize]| rows.iter().map(|r| subject.headline[*r].id.clone()).collect::<Vec<_>>();
        let named = |input: usize, reading: usize| {
            let i = &subject.readings.input[input];
            format!("{}={}", i.name, i.reading[reading].name)
        };
        let met = |rows: &[Judged]| rows.iter().filter(|r| r.met).count();
        let joint = |taken: &Taken, place: usize| Joint {
            readings: (taken.iter().enumerate())
                .filter(|(i, r)| **r != primaries[*i])
                .map(|(i, r)| named(i, *r))
                .collect(),
            met: met(&whole[place]),
            met_at_full: full.as_ref().map(|f| met(&f[place])),
        };
        let headline: Vec<usize> = (0..subject.headline.len()).collect();
        let line = |i: usize| {
            line(
                subject,
                archive,
                i,
                [&whole[0][i], &whole[1][i]],
                full.as_ref().map(|f| f[1][i].met),
            )
        };
        let need = |n: findings::Need| NeedLine {
            id: subject.headline[n.row].id.clone(),
            reading: named(n.input, n.reading),
            met_in: n.met_in,
        };
        Inference {
            paper: o.paper.to_owned(),
            seed: o.seed,
            inputs: subject.space.inputs(),
            possible: subject.space.size(),
            tried,
            in_part,
            impossible,
            runs_asked,
            runs_distinct,
            ran,
            by_text: joint(&primaries, 0),
            best: joint(&best, 1),
            rows: (0..subject.all.len()).map(line).collect(),
            needs: findings::needs(archive, headline.len()).into_iter().map(need).collect(),
            never_together: (findings::never_together(archive, &headline).iter())
                .map(|[a, b]| [ids(&[*a]).remove(0), ids(&[*b]).remove(0)])
                .collect(),
            unreached: ids(&findings::unreached(archive, &headline)),
            held_out,
            folder: o.store.root().to_string_lossy().into_owned(),
        }
    }
}

impl Inference {
    /// The best joint reading, as a reproduction takes it up.
    pub fn kept(&self) -> Best {
        let mut needs = BTreeMap::<String, Vec<String>>::new();
        for n in &self.needs {
            needs.entry(n.id.clone()).or_default().push(n.reading.clone());
        }
        Best {
            readings: self.best.readings.clone(),
            met: self.best.met,
            met_by_text: self.by_text.met,
            rows: self.rows.len(),
            tried: self.tried,
            possible: self.possible,
            inputs: self.inputs,
            seed: self.seed,
            met_in: self
                .rows
                .iter()
                .filter_map(|l| Some((l.id.clone(), l.met_in?)))
                .collect(),
            needs,
        }
    }
}

fn line(subject: &Subject, archive: &Archive, i: usize, [text, best]: [&Judged; 2], full: Option<bool>) -> Line {
    let claim = &subject.all[i];
    let value = |j: &Judged| j.value.map_or_else(String::new, short);
    let searched = i < subject.headline.len();
    let range = searched.then(|| findings::range(archive, i)).flatten();
    let end = |n: usize| range.map_or_else(String::new, |r| short(r[n]));
    Line {
        id: claim.id.clone(),
        paper: claim.value.clone(),
        by_text: value(text),
        by_text_met: text.met,
        best: value(best),
        best_met: best.met,
        best_met_at_full: full,
        low: end(0),
        high: end(1),
        met_in: searched.then(|| archive.tried.iter().filter(|t| t.rows[i].met).count()),
    }
}
