//! The `fencepost` command, as a function: the binary calls it, and tests and fuzzing use its parts.

pub mod args;
mod ci;
mod commands;
mod errors;
mod exit;
mod external_args;
mod faults;
mod interrupt;
mod layout;
mod litmus_args;
mod native_args;
mod net_args;
mod output;
mod progress;
mod slips;
mod start;
mod timeline_args;
mod witness;

use args::Cli;
use clap::Parser as _;
use exit::{BAD_INPUT, CLEAN};
use fencepost_run::LabError;
use output::Out;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the command with these arguments, the first of which is its name; returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() == 1 {
        eprint!("{}", start::START);
        return BAD_INPUT;
    }
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(e) => return unparsed(&e, &arguments),
    };
    let out = Out {
        json: cli.json,
        quiet: cli.quiet,
        verbose: cli.verbose,
    };
    interrupt::install();
    // A panic is a defect of ours: it must not look like anything else, and must not print half a document.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        faults::check()?;
        commands::dispatch(&cli.command, &out)
    }));
    let outcome = outcome.unwrap_or_else(|panic| {
        let what = fencepost_run::panic_text(panic.as_ref());
        Err(LabError::Internal(what))
    });
    outcome.unwrap_or_else(|e| errors::show(&e, out.json))
}

/// Arguments that do not parse; also `--help` and `--version`, which are no errors unless they cannot be printed.
fn unparsed(e: &clap::Error, arguments: &[OsString]) -> u8 {
    let json = arguments.iter().any(|a| a == "--json");
    if e.use_stderr() {
        return errors::show_usage(e, slips::advice(arguments, e).as_deref(), json);
    }
    let text = match output::colours(&std::io::stdout()) {
        true => e.render().ansi().to_string(),
        false => e.render().to_string(),
    };
    match output::print(&text) {
        Ok(()) => CLEAN,
        Err(e) => errors::show(&e, json),
    }
}
