//! `site`: the documentation as a site of static pages that can be searched offline, built by mdBook.

use super::{links, summary};
use crate::sources::root;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

/// Files of the project that pages lead to stand in this folder of the site.
const BESIDE: &str = "project";

/// Builds the site in `target/site/book`; with `api` the documentation of the crates besides.
pub(crate) fn command(api: bool) -> ExitCode {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let site = target.join("site");
    let built = gathered(&site)
        .map_err(|e| e.to_string())
        .and_then(|()| book(&site))
        .and_then(|()| match api {
            true => documented(&target, &site),
            false => Ok(()),
        });
    match built {
        Ok(()) => {
            println!("{}", site.join("book/index.html").display());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Runs mdBook.
fn book(site: &Path) -> Result<(), String> {
    let ended = Command::new("mdbook").arg("build").arg(site).status();
    let ended = ended.map_err(|e| format!("mdbook does not start ({e}): `cargo install mdbook` installs it"))?;
    ended.success().then_some(()).ok_or_else(|| "mdbook failed".into())
}

/// Documents the crates and takes that into the site.
fn documented(target: &Path, site: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut doc = Command::new(cargo);
    doc.current_dir(root()).args(["doc", "--workspace", "--no-deps"]);
    let ended = doc.status().map_err(|e| format!("cargo does not start: {e}"))?;
    if !ended.success() {
        return Err("the crates' documentation does not build".into());
    }
    copied(&target.join("doc"), &site.join("book/api")).map_err(|e| e.to_string())
}

fn copied(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, to) = (
            entry.as_ref().map(fs::DirEntry::path),
            to.join(entry.as_ref().map(fs::DirEntry::file_name).unwrap_or_default()),
        );
        let path = path.map_err(|e| io::Error::new(e.kind(), e.to_string()))?;
        if path.is_dir() {
            copied(&path, &to)?;
        } else {
            fs::copy(path, to)?;
        }
    }
    Ok(())
}

/// Gathers what mdBook gets: the pages of the summary, and whatever of the project they lead to.
fn gathered(site: &Path) -> io::Result<()> {
    let _ = fs::remove_dir_all(site);
    let src = site.join("src");
    fs::create_dir_all(&src)?;
    fs::copy(root().join("docs/book.toml"), site.join("book.toml"))?;
    let lines = summary::lines();
    let mut waiting: Vec<String> = lines
        .iter()
        .filter_map(|l| Some(format!("docs/{}", l.page.as_ref()?)))
        .collect();
    let listed = waiting.len();
    let mut places: BTreeMap<String, usize> = waiting.iter().cloned().zip(0..).collect();
    let mut at = 0;
    while let Some(file) = waiting.get(at).cloned() {
        at += 1;
        let to = src.join(place(&file));
        fs::create_dir_all(to.parent().unwrap_or(&src))?;
        if !file.ends_with(".md") {
            fs::copy(root().join(&file), to)?;
            continue;
        }
        let text = fs::read_to_string(root().join(&file))?;
        let text = links::rewritten(&text, &mut |target| {
            let found = links::resolved(&file, target);
            let name = found.to_string_lossy().into_owned();
            if !links::is_local(target) || target.starts_with("api/") || !root().join(&found).is_file() {
                return None;
            }
            if places.insert(name.clone(), waiting.len()).is_none() {
                waiting.push(name.clone());
            }
            let anchor = target.split_once('#').map_or_else(String::new, |t| format!("#{}", t.1));
            Some(format!("{}{anchor}", between(&place(&file), &place(&name))))
        });
        // Folders of the project are named, not shown.
        let is_folder = |t: &&String| links::is_local(t) && root().join(links::resolved(&file, t)).is_dir();
        let folders = links::targets(&text);
        let text = (folders.iter().filter(is_folder)).fold(text, |text, t| links::unlinked(&text, t));
        fs::write(to, text)?;
    }
    let mut list: String = lines.iter().map(|l| format!("{}\n", l.text)).collect();
    let beside: Vec<&String> = waiting[listed..].iter().filter(|f| f.ends_with(".md")).collect();
    if !beside.is_empty() {
        list.push_str("\n# The project\n\n");
        beside
            .iter()
            .for_each(|f| list.push_str(&format!("- [{f}]({})\n", place(f))));
    }
    fs::write(src.join("SUMMARY.md"), list)
}

/// Where a file of the project stands in the site.
fn place(file: &str) -> String {
    file.strip_prefix("docs/")
        .map_or_else(|| format!("{BESIDE}/{file}"), str::to_owned)
}

/// How one page of the site names another.
fn between(from: &str, to: &str) -> String {
    format!("{}{to}", "../".repeat(from.matches('/').count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_has_every_page_and_what_they_lead_to() {
        let site = std::env::temp_dir().join(format!("fencepost-site-{}", std::process::id()));
        gathered(&site).unwrap();
        let src = site.join("src");
        let summary = fs::read_to_string(src.join("SUMMARY.md")).unwrap();
        let mut pages = 0;
        for target in links::targets(&summary) {
            let text = fs::read_to_string(src.join(&target)).unwrap_or_else(|e| panic!("{target}: {e}"));
            for t in links::targets(&text)
                .iter()
                .filter(|t| links::is_local(t) && !t.starts_with("api/"))
            {
                let found = src.join(links::resolved(&target, t));
                assert!(found.is_file(), "{target}: {t}");
            }
            pages += 1;
        }
        fs::remove_dir_all(site).unwrap();
        assert!(pages > 80, "{pages}");
    }
    #[test]
    fn pages_name_one_another_from_where_they_stand() {
        assert_eq!(place("docs/a/b.md"), "a/b.md");
        assert_eq!(place("CONTRIBUTING.md"), "project/CONTRIBUTING.md");
        assert_eq!(between("a/b.md", "project/x.md"), "../project/x.md");
        assert_eq!(between("c.md", "d/e.md"), "d/e.md");
    }
}
