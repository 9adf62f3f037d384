//! `litmus`.

use super::{litmus_machine, litmus_make, litmus_native};
use crate::args::LitmusArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::output::Out;
use fencepost_run::litmus::files;
use fencepost_run::litmus::verdicts::{self, Record, Verdict};
use fencepost_run::{BadInput, LabError};
use std::fmt::Write as _;

/// Judges tests by models and contracts.
pub(super) fn litmus(args: &LitmusArgs, out: &Out) -> Result<u8, LabError> {
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
    let judges = verdicts::judges(&args.model)?;
    let files = files::tests(&args.files)?;
    let states = args.states || files.len() == 1 && !out.json;
    let records = verdicts::of_files(&files, &judges, args.states || states);
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
