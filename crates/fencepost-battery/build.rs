//! Takes the examples out of the page that explains how to write them.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let page = root.join("docs/extending.md");
    example(&page, "toy", "fencepost_designs", "extending.rs")?;
    example(&page, "chain", "fencepost_programs", "dictionary.rs")
}

/// Takes one example out of the page, so that a test compiles and runs what the page says. The page shows it as a module of its crate; the test
/// compiles it outside of that, and includes the file `into`.
fn example(page: &Path, name: &str, of: &str, into: &str) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", page.display());
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let text = fs::read_to_string(page)?;
    let begins = format!("```rust\n//! `{name}`");
    let from = text.find(&begins).expect("the page has the example") + "```rust\n".len();
    let length = text[from..].find("\n```").expect("the block ends");
    let file = out.join(format!("{name}.rs"));
    let module = text[from..from + length].replace("use crate::", &format!("use {of}::"));
    fs::write(&file, module)?;
    // A module of a test is seen by that test alone, however public it is on the page.
    fs::write(
        out.join(into),
        format!("#[path = {file:?}]\n#[allow(unreachable_pub)]\nmod {name};\n"),
    )
}
