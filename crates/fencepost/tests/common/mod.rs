//! Running the command.

use std::process::{Command, Output};

/// Runs it with these arguments.
pub fn fencepost(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(args)
        .env("NO_COLOR", "1")
        .output()
        .expect("the command starts")
}
/// Its exit code.
pub fn code(o: &Output) -> i32 {
    o.status.code().expect("an exit code")
}
