//! `litmus --native`: x86 tests on the CPU of this host; what it shows must be among what x86 allows.

use super::litmus_translate::native;
use crate::args::LitmusArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::output::Out;
use fencepost_litmus::condition::Atom;
use fencepost_litmus::crash::Layout;
use fencepost_litmus::op::Width;
use fencepost_litmus::{Model, Outcome, Program, Test, parse};
use fencepost_papers::native::litmus::Left;
use fencepost_papers::native::run_litmus;
use fencepost_run::litmus::files::{self, LARGEST};
use fencepost_run::{BadInput, LabError, input};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// A test on this CPU, or why it did not run.
#[derive(Serialize)]
struct Record {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    shown: Option<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
}

#[derive(Serialize)]
struct Shown {
    rounds: u64,
    /// Each final state with how often it was left.
    states: Vec<(String, u64)>,
    /// Of what x86 allows, how many states were left.
    shown: usize,
    allowed: usize,
    /// States that x86 does not allow.
    violations: Vec<String>,
}

/// Runs every test on this CPU, one after the other: they need all of its cores.
pub(super) fn run(args: &LitmusArgs, out: &Out) -> Result<u8, LabError> {
    let files = files::tests(&args.files)?;
    let records: Vec<Record> = files.iter().map(|f| of_file(f, args.rounds)).collect();
    out.document(&records, || text(&records))?;
    if let [Record { skipped: Some(why), .. }] = &records[..] {
        return Err(BadInput::new(why.clone()).into());
    }
    let violated = |r: &Record| r.shown.as_ref().is_some_and(|s| !s.violations.is_empty());
    Ok(if records.iter().any(violated) { VIOLATION } else { CLEAN })
}

fn of_file(file: &Path, rounds: u32) -> Record {
    let record = |name, shown, skipped| Record {
        file: file.display().to_string(),
        name,
        shown,
        skipped,
    };
    let test = match input::read(file, LARGEST) {
        Err(e) => return record(None, None, Some(e.to_string())),
        Ok(text) => match parse(&text) {
            Err(e) => return record(None, None, Some(e.to_string())),
            Ok(test) => test,
        },
    };
    let name = Some(test.name.clone());
    match shown(&test, rounds) {
        Ok(shown) => record(name, Some(shown), None),
        Err(why) => record(name, None, Some(why)),
    }
}

fn shown(test: &Test, rounds: u32) -> Result<Shown, String> {
    if !test.arch.is_x86() {
        return Err(format!("{} tests do not run on an x86 CPU", test.arch));
    }
    let program = Program::new(test).map_err(|e| e.to_string())?;
    let allowed = Outcome::of_program(&program, Model::Tso).map_err(|e| e.to_string())?;
    let layout = Layout::new(&program);
    let native = native(test, &program, &layout)?;
    let left = run_litmus(&native, rounds).map_err(|e| e.to_string())?;
    let mut states: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for (left, times) in left {
        let value = |atom: &Atom| value(test, &layout, &left, atom);
        if test.filter.as_ref().is_none_or(|f| f.holds(&value)) {
            *states.entry(test.shown.iter().map(value).collect()).or_default() += times;
        }
    }
    let is_allowed = |state: &Vec<u64>| allowed.states.iter().any(|s| s.0 == *state);
    Ok(Shown {
        rounds: rounds.into(),
        shown: states.keys().filter(|s| is_allowed(s)).count(),
        allowed: allowed.states.len(),
        violations: (states.keys().filter(|s| !is_allowed(s)))
            .map(|s| test.state_line(s))
            .collect(),
        states: states.iter().map(|(s, n)| (test.state_line(s), *n)).collect(),
    })
}

fn value(test: &Test, layout: &Layout, left: &Left, atom: &Atom) -> u64 {
    match atom {
        Atom::Memory(at) => match layout.index(*at) {
            Some(word) => Width(test.locations.element(*at)).cut(left.words[word]),
            None => test.locations.initial(*at),
        },
        Atom::Register(thread, reg, _) => left.registers[*thread].get(usize::from(*reg)).copied().unwrap_or(0),
    }
}

fn text(records: &[Record]) -> String {
    let (mut text, mut skipped, mut violations) = (String::new(), 0, 0);
    for record in records {
        let Some(shown) = &record.shown else {
            skipped += 1;
            let why = record.skipped.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}: not run: {why}", record.file);
            continue;
        };
        let name = record.name.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "Test {name}: {} of {} allowed states in {} rounds",
            shown.shown, shown.allowed, shown.rounds
        );
        for (state, times) in &shown.states {
            let mark = if shown.violations.contains(state) {
                "  not allowed"
            } else {
                ""
            };
            let _ = writeln!(text, "{times:>10} {state}{mark}");
        }
        violations += shown.violations.len();
    }
    let _ = writeln!(
        text,
        "{} run, {skipped} not run, {violations} states not allowed by tso",
        records.len() - skipped
    );
    text
}
