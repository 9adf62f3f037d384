//! Which pages the documentation has: those of `docs/SUMMARY.md`, and below a page the folder of its name.

use crate::sources::root;
use std::fs;
use std::path::Path;

/// A line of the summary. Lines without a page are headings.
pub(super) struct Line {
    /// Page below `docs/`, if it is one.
    pub page: Option<String>,
    /// The line as it stands in the file.
    pub text: String,
}

/// The summary, with the generated pages below their lists.
pub(super) fn lines() -> Vec<Line> {
    let text = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap_or_default();
    let mut out = Vec::new();
    for text in text.lines() {
        let indent = text.len() - text.trim_start().len();
        let link = text.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
        let page = link.map(|(page, _)| page.to_owned());
        out.push(Line {
            page: page.clone(),
            text: text.to_owned(),
        });
        let folder = page.and_then(|p| p.strip_suffix(".md").map(str::to_owned));
        for below in folder.iter().flat_map(|f| pages_in(f)) {
            let title = below.rsplit('/').next().unwrap_or(&below).trim_end_matches(".md");
            let text = format!("{}- [{title}]({below})", " ".repeat(indent + 2));
            out.push(Line {
                page: Some(below),
                text,
            });
        }
    }
    out
}

/// Generated pages in a folder below `docs/`: those that no line of the summary names itself.
fn pages_in(folder: &str) -> Vec<String> {
    let named = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap_or_default();
    let entries = fs::read_dir(root().join("docs").join(folder))
        .into_iter()
        .flatten()
        .flatten();
    let mut pages: Vec<String> = entries
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|n| n.ends_with(".md"))
        .map(|n| format!("{folder}/{n}"))
        .filter(|p| !named.contains(&format!("({p})")))
        .collect();
    pages.sort();
    pages
}

/// Every page with commands, below the project's root: README, and those of the summary.
pub(super) fn pages() -> Vec<String> {
    let of_docs = lines()
        .into_iter()
        .filter_map(|l| l.page)
        .filter(|p| p.ends_with(".md"));
    let mut pages: Vec<String> = std::iter::once("README.md".to_owned())
        .chain(of_docs.map(|p| format!("docs/{p}")))
        .filter(|p| Path::new(&root().join(p)).is_file())
        .collect();
    pages.dedup();
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    fn markdown(folder: PathBuf, out: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                markdown(path, out);
            } else if path.extension().is_some_and(|e| e == "md") {
                out.insert(path);
            }
        }
    }
    #[test]
    fn every_page_stands_in_the_summary_once() {
        let mut there = BTreeSet::new();
        markdown(root().join("docs"), &mut there);
        there.remove(&root().join("docs/SUMMARY.md"));
        let listed: Vec<PathBuf> = lines()
            .into_iter()
            .filter_map(|l| Some(root().join("docs").join(l.page?)))
            .collect();
        let once: BTreeSet<PathBuf> = listed.iter().cloned().collect();
        assert_eq!(once.len(), listed.len(), "a page is listed twice");
        assert_eq!(there.difference(&once).collect::<Vec<_>>(), Vec::<&PathBuf>::new());
        assert_eq!(once.difference(&there).collect::<Vec<_>>(), Vec::<&PathBuf>::new());
    }
}
