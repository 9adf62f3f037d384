//! A value over programs: a metric, or its ratio to another design point's, aggregated.

use super::measured::{Measured, PerProgram, aggregate, each, missing, number, reach, shape, verdict};
use super::metrics::{Compared, is_statistic};
use super::rule::Value;
use super::runs::Runs;

impl Value {
    /// Program by program, and on several media one after the other.
    fn per_program(&self, runs: &Runs) -> PerProgram {
        let mut values = PerProgram::new();
        for media in &self.media {
            let on = self.on(media).per_program(runs);
            values.extend(on.into_iter().map(|(p, v)| match self.media.len() {
                1 => (p, v),
                _ => (format!("{p}/{media}"), v),
            }));
        }
        values
    }
    fn on<'a>(&'a self, media: &'a str) -> Compared<'a> {
        Compared {
            tag: &self.tag,
            metrics: [&self.metric, self.base_metric.as_ref().unwrap_or(&self.metric)],
            point: &self.point,
            base: self.base.as_deref(),
            media,
        }
    }
    /// The claim's value; `None` where nothing of it ran.
    pub(super) fn measure(&self, runs: &Runs) -> Option<Measured> {
        let all = self.per_program(runs);
        let only = &self.programs;
        let named = |name: &str| only.is_empty() || only.iter().any(|p| p == name.split('/').next().unwrap_or(name));
        let mut concerned: PerProgram = all.iter().filter(|v| named(&v.0)).cloned().collect();
        let statistic = is_statistic(&self.metric);
        if statistic && concerned.is_empty() {
            concerned.clone_from(&all);
        }
        let shown = if statistic { &all } else { &concerned };
        let shaped: PerProgram = shown.iter().map(|(p, v)| (p.clone(), shape(self.form, *v))).collect();
        // Percentages are taken of the aggregated ratio, not aggregated themselves: a geometric mean needs positive values.
        let over = runs.over(self.over);
        let value = aggregate(over, &concerned)?;
        let missing = missing(runs, &self.tag, only);
        let reach = self.is_time().then(|| {
            let ends = reach(over, value, concerned.len(), missing.len() * self.media.len());
            let mut reach = ends.map(|v| shape(self.form, v));
            reach.sort_by(f64::total_cmp);
            reach
        });
        let (value, note) = (shape(self.form, value) / self.divisor, each(&shaped));
        Some(match self.within {
            Some([low, high]) => {
                let note = format!("{value:.1} ({low} to {high} are met): {note}");
                verdict(low <= value && value <= high, note, missing)
            }
            None => Measured {
                reach,
                ..number(value, if self.quiet { String::new() } else { note }, missing)
            },
        })
    }
    /// Whether it is a ratio of two times, whatever programs are missing: a positive number.
    fn is_time(&self) -> bool {
        self.metric == "time" && self.base.is_some()
    }
}
