//! What models and contracts say of tests, as the command and Python report it.

use super::files::{LARGEST, each};
use crate::{BadInput, input};
use fencepost_litmus::{Judge, Judged, Program, Test, parse};
use serde::Serialize;
use std::path::PathBuf;

/// One verdict, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The file, as it was named.
    pub file: String,
    /// The test's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'static str>,
    /// The verdict.
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    pub verdict: Option<Verdict>,
    /// Why the test was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// What a model or a contract says of one test.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// What the quantifier asks: `Allowed`, `Forbidden` or `Required`.
    pub kind: &'static str,
    /// `Never`, `Sometimes` or `Always`, of the final condition.
    pub observation: &'static str,
    /// `Ok` or `No`.
    pub verdict: &'static str,
    /// How many states.
    pub states: usize,
    /// Executions in which the condition holds.
    pub positive: u64,
    /// Executions in which it does not.
    pub negative: u64,
    /// Crash states, under a contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// What the test's header expects, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Every final state, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_states: Option<Vec<String>>,
    /// The condition as written.
    #[serde(skip)]
    pub condition: String,
    /// The observation that a header would speak of.
    #[serde(skip)]
    pub decisive: &'static str,
    /// The crash states are not those that the header lists.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unexpected_states: bool,
}

impl Verdict {
    /// Whether it is not what the headers expect.
    pub fn unexpected(&self) -> bool {
        self.expected.as_ref().is_some_and(|e| *e != self.decisive) || self.unexpected_states
    }
}

/// What a power failure may leave.
#[derive(Clone, Debug, Serialize)]
pub struct Crash {
    /// The condition as written.
    pub condition: String,
    /// `Never`, `Sometimes` or `Always`, of the final condition.
    pub observation: &'static str,
    /// How many states.
    pub states: usize,
    /// Every crash state, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash_states: Option<Vec<String>>,
}

/// The models and contracts of these names.
///
/// # Errors
/// A name that is neither.
pub fn judges(names: &[String]) -> Result<Vec<Judge>, BadInput> {
    let known = Judge::names();
    let one = |name: &String| {
        let judge = name.parse();
        judge.map_err(|_| BadInput::unknown("model", name, known.iter().copied()))
    };
    names.iter().map(one).collect()
}

/// Judges every file, by its own headers or its instruction set's model where no judge is named; `states` lists all states.
pub fn of_files(files: &[PathBuf], judges: &[Judge], states: bool) -> Vec<Record> {
    each(files, |file| match input::read(file, LARGEST) {
        Ok(text) => of_text(&file.display().to_string(), &text, judges, states),
        Err(e) => vec![Record::skipped(&file.display().to_string(), None, None, e.to_string())],
    })
}

/// Judges a test; `file` is what records call it.
pub fn of_text(file: &str, text: &str, judges: &[Judge], states: bool) -> Vec<Record> {
    let test = match parse(text) {
        Ok(test) => test,
        Err(e) => return vec![Record::skipped(file, None, None, e.to_string())],
    };
    // A test that says what it expects is asked about that.
    let mut default: Vec<Judge> = Judge::names()
        .into_iter()
        .filter_map(|n| test.expects(n).then(|| n.parse().ok())?)
        .collect();
    if default.is_empty() {
        default.push(Judge::of(test.arch));
    }
    let judges = if judges.is_empty() { &default[..] } else { judges };
    let program = match Program::new(&test) {
        Ok(program) => program,
        Err(e) => return vec![Record::skipped(file, Some(&test.name), None, e.to_string())],
    };
    let records = judges.iter().map(|judge| match judge.judge(&program) {
        Err(e) => Record::skipped(file, Some(&test.name), Some(judge.name()), e.to_string()),
        Ok(judged) => Record {
            file: file.to_owned(),
            name: Some(test.name.clone()),
            model: Some(judge.name()),
            verdict: Some(verdict(&test, *judge, &judged, states)),
            skipped: None,
        },
    });
    records.collect()
}

impl Record {
    fn skipped(file: &str, name: Option<&str>, model: Option<&'static str>, why: String) -> Record {
        Record {
            file: file.to_owned(),
            name: name.map(str::to_owned),
            model,
            verdict: None,
            skipped: Some(why),
        }
    }
}

fn verdict(test: &Test, judge: Judge, judged: &Judged, states: bool) -> Verdict {
    let o = &judged.visible;
    let listed = || o.states.iter().map(|s| test.state_line(&s.0)).collect::<Vec<_>>();
    let crash = judged.crash.as_ref().map(|c| Crash {
        condition: c.condition.clone(),
        observation: c.observation(),
        states: c.states.len(),
        crash_states: states.then(|| c.states.iter().map(|s| c.line(test, s)).collect()),
    });
    let compact = judged.crash.as_ref().map(|c| c.compact());
    Verdict {
        kind: test.quantifier.kind(),
        observation: o.observation(),
        verdict: o.verdict(),
        states: o.states.len(),
        positive: o.positive,
        negative: o.negative,
        crash,
        expected: test.expected(judge.name()).map(str::to_owned),
        final_states: states.then(listed),
        condition: test.condition_text.clone(),
        decisive: judged.observation(),
        unexpected_states: test.expected_states(judge.name()).is_some_and(|s| Some(s) != compact),
    }
}
