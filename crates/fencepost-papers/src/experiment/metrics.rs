//! Metrics of a run, and what claims compare: a metric at one design point, or over the same at another, program by program.

use super::measured::{PerProgram, counter, time_per_op};
use super::runs::Runs;
use fencepost_run::result::{Histogram, RunResult};

/// A metric of a run, by its name:
///
/// | name | what it is |
/// |---|---|
/// | `time` | picoseconds an operation |
/// | `Mops` | operations a microsecond |
/// | `ipc` | instructions a cycle |
/// | `COUNTER` | a counter of the run result |
/// | `COUNTER/op`, `COUNTER/time` | the same per operation, per picosecond |
/// | `COUNTER/core-us` | the same per microsecond and thread |
/// | `COUNTER%OTHER+OTHER` | the same in percent of the sum of others |
/// | `mean:H`, `median:H`, `max:H`, `zero-percent:H` | a statistic of a histogram; the last is the share of zeros in percent |
/// | `samples/op:H` | samples of a histogram an operation |
pub fn metric(run: &RunResult, name: &str) -> Option<f64> {
    if let Some((statistic, histogram)) = name.split_once(':') {
        return of_histogram(run, statistic, run.histograms.get(histogram)?);
    }
    if let Some((part, others)) = name.split_once('%') {
        let whole: Option<u64> = others.split('+').map(|other| counter(run, other)).sum();
        let whole = whole.filter(|w| *w > 0)?;
        return Some(counter(run, part)? as f64 / whole as f64 * 100.0);
    }
    let count = |name: &str| counter(run, name).map(|n| n as f64);
    let (ops, time) = (run.ops.max(1) as f64, run.time_ps.max(1) as f64);
    match name.rsplit_once('/') {
        Some((name, "op")) => Some(count(name)? / ops),
        Some((name, "time")) => Some(count(name)? / time),
        Some((name, "core-us")) => {
            let per_op = time_per_op(run);
            let events = count(name)? / ops / f64::from(run.threads);
            (per_op > 0.0).then(|| events / per_op * 1e6)
        }
        _ => match name {
            "time" => Some(time_per_op(run)),
            "Mops" => Some(run.ops as f64 / (time / 1e6)),
            "ipc" => Some(run.ipc),
            _ => count(name),
        },
    }
}

fn of_histogram(run: &RunResult, statistic: &str, h: &Histogram) -> Option<f64> {
    match statistic {
        "mean" => Some(h.mean()),
        "median" => h.quantile(0.5).map(|v| v as f64),
        "max" => h.max().map(|v| v as f64),
        "zero-percent" => (h.count() > 0).then(|| 100.0 * h.at_most(0)),
        "samples/op" => Some(h.count() as f64 / run.ops.max(1) as f64),
        _ => None,
    }
}

/// Whether a metric is a statistic of a distribution, of which all programs are shown whichever a claim is about.
pub fn is_statistic(name: &str) -> bool {
    matches!(name.split_once(':'), Some(("median" | "max" | "zero-percent", _)))
}

/// A metric of one point over one of another (itself where there is no other), program by program.
#[derive(Copy, Clone)]
pub struct Compared<'a> {
    /// The experiment.
    pub tag: &'a str,
    /// Metric of the point and of the base.
    pub metrics: [&'a str; 2],
    /// The design point.
    pub point: &'a str,
    /// What it is compared with.
    pub base: Option<&'a str>,
    /// The medium.
    pub media: &'a str,
}
impl Compared<'_> {
    /// Program by program, those that ran.
    pub fn per_program(&self, runs: &Runs) -> PerProgram {
        let value = |p: &String| Some((p.clone(), self.of(runs, p)?));
        runs.run_programs().filter_map(value).collect()
    }
    /// For one program.
    pub fn of(&self, runs: &Runs, program: &str) -> Option<f64> {
        let at = |point, name| metric(runs.get(self.tag, program, point, self.media)?, runs.metric(name));
        let value = at(self.point, self.metrics[0])?;
        match self.base {
            None => Some(value),
            Some(base) => at(base, self.metrics[1]).filter(|b| *b > 0.0).map(|b| value / b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::made_up;

    #[test]
    fn metrics_in_closed_form() {
        let mut run = made_up(2_000_000);
        (run.ops, run.threads, run.ipc) = (10, 2, 0.5);
        run.counters = [("a".to_owned(), 40), ("b".to_owned(), 60), ("c".to_owned(), 100)].into();
        run.histograms = [("h".to_owned(), Histogram::new("cycles", &[(0, 3), (8, 1)].into()))].into();
        for (name, value) in [
            ("time", 200_000.0),
            ("Mops", 5.0),
            ("ipc", 0.5),
            ("a", 40.0),
            ("a/op", 4.0),
            ("a/time", 40.0 / 2e6),
            // 40 events in 2 us and 2 threads.
            ("a/core-us", 10.0),
            ("a%b+c", 25.0),
            ("mean:h", 2.0),
            ("median:h", 0.0),
            ("max:h", 8.0),
            ("zero-percent:h", 75.0),
            ("samples/op:h", 0.4),
        ] {
            let found = metric(&run, name).unwrap_or_else(|| panic!("{name}"));
            assert!((found / value - 1.0).abs() < 1e-12 || found == value, "{name}: {found}");
        }
        for absent in ["d", "d/op", "a%d", "max:x", "least:h"] {
            assert_eq!(metric(&run, absent), None, "{absent}");
        }
        run.histograms = [("h".to_owned(), Histogram::default())].into();
        assert_eq!(
            ["median:h", "max:h", "zero-percent:h"].map(|m| metric(&run, m)),
            [None; 3]
        );
    }
}
