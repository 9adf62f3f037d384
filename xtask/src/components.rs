//! Inside the machine, imports point down: a component can be read without those above it.

use crate::circles::uses;
use crate::source_text::{Module, modules};
use crate::sources::root;

/// The modules of the machine, top first. Each may use those after it.
const DOWN: [&str; 8] = [
    "machine",
    "core",
    "hierarchy",
    "spec",
    "seam",
    "frontend",
    "network",
    "memory",
];

/// The place of a file in [`DOWN`]; `None` for the crate's root, which lists the modules.
fn level(file: &str) -> Option<usize> {
    let module = file.split('/').next().unwrap_or(file).trim_end_matches(".rs");
    DOWN.iter().position(|m| *m == module)
}

/// Files that use a file of a component above theirs.
fn upward(modules: &[Module]) -> Vec<String> {
    let uses = uses(modules);
    let pairs = (uses.iter()).flat_map(|(file, used)| used.iter().map(move |u| (*file, *u)));
    pairs
        .filter(|(file, used)| matches!((level(file), level(used)), (Some(own), Some(other)) if other < own))
        .map(|(file, used)| format!("{file} uses {used}"))
        .collect()
}

#[test]
fn imports_of_the_machine_point_down() {
    let modules = modules(&root().join("crates/fencepost-machine/src")).expect("readable sources");
    for module in &modules {
        let known = module.file == "lib.rs" || level(&module.file).is_some();
        assert!(known, "{}: give its module a place in the order", module.file);
    }
    assert_eq!(upward(&modules), [""; 0]);
}

#[test]
fn an_import_that_points_up_is_found() {
    let of = |text: &str| {
        let files = [
            ("lib.rs", "mod core;\nmod memory;"),
            ("core/mod.rs", "pub struct Core;"),
        ];
        let mut modules: Vec<_> = files.map(|(file, text)| crate::source_text::module(file, text)).into();
        modules.push(crate::source_text::module("memory/mod.rs", text));
        upward(&modules)
    };
    assert!(of("pub struct Memory;").is_empty());
    assert_eq!(of("use crate::core::Core;"), ["memory/mod.rs uses core/mod.rs"]);
}
