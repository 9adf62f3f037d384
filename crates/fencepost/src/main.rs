//! The `fencepost` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fencepost::run(std::env::args_os()))
}
