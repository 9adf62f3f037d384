//! Embeds presets and experiments, so that the command works wherever the binary lies, and a version that changes with
//! the sources, so that results of another build are not taken for results of this one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut files = Vec::new();
    for folder in ["presets", "experiments"] {
        let top = root.join(folder);
        println!("cargo:rerun-if-changed={}", top.display());
        walk(&top, folder, &mut files)?;
    }
    files.sort();
    version(&root, &files)?;
    let mut code = String::from("&[\n");
    for (name, path) in files {
        println!("cargo:rerun-if-changed={}", path.display());
        let path = path.canonicalize()?;
        writeln!(code, "    ({name:?}, include_str!({path:?})),").expect("writing to a string");
    }
    code.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), code)?;
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

/// The package's version, with a digest (FNV-1a) of the sources of all crates and of what is embedded.
fn version(root: &Path, embedded: &[(String, PathBuf)]) -> io::Result<()> {
    let mut sources: Vec<PathBuf> = embedded.iter().map(|f| f.1.clone()).collect();
    for krate in fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        let name = krate.file_name();
        // The command and the bindings only print what the lab computes.
        if name != "fencepost" && name != "fencepost-py" {
            sources_below(&krate.path().join("src"), &mut sources)?;
        }
    }
    sources.sort();
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    for path in sources {
        for byte in fs::read(path)? {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    let number = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo:rustc-env=FENCEPOST_VERSION={number}+{digest:016x}");
    Ok(())
}

fn sources_below(dir: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry?.path();
        if path.is_dir() {
            sources_below(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    Ok(())
}

fn walk(dir: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    println!("cargo:rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{name}/{file}");
        if path.is_dir() {
            walk(&path, &name, files)?;
        } else if name.ends_with(".toml") || name.ends_with(".csv") {
            files.push((name, path));
        }
    }
    Ok(())
}
