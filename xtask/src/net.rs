//! `net [--minutes M | --seconds S | --runs N] [--design NAME] [--seed S] [--jobs J]`: the net. It needs a build with faults, whose lines count decisions.
//!
//! First the list of user commands, random recorded logs and random recorded programs by the command that is built beside it, and the explorer against brute force; then runs until the time is
//! over. With `--runs` random runs alone, as many, and the same on every host; with `--design` all of them on one design: who changed one
//! has twenty times as many runs of it in the same time.

use crate::convict::beside;
use crate::{commands, explorer, logs, recordings, seeded};
use fencepost_battery::net::{Budget, cast, design_names};
use std::process::ExitCode;
use std::time::Duration;

/// Minutes unless the command says so: the whole net on two quiet cores.
const MINUTES: u64 = 30;

fn read(args: &[&str]) -> Option<Budget> {
    let mut budget = Budget {
        time: Some(Duration::from_secs(60 * MINUTES)),
        runs: u64::MAX,
        whole: true,
        design: None,
        seed: 1,
        jobs: 2,
        until_wrong: false,
    };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return None };
        if *name == "--design" {
            budget.design = Some(design_names().position(|name| name == *value)?);
            continue;
        }
        let number: u64 = value.parse().ok()?;
        match *name {
            "--minutes" => budget.time = Some(Duration::from_secs(60 * number)),
            "--seconds" => budget.time = Some(Duration::from_secs(number)),
            // The same on every host.
            "--runs" => (budget.time, budget.runs, budget.whole, budget.jobs) = (None, number, false, 1),
            "--seed" => budget.seed = number,
            "--jobs" => budget.jobs = number as usize,
            _ => return None,
        }
    }
    Some(budget)
}

/// Random programs on which the explorer is held to brute force.
const EXPLORED: u64 = 5_000;
/// Random recorded logs on which the commands for them are held to a count by hand.
const LOGS: u64 = 150;
/// Random programs of which the recorder must say what they did.
const SCRIPTS: u64 = 150;

/// What is wrong with the commands of the list and with the explorer.
fn listed(budget: Budget) -> Result<Vec<String>, String> {
    let program = beside("fencepost");
    let (commands, mut wrong) = commands::wrong(budget.jobs)?;
    if let Err(program) = explorer::compare(EXPLORED, budget.seed) {
        wrong.push(format!(
            "explorer --programs {EXPLORED} --seed {}: program {program}",
            budget.seed
        ));
    }
    if program.is_file() {
        let plugin = seeded::plugin(&program)?;
        let held = logs::hold(&program, &beside("xtask"), Some(&plugin), LOGS, budget.seed);
        wrong.extend(held.err().map(|why| format!("logs --logs {LOGS}: {why}")));
        match recordings::hold(&program, Some(&plugin), SCRIPTS, budget.seed) {
            Ok(true) => {}
            Ok(false) => println!("recorded scripts are left out: they need cc and QEMU 7.2"),
            Err(why) => wrong.push(format!("recordings --scripts {SCRIPTS}: {why}")),
        }
    } else {
        println!("recorded logs and scripts are left out: build the command beside this one (-p fencepost)");
    }
    println!(
        "{commands} user commands, {LOGS} recorded logs, {SCRIPTS} recorded scripts and {EXPLORED} explored programs: {} wrong",
        wrong.len()
    );
    Ok(wrong)
}

/// Runs it; 1 if a run is anything but clean, 2 for other arguments and in builds without faults.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let Some(budget) = read(args) else {
        eprintln!(
            "usage: cargo run -p xtask -- net [--minutes M | --seconds S | --runs N] [--design NAME] [--seed S] [--jobs J]"
        );
        return ExitCode::from(2);
    };
    if crate::faults::lacking("net") {
        return ExitCode::from(2);
    }
    // What panics is told with the run.
    std::panic::set_hook(Box::new(|_| {}));
    let listed = if budget.whole { listed(budget) } else { Ok(Vec::new()) };
    let listed = match listed {
        Ok(wrong) => wrong,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let caught = cast(budget);
    listed.iter().for_each(|wrong| println!("WRONG   {wrong}"));
    println!("{caught}");
    ExitCode::from(u8::from(!caught.wrong.is_empty() || !listed.is_empty()))
}

#[test]
fn arguments_are_pairs() {
    assert_eq!(
        read(&["--minutes", "2"]).and_then(|b| b.time),
        Some(Duration::from_secs(120))
    );
    assert_eq!(
        read(&["--runs", "9"]).map(|b| (b.time, b.runs, b.whole)),
        Some((None, 9, false))
    );
    assert!(read(&["--design", "broi"]).is_some_and(|b| b.design.is_some()) && read(&["--design", "x"]).is_none());
    assert!(read(&["--minutes"]).is_none() && read(&["--minutes", "x"]).is_none() && read(&["--x", "1"]).is_none());
}
