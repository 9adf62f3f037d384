//! `litmus --design`: tests on the simulated machine.

use crate::args::LitmusArgs;
use crate::exit::{CLEAN, VIOLATION};
use crate::output::Out;
use fencepost_litmus::{Program, parse};
use fencepost_run::litmus::files::{self, LARGEST, each};
use fencepost_run::litmus::{Coverage, Explained, Refused, Rule, Shown, State, Subject, Sweep, sweep, switched_off};
use fencepost_run::{BadInput, DesignInfo, LabError, designs, input};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

/// Before rules are switched off, what is rare is looked for in so many times more runs.
const FURTHER: u64 = 19;

/// A test on a design, or why it did not run.
#[derive(Serialize)]
struct Record {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    shown: Option<Shown>,
    /// With `--rules`: states that were not shown, each with the rules that forbid it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Explained>,
    /// With `--rules`: those for which none were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    no_rule: Vec<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<String>,
}

/// Runs every test on every design.
pub(super) fn run(args: &LitmusArgs, out: &Out) -> Result<u8, LabError> {
    let infos = chosen(&args.design)?;
    let files = files::tests(&args.files)?;
    let tried = Sweep {
        seeds: args.seeds,
        machine: args.machine.clone(),
        media: args.media.clone(),
        sets: args.sets.clone(),
        further: if args.rules { FURTHER } else { 0 },
    };
    // What is wrong with the settings is wrong with all tests.
    for info in &infos {
        fencepost_run::litmus::configurations(info, &tried)?;
    }
    let records = each(&files, |file| of_file(file, &infos, &tried, args.rules));
    out.document(&records, || text(&records, args.states || files.len() == 1))?;
    // A design that cannot keep its promise here is convicted as it must be.
    let violated = |r: &Record| r.shown.as_ref().is_some_and(|s| s.sound && !s.violations.is_empty());
    Ok(if records.iter().any(violated) { VIOLATION } else { CLEAN })
}

fn chosen(names: &[String]) -> Result<Vec<&'static DesignInfo>, LabError> {
    if names.iter().any(|n| n == "all") {
        return Ok(designs().iter().collect());
    }
    let find = |name: &String| {
        let known = || designs().iter().map(|d| d.name);
        let found = designs().iter().find(|d| d.name == name);
        found.ok_or_else(|| BadInput::unknown("design", name, known()).into())
    };
    names.iter().map(find).collect()
}

fn of_file(file: &Path, infos: &[&'static DesignInfo], tried: &Sweep, rules: bool) -> Vec<Record> {
    let skipped = |name: Option<String>, why: String| Record {
        file: file.display().to_string(),
        name,
        shown: None,
        rules: Vec::new(),
        no_rule: Vec::new(),
        skipped: Some(why),
    };
    let text = match input::read(file, LARGEST) {
        Ok(text) => text,
        Err(e) => return vec![skipped(None, e.to_string())],
    };
    let test = match parse(&text) {
        Ok(test) => test,
        Err(e) => return vec![skipped(None, e.to_string())],
    };
    let program = match Program::new(&test) {
        Ok(program) => program,
        Err(e) => return vec![skipped(Some(test.name.clone()), e.to_string())],
    };
    let subject = Subject::new(&program);
    let one = |info: &&'static DesignInfo| {
        let run = || -> Result<Record, Refused> {
            let shown = sweep(&subject, info, tried)?;
            let unseen = shown.unseen();
            let (mut found, mut no_rule) = (Vec::new(), Vec::new());
            if rules && !unseen.is_empty() {
                found = switched_off(&program, info, tried, unseen.clone())?;
                let explained = |state: &State| found.iter().any(|r| r.state == *state);
                no_rule = unseen.into_iter().filter(|s| !explained(s)).collect();
            }
            Ok(Record {
                file: file.display().to_string(),
                name: Some(test.name.clone()),
                shown: Some(shown),
                rules: found,
                no_rule,
                skipped: None,
            })
        };
        run().unwrap_or_else(|e| skipped(Some(test.name.clone()), format!("{}: {e}", info.name)))
    };
    infos.iter().map(one).collect()
}

fn text(records: &[Record], states: bool) -> String {
    let (mut text, mut skipped, mut violations, mut convicted) = (String::new(), 0, 0, 0);
    let (mut visible, mut crash) = ((0, 0), (0, 0));
    for record in records {
        let Some(shown) = &record.shown else {
            skipped += 1;
            let why = record.skipped.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}: not run: {why}", record.file);
            continue;
        };
        let name = record.name.as_deref().unwrap_or_default();
        let _ = write!(
            text,
            "{name} on {} ({}): {} of {} final states of {}",
            shown.design, shown.machine, shown.visible.shown, shown.visible.allowed, shown.visible.by
        );
        add(&mut visible, &shown.visible);
        if let Some(c) = &shown.crash {
            let _ = write!(text, ", {} of {} crash states of {}", c.shown, c.allowed, c.by);
            add(&mut crash, c);
        }
        text.push('\n');
        match shown.sound {
            true => violations += shown.violations.len(),
            false => convicted += shown.violations.len(),
        }
        for why in shown.violations.iter().take(5) {
            let _ = writeln!(text, "  not allowed: {why}");
        }
        if states {
            let unseen = shown.crash.iter().chain([&shown.visible]).flat_map(|c| &c.unseen);
            for state in unseen {
                let _ = writeln!(text, "  not shown: {state}");
            }
        }
        for explained in &record.rules {
            let rule = |r: &Rule| format!("{} ({})", r.breaks, r.fault);
            let rules: Vec<String> = explained.rules.iter().map(rule).collect();
            let (state, shown, runs) = (&explained.state, explained.shown, explained.runs);
            let rules = rules.join("; and ");
            let _ = writeln!(
                text,
                "  {state}: forbidden by: {rules}; without it in {shown} of {runs} runs"
            );
        }
        for state in &record.no_rule {
            let _ = writeln!(text, "  {state}: no rule was found");
        }
    }
    let share = |(shown, allowed): (usize, usize)| format!("{shown} of {allowed}");
    if convicted > 0 {
        let _ = writeln!(
            text,
            "{convicted} not allowed on designs that cannot keep their promise here"
        );
    }
    let _ = writeln!(
        text,
        "{} swept, {skipped} not run; shown: {} final states, {} crash states; {violations} not allowed",
        records.len() - skipped,
        share(visible),
        share(crash)
    );
    text
}

fn add((shown, allowed): &mut (usize, usize), coverage: &Coverage) {
    *shown += coverage.shown;
    *allowed += coverage.allowed;
}
