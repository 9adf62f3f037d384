//! Which files hold tests.

use crate::{BadInput, LabError, input};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A test's largest size in bytes. Corpora have a few KiB.
pub const LARGEST: u64 = 1 << 20;

/// Does something with every file and gathers what comes of it, in order. Tests are independent: every core takes the next one.
pub fn each<T: Send>(files: &[PathBuf], work: impl Fn(&Path) -> Vec<T> + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<T>)>> = Mutex::new(Vec::new());
    let run = || {
        let mut mine = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(i) else { break };
            mine.push((i, work(file)));
        }
        if let Ok(mut done) = done.lock() {
            done.extend(mine);
        }
    };
    let cores = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(files.len());
    std::thread::scope(|scope| {
        (1..cores).for_each(|_| {
            scope.spawn(run);
        });
        run();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|d| d.0);
    done.into_iter().flat_map(|d| d.1).collect()
}

/// Every test that the arguments name, in order, each once.
///
/// # Errors
/// A path that does not exist or cannot be read, and arguments that name no test.
pub fn tests(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, LabError> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for argument in arguments {
        // What the user names must be there; what a list names is a test that cannot be read, and the others go on.
        if !argument.exists() && !named_list(argument).is_some_and(|l| l.exists()) {
            std::fs::metadata(argument).map_err(|e| LabError::file("read", argument, e))?;
        }
        add(argument, &mut found, &mut seen)?;
    }
    if found.is_empty() {
        let hint = "a folder is searched for files that end in .litmus";
        return Err(BadInput::new("no litmus test was named").hint(hint).into());
    }
    Ok(found)
}

/// `@all` is a file of that name, or one without the sign.
fn named_list(path: &Path) -> Option<PathBuf> {
    let name = path.file_name().and_then(|n| n.to_str())?.strip_prefix('@')?;
    let bare = path.with_file_name(name);
    Some(if path.exists() { path.to_owned() } else { bare })
}

fn add(path: &Path, found: &mut Vec<PathBuf>, seen: &mut BTreeSet<PathBuf>) -> Result<(), LabError> {
    if let Some(list) = named_list(path) {
        return add_list(&list, found, seen);
    }
    if !path.is_dir() {
        if seen.insert(path.to_owned()) {
            found.push(path.to_owned());
        }
        return Ok(());
    }
    // A folder inside that cannot be listed is named like a test that cannot be read.
    let Ok(entries) = std::fs::read_dir(path) else {
        found.push(path.to_owned());
        return Ok(());
    };
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
