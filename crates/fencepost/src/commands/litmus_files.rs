//! Which files `litmus` reads.

use fencepost_run::{BadInput, LabError, input};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every test that the arguments name, in order, each once.
///
/// # Errors
/// A path that does not exist or cannot be read, and arguments that name no test.
pub fn tests(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, LabError> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for argument in arguments {
        add(argument, &mut found, &mut seen)?;
    }
    if found.is_empty() {
        let hint = "a folder is searched for files that end in .litmus";
        return Err(BadInput::new("no litmus test was named").hint(hint).into());
    }
    Ok(found)
}

fn add(path: &Path, found: &mut Vec<PathBuf>, seen: &mut BTreeSet<PathBuf>) -> Result<(), LabError> {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    if let Some(list) = name.strip_prefix('@') {
        // `@all` is a file of that name; `@some/list` may also be one without the sign.
        let written = path.to_owned();
        let bare = path.with_file_name(list);
        return add_list(if written.exists() { &written } else { &bare }, found, seen);
    }
    let meta = std::fs::metadata(path).map_err(|e| LabError::file("read", path, e))?;
    if !meta.is_dir() {
        if seen.insert(path.to_owned()) {
            found.push(path.to_owned());
        }
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|e| LabError::file("read", path, e))?;
    let mut inside: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    inside.sort();
    for entry in inside {
        let test = entry.extension().is_some_and(|e| e == "litmus");
        if test || entry.is_dir() && !entry.is_symlink() {
            add(&entry, found, seen)?;
        }
    }
    Ok(())
}

/// A list of paths, a line each, relative to the list; `#` begins a comment.
fn add_list(list: &Path, found: &mut Vec<PathBuf>, seen: &mut BTreeSet<PathBuf>) -> Result<(), LabError> {
    if !seen.insert(list.to_owned()) {
        return Ok(());
    }
    let text = input::read(list, input::RECORD)?;
    let folder = list.parent().unwrap_or(Path::new(""));
    for line in text.lines().map(|l| l.split('#').next().unwrap_or_default().trim()) {
        if !line.is_empty() {
            add(&folder.join(line), found, seen)?;
        }
    }
    Ok(())
}
