//! `recordings [--scripts N] [--seed S]`: what the recorder says of random programs under the emulator, against what they did.

#[path = "../../crates/fencepost/tests/random_recordings/mod.rs"]
mod random_recordings;

pub(crate) use random_recordings::hold;

use crate::convict::beside;
use crate::dice;
use crate::sources::root;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Scripts unless the command says so.
const SCRIPTS: u64 = 200;

/// Runs it; 1 at the first recording that says something else, 2 for arguments that are none, or where a tool is missing.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let (mut scripts, mut seed) = (Some(SCRIPTS), Some(1));
    for pair in args.chunks(2) {
        match pair {
            ["--scripts", n] => scripts = n.parse().ok(),
            ["--seed", s] => seed = s.parse().ok(),
            _ => scripts = None,
        }
    }
    let (Some(scripts), Some(seed)) = (scripts, seed) else {
        eprintln!("usage: cargo run -p xtask -- recordings [--scripts N] [--seed S]");
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

/// The emulator's plugin as its sources are now, built as the command is.
pub(crate) fn plugin(program: &Path) -> Result<PathBuf, String> {
    let folder = program.parent().ok_or("the command lies nowhere")?;
    let profile = match folder.file_name().and_then(|n| n.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => "release",
    };
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "-p", "fencepost-qemu-plugin", "--profile", profile]);
    cargo.arg("--target-dir").arg(folder.join(".."));
    let done = cargo.current_dir(root()).status();
    match done {
        Ok(status) if status.success() => Ok(folder.join("libfencepost_qemu_plugin.so")),
        Ok(_) => Err("the emulator's plugin does not build".into()),
        Err(e) => Err(format!("cargo does not start: {e}")),
    }
}
