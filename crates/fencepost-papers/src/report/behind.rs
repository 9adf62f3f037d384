//! What stands behind the claims: their values under every choice of readings, the runs they look at, and how to repeat those.

use super::answer::neutral;
use super::subject::Report;
use crate::experiment::claims::Claim;
use crate::experiment::readings::Spread;
use crate::experiment::rule::Rule;
use crate::experiment::runs::Cell;
use crate::experiment::score::Row;
use fencepost_run::request::Request;
use serde::Serialize;
use std::collections::BTreeMap;

/// A claim as the page shows it.
#[derive(Serialize)]
pub(super) struct ClaimLine {
    id: String,
    sentence: String,
    section: String,
    config: String,
    metric: String,
    unit: String,
    paper: String,
    number: Option<f64>,
    measured: String,
    verdict: &'static str,
    kind: &'static str,
    note: String,
    /// Value that means "no difference", for claims that compare two things.
    neutral: Option<f64>,
    holds: Option<f64>,
    decided_by: String,
    /// Per choice of readings: its index, the value, whether the claim is met.
    outcomes: Vec<(usize, Option<f64>, bool)>,
    /// Indexes of the runs that it looks at.
    runs: Vec<usize>,
}

/// A run, with the command that repeats it.
#[derive(Serialize)]
pub(super) struct RunLine {
    tag: String,
    program: String,
    point: String,
    media: String,
    time_us: f64,
    command: String,
}

/// A choice of readings.
#[derive(Serialize)]
pub(super) struct ChoiceLine {
    name: String,
    readings: Vec<String>,
}

/// The claims, the choices that their outcomes name, and the runs of the primaries.
#[derive(Serialize)]
pub(super) struct Behind {
    claims: Vec<ClaimLine>,
    choices: Vec<ChoiceLine>,
    runs: Vec<RunLine>,
}

/// Collects it.
pub(super) fn behind(r: &Report<'_>) -> Behind {
    let mut choices: Vec<ChoiceLine> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let asked: BTreeMap<&Cell, &Request> = r.plan.jobs.iter().map(|j| (&j.cell, &j.request)).collect();
    let cells: Vec<&Cell> = r.runs.by_cell.keys().collect();
    let mut outcomes = |spread: &Spread| {
        let one = |o: &crate::experiment::readings::Outcome| {
            let at = *index.entry(o.choice.clone()).or_insert_with(|| {
                let name = if o.choice.is_empty() {
                    "the primaries"
                } else {
                    &o.choice
                };
                choices.push(ChoiceLine {
                    name: name.into(),
                    readings: o.readings.clone(),
                });
                choices.len() - 1
            });
            (at, o.value, o.met)
        };
        spread.outcomes.iter().map(one).collect()
    };
    let claims = r.claims.iter().zip(r.rows).map(|(claim, row)| {
        let spread = r.under_readings.get(&claim.id);
        let at = cells
            .iter()
            .enumerate()
            .filter(|(_, c)| looks_at(&claim.by, c))
            .map(|(i, _)| i);
        line(
            claim,
            row,
            spread,
            spread.map_or_else(Vec::new, &mut outcomes),
            at.collect(),
        )
    });
    let claims = claims.collect();
    let runs = r.runs.by_cell.iter().map(|(c, x)| RunLine {
        tag: c.tag.clone(),
        program: c.program.clone(),
        point: c.point.clone(),
        media: c.media.clone(),
        time_us: x.time_ps as f64 / 1e6,
        command: asked.get(c).map_or_else(String::new, |q| command(q)),
    });
    Behind {
        claims,
        choices,
        runs: runs.collect(),
    }
}

fn line(
    claim: &Claim,
    row: &Row,
    spread: Option<&Spread>,
    outcomes: Vec<(usize, Option<f64>, bool)>,
    runs: Vec<usize>,
) -> ClaimLine {
    ClaimLine {
        id: claim.id.clone(),
        sentence: claim.claim.clone(),
        section: claim.section.clone(),
        config: claim.config.clone(),
        metric: claim.metric.clone(),
        unit: claim.unit.clone(),
        paper: claim.value.clone(),
        number: claim.number(),
        measured: row.measured.clone(),
        verdict: row.verdict.name(),
        kind: row.kind.name(),
        note: row.note.clone(),
        neutral: neutral(&claim.by),
        holds: spread.map(|s| s.holds),
        decided_by: row.decided_by.clone(),
        outcomes,
        runs,
    }
}

/// Whether a rule looks at a run.
fn looks_at(rule: &Rule, cell: &Cell) -> bool {
    let here = match rule {
        Rule::Value(v) => {
            let point = cell.point == v.point || v.base.as_ref() == Some(&cell.point);
            let named = v.programs.is_empty() || v.programs.contains(&cell.program);
            point && v.media.contains(&cell.media) && named
        }
        Rule::Rank(r) => {
            let point = r.points.contains(&cell.point) || r.base.as_ref() == Some(&cell.point);
            let named = !r.is_total() || r.groups.iter().flatten().any(|p| *p == cell.program);
            point && r.media.contains(&cell.media) && named
        }
        Rule::Along(a) => a.steps.iter().any(|s| {
            let point = cell.point == s.point || s.base.as_ref() == Some(&cell.point);
            point && cell.media == s.media
        }),
        Rule::Wins {
            point, against, media, ..
        } => (cell.point == *point || cell.point == *against) && media.contains(&cell.media),
        _ => false,
    };
    here && rule.tag() == Some(cell.tag.as_str())
}

/// The command line of a run.
pub(super) fn command(q: &Request) -> String {
    format!(
        "fencepost run {} -d {} -m {}{}",
        q.program,
        q.design,
        q.machine,
        options(q)
    )
}

/// What follows program, design and machine in [`command`], with a space before each word.
pub(super) fn options(q: &Request) -> String {
    let mut words = vec![String::new()];
    let mut option = |name: &str, value: Option<String>| words.extend(value.map(|v| format!("{name} {v}")));
    option("--media", q.media.clone());
    option("--threads", q.threads.map(|n| n.to_string()));
    option("--ops", Some(q.ops.to_string()));
    option("--warmup", Some(q.warmup.to_string()));
    option("--cycles", q.cycles.map(|n| n.to_string()));
    option("--seed", (q.seed != 1).then(|| q.seed.to_string()));
    option("--variant", q.variant.clone());
    option("--log", q.log.clone());
    q.sets.iter().for_each(|s| option("--set", Some(s.clone())));
    words.extend(q.check.then(|| "--check".to_owned()));
    words.extend(q.budget.map(|n| format!("--points {n}")));
    words.join(" ")
}
