//! The workspace's sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file of the crates, by its path below the root, with its text.
pub(crate) fn of_crates() -> Vec<(String, String)> {
    let read = |p: PathBuf| {
        let text = fs::read_to_string(&p).expect("a readable source");
        (
            p.strip_prefix(root()).unwrap_or(&p).to_string_lossy().into_owned(),
            text,
        )
    };
    rust_files(&root().join("crates")).into_iter().map(read).collect()
}

/// Rust files below a folder, by path.
pub(crate) fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a readable folder").path()).collect();
    paths.sort();
    let nested = |p: PathBuf| if p.is_dir() { rust_files(&p) } else { vec![p] };
    paths
        .into_iter()
        .flat_map(nested)
        .filter(|p| p.extension().is_some_and(|x| x == "rs"))
        .collect()
}

/// Writes pages of the repository, each with its path from the root.
pub(crate) fn write_pages(pages: Vec<(String, String)>) -> ExitCode {
    for (name, text) in pages {
        let path = root().join(&name);
        // What is as it was is not touched: a build that reads it would begin anew.
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(e) = folder.and_then(|()| fs::write(&path, text)) {
            eprintln!("cannot write {name}: {e}");
            return ExitCode::from(2);
        }
        println!("wrote {name}");
    }
    ExitCode::SUCCESS
}
