//! The rules of delegated and synchronous ordering.

use crate::experiment::runs::Runs;
use crate::experiment::semantics::SemanticCheck;
use crate::result::{Check, RunResult};

/// Every check of this paper.
pub const CHECKS: &[SemanticCheck] = &[
    SemanticCheck {
        name: "dpo-strict-persistency-conformance",
        run: conformance,
    },
    SemanticCheck {
        name: "dpo-pwq-needs-no-pcommit",
        run: pwq_needs_no_pcommit,
    },
];

/// Checked runs of the points called `points` under a tag, with their checks.
fn checked<'a>(
    runs: &'a Runs,
    tag: &'a str,
    points: &'a [&str],
) -> impl Iterator<Item = (String, &'a RunResult, &'a Check)> {
    let of_interest = move |c: &&crate::experiment::runs::Cell| c.tag == tag && points.contains(&c.point.as_str());
    (runs.by_cell.iter())
        .filter(move |(c, _)| of_interest(c))
        .filter_map(|(c, r)| Some((format!("{} {} {}", c.program, c.point, c.media), r, r.check.as_ref()?)))
}

/// Persist order equals volatile memory order: every run of delegated ordering conforms, and recovery survives every
/// prefix of what became durable.
fn conformance(runs: &Runs) -> Result<String, String> {
    let (mut n, mut points, mut reordered) = (0, 0, 0);
    for (name, _, check) in checked(runs, "E05", &["delegated", "delegated-merge"]) {
        if check.violated() {
            let why = check.witnesses.first().map_or("", |w| w.why.as_str());
            return Err(format!("{name}: {why}"));
        }
        n += 1;
        points += check.points;
        reordered += check.reordered;
    }
    match (n, reordered) {
        (0, _) => Err("no checked run of delegated ordering".into()),
        (_, 0) => Err("no run ever reordered unordered persists: the check cannot fire".into()),
        _ => Ok(format!(
            "{n} runs conform to rcbsp, {points} crash points recovered, {reordered} allowed reorderings seen"
        )),
    }
}

/// On the persistent write queue, flush and fence suffice.
fn pwq_needs_no_pcommit(runs: &Runs) -> Result<String, String> {
    let (mut n, mut points) = (0, 0);
    for (name, r, check) in checked(runs, "E05-pwq", &["so-adr"]) {
        let pcommits = r.counters.get("design.pcommits").copied().unwrap_or(0);
        if check.violated() || pcommits > 0 {
            return Err(format!("{name}: {} violations, {pcommits} pcommits", check.violations));
        }
        n += 1;
        points += check.points;
    }
    if n == 0 {
        Err("no checked run".into())
    } else {
        Ok(format!("{n} runs without pcommit, {points} crash points recovered"))
    }
}
