//! Who may import whom.

use crate::sources::{root, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The crates and what each may use. The checker (`contract`) and the programs never see the machine, and a run never sees an
/// experiment. Only tests and development tasks use the battery.
const MAY_USE: &[(&str, &[&str])] = &[
    ("fencepost-kernel", &[]),
    ("fencepost-pages", &[]),
    ("fencepost-contract", &["fencepost-kernel"]),
    ("fencepost-litmus", &["fencepost-contract", "fencepost-kernel"]),
    ("fencepost-reference", &["fencepost-kernel"]),
    ("fencepost-sqlite", &[]),
    ("fencepost-programs", &["fencepost-sqlite", "fencepost-kernel"]),
    ("fencepost-machine", &["fencepost-kernel"]),
    (
        "fencepost-designs",
        &["fencepost-machine", "fencepost-contract", "fencepost-kernel"],
    ),
    ("fencepost-native", &["fencepost-programs", "fencepost-kernel"]),
    (
        "fencepost-harness",
        &[
            "fencepost-programs",
            "fencepost-contract",
            "fencepost-machine",
            "fencepost-kernel",
        ],
    ),
    ("fencepost-record", &[]),
    ("fencepost-qemu-plugin", &["fencepost-record"]),
    (
        "fencepost-run",
        &[
            "fencepost-pages",
            "fencepost-reference",
            "fencepost-designs",
            "fencepost-litmus",
            "fencepost-harness",
            "fencepost-contract",
            "fencepost-programs",
            "fencepost-machine",
            "fencepost-kernel",
        ],
    ),
    ("fencepost-table", &[]),
    (
        "fencepost-sweep",
        &["fencepost-table", "fencepost-run", "fencepost-kernel"],
    ),
    (
        "fencepost-papers",
        &[
            "fencepost-pages",
            "fencepost-table",
            "fencepost-sweep",
            "fencepost-run",
            "fencepost-litmus",
            "fencepost-native",
            "fencepost-designs",
            "fencepost-contract",
            "fencepost-programs",
            "fencepost-machine",
            "fencepost-kernel",
        ],
    ),
    (
        "fencepost-external",
        &[
            "fencepost-run",
            "fencepost-record",
            "fencepost-contract",
            "fencepost-machine",
            "fencepost-kernel",
        ],
    ),
    (
        "fencepost-battery",
        &[
            "fencepost-papers",
            "fencepost-run",
            "fencepost-designs",
            "fencepost-harness",
            "fencepost-contract",
            "fencepost-programs",
            "fencepost-machine",
            "fencepost-kernel",
        ],
    ),
    (
        "fencepost",
        &[
            "fencepost-papers",
            "fencepost-external",
            "fencepost-litmus",
            "fencepost-sweep",
            "fencepost-table",
            "fencepost-run",
        ],
    ),
    (
        "fencepost-python",
        &[
            "fencepost-papers",
            "fencepost-sweep",
            "fencepost-table",
            "fencepost-run",
            "fencepost-kernel",
        ],
    ),
];
/// Libraries that only one crate may use.
const ONLY_IN: &[(&str, &str)] = &[
    ("clap", "fencepost"),
    ("miette", "fencepost"),
    ("indicatif", "fencepost"),
    ("pyo3", "fencepost-python"),
    ("libsqlite3_sys", "fencepost-sqlite"),
];

fn allowed(krate: &str) -> &'static [&'static str] {
    MAY_USE
        .iter()
        .find(|r| r.0 == krate)
        .unwrap_or_else(|| panic!("crate `{krate}` has no layer: add it to the table"))
        .1
}

