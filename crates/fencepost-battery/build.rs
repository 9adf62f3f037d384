//! Takes the toy design out of the page that explains how to write one.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    toy_design(&root.join("docs/extending.md"), &out)
}

/// Takes the toy design out of the page that explains how to write one, so that a test compiles and runs what the page says. The page
/// shows it as a module of the designs; the test compiles it outside of them.
fn toy_design(page: &Path, out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", page.display());
    let text = fs::read_to_string(page)?;
    let begins = "```rust\n//! `toy`";
    let from = text.find(begins).expect("the page has the toy design") + "```rust\n".len();
    let length = text[from..].find("\n```").expect("the block ends");
    let file = out.join("toy.rs");
    let module = &text[from..from + length];
    fs::write(&file, module.replace("use crate::", "use fencepost_designs::"))?;
    fs::write(out.join("extending.rs"), format!("#[path = {file:?}]\nmod toy;\n"))
}
