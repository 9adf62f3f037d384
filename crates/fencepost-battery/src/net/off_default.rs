//! Runs with some parameters off their defaults: any of the machine, the design, the program and the network, each to one of a dozen values.
//!
//! What two parameters do together is written nowhere. Half of the values drawn here are refused with others, and that is no finding; what
//! is accepted must be clean.

use super::shape::cores;
use crate::command::Command;
use crate::commands::{clients, on_design};
use fencepost_designs::DesignInfo;
use fencepost_kernel::Stream;
use fencepost_kernel::params::Field;
use fencepost_programs::programs;
use fencepost_run::config::{Resolved, reference};
use std::collections::BTreeSet;

/// Parameters that are not drawn: what other things decide, and instructions, which are not fetched.
const NEVER: [&str; 4] = ["machine.", "core.cores=", "core.threads_per_core=", "l1i."];
/// Parameters of designs that break a promise, and say so: a planted fault, and a log whose groups may be torn.
const BREAKS: [&str; 2] = ["fault", "group_atomic"];
/// Values with which a run need not end: a read that may wait for no write, while clients write without end.
const ENDLESS: [&str; 2] = ["pm.controller.read_wait_max=0", "dram.controller.read_wait_max=0"];
/// Parameters of machine and design that are put off their defaults at most.
const MOST: u64 = 5;
/// Caches of four lines and eight, for every second run.
const SMALL: [&str; 4] = ["l1.size=256B", "l1.ways=2", "llc.size=512B", "llc.ways=2"];

/// Values to try, as a configuration writes them.
fn values(field: &Field) -> Vec<&'static str> {
    if let Some(names) = field.kind.strip_prefix("one of ") {
        return names.split_whitespace().collect();
    }
    match field.kind {
        "true or false" => vec!["true", "false"],
        kind if kind.starts_with("a time") => vec!["0ns", "1ns", "7ns", "35ns", "150ns", "700ns", "2us", "20us"],
        kind if kind.starts_with("a size") => vec!["8B", "64B", "128B", "512B", "4KiB", "64KiB", "1MiB"],
        kind if kind.starts_with("a clock rate") => vec!["500MHz", "1GHz", "3GHz"],
        "a whole number" => vec!["0", "1", "2", "3", "4", "5", "8", "16", "20", "60", "300"],
        _ => Vec::new(),
    }
}

/// A setting of one parameter of a section off its default, unless it has no other value.
fn setting(section: &str, field: &Field, dice: &mut Stream) -> Option<String> {
    let values: Vec<&str> = values(field).into_iter().filter(|v| *v != field.default).collect();
    let value = values.get(dice.below(values.len().max(1) as u64) as usize)?;
    let set = format!("{section}.{}={value}", field.name);
    let never = NEVER.iter().any(|n| set.starts_with(n)) || ENDLESS.contains(&set.as_str());
    (!never).then_some(set)
}

/// Adds settings of parameters that have none yet.
fn add(sets: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    let name = |s: &str| s.split('=').next().unwrap_or_default().to_owned();
    let mut taken: BTreeSet<String> = sets.iter().map(|s| name(s)).collect();
    sets.extend(more.into_iter().filter(|s| taken.insert(name(s))));
}

/// So many settings, each of a parameter drawn from these.
fn some(from: &[(String, Field)], many: u64, dice: &mut Stream) -> Vec<String> {
    let drawn = (0..many).filter_map(|_| {
        let (section, field) = from.get(dice.below(from.len().max(1) as u64) as usize)?;
        setting(section, field, dice)
    });
    drawn.collect()
}

/// Such a run on a design, if there is one: a random program in every second, clients where it serves them, or any other program.
pub(super) fn drawn(d: usize, dice: &mut Stream) -> Option<Command> {
    let round = dice.below(60) as usize;
    let programs = programs();
    let about = &programs[dice.below(programs.len() as u64) as usize];
    let served = dice.chance(1, 6).then(|| clients(d, round)).flatten();
    let program = if dice.chance(1, 2) { "random" } else { about.name };
    let Command::Run(info, mut request) = served.or_else(|| on_design(d, program, round, true))? else {
        return None;
    };
    let threads = [1, 2, 3, 4, 8][dice.below(5) as usize];
    add(&mut request.sets, cores(threads, dice));
    request.threads = Some(threads);
    request.ops = [6, 12, 30][dice.below(3) as usize];
    request.seed = 1 + dice.below(1 << 40);
    if dice.chance(1, 2) {
        add(&mut request.sets, SMALL.map(str::to_owned));
    }
    let drawn = [
        some(&of_machine(), 1 + dice.below(MOST), dice),
        some(&of_design(info), dice.below(3), dice),
        some(&of_program(&request.program), dice.below(2), dice),
    ];
    // What is drawn goes before what the run would have had.
    let usual = std::mem::take(&mut request.sets);
    add(&mut request.sets, drawn.concat().into_iter().chain(usual));
    // A machine on which the design keeps its promise no more is told in a warning, and proves nothing.
    let unsound = Resolved::with_design(&request, info).is_ok_and(|r| !r.sound());
    (!unsound).then_some(Command::Run(info, request))
}

fn of_machine() -> Vec<(String, Field)> {
    let of_section = |(section, fields): (&str, Vec<Field>)| {
        let section = section.to_owned();
        fields.into_iter().map(move |f| (section.clone(), f))
    };
    reference().into_iter().flat_map(of_section).collect()
}

fn of_design(info: &DesignInfo) -> Vec<(String, Field)> {
    let fields = (info.params)().into_iter().filter(|f| !BREAKS.contains(&f.name));
    fields.map(|f| ("design".to_owned(), f)).collect()
}

fn of_program(name: &str) -> Vec<(String, Field)> {
    let about = programs().into_iter().find(|p| p.name == name);
    let fields = about.map(|a| a.fields.clone()).unwrap_or_default();
    fields.into_iter().map(|f| (format!("program.{name}"), f)).collect()
}

/// Every parameter of a machine has another value to try, and every one that may be drawn is drawn.
#[test]
fn most_parameters_are_drawn() {
    for (section, field) in of_machine() {
        let known = values(&field).iter().any(|v| *v != field.default);
        assert!(known, "{section}.{}: {}", field.name, field.kind);
    }
    let mut dice = Stream::new(1, "off default");
    let mut drawn = BTreeSet::new();
    for _ in 0..2000 {
        let sets = some(&of_machine(), MOST, &mut dice);
        drawn.extend(sets.iter().filter_map(|s| s.split('=').next().map(str::to_owned)));
    }
    let missing = of_machine().into_iter().map(|(s, f)| format!("{s}.{}", f.name));
    let missing: Vec<String> = missing.filter(|m| !drawn.contains(m)).collect();
    let never = |m: &String| NEVER.iter().any(|n| format!("{m}=").starts_with(n));
    assert!(missing.iter().all(never), "{missing:?}");
}

/// A quarter of what is drawn is possible, and none of it is anything but clean.
#[test]
fn what_is_possible_is_clean() {
    use crate::command::Outcome;
    let mut dice = Stream::new(3, "off default");
    let designs = fencepost_designs::all().len();
    let runs = (0..3 * designs).filter_map(|i| drawn(i % designs, &mut dice));
    let mut possible = 0;
    for command in runs {
        match command.examined() {
            (Outcome::Refused(_), _) => {}
            (Outcome::Violated(_), Some(e)) if e.expected => possible += 1,
            (outcome, _) => {
                assert_eq!(outcome, Outcome::Clean, "{command}");
                possible += 1;
            }
        }
    }
    assert!(4 * possible > 3 * designs, "{possible}");
}
