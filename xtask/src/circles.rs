//! No circle among files: whoever reads a file has to read only what lies below it.
//!
//! **Definition.** The nodes are the files of a crate's `src` folder, but for those that are compiled for tests only. A file uses
//! another if its code, outside comments, strings and `#[cfg(test)]` items, contains a path that begins with `crate`, `super`,
//! `self` or the name of a child module, and that leads to the other file. A path leads to the file of the longest prefix that is a
//! module; if the next name is one that this module only re-exports (`pub use child::Name`, `pub(crate) use child::*`), it leads on to
//! the file that defines the name. Declaring a child (`mod child;`) and re-exporting from it is therefore no use: a parent that
//! only lists its children stands in no circle with them. A parent that has code of its own which names a child's item, re-exported
//! or not, is in a circle with the child as soon as the child names something that the parent defines.
//!
//! A circle is a strongly connected component of more than one file. No crate has one.

use crate::source_text::{Module, modules};
use crate::sources::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A crate's files that stand in circles, circle by circle, each file with what it uses of the same circle.
pub(crate) type Circles = Vec<BTreeMap<String, BTreeSet<String>>>;

/// Who uses whom, by file.
pub(crate) fn uses(modules: &[Module]) -> BTreeMap<&str, BTreeSet<&str>> {
    let by_path: BTreeMap<&[String], &Module> = modules.iter().map(|m| (&m.path[..], m)).collect();
    let mut edges: BTreeMap<&str, BTreeSet<&str>> = modules.iter().map(|m| (&m.file[..], BTreeSet::new())).collect();
    for module in modules {
        let own = |name: &String| module.path.iter().chain([name]).cloned().collect::<Vec<String>>();
        let names = module.names.iter().filter(|n| !module.defines.contains(*n)).map(own);
        // A name without a path that is also a child's is a local one.
        let names = names.filter(|path| !by_path.contains_key(&path[..]));
        for path in module.mentions.iter().cloned().chain(names) {
            if let Some(target) = resolve(&by_path, &path, 0)
                && target != module.file
            {
                edges.entry(&module.file).or_default().insert(target);
            }
        }
    }
    edges
}

/// The file that a path from the crate's root leads to.
fn resolve<'m>(by_path: &BTreeMap<&[String], &'m Module>, path: &[String], hops: u8) -> Option<&'m str> {
    let longest = (0..=path.len()).rev().find(|n| by_path.contains_key(&path[..*n]))?;
    let module = by_path[&path[..longest]];
    let Some(name) = path.get(longest) else {
        return Some(&module.file);
    };
    // Re-exports lead on; eight in a row would be a circle of their own.
    if hops < 8 && !module.defines.contains(name) {
        if let Some(target) = module.reexports.get(name) {
            return resolve(by_path, target, hops + 1);
        }
        for glob in &module.globs {
            let defines = |m: &&Module| m.defines.contains(name) || m.reexports.contains_key(name);
            if by_path.get(&glob[..]).is_some_and(defines) {
                let target: Vec<String> = glob.iter().chain([name]).cloned().collect();
                return resolve(by_path, &target, hops + 1);
            }
        }
    }
    Some(&module.file)
}

/// What can be reached from `start`, itself only if a way leads back.
fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut work: Vec<&str> = edges[start].iter().copied().collect();
    while let Some(f) = work.pop() {
        if seen.insert(f) {
            work.extend(&edges[f]);
        }
    }
    seen
}

/// The circles of one crate: files that reach each other.
fn circles(modules: &[Module]) -> Circles {
    let edges = uses(modules);
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|f| (*f, reach(&edges, f))).collect();
    let mut found: Circles = Vec::new();
    for (file, to) in &reached {
        if !to.contains(file) || found.iter().any(|c| c.contains_key(*file)) {
            continue;
        }
        let members: BTreeSet<&str> = to.iter().copied().filter(|g| reached[g].contains(file)).collect();
        let inside = |f: &str| edges[f].intersection(&members).map(|g| (*g).to_owned()).collect();
        found.push(members.iter().map(|f| ((*f).to_owned(), inside(f))).collect());
    }
    found
}

/// The circles of every crate, by the crate's name.
pub(crate) fn all() -> std::io::Result<BTreeMap<String, Circles>> {
    let mut out = BTreeMap::new();
    let mut folders: Vec<_> = fs::read_dir(root().join("crates"))?.collect::<Result<_, _>>()?;
    folders.sort_by_key(|f| f.path());
    let mut folders: Vec<_> = folders.into_iter().map(|f| f.path()).collect();
    folders.push(root().join("xtask"));
    for folder in folders.iter().filter(|f| f.join("src").is_dir()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        out.insert(name, circles(&modules(&folder.join("src"))?));
    }
    Ok(out)
}

#[test]
fn no_crate_has_files_in_circles() {
    let found: Vec<_> = (all().expect("readable sources").into_iter())
        .filter(|(_, circles)| !circles.is_empty())
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[cfg(test)]
fn module(file: &str, text: &str) -> Module {
    crate::source_text::module(file, text)
}

#[test]
fn files_that_use_each_other_are_a_circle() {
    let of = |a: &str, b: &str| {
        circles(&[
            module("lib.rs", "pub mod a;\npub mod b;\npub use a::A;\n"),
            module("a.rs", a),
            module("b.rs", b),
        ])
    };
    let (a, b) = ("use crate::b::B;\npub struct A;", "pub struct B;");
    assert!(of(a, b).is_empty());
    assert_eq!(of(a, "pub struct B;\nimpl B { fn f(_: crate::a::A) {} }").len(), 1);
    assert_eq!(of(a, "use crate::{a::A};\npub struct B;").len(), 1, "in a list");
    assert_eq!(
        of(a, "use super::A;\npub struct B;").len(),
        1,
        "through the parent's re-export"
    );
    assert!(of(a, "// crate::a::A\npub struct B; const S: &str = \"crate::a::A\";").is_empty());
    assert!(of(a, "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n").is_empty());
}

#[test]
fn a_parent_that_only_lists_its_children_is_in_no_circle() {
    let child = module("m/c.rs", "use super::d::D;\npub struct C;");
    let other = module("m/d.rs", "pub struct D;");
    let lists = module("m/mod.rs", "mod c;\nmod d;\npub use c::C;\npub use d::*;");
    assert!(circles(&[lists, child.clone(), other.clone()]).is_empty());
    // A child that takes its parent's own type, and a parent that calls the child.
    let calls = module("m/mod.rs", "mod c;\nmod d;\npub struct P;\nfn f() { c::g() }");
    let up = module("m/c.rs", "use super::P;\npub fn g() {}");
    assert_eq!(circles(&[calls, up, other.clone()])[0].len(), 2);
    // The parent may call by a name that it re-exports, too.
    let named = module(
        "m/mod.rs",
        "mod c;\nmod d;\npub use c::C;\npub struct P;\nfn f(_: C) {}",
    );
    let up = module("m/c.rs", "use super::P;\npub struct C;");
    assert_eq!(circles(&[named, up, other.clone()])[0].len(), 2);
    // The same type, when the parent only re-exports it, is the other child's.
    let glob = module("m/mod.rs", "mod c;\nmod d;\npub use d::*;\nfn f() { c::g() }");
    let sideways = module("m/c.rs", "use super::D;\npub fn g() {}");
    assert!(circles(&[glob, sideways, other]).is_empty());
}
