//! A claim under the readings: its range over the readings, the share that meet it, and the input that decides it.

use super::choice::Choice;
use super::spec::Readings;
use serde::Serialize;

/// A claim under one choice of readings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The choice: empty for the primaries, `input=reading` or `joint-N` otherwise.
    pub choice: String,
    /// The readings taken, each as `input=reading`.
    pub readings: Vec<String>,
    /// The value, for claims that are numbers.
    pub value: Option<f64>,
    /// Whether the claim is met.
    pub met: bool,
}

/// A claim over all choices that were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Least value.
    pub low: Option<f64>,
    /// Greatest value.
    pub high: Option<f64>,
    /// Share of the choices under which the claim is met, 0 to 1.
    pub holds: f64,
    /// The input with the largest main effect; `None` where no input moves the claim.
    pub decided_by: Option<String>,
    /// Every choice's outcome; the primaries first.
    pub outcomes: Vec<Outcome>,
}
impl Spread {
    /// Whether no reading meets the claim.
    pub fn never_met(&self) -> bool {
        self.holds == 0.0 && !self.outcomes.is_empty()
    }
    /// Whether all values lie on one side of the paper's: below (-1), above (1), or on both or unknown (0).
    pub fn side_of(&self, paper: f64) -> i8 {
        match (self.low, self.high) {
            (Some(low), _) if low > paper => 1,
            (_, Some(high)) if high < paper => -1,
            _ => 0,
        }
    }
}

/// Summarises the outcomes of one claim; `choices` and `outcomes` stand in the same order, the primaries first.
pub fn spread(readings: &Readings, choices: &[&Choice], outcomes: Vec<Outcome>) -> Spread {
    let values = || outcomes.iter().filter_map(|o| o.value);
    let met = outcomes.iter().filter(|o| o.met).count();
    Spread {
        low: values().reduce(f64::min),
        high: values().reduce(f64::max),
        holds: met as f64 / outcomes.len().max(1) as f64,
        decided_by: decisive(readings, choices, &outcomes),
        outcomes,
    }
}

/// The input with the largest main effect, if any has one.
fn decisive(readings: &Readings, choices: &[&Choice], outcomes: &[Outcome]) -> Option<String> {
    let effects = (0..readings.input.len()).map(|i| main_effect(i, readings.input[i].reading.len(), choices, outcomes));
    let (at, effect) = effects.enumerate().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    (effect > 0.0).then(|| readings.input[at].name.clone())
}

/// How far the levels of one input lie apart, everything else averaged: the largest mean less the smallest. Values of claims
/// that are orders are 0 and 1. Levels are compared like with like: joint samples if there are any, else the choices that
/// differ from the primaries in this input only.
fn main_effect(input: usize, levels: usize, choices: &[&Choice], outcomes: &[Outcome]) -> f64 {
    let value = |o: &Outcome| o.value.unwrap_or(if o.met { 1.0 } else { 0.0 });
    let joint = choices.iter().any(|c| c.label.starts_with("joint-"));
    let Some(primaries) = choices.first() else { return 0.0 };
    let alike = |c: &Choice| match joint {
        true => c.label.starts_with("joint-"),
        false => (c.taken.iter().zip(&primaries.taken).enumerate()).all(|(i, (x, y))| i == input || x == y),
    };
    let mut sums = vec![(0.0, 0u32); levels];
    for (c, o) in choices.iter().zip(outcomes).filter(|(c, _)| alike(c)) {
        let level = &mut sums[c.taken[input]];
        *level = (level.0 + value(o), level.1 + 1);
    }
    let means = || sums.iter().filter(|s| s.1 > 0).map(|s| s.0 / f64::from(s.1));
    means().fold(f64::NEG_INFINITY, f64::max) - means().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::spec::parse;

    fn readings() -> Readings {
        let input = |n: &str| {
            format!(
                "[[input]]\nname='{n}'\nabout=''\nrule=1\nconclusion='c'\nprimary='0'\nreading=[{{name='0',reason=''}},{{name='1',reason=''}},{{name='2',reason=''}}]\n"
            )
        };
        let text = format!("samples = 9\n{}{}", input("strong"), input("weak"));
        parse("r.toml", &text).unwrap_or_else(|e| panic!("{e}"))
    }
    fn outcomes(
        choices: &[&Choice],
        value: impl Fn(&Choice) -> Option<f64>,
        met: impl Fn(&Choice) -> bool,
    ) -> Vec<Outcome> {
        let of = |c: &&Choice| Outcome {
            choice: c.label.clone(),
            readings: vec![],
            value: value(c),
            met: met(c),
        };
        choices.iter().map(of).collect()
    }
    /// 10 + 5 for each level of the strong input, - 1 for each of the weak.
    fn linear(c: &Choice) -> f64 {
        10.0 + 5.0 * c.taken[0] as f64 - c.taken[1] as f64
    }

    #[test]
    fn one_at_a_time_in_closed_form() {
        let r = readings();
        let p = Choice::primaries(&r);
        let others = p.one_at_a_time(&r);
        let choices: Vec<&Choice> = std::iter::once(&p).chain(&others).collect();
        let s = spread(
            &r,
            &choices,
            outcomes(&choices, |c| Some(linear(c)), |c| linear(c) > 9.5),
        );
        assert_eq!((s.low, s.high), (Some(8.0), Some(20.0)));
        assert!((s.holds - 0.6).abs() < 1e-12, "10, 15 and 20 of 10, 15, 20, 9, 8");
        assert_eq!(s.decided_by.as_deref(), Some("strong"));
        assert_eq!([s.side_of(7.0), s.side_of(10.0), s.side_of(21.0)], [1, 0, -1]);
    }
    #[test]
    fn joint_samples_average_the_other_inputs_away() {
        let r = readings();
        let p = Choice::primaries(&r);
        // A full factorial of three by three is the ideal hypercube.
        let all: Vec<Choice> = (0..9)
            .map(|n| Choice {
                label: format!("joint-{n}"),
                taken: vec![n % 3, n / 3],
            })
            .collect();
        let choices: Vec<&Choice> = std::iter::once(&p).chain(&all).collect();
        let o = outcomes(&choices, |c| Some(linear(c)), |_| true);
        assert!((main_effect(0, 3, &choices, &o) - 10.0).abs() < 1e-12);
        assert!((main_effect(1, 3, &choices, &o) - 2.0).abs() < 1e-12);
    }
    #[test]
    fn orders_are_decided_by_the_input_that_turns_them() {
        let r = readings();
        let p = Choice::primaries(&r);
        let others = p.one_at_a_time(&r);
        let choices: Vec<&Choice> = std::iter::once(&p).chain(&others).collect();
        let s = spread(&r, &choices, outcomes(&choices, |_| None, |c| c.taken[1] != 2));
        assert_eq!((s.low, s.decided_by.as_deref()), (None, Some("weak")));
        let never = spread(&r, &choices, outcomes(&choices, |_| None, |_| false));
        assert!(never.never_met() && never.decided_by.is_none());
    }
}
