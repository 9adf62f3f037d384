//! What a package needs so that others can use it.

use crate::sources::root;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item};

/// The crates with their manifests.
fn manifests() -> Vec<(PathBuf, DocumentMut)> {
    let folder = fs::read_dir(root().join("crates")).expect("a readable folder");
    let read = |dir: PathBuf| {
        let text = fs::read_to_string(dir.join("Cargo.toml")).expect("a readable manifest");
        (dir, text.parse().expect("TOML"))
    };
    folder.map(|e| read(e.expect("a readable folder").path())).collect()
}

fn published(manifest: &DocumentMut) -> bool {
    manifest["package"].get("publish").and_then(Item::as_bool) != Some(false)
}

#[test]
fn a_published_crate_says_what_it_is() {
    for (dir, manifest) in manifests().into_iter().filter(|m| published(&m.1)) {
        let package = &manifest["package"];
        for key in ["description", "keywords", "categories", "readme", "license"] {
            assert!(package.get(key).is_some(), "{}: no {key}", dir.display());
        }
        let readme = fs::read_to_string(dir.join("README.md")).unwrap_or_default();
        assert!(readme.lines().count() > 4, "{}: README.md", dir.display());
        // Links to those of the workspace, of which a package has copies.
        for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let whole = fs::read(root().join(file)).expect("a readable licence");
            let own = fs::read(dir.join(file)).unwrap_or_default();
            assert_eq!(own, whole, "{}: {file}", dir.display());
        }
    }
}

/// A package is built where there is no workspace: crates it depends on are published and have a version, and its files are its own.
#[test]
fn a_published_crate_stands_alone() {
    let workspace: DocumentMut = fs::read_to_string(root().join("Cargo.toml"))
        .expect("a readable manifest")
        .parse()
        .expect("TOML");
    let version = workspace["workspace"]["package"]["version"]
        .as_str()
        .expect("a version");
    let all = manifests();
    let private: Vec<&str> = (all.iter().filter(|m| !published(&m.1)))
        .map(|m| m.1["package"]["name"].as_str().expect("a name"))
        .collect();
    for (name, entry) in workspace["workspace"]["dependencies"].as_table().expect("a table") {
        if name.starts_with("fencepost") {
            assert_eq!(entry.get("version").and_then(Item::as_str), Some(version), "{name}");
        }
    }
    for (dir, manifest) in all.iter().filter(|m| published(&m.1)) {
        for (name, _) in manifest["dependencies"].as_table().expect("a table") {
            assert!(!private.contains(&name), "{} depends on {name}", dir.display());
        }
        for file in crate::sources::rust_files(dir).iter().chain([&dir.join("build.rs")]) {
            let text = fs::read_to_string(file).unwrap_or_default();
            // Tests read where they like: they are not built from packages.
            let outside = text.contains("include_str!(\"../../..") && !is_test(file);
            assert!(!outside, "{}: reads a file of another crate", file.display());
        }
    }
}

fn is_test(file: &Path) -> bool {
    file.components().any(|c| c.as_os_str() == "tests")
}
