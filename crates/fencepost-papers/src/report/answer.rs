//! What a reader wants first: which headlines came out the other way round, how many claims are met, and what decides.

use super::holds::holds;
use super::subject::{BestRuns, Report};
use crate::experiment::claims::Claim;
use crate::experiment::kinds::Kind;
use crate::experiment::rule::{Form, OfNative, Rule};
use crate::experiment::score::{Row, Score};
use fencepost_run::short;
use serde::Serialize;
use std::collections::BTreeMap;

/// The first screen in words.
#[derive(Serialize)]
pub(super) struct Answer {
    /// Headlines whose effect has the other sign here.
    pub reversed: Vec<String>,
    /// The paper's headlines, with its value and ours.
    pub headlines: Vec<Headline>,
    /// How many claims of each kind are met.
    pub counts: Vec<String>,
    /// The inputs that decide most claims.
    pub deciders: Vec<Decider>,
    /// The best joint reading, and the search that found it.
    pub best: Option<Joint>,
}

/// The best joint reading in words.
#[derive(Serialize)]
pub(super) struct Joint {
    readings: Vec<String>,
    /// How large the search was, and what it met.
    search: String,
    /// How many measured claims about the headline are met under it, run again here.
    met: String,
}

/// A claim of the abstract.
#[derive(Serialize)]
pub(super) struct Headline {
    id: String,
    sentence: String,
    paper: String,
    ours: String,
    best: String,
    best_met: bool,
    range: String,
    verdict: &'static str,
    /// What must hold for it.
    holds: String,
}

/// An open input, by what rests on it.
#[derive(Serialize)]
pub(super) struct Decider {
    name: String,
    about: String,
    primary: String,
    decides: usize,
    /// Claims whose verdict one of its readings alone turns.
    turns: usize,
}

/// Makes the answer.
pub(super) fn answer(r: &Report<'_>) -> Answer {
    let pairs: Vec<(&Claim, &Row)> = r.claims.iter().zip(r.rows).collect();
    let reversed = pairs.iter().filter_map(|(c, row)| reversal(c, row));
    Answer {
        reversed: reversed.collect(),
        headlines: pairs.iter().filter_map(|(c, row)| headline(r, c, row)).collect(),
        counts: Kind::ALL.iter().filter_map(|k| count(*k, r.rows)).collect(),
        deciders: deciders(r),
        best: r.best.map(|b| joint(b, r.claims)),
    }
}

fn leads(claim: &Claim) -> bool {
    claim.section.starts_with("Abstract")
}

/// The value of a claim that means "no difference", for claims that compare two things.
pub(super) fn neutral(rule: &Rule) -> Option<f64> {
    let of_form = |form: &Form| match form {
        Form::Ratio => 1.0,
        Form::GainPercent | Form::LossPercent => 0.0,
    };
    match rule {
        Rule::Value(value) => value.base.is_some().then(|| of_form(&value.form)),
        Rule::Native {
            form,
            of: OfNative::Gain,
            ..
        } => Some(of_form(form)),
        _ => None,
    }
}

/// A headline whose effect has the other sign here, as a sentence.
fn reversal(claim: &Claim, row: &Row) -> Option<String> {
    let (even, paper, ours) = (neutral(&claim.by)?, claim.number()?, row.measured.parse::<f64>().ok()?);
    let opposite = (paper - even) * (ours - even) < 0.0;
    (leads(claim) && opposite).then(|| {
        let (unit, id) = (&claim.unit, &claim.id);
        format!(
            "{} is {ours} {unit} here, not {} {unit} ({id}; {even} is no difference).",
            claim.claim, claim.value
        )
    })
}

fn joint(b: &BestRuns, claims: &[Claim]) -> Joint {
    let k = &b.best;
    let measured = claims.iter().filter(|c| c.rests_on == Kind::Measured);
    let found: Vec<_> = measured.filter_map(|c| b.found.get(&c.id)).collect();
    let met = found.iter().filter(|f| f.met).count();
    Joint {
        readings: k.readings.clone(),
        search: format!(
            "{} of {:.1e} joint readings of {} inputs were tried; this one met {} of {} measured rows, the text {}",
            k.tried, k.possible, k.inputs, k.met, k.rows, k.met_by_text
        ),
        met: format!("{met} of {} measured claims about the headline", found.len()),
    }
}

