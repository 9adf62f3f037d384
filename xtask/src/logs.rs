//! `logs [--logs N] [--seed S]`: what the commands say of random recorded logs, against a count by hand.

#[path = "../../crates/fencepost/tests/random_logs/mod.rs"]
mod random_logs;

pub(crate) use random_logs::{audit, hold};

use crate::convict::beside;
use crate::dice;
use crate::seeded::{arguments, command_and_plugin};
use std::process::ExitCode;

/// Logs unless the command says so.
const LOGS: u64 = 200;

/// Runs it; 1 at the first log of which a command says something else, 2 for arguments that are none.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let asked = arguments(args, ("logs", "--logs"), LOGS).and_then(|a| Ok((a, command_and_plugin()?)));
    let ((logs, seed), (program, plugin)) = match asked {
        Ok(asked) => asked,
        Err(code) => return code,
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
