//! Runs that are held to their contract, as statements use them.

use crate::experiment::runs::Runs;
use fencepost_run::request::Request;
use fencepost_run::result::{Check, RunResult};
use std::collections::BTreeMap;

/// Checked runs of some points under a tag, with their checks.
pub(crate) fn checked<'a>(
    runs: &'a Runs,
    tag: &'a str,
    points: &'a [&str],
) -> impl Iterator<Item = (String, &'a RunResult, &'a Check)> {
    (runs.by_cell.iter())
        .filter(move |(c, _)| c.tag == tag && points.contains(&c.point.as_str()))
        .filter_map(|(c, r)| Some((format!("{} {} {}", c.program, c.point, c.media), r, r.check.as_ref()?)))
}

/// A small checked run of its own.
pub(crate) fn small(
    program: &str,
    design: &str,
    media: &str,
    threads: u32,
    sets: &[&str],
) -> Result<RunResult, String> {
    let request = Request {
        program: program.into(),
        design: design.into(),
        media: Some(media.into()),
        threads: Some(threads),
        ops: 60,
        warmup: 0,
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        check: true,
        budget: Some(200),
        ..Request::default()
    };
    fencepost_run::run::run(&request).map_err(|e| format!("{program} on {design}: {e}"))
}

/// The mechanism as described conforms on several programs, and is convicted on one of them with a fault planted.
pub(crate) fn faulty_and_right(design: &str, fault: &str) -> Result<String, String> {
    faulty_and_right_on("pcm", design, fault)
}

/// The same on a medium; both halves run the same programs in the same configuration.
pub(crate) fn faulty_and_right_on(media: &str, design: &str, fault: &str) -> Result<String, String> {
    let set = format!("design.fault={fault}");
    let mut convicted = Vec::new();
    let programs = ["cq", "hash", "sps"];
    for program in programs {
        let right = small(program, design, media, 8, &[])?;
        if right.check.as_ref().is_none_or(Check::violated) {
            return Err(format!("{program} on {design} is convicted without any fault"));
        }
        if small(program, design, media, 8, &[&set])?
            .check
            .as_ref()
            .is_some_and(Check::violated)
        {
            convicted.push(program);
        }
    }
    if convicted.is_empty() {
        return Err(format!("fault `{fault}` of {design} goes unnoticed"));
    }
    Ok(format!(
        "{} conform on {design}; with `{fault}` planted, {} convicted",
        programs.join(", "),
        convicted.join(", ")
    ))
}

/// Every checked run of some points under a tag, if there is one, is clean; the text says how many crash points of how many
/// that were.
pub(crate) fn all_clean(runs: &Runs, tag: &str, points: &[&str]) -> Result<String, String> {
    let (mut n, mut crash_points, mut total) = (0, 0, 0);
    for (name, _, check) in checked(runs, tag, points) {
        if check.violated() {
            let why = check.witnesses.first().map_or("", |w| w.why.as_str());
            return Err(format!("{name}: {why}"));
        }
        n += 1;
        crash_points += check.points;
        total += check.points_total;
    }
    if n == 0 && !runs.by_cell.is_empty() {
        return Err(format!("no checked run of {tag} at {}", points.join(", ")));
    }
    Ok(format!(
        "{n} runs of {tag} conform, {crash_points} of {total} crash points recovered"
    ))
}

/// Durable events of a checked run by cause.
pub(crate) fn pmem(r: &RunResult) -> Result<&BTreeMap<String, u64>, String> {
    r.check
        .as_ref()
        .map(|c| &c.durable_by_cause)
        .ok_or_else(|| "the run was not checked".into())
}
