//! Measures claims about histograms.

use super::measured::{Measured, PerProgram, aggregate, each, missing, number};
use super::rule::{Over, Statistic};
use super::runs::Runs;
use crate::result::Histogram;

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
    Some(number(aggregate(over, counted)?, each(&all), missing(runs, only)))
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
