//! Development tasks.
//!
//! `cargo run -p xtask -- generate` rewrites the generated reference pages in `docs/`. The tests of this package fail
//! when a page is out of date, when a room imports what its floor forbids, or when a file grows out of hand.

#[cfg(test)]
mod floors;
mod generate;
#[cfg(test)]
mod size;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("generate") => {
            for (name, text) in generate::pages() {
                let path = root().join(&name);
                if let Err(e) = std::fs::write(&path, text) {
                    eprintln!("cannot write {}: {e}", path.display());
                    return ExitCode::from(2);
                }
                println!("wrote {name}");
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: cargo run -p xtask -- generate");
            ExitCode::from(2)
        }
    }
}

/// The workspace's root folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
