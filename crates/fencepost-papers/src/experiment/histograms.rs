//! Measures claims about histograms.

use super::measured::{Measured, PerProgram, aggregate, each, missing, number, verdict_for_good};
use super::rule::{Over, Statistic};
use super::runs::Runs;
use fencepost_run::result::Histogram;

/// A statistic of the named histogram of every program's run of a point, over programs. A claim about some programs that are
/// not all built shows what those of the experiment have so far.
pub fn statistic(
    runs: &Runs,
    tag: &str,
    [point, name]: [&String; 2],
    media: &str,
    of: Statistic,
    over: Over,
    only: &[String],
) -> Option<Measured> {
    let value = |p: &String| {
        let h = runs.get(tag, p, point, media)?.histograms.get(name)?;
        Some((p.clone(), take(h, of)?))
    };
    let all: PerProgram = runs.run_programs().filter_map(value).collect();
    let concerned: PerProgram = (all.iter().filter(|v| only.is_empty() || only.contains(&v.0)).cloned()).collect();
    let counted = if concerned.is_empty() { &all } else { &concerned };
    Some(number(aggregate(over, counted)?, each(&all), missing(runs, tag, only)))
}

/// Whether the statistic of each program of `above` exceeds that of each of `below` (of all others, where that is empty).
pub fn histogram_order(
    runs: &Runs,
    tag: &str,
    [point, name]: [&String; 2],
    media: &str,
    of: Statistic,
    (above, below): (&[String], &[String]),
    smaller: bool,
) -> Option<Measured> {
    let value = |p: &String| {
        let h = runs.get(tag, p, point, media)?.histograms.get(name)?;
        Some((p.clone(), take(h, of)?))
    };
    let all: PerProgram = runs.run_programs().filter_map(value).collect();
    let is_below = |p: &String| {
        if below.is_empty() {
            !above.contains(p)
        } else {
            below.contains(p)
        }
    };
    let sign = if smaller { -1.0 } else { 1.0 };
    let of = |which: &dyn Fn(&String) -> bool| {
        all.iter()
            .filter(|v| which(&v.0))
            .map(|v| sign * v.1)
            .collect::<Vec<_>>()
    };
    let (ups, downs) = (of(&|p| above.contains(p)), of(&is_below));
    if ups.is_empty() || downs.is_empty() {
        return None;
    }
    // The end of an order may be shared where nothing names the others.
    let apart = |up: &f64, down: &f64| up > down || (below.is_empty() && up == down);
    let holds = ups.iter().all(|u| downs.iter().all(|d| apart(u, d)));
    let concerned: Vec<String> = above.iter().chain(below).cloned().collect();
    Some(verdict_for_good(
        holds,
        !holds,
        each(&all),
        missing(runs, tag, &concerned),
    ))
}

/// Samples of the named histogram per operation, the mean over some programs.
pub fn samples_per_op(
    runs: &Runs,
    tag: &str,
    [point, name]: [&String; 2],
    media: &str,
    programs: &[String],
) -> Option<Measured> {
    let value = |p: &String| {
        let run = runs.get(tag, p, point, media)?;
        let samples = run.histograms.get(name)?.count() as f64;
        Some((p.clone(), samples / run.ops.max(1) as f64))
    };
    let all: PerProgram = programs.iter().filter_map(value).collect();
    Some(number(
        aggregate(Over::Mean, &all)?,
        each(&all),
        missing(runs, tag, programs),
    ))
}

fn take(h: &Histogram, of: Statistic) -> Option<f64> {
    match of {
        Statistic::Median => h.quantile(0.5).map(|v| v as f64),
        Statistic::Max => h.max().map(|v| v as f64),
        Statistic::ZeroPercent => (h.count() > 0).then(|| 100.0 * h.at_most(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn statistics_in_closed_form() {
        let h = Histogram::new("cycles", &[(0, 3), (8, 1)].into());
        let all = [Statistic::Median, Statistic::Max, Statistic::ZeroPercent];
        assert_eq!(all.map(|s| take(&h, s)), [Some(0.0), Some(8.0), Some(75.0)]);
        assert_eq!(all.map(|s| take(&Histogram::default(), s)), [None; 3]);
    }
}
