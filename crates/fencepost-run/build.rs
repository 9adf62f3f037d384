//! Embeds the presets, so that the command works wherever the binary lies, and a version that changes with the sources that a
//! run is made of, so that results of another build are not taken for results of this one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    let top = here.join("presets");
    println!("cargo:rerun-if-changed={}", top.display());
    walk(&top, "presets", &mut files)?;
    files.sort();
    version(&here, &files)?;
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

/// The package's version, with a digest (FNV-1a) of the sources of this crate and of those below it, and of what is embedded. What
/// stands above (papers, the command) only reads results, so it does not count. Outside of the workspace, as a package of its own, the
/// crates below are those of the version numbers that its manifest names: only its own sources can differ.
fn version(here: &Path, embedded: &[(String, PathBuf)]) -> io::Result<()> {
    let mut sources: Vec<PathBuf> = embedded.iter().map(|f| f.1.clone()).collect();
    let siblings = here.join("..");
    let mut crates = BTreeSet::new();
    if here.join("../../xtask").is_dir() {
        with_those_below(
            &siblings,
            &env::var("CARGO_PKG_NAME").expect("cargo sets it"),
            &mut crates,
        )?;
        for name in crates {
            sources_below(&siblings.join(name).join("src"), &mut sources)?;
        }
    } else {
        sources_below(&here.join("src"), &mut sources)?;
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

/// A crate of the workspace and all that it depends on there, as their manifests say.
fn with_those_below(crates: &Path, name: &str, found: &mut BTreeSet<String>) -> io::Result<()> {
    if !found.insert(name.to_owned()) {
        return Ok(());
    }
    let manifest = crates.join(name).join("Cargo.toml");
    println!("cargo:rerun-if-changed={}", manifest.display());
    for line in fs::read_to_string(&manifest)?.lines() {
        if let Some(below) = line
            .strip_suffix(".workspace = true")
            .filter(|n| n.starts_with("fencepost-"))
        {
            with_those_below(crates, below, found)?;
        }
    }
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
        } else if name.ends_with(".toml") {
            files.push((name, path));
        }
    }
    Ok(())
}
