//! The picture of the crates in `docs/layout.md`, made from what their sources import.

use crate::sources::{root, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

/// Each crate with those that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

const BOX: (usize, usize) = (132, 34);
const GAP: (usize, usize) = (14, 46);
const MARGIN: usize = 16;

/// Crates that a source text names: every `fencepost_xyz` outside comments.
fn named(source: &str) -> impl Iterator<Item = String> {
    let code = source.lines().map(|l| l.split("//").next().unwrap_or(""));
    let names = code.flat_map(|l| l.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    names
        .filter(|w| w.starts_with("fencepost_"))
        .map(|w| w.replace('_', "-"))
}

/// What the sources of every crate import of the others, tests beside them left out.
fn imports() -> Uses {
    let folders = fs::read_dir(root().join("crates")).expect("the crates folder");
    let crates: BTreeSet<String> = folders
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|name| root().join("crates").join(name).join("Cargo.toml").exists())
        .collect();
    let of = |name: &String| {
        let files = rust_files(&root().join("crates").join(name).join("src"));
        let texts = files.iter().map(|f| fs::read_to_string(f).expect("a readable source"));
        let used: BTreeSet<String> = texts.flat_map(|t| named(&t).collect::<Vec<_>>()).collect();
        used.into_iter().filter(|u| u != name && crates.contains(u)).collect()
    };
    crates.iter().map(|name| (name.clone(), of(name))).collect()
}

/// Everything that a crate uses, by way of others too.
fn reached(name: &str, uses: &Uses, found: &mut BTreeSet<String>) {
    for used in uses.get(name).into_iter().flatten() {
        if found.insert(used.clone()) {
            reached(used, uses, found);
        }
    }
}

/// The arrows that say all: what is reached by way of another crate has none of its own.
fn direct(uses: &Uses) -> Uses {
    let without = |used: &BTreeSet<String>| {
        let mut others = BTreeSet::new();
        used.iter().for_each(|u| reached(u, uses, &mut others));
        used.difference(&others).cloned().collect()
    };
    uses.iter().map(|(name, used)| (name.clone(), without(used))).collect()
}

/// A crate stands a level above the highest that it uses.
fn level(name: &str, uses: &Uses) -> usize {
    let below = uses.get(name).into_iter().flatten();
    below.map(|used| level(used, uses) + 1).max().unwrap_or(0)
}

/// The names of each level, from the bottom.
fn rows(uses: &Uses) -> Vec<Vec<&str>> {
    let mut rows: Vec<Vec<&str>> = Vec::new();
    for name in uses.keys() {
        let at = level(name, uses);
        rows.resize_with(rows.len().max(at + 1), Vec::new);
        rows[at].push(name);
    }
    rows
}

/// The picture.
fn svg(uses: &Uses) -> String {
    let rows = rows(uses);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = 2 * MARGIN + widest * (BOX.0 + GAP.0) - GAP.0;
    let height = 2 * MARGIN + rows.len() * (BOX.1 + GAP.1) - GAP.1;
    let mut places = BTreeMap::new();
    for (level, row) in rows.iter().enumerate() {
        let left = (width + GAP.0 - row.len() * (BOX.0 + GAP.0)) / 2;
        for (i, name) in row.iter().enumerate() {
            let y = height - MARGIN - BOX.1 - level * (BOX.1 + GAP.1);
            places.insert(*name, (left + i * (BOX.0 + GAP.0), y));
        }
    }
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>The crates, each above those that it imports</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (name, used) in direct(uses) {
        let (x, y) = places[name.as_str()];
        for (to_x, to_y) in used.iter().map(|u| places[u.as_str()]) {
            let (from, to) = (x + BOX.0 / 2, to_x + BOX.0 / 2);
            let _ = writeln!(
                out,
                "<line x1=\"{from}\" y1=\"{}\" x2=\"{to}\" y2=\"{to_y}\" stroke=\"#8a94a6\"/>",
                y + BOX.1
            );
        }
    }
    for (name, (x, y)) in &places {
        let short = name.trim_start_matches("fencepost-");
        let (w, h) = BOX;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\" fill=\"#eef2f8\" stroke=\"#44546a\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#1a2230\">{short}</text>",
            x + w / 2,
            y + h / 2 + 5
        );
    }
    out + "</svg>\n"
}

/// The picture of the workspace as it stands, with its file.
pub(crate) fn picture() -> (String, String) {
    ("docs/layout.svg".to_owned(), svg(&imports()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(list: &[(&str, &[&str])]) -> Uses {
        let owned = |u: &[&str]| u.iter().map(|n| (*n).to_owned()).collect();
        list.iter()
            .map(|(name, used)| ((*name).to_owned(), owned(used)))
            .collect()
    }
    #[test]
    fn a_crate_stands_above_what_it_uses_and_arrows_are_not_repeated() {
        let uses = uses(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"]), ("d", &[])]);
        assert_eq!(rows(&uses), [vec!["a", "d"], vec!["b"], vec!["c"]]);
        assert_eq!(direct(&uses)["c"], BTreeSet::from(["b".to_owned()]));
        assert_eq!(svg(&uses).matches("<line").count(), 2);
    }
    #[test]
    fn imports_are_found_outside_comments() {
        let text = "use fencepost_kernel::Ps; // fencepost_machine\nfencepost_run::run();";
        assert_eq!(named(text).collect::<Vec<_>>(), ["fencepost-kernel", "fencepost-run"]);
    }
    /// Every file and folder that the page names is there.
    #[test]
    fn the_page_names_what_there_is() {
        let page = fs::read_to_string(root().join("docs/layout.md")).expect("the page");
        let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let missing: Vec<&str> = links.filter(|l| !root().join("docs").join(l).exists()).collect();
        assert_eq!(missing, Vec::<&str>::new());
        let crates = imports();
        let unnamed = crates.keys().filter(|c| !page.contains(&format!("`{c}`")));
        assert_eq!(unnamed.collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
