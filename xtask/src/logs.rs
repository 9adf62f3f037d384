//! `logs [--logs N] [--seed S]`: what the commands say of random recorded logs, against a count by hand.

#[path = "../../crates/fencepost/tests/random_logs/mod.rs"]
mod random_logs;

pub(crate) use random_logs::{audit, hold};

use crate::convict::beside;
use crate::dice;
use crate::recordings::plugin;
use std::process::ExitCode;

/// Logs unless the command says so.
const LOGS: u64 = 200;

/// Runs it; 1 at the first log of which a command says something else, 2 for arguments that are none.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let (mut logs, mut seed) = (Some(LOGS), Some(1));
    for pair in args.chunks(2) {
        match pair {
            ["--logs", n] => logs = n.parse().ok(),
            ["--seed", s] => seed = s.parse().ok(),
            _ => logs = None,
        }
    }
    let (Some(logs), Some(seed)) = (logs, seed) else {
        eprintln!("usage: cargo run -p xtask -- logs [--logs N] [--seed S]");
        return ExitCode::from(2);
    };
    let program = beside("fencepost");
    if !program.is_file() {
        eprintln!("the command is not built beside this one: build it with -p fencepost");
        return ExitCode::from(2);
    }
    let plugin = match plugin(&program) {
        Ok(plugin) => plugin,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    match hold(&program, &beside("xtask"), Some(&plugin), logs, seed) {
        Ok(()) => {
            println!("{logs} logs: every command says what a count by hand does");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(1)
        }
    }
}
