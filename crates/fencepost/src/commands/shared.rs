//! What several commands need.

use crate::args::RunArgs;
use crate::output::print_bytes;
use fencepost_run::crash::Budget;
use fencepost_run::store::Store;
use fencepost_run::{BadInput, LabError};
use fencepost_table::{Format, Table, TableError};
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// Runs at a time: as asked, or one per host core.
pub(super) fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get)
}

/// What to say of settings that are about what does not run.
pub(super) fn unused(settings: &[String]) -> Option<String> {
    let list = settings.join(", ");
    (!settings.is_empty())
        .then(|| format!("{list}: about a design or a program that does not run here, without effect"))
}

/// Writes a page or a picture.
pub(super) fn write(file: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(file, text).map_err(|why| LabError::File {
        action: "write",
        path: file.to_owned(),
        why,
    })
}

/// Refuses a format that this build leaves out, before any work is done for it.
pub(super) fn is_built(format: Format) -> Result<(), LabError> {
    match format.is_built() {
        true => Ok(()),
        false => Err(unwritten(TableError::NotBuilt(format))),
    }
}

/// Why a table was not written, as an error of the command.
pub(super) fn unwritten(e: TableError) -> LabError {
    match e {
        TableError::NotBuilt(_) => BadInput::new(e.to_string())
            .hint("install it with `--features arrow`, or take csv or json")
            .into(),
        TableError::Write(_) => LabError::Internal(e.to_string()),
    }
}

/// Prints a table on standard output. One that is not text does not go to a terminal.
pub(super) fn print_table(table: &Table, format: Format) -> Result<(), LabError> {
    if !format.is_text() && std::io::stdout().is_terminal() {
        let e = BadInput::new(format!("{format} is not text, and standard output is a terminal"));
        return Err(e.hint("write it to a folder with -o, or to a file").into());
    }
    print_bytes(&table.bytes(format).map_err(unwritten)?)
}

/// Writes a table into a folder, under its name and the format's.
pub(super) fn write_table(store: &Store, name: &str, table: &Table, format: Format) -> Result<(), LabError> {
    store.write(&format!("{name}.{format}"), &table.bytes(format).map_err(unwritten)?)
}

/// Crash points, or a time, that `--points` or `--budget` allow.
pub(super) fn budget(args: &RunArgs) -> Result<(Option<u64>, Option<Duration>), BadInput> {
    let Some(text) = &args.budget else {
        return Ok((args.points, None));
    };
    let nothing = || BadInput::new("a budget of 0 examines nothing").hint("give at least one crash point, or a time");
    match text.parse().map_err(|e| BadInput::new(format!("{e}")))? {
        Budget::Unlimited => Ok((None, None)),
        Budget::States(0) => Err(nothing()),
        Budget::States(n) => Ok((Some(n), None)),
        Budget::Time(t) if t.is_zero() => Err(nothing()),
        Budget::Time(t) => Ok((None, Some(t))),
    }
}
