//! `litmus`.

use super::litmus_files::{LARGEST, each};
use super::{litmus_files, litmus_machine, litmus_make, litmus_native};
use crate::args::LitmusArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::output::Out;
use fencepost_litmus::{Judge, Judged, Program, Test, parse};
use fencepost_run::{BadInput, LabError, input};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// One verdict, or why there is none.
#[derive(Serialize)]
struct Record {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    verdict: Option<Verdict>,
    /// Why the test was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
}

#[derive(Serialize)]
struct Verdict {
    kind: &'static str,
    observation: &'static str,
    verdict: &'static str,
    states: usize,
    positive: u64,
    negative: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    crash: Option<Crash>,
    /// What the test's header expects, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_states: Option<Vec<String>>,
    #[serde(skip)]
    condition: String,
    /// The observation that a header would speak of.
    #[serde(skip)]
    decisive: &'static str,
    /// The crash states are not those that the header lists.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unexpected_states: bool,
}

impl Verdict {
    fn unexpected(&self) -> bool {
        self.expected.as_ref().is_some_and(|e| *e != self.decisive) || self.unexpected_states
    }
}

/// What a power failure may leave.
#[derive(Serialize)]
struct Crash {
    condition: String,
    observation: &'static str,
    states: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    crash_states: Option<Vec<String>>,
}

/// Judges tests by models and contracts.
pub fn litmus(args: &LitmusArgs, out: &Out) -> Result<u8, LabError> {
    if let Some(folder) = &args.generate {
        return litmus_make::generate(folder, args, out);
    }
    if let Some(pair) = &args.between {
        return litmus_make::tell_apart(pair, args.output.as_deref(), out);
    }
    if args.promote {
        return litmus_make::promote_all(args, out);
    }
    if let Some(target) = &args.picture {
        return litmus_make::draw(args, target, out);
    }
    if !args.design.is_empty() {
        return litmus_machine::run(args, out);
    }
    if args.native {
        return litmus_native::run(args, out);
    }
    let judges: Vec<Judge> = args.model.iter().map(|m| judge(m)).collect::<Result<_, _>>()?;
    let files = litmus_files::tests(&args.files)?;
    let states = args.states || files.len() == 1 && !out.json;
    let records = each(&files, |file| judge_file(file, &judges, args.states || states));
    out.document(&records, || text(&records, states))?;
    let read = records.iter().any(|r| r.skipped.is_none());
    if !read && files.len() == records.len() {
        let why = records.first().and_then(|r| r.skipped.clone()).unwrap_or_default();
        return Err(BadInput::new(format!("no test could be run; {}: {why}", files[0].display())).into());
    }
    let unexpected = records
        .iter()
        .filter_map(|r| r.verdict.as_ref())
        .any(Verdict::unexpected);
    Ok(if unexpected { VIOLATION } else { CLEAN })
}

fn judge(name: &str) -> Result<Judge, LabError> {
    let known = Judge::names();
    name.parse()
        .map_err(|_| BadInput::unknown("model", name, known.iter().copied()).into())
}

fn judge_file(file: &Path, judges: &[Judge], states: bool) -> Vec<Record> {
    let skipped = |name: Option<String>, model, why: String| Record {
        file: file.display().to_string(),
        name,
        model,
        verdict: None,
        skipped: Some(why),
    };
    let text = match input::read(file, LARGEST) {
        Ok(text) => text,
        Err(e) => return vec![skipped(None, None, e.to_string())],
    };
    let test = match parse(&text) {
        Ok(test) => test,
        Err(e) => return vec![skipped(None, None, e.to_string())],
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
        Err(e) => return vec![skipped(Some(test.name.clone()), None, e.to_string())],
    };
    let records = judges.iter().map(|judge| match judge.judge(&program) {
        Err(e) => skipped(Some(test.name.clone()), Some(judge.name()), e.to_string()),
        Ok(judged) => Record {
            file: file.display().to_string(),
            name: Some(test.name.clone()),
            model: Some(judge.name()),
            verdict: Some(verdict(&test, *judge, &judged, states)),
            skipped: None,
        },
    });
    records.collect()
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

fn text(records: &[Record], states: bool) -> String {
    let (mut text, mut skipped, mut unexpected) = (String::new(), 0, 0);
    for record in records {
        match (&record.verdict, &record.skipped) {
            (Some(v), _) => {
                let name = record.name.as_deref().unwrap_or_default();
                let model = record.model.unwrap_or_default();
                if states {
                    full(&mut text, name, model, v);
                } else {
                    let _ = write!(
                        text,
                        "Observation {name} {} {} {}",
                        v.observation, v.positive, v.negative
                    );
                    let _ = write!(text, "  ({model}, {} states", v.states);
                    if let Some(c) = &v.crash {
                        let _ = write!(text, "; crash {}, {} states", c.observation, c.states);
                    }
                    text.push_str(")\n");
                }
                if v.unexpected() {
                    unexpected += 1;
                    let expected = v.expected.as_deref().unwrap_or_default();
                    let _ = writeln!(text, "{name}: {model} says {}, the test expects {expected}", v.decisive);
                }
            }
            (None, why) => {
                skipped += 1;
                let _ = writeln!(text, "{}: not run: {}", record.file, why.as_deref().unwrap_or_default());
            }
        }
    }
    if records.len() > 1 {
        let _ = writeln!(
            text,
            "{} verdicts, {skipped} not run, {unexpected} unexpected",
            records.len() - skipped
        );
    }
    text
}

/// A test's verdict as herd prints it, then its crash states.
fn full(text: &mut String, name: &str, model: &str, v: &Verdict) {
    let _ = writeln!(text, "Test {name} {}\nModel {model}\nStates {}", v.kind, v.states);
    for state in v.final_states.iter().flatten() {
        let _ = writeln!(text, "{state}");
    }
    let _ = writeln!(
        text,
        "{}\nWitnesses\nPositive: {} Negative: {}",
        v.verdict, v.positive, v.negative
    );
    let _ = writeln!(text, "Condition {}", v.condition);
    let _ = writeln!(
        text,
        "Observation {name} {} {} {}",
        v.observation, v.positive, v.negative
    );
    if let Some(c) = &v.crash {
        let _ = writeln!(text, "Crash states {}", c.states);
        for state in c.crash_states.iter().flatten() {
            let _ = writeln!(text, "{state}");
        }
        if !c.condition.is_empty() {
            let _ = writeln!(
                text,
                "Crash condition {}\nCrash observation {name} {}",
                c.condition, c.observation
            );
        }
    }
    text.push('\n');
}
