//! What several commands need.

use fencepost_run::LabError;
use std::num::NonZeroUsize;
use std::path::Path;

/// Runs at a time: as asked, or one per host core.
pub fn jobs(asked: Option<NonZeroUsize>) -> usize {
    asked
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get)
}

/// What to say of settings that are about what does not run.
pub fn unused(settings: &[String]) -> Option<String> {
    let list = settings.join(", ");
    (!settings.is_empty())
        .then(|| format!("{list}: about a design or a program that does not run here, without effect"))
}

/// Writes a page or a picture.
pub fn write(file: &Path, text: &str) -> Result<(), LabError> {
    std::fs::write(file, text).map_err(|why| LabError::File {
        action: "write",
        path: file.to_owned(),
        why,
    })
}
