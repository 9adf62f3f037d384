//! Shares of counters, and rates of operations: along design points, and among programs.

use super::measured::{Measured, PerProgram, aggregate, counter, each, missing, number, verdict, verdict_for_good};
use super::rule::Over;
use super::runs::Runs;
use fencepost_run::result::RunResult;

/// One counter in percent of the sum of others, program by program, then over programs.
pub(super) fn share(
    runs: &Runs,
    tag: &str,
    (part, of): (&str, &[String]),
    point: &str,
    media: &str,
    over: Over,
) -> Option<Measured> {
    let value = |p: &String| {
        let run = runs.get(tag, p, point, media)?;
        let whole: Option<u64> = of.iter().map(|name| counter(run, name)).sum();
        let whole = whole.filter(|w| *w > 0)?;
        Some((p.clone(), counter(run, part)? as f64 / whole as f64 * 100.0))
    };
    let values: PerProgram = runs.run_programs().filter_map(value).collect();
    Some(number(
        aggregate(over, &values)?,
        each(&values),
        missing(runs, tag, &[]),
    ))
}

/// Operations per microsecond of all threads.
fn operations(run: &RunResult) -> f64 {
    run.ops as f64 / (run.time_ps.max(1) as f64 / 1e6)
}

/// Operations per time rise from each point to the next, for every program.
pub(super) fn rises_along_points(runs: &Runs, tag: &str, points: &[String], media: &str) -> Option<Measured> {
    let (mut holds, mut notes) = (true, Vec::new());
    for program in runs.run_programs() {
        let at = |point: &String| runs.get(tag, program, point, media).map(operations);
        let Some(rates) = points.iter().map(at).collect::<Option<Vec<f64>>>() else {
            continue;
        };
        holds &= rates.windows(2).all(|w| w[0] < w[1]);
        let each: Vec<_> = points.iter().zip(&rates).map(|(p, r)| format!("{p} {r:.2}")).collect();
        notes.push(format!("{program}: {} Mops", each.join(", ")));
    }
    (!notes.is_empty()).then(|| verdict(holds, notes.join("; "), missing(runs, tag, &[])))
}

/// The program with the most operations per time, which the paper names.
pub(super) fn most_operations(runs: &Runs, tag: &str, point: &str, media: &str, expect: &str) -> Option<Measured> {
    let rate = |p: &String| Some((p.clone(), operations(runs.get(tag, p, point, media)?)));
    let rates: PerProgram = runs.run_programs().filter_map(rate).collect();
    let most = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let ran = rates.iter().any(|r| r.0 == expect);
    let (holds, note) = (most.0 == expect, format!("{} Mops", each(&rates)));
    Some(verdict_for_good(holds, ran && !holds, note, missing(runs, tag, &[])))
}
