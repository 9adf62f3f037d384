//! A model's verdict on a test.

use crate::executions::execution::Flow;
use crate::executions::models::Model;
use crate::format::condition::{Atom, Quantifier};
use crate::format::test::Test;
use crate::paths::program::{Program, ProgramError};
use rustc_hash::FxHashMap;

/// What a model allows of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The model.
    pub model: Model,
    /// Every final state that is shown (values of [`Test::shown`]), sorted, each with the number of executions in which the
    /// condition holds, and does not.
    pub states: Vec<(Vec<u64>, u64, u64)>,
    /// Executions in which the condition holds.
    pub positive: u64,
    /// Executions in which it does not.
    pub negative: u64,
    quantifier: Quantifier,
}

impl Outcome {
    /// Enumerates the test's executions.
    ///
    /// # Errors
    /// If the test is too large or mixes access sizes.
    pub fn of(test: &Test, model: Model) -> Result<Outcome, ProgramError> {
        Outcome::of_program(&Program::new(test)?, model)
    }
    /// The same of a program made ready.
    ///
    /// # Errors
    /// If there are too many candidates.
    pub fn of_program(program: &Program<'_>, model: Model) -> Result<Outcome, ProgramError> {
        let test = program.test;
        let mut counts: FxHashMap<Vec<u64>, (u64, u64)> = FxHashMap::default();
        program.executions(model, |solution| {
            let value = |atom: &Atom| solution.value(atom);
            if test.filter.as_ref().is_none_or(|f| f.holds(&value)) {
                let state: Vec<u64> = test.shown.iter().map(value).collect();
                let (positive, negative) = counts.entry(state).or_default();
                if test.condition.holds(&value) {
                    *positive += 1;
                } else {
                    *negative += 1;
                }
            }
            Flow::Go
        })?;
        let mut states: Vec<_> = counts.into_iter().map(|(s, (p, n))| (s, p, n)).collect();
        states.sort_unstable();
        Ok(Outcome {
            model,
            positive: states.iter().map(|s| s.1).sum(),
            negative: states.iter().map(|s| s.2).sum(),
            states,
            quantifier: test.quantifier,
        })
    }
    /// `Never`, `Sometimes` or `Always`.
    pub fn observation(&self) -> &'static str {
        match (self.positive, self.negative) {
            (0, _) => "Never",
            (_, 0) => "Always",
            _ => "Sometimes",
        }
    }
    /// Whether what the test asks for is so.
    pub fn holds(&self) -> bool {
        match self.quantifier {
            Quantifier::Exists => self.positive > 0,
            Quantifier::NotExists => self.positive == 0,
            Quantifier::ForAll => self.negative == 0,
        }
    }
    /// `Ok` or `No`, as herd says.
    pub fn verdict(&self) -> &'static str {
        if self.holds() { "Ok" } else { "No" }
    }
}
