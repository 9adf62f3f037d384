//! Files that are there completely or not at all.

use super::error::LabError;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a file under another name and gives it its own when all of it is there.
///
/// # Errors
/// The file cannot be written; nothing is left behind then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let mut part = path.to_owned().into_os_string();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    written.map_err(|e| {
        let _ = fs::remove_file(&part);
        LabError::file("write", path, e)
    })
}
