//! `recordings [--scripts N] [--seed S]`: what the recorder says of random programs under the emulator, against what they did.

#[path = "../../crates/fencepost/tests/random_recordings/mod.rs"]
mod random_recordings;

pub(crate) use random_recordings::hold;

use crate::dice;
use crate::seeded::{arguments, command_and_plugin};
use std::process::ExitCode;

/// Scripts unless the command says so.
const SCRIPTS: u64 = 200;

/// Runs it; 1 at the first recording that says something else, 2 for arguments that are none, or where a tool is missing.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let asked = arguments(args, ("recordings", "--scripts"), SCRIPTS).and_then(|a| Ok((a, command_and_plugin()?)));
    let ((scripts, seed), (program, plugin)) = match asked {
        Ok(asked) => asked,
        Err(code) => return code,
    };
    match hold(&program, Some(&plugin), scripts, seed) {
        Ok(true) => {
            println!("{scripts} scripts: their recordings say what they did");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("this needs cc and QEMU 7.2 for user programs (Debian 12: qemu-user)");
            ExitCode::from(2)
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(1)
        }
    }
}
