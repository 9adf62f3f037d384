//! Orders along design points or media.

use super::measured::{Measured, aggregate, missing, verdict_for_good};
use super::metrics::Compared;
use super::rule::{Along, Step};
use super::runs::Runs;

impl Along {
    /// Whether the values along the steps are as stated: over programs, or for each of them.
    pub(super) fn measure(&self, runs: &Runs) -> Option<Measured> {
        let missing = missing(runs, &self.tag, &[]);
        let Some(over) = self.over else {
            return self.each_program(runs, missing);
        };
        let value = |step: &Step| aggregate(over, &self.compared(step).per_program(runs));
        let values: Vec<f64> = self.steps.iter().map(value).collect::<Option<_>>()?;
        let note = self.says.replace("{steps}", &self.text(&values));
        Some(verdict_for_good(self.holds(&values), false, note, missing))
    }
    /// Every program that ran at all steps has to; a program that lacks one on the way breaks the claim only where it ran at the first.
    fn each_program(&self, runs: &Runs, missing: Vec<String>) -> Option<Measured> {
        let (mut holds, mut notes) = (true, Vec::new());
        for program in runs.run_programs() {
            let value = |step: &Step| self.compared(step).of(runs, program);
            let Some(values) = self.steps.iter().map(value).collect::<Option<Vec<f64>>>() else {
                continue;
            };
            holds &= self.holds(&values);
            let text = self.says.replace("{program}", program);
            notes.push(text.replace("{steps}", &self.text(&values)));
        }
        (!notes.is_empty()).then(|| verdict_for_good(holds, !holds, notes.join("; "), missing))
    }
    fn compared<'a>(&'a self, step: &'a Step) -> Compared<'a> {
        Compared {
            tag: &self.tag,
            metrics: [&self.metric; 2],
            point: &step.point,
            base: step.base.as_deref(),
            media: &step.media,
        }
    }
    fn holds(&self, values: &[f64]) -> bool {
        let rises = |w: &[f64]| w[1] > w[0] * self.by;
        let falls = |w: &[f64]| w[0] > w[1] * self.by;
        let ordered = match self.rising {
            None => true,
            Some(rising) => values.windows(2).all(|w| if rising { rises(w) } else { falls(w) }),
        };
        let value = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
        let apart = (self.factors.iter()).all(|(a, b, factor)| value(*a) >= factor * value(*b));
        let enough = values.iter().zip(&self.at_least).all(|(v, least)| v >= least);
        ordered && apart && enough
    }
    /// The values with the names of their steps.
    fn text(&self, values: &[f64]) -> String {
        let one = |(step, value): (&Step, &f64)| match &step.name {
            Some(name) => format!("{name} {value:.*}", self.digits),
            None => format!("{value:.*}", self.digits),
        };
        let all: Vec<String> = self.steps.iter().zip(values).map(one).collect();
        all.join(&self.between)
    }
}
