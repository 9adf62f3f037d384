//! What commands that try so many random things from a seed have in common: their arguments, and the command and plugin that they ask.

use crate::convict::beside;
use crate::sources::root;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// How many, of `what` (`--logs`), and the seed, which is 1 unless the arguments say so. For arguments that are none: exit code 2, and how
/// `name` is used.
pub(crate) fn arguments(args: &[&str], (name, what): (&str, &str), count: u64) -> Result<(u64, u64), ExitCode> {
    let (mut count, mut seed) = (Some(count), Some(1));
    for pair in args.chunks(2) {
        match pair {
            [option, n] if *option == what => count = n.parse().ok(),
            ["--seed", s] => seed = s.parse().ok(),
            _ => count = None,
        }
    }
    count.zip(seed).ok_or_else(|| {
        eprintln!("usage: cargo run -p xtask -- {name} [{what} N] [--seed S]");
        ExitCode::from(2)
    })
}

/// The command beside this one and the emulator's plugin as its sources are now. Where one is missing: exit code 2, and what to do.
pub(crate) fn command_and_plugin() -> Result<(PathBuf, PathBuf), ExitCode> {
    let program = beside("fencepost");
    let plugin = match program.is_file() {
        true => plugin(&program),
        false => Err("the command is not built beside this one: build it with -p fencepost".into()),
    };
    match plugin {
        Ok(plugin) => Ok((program, plugin)),
        Err(why) => {
            eprintln!("{why}");
            Err(ExitCode::from(2))
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