/// What a manifest's dependency tables name, of all kinds (build, dev and target-specific ones too).
fn dependencies(manifest: &str) -> BTreeSet<String> {
    fn walk(table: &dyn toml_edit::TableLike, found: &mut BTreeSet<String>) {
        for (key, item) in table.iter() {
            let Some(inner) = item.as_table_like() else { continue };
            if key.ends_with("dependencies") {
                for (name, spec) in inner.iter() {
                    let renamed = spec
                        .as_table_like()
                        .and_then(|t| t.get("package"))
                        .and_then(|p| p.as_str());
                    found.insert(renamed.unwrap_or(name).to_owned());
                }
            } else {
                walk(inner, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(
        manifest
            .parse::<toml_edit::DocumentMut>()
            .expect("a manifest is TOML")
            .as_table(),
        &mut found,
    );
    found
}

/// Crates that a source text names: every `fencepost_xyz` outside comments.
fn imports(source: &str) -> BTreeSet<String> {
    let code = source.lines().map(|l| l.split("//").next().unwrap_or(""));
    let names = code.flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    names
        .filter(|w| w.starts_with("fencepost_"))
        .map(|w| w.replace('_', "-"))
        .collect()
}

fn violations(krate: &str, manifest: &str, sources: &BTreeMap<String, String>) -> Vec<String> {
    let crates: BTreeSet<&str> = MAY_USE.iter().map(|r| r.0).collect();
    let may = allowed(krate);
    let mut wrong = Vec::new();
    for d in dependencies(manifest) {
        if crates.contains(d.as_str()) && !may.contains(&d.as_str()) {
            wrong.push(format!("{krate}/Cargo.toml depends on {d}"));
        }
        if let Some((_, owner)) = ONLY_IN.iter().find(|l| l.0 == d && l.1 != krate) {
            wrong.push(format!("{krate}/Cargo.toml depends on {d}, which only {owner} may"));
        }
    }
    for (file, text) in sources {
        for i in imports(text) {
            if i != krate && crates.contains(i.as_str()) && !may.contains(&i.as_str()) {
                wrong.push(format!("{krate}/{file} uses {i}"));
            }
        }
    }
    wrong
}

#[test]
fn no_crate_imports_what_its_layer_forbids() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).expect("the crates folder") {
        let dir = entry.expect("a readable folder").path();
        let Ok(manifest) = fs::read_to_string(dir.join("Cargo.toml")) else {
            continue;
        };
        let krate = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = |p: PathBuf| {
            let text = fs::read_to_string(&p).expect("a readable source");
            (p.strip_prefix(&dir).unwrap_or(&p).to_string_lossy().into_owned(), text)
        };
        wrong.extend(violations(
            &krate,
            &manifest,
            &rust_files(&dir).into_iter().map(read).collect(),
        ));
        seen.insert(krate);
    }
    assert!(
        seen.contains("fencepost-kernel") && seen.contains("fencepost"),
        "the test looks in the wrong place: {seen:?}"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a crate of the workspace is built from, itself included.
fn built_from(krate: &str, found: &mut BTreeSet<String>) {
    let manifest = root().join("crates").join(krate).join("Cargo.toml");
    if let Ok(text) = fs::read_to_string(manifest)
        && found.insert(krate.to_owned())
    {
        dependencies(&text).iter().for_each(|d| built_from(d, found));
    }
}

/// Whoever changes a statement of a paper, or what is searched in a recorded log, rebuilds no run.
#[test]
fn a_run_is_built_without_papers() {
    let mut found = BTreeSet::new();
    built_from("fencepost-run", &mut found);
    assert!(
        found.contains("fencepost-machine"),
        "the test looks in the wrong place: {found:?}"
    );
    for above in [
        "fencepost-papers",
        "fencepost-external",
        "fencepost-battery",
        "fencepost-native",
    ] {
        assert!(!found.contains(above), "{above}");
    }
    for (krate, _) in MAY_USE {
        let mut found = BTreeSet::new();
        built_from(krate, &mut found);
        let uses_it = found.contains("fencepost-battery") && *krate != "fencepost-battery";
        assert!(!uses_it, "{krate} is published and built from the battery");
    }
}

#[test]
fn the_test_would_notice() {
    let none = BTreeMap::new();
    let manifest = "[dependencies]\nfencepost-machine.workspace = true\n";
    assert_eq!(
        violations("fencepost-contract", manifest, &none),
        ["fencepost-contract/Cargo.toml depends on fencepost-machine"]
    );
    let manifest =
        "[dev-dependencies]\nm = { package = \"fencepost-machine\", path = \"x\" }\n[dependencies]\nclap = \"4\"\n";
    assert_eq!(violations("fencepost-programs", manifest, &none).len(), 2);
    let sources = [(
        "src/a.rs".to_string(),
        "use fencepost_machine::seam; // fencepost_designs\n".to_string(),
    )]
    .into();
    assert_eq!(
        violations("fencepost-contract", "", &sources),
        ["fencepost-contract/src/a.rs uses fencepost-machine"]
    );
    assert!(violations("fencepost-designs", "", &sources).is_empty());
}
