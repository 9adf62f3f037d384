//! What the commands say of random recorded logs, against a count by hand. Without a harness: this program is the recovery command as well.

#[path = "common/dice.rs"]
mod dice;
#[path = "common/plugin.rs"]
mod plugin;
mod random_logs;

use random_logs::{audit, hold};
use std::path::Path;
use std::process::ExitCode;

/// Logs of the test; `xtask logs` has as many as it is told.
const LOGS: u64 = 40;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["logs-audit", rest @ ..] = &args[..] {
        return audit(rest);
    }
    if args.contains(&"--list") {
        return ExitCode::SUCCESS;
    }
    let me = std::env::current_exe().expect("a program has a path");
    match hold(
        Path::new(env!("CARGO_BIN_EXE_fencepost")),
        &me,
        Some(&plugin::plugin()),
        LOGS,
        1,
    ) {
        Ok(()) => {
            println!("{LOGS} logs: every command says what a count by hand does");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
