//! Ratios of counters, instructions per cycle and means of histograms.

use super::measured::{Measured, PerProgram, aggregate, counter, missing, verdict};
use super::rule::Over;
use super::runs::Runs;
use fencepost_run::result::RunResult;

/// A metric of a run: a counter, `ipc`, or the mean of a histogram (`mean:HISTOGRAM`).
fn metric(run: &RunResult, name: &str) -> Option<f64> {
    match (name, name.strip_prefix("mean:")) {
        ("ipc", _) => Some(run.ipc),
        (_, Some(histogram)) => run.histograms.get(histogram).map(|h| h.mean()),
        _ => counter(run, name).map(|n| n as f64),
    }
}

/// A metric of one point over one of another, program by program.
pub fn metric_ratios(
    runs: &Runs,
    tag: &str,
    names: [&String; 2],
    [point, base]: [&String; 2],
    media: &str,
) -> PerProgram {
    let ratio = |p: &String| {
        let a = metric(runs.get(tag, p, point, media)?, runs.metric(names[0]))?;
        let b = metric(runs.get(tag, p, base, media)?, runs.metric(names[1]))?;
        (b > 0.0).then(|| (p.clone(), a / b))
    };
    runs.run_programs().filter_map(ratio).collect()
}

/// Whether the mean over programs of a metric's ratio rises (or falls) along pairs of points.
pub fn metric_trend(
    runs: &Runs,
    tag: &str,
    name: &String,
    media: &str,
    pairs: &[[String; 2]],
    rising: bool,
) -> Option<Measured> {
    let mean = |[a, b]: &[String; 2]| aggregate(Over::Mean, &metric_ratios(runs, tag, [name; 2], [a, b], media));
    let means: Vec<f64> = pairs.iter().map(mean).collect::<Option<_>>()?;
    let holds = means.len() > 1 && means.windows(2).all(|w| if rising { w[1] > w[0] } else { w[1] < w[0] });
    let note = means.iter().map(|m| format!("{m:.3}")).collect::<Vec<_>>().join(", ");
    Some(verdict(
        holds,
        format!("mean ratios along the points: {note}"),
        missing(runs, tag, &[]),
    ))
}
