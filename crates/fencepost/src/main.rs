//! The `fencepost` command.

mod args;
mod commands;
mod external_args;
mod output;

use args::Cli;
use clap::Parser;
use fencepost_lab::LabError;
use output::Out;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Nothing wrong was found.
const CLEAN: u8 = 0;
/// A violation was found.
const VIOLATION: u8 = 1;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let out = Out {
        json: cli.json,
        quiet: cli.quiet,
        verbose: cli.verbose,
    };
    // A panic is a defect of ours: it must not look like anything else, and must not print half a document.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| commands::dispatch(&cli.command, &out)));
    let outcome = outcome.unwrap_or_else(|panic| {
        Err(LabError::Internal(fencepost_lab::experiment::engine::panic_text(
            panic.as_ref(),
        )))
    });
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            output::show_error(&e);
            ExitCode::from(e.exit_code())
        }
    }
}
