//! How many levels of modules a crate has: whoever reads one from the bottom reads at most so many.
//!
//! The modules are those that the crate's root declares, each a file or a folder. One stands a level above the highest that it
//! uses; the lowest use none and stand on level 1.

use crate::circles::uses;
use crate::source_text::{Module, modules};
use crate::sources::root;
use std::collections::{BTreeMap, BTreeSet};

/// Levels of a crate at most.
const DEEPEST: usize = 5;
/// Crates that were deeper when they were first measured, with the levels that they may keep.
const DEEPER: &[(&str, usize)] = &[
    ("fencepost-designs", 9),
    ("fencepost-kernel", 8),
    ("fencepost-machine", 6),
    ("fencepost-programs", 10),
    ("fencepost-qemu-plugin", 7),
];

/// Which modules below the crate's root use which.
pub(crate) fn of_modules(modules: &[Module]) -> BTreeMap<String, BTreeSet<String>> {
    let top = |file: &str| {
        file.split('/')
            .next()
            .unwrap_or(file)
            .trim_end_matches(".rs")
            .to_owned()
    };
    let is_root = |module: &str| matches!(module, "lib" | "main");
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, used) in uses(modules) {
        let own = top(file);
        if is_root(&own) {
            continue;
        }
        let others = used.into_iter().map(top).filter(|u| *u != own && !is_root(u));
        edges.entry(own.clone()).or_default().extend(others);
    }
    edges
}

/// The level of every module. Modules that use one another in a circle would have none: they count as if the circle were cut
/// where it was met again.
pub(crate) fn levels(edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<&str, usize> {
    fn level<'m>(
        module: &'m str,
        edges: &'m BTreeMap<String, BTreeSet<String>>,
        known: &mut BTreeMap<&'m str, usize>,
    ) -> usize {
        if let Some(level) = known.get(module) {
            return *level;
        }
        known.insert(module, 0);
        let below = edges.get(module).into_iter().flatten();
        let highest = below.map(|m| level(m, edges, known)).max().unwrap_or(0);
        known.insert(module, highest + 1);
        highest + 1
    }
    let mut known = BTreeMap::new();
    for module in edges.keys() {
        level(module, edges, &mut known);
    }
    known
}

#[test]
fn no_crate_has_more_levels_than_it_may() {
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates folder") {
        let folder = entry.expect("a readable folder").path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let edges = of_modules(&modules(&folder.join("src")).expect("readable sources"));
        let most = DEEPER.iter().find(|d| d.0 == name).map_or(DEEPEST, |d| d.1);
        let levels = levels(&edges);
        if levels.values().any(|l| *l > most) {
            wrong.push(format!("{name}, at most {most}: {levels:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_module_stands_above_what_it_uses() {
    let file = |name: &str, text: &str| crate::source_text::module(name, text);
    let modules = [
        file("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::kept;"),
        file("a.rs", "use crate::kept::Kept;"),
        file("b/mod.rs", "pub mod kept;"),
        file("b/kept.rs", "use crate::c::C;\npub struct Kept;"),
        file("c.rs", "pub struct C;"),
    ];
    let edges = of_modules(&modules);
    let levels = levels(&edges);
    assert_eq!(levels, [("a", 3), ("b", 2), ("c", 1)].into());
}
