//! The files that are persistent memory, as they are named.

use fencepost_run::{BadInput, LabError};
use std::path::PathBuf;

/// Most bytes of a file: what crash images may have.
const MOST: u64 = 1 << 32;

/// The persistent files by whole paths.
pub(super) fn files(asked: &[PathBuf]) -> Result<Vec<PathBuf>, LabError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in asked {
        let bad = |why: &str| BadInput::new(format!("--pm {}: {why}", path.display()));
        let file = match path.canonicalize() {
            Ok(file) => file,
            // It need not be there yet, but its folder must.
            Err(_) => {
                let whole = std::path::absolute(path).map_err(|e| LabError::file("find", path, e))?;
                let (folder, name) = (whole.parent(), whole.file_name());
                let folder = folder.and_then(|f| f.canonicalize().ok());
                let (Some(folder), Some(name)) = (folder, name) else {
                    return Err(bad("its folder is not there").into());
                };
                folder.join(name)
            }
        };
        let name = file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        if file.is_dir() {
            return Err(bad("is a folder").hint("name each file: --pm FILE --pm FILE").into());
        }
        let length = file.metadata().map_or(0, |m| m.len());
        if length > MOST {
            let why = format!("has {length} bytes, and images have at most {} GiB", MOST >> 30);
            return Err(bad(&why).into());
        }
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@' || c == '#') {
            return Err(bad("a log has no place for a name with blanks, `@` or `#`").into());
        }
        if files.iter().any(|f| f.file_name() == file.file_name()) {
            return Err(bad("two files have one name, by which a log tells them apart").into());
        }
        files.push(file);
    }
    match files.is_empty() {
        true => Err(BadInput::new("name the persistent file: --pm FILE").into()),
        false => Ok(files),
    }
}
