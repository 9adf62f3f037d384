//! Files stay small enough to be read in one sitting.

use crate::sources::{root, rust_files};
use std::fs;

/// Lines that no source file may exceed.
const MOST_LINES: usize = 400;

#[test]
fn no_source_file_is_longer_than_the_limit() {
    let long: Vec<String> = (["crates", "xtask"].iter())
        .flat_map(|d| rust_files(&root().join(d)))
        .filter_map(|p| {
            let lines = fs::read_to_string(&p).expect("a readable source").lines().count();
            (lines > MOST_LINES).then(|| format!("{}: {lines} lines", p.display()))
        })
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}
