//! Embeds the experiments and the litmus tests of their statements, so that the command works wherever the binary lies.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    walk(&here.join("experiments"), "experiments", &mut files)?;
    walk(&here.join("litmus"), "litmus", &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for (name, path) in files {
        println!("cargo:rerun-if-changed={}", path.display());
        let path = path.canonicalize()?;
        writeln!(code, "    ({name:?}, include_str!({path:?})),").expect("writing to a string");
    }
    code.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), code)
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
        } else if [".toml", ".csv", ".litmus"].iter().any(|e| name.ends_with(e)) || file.starts_with('@') {
            files.push((name, path));
        }
    }
    Ok(())
}