fn headline(r: &Report<'_>, claim: &Claim, row: &Row) -> Option<Headline> {
    let unit = if claim.unit == "x" || claim.unit == "%" {
        claim.unit.as_str()
    } else {
        ""
    };
    let best = r.best.and_then(|b| b.found.get(&claim.id));
    let best_value = best.and_then(|f| f.value).map_or_else(String::new, short);
    let ranged = !row.low.is_empty() && row.low != row.high;
    leads(claim).then(|| Headline {
        id: claim.id.clone(),
        sentence: claim.claim.clone(),
        paper: format!("{} {unit}", claim.value).trim().to_owned(),
        ours: format!("{} {unit}", row.measured).trim().to_owned(),
        range: if ranged {
            format!("{} to {}", row.low, row.high)
        } else {
            String::new()
        },
        best: match (best_value.as_str(), best) {
            ("", None) => String::new(),
            ("", Some(f)) => if f.met { "met" } else { "not met" }.into(),
            (v, _) => format!("{v} {unit}").trim().to_owned(),
        },
        best_met: best.is_some_and(|f| f.met),
        verdict: row.verdict.name(),
        // Some of its programs are not built: what was measured of it is no verdict.
        holds: match (row.verdict, holds(&claim.id, r.under_readings.get(&claim.id), r.best)) {
            (Score::NotRun, text) if !text.is_empty() => format!("Over the programs that are built. {text}"),
            (_, text) => text,
        },
    })
}

/// One sentence on the rows of a kind.
fn count(kind: Kind, rows: &[Row]) -> Option<String> {
    let of = |v: Score| rows.iter().filter(|r| r.kind == kind && r.verdict == v).count();
    let [met, missed, unsteady] = [Score::Match, Score::Miss, Score::Unsteady].map(of);
    let [quoted, left] = [Score::Quoted, Score::NotRun].map(of);
    let what = match kind {
        Kind::Measured => "measured claims are met",
        Kind::Calibrated => "rows of its workload tables come out as calibrated (no result)",
        Kind::Rule => "rules of the mechanism hold when tested",
        Kind::Storage => "storage figures follow from their formula",
        Kind::Echo => "inputs stand as the paper states them (no result)",
    };
    let rest: Vec<String> = [
        (unsteady, "unsteady over seeds"),
        (quoted, "quoted only"),
        (left, "not run"),
    ]
    .iter()
    .filter(|x| x.0 > 0)
    .map(|(n, word)| format!("{n} {word}"))
    .collect();
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("; {}", rest.join(", "))
    };
    (met + missed + quoted + left > 0).then(|| format!("{met} of {} {what}{rest}.", met + missed))
}

/// The three inputs that decide most claims; ties go to those that turn more verdicts.
fn deciders(r: &Report<'_>) -> Vec<Decider> {
    let mut by: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for spread in r.under_readings.values() {
        let Some(name) = spread.decided_by.as_deref() else {
            continue;
        };
        let met = spread.outcomes.first().is_some_and(|o| o.met);
        let alone = |o: &&crate::experiment::readings::Outcome| o.choice.split_once('=').is_some_and(|c| c.0 == name);
        let turned = spread.outcomes.iter().filter(alone).any(|o| o.met != met);
        let entry = by.entry(name).or_default();
        *entry = [entry[0] + 1, entry[1] + usize::from(turned)];
    }
    let mut all: Vec<Decider> = (by.into_iter())
        .filter_map(|(name, [decides, turns])| {
            let input = r.readings.input(name)?;
            let (about, primary) = (input.about.clone(), input.primary.clone());
            Some(Decider {
                name: name.into(),
                about,
                primary,
                decides,
                turns,
            })
        })
        .collect();
    all.sort_by_key(|d| std::cmp::Reverse((d.decides, d.turns)));
    all.truncate(3);
    all
}
