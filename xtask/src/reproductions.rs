//! `reproductions`: the kept pages of the papers, made by one command, and the test that they have not drifted.
//!
//! Quick scale, seed 1, every reading. A page is out of date when its paper's files have changed, or when a run that it shows comes out
//! differently; the test runs one of each paper again, `--check` all of them.

use crate::sources::root;
use fencepost_pages::browser::opens_in;
use fencepost_papers::experiment::spec::{Scale, names};
use fencepost_papers::reproduce::{Options, reproduce};
use fencepost_run::LabError;
use fencepost_run::kept::hex;
use fencepost_run::store::Store;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, thread};

/// The list of kept pages.
const LIST: &str = "docs/reproductions/kept.csv";

/// A page that takes longer to open is not kept.
const LONGEST: Duration = Duration::from_secs(2);

/// A kept page.
#[derive(Clone, Debug, Default, PartialEq)]
struct Kept {
    /// Runs that it stands on.
    runs: usize,
    /// Version that made it.
    version: String,
    /// Digest of the paper's files in `experiments/`.
    inputs: String,
    /// Digest of the page.
    page: String,
}

/// Makes the pages of these papers, or of all; after `--check` compares them with what is kept.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let (check, papers): (Vec<&str>, Vec<&str>) = args.iter().partition(|a| **a == "--check");
    let known = names();
    if let Some(unknown) = papers.iter().find(|p| !known.contains(p)) {
        eprintln!("`{unknown}` is no paper: {}", known.join(", "));
        return ExitCode::from(2);
    }
    let papers = if papers.is_empty() { known } else { papers };
    let mut drifted = false;
    for paper in papers {
        let done = if check.is_empty() {
            keep(paper).map(|()| true)
        } else {
            compare(paper)
        };
        match done {
            Ok(same) => drifted |= !same,
            Err(e) => {
                eprintln!("{paper}: {e}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::from(u8::from(drifted))
}

fn page_of(paper: &str) -> PathBuf {
    root().join(format!("docs/reproductions/{paper}.html"))
}

/// Reproduces a paper in `target/reproductions`, where finished runs stay; gives the page and how many runs it shows.
fn made(paper: &str) -> Result<(String, usize), LabError> {
    let folder = root().join("target/reproductions").join(paper);
    let store = Store::open(&folder)?;
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        paper,
        scale: Scale::Quick,
        seed: 1,
        seeds: 1,
        asked: &[],
        readings: true,
        jobs,
        store: &store,
    };
    let done = reproduce(&options, &|n| println!("{paper}: {n} runs"), &|_, _| {})?;
    let page = fs::read_to_string(folder.join("report.html")).map_err(|e| LabError::Internal(e.to_string()))?;
    Ok((page, done.ran + done.resumed))
}

fn keep(paper: &str) -> Result<(), LabError> {
    let (page, runs) = made(paper)?;
    let mut list = list();
    let kept = Kept {
        runs,
        version: env!("CARGO_PKG_VERSION").into(),
        inputs: inputs(paper),
        page: hex(page.as_bytes()),
    };
    list.insert(paper.into(), kept);
    let rows = list
        .iter()
        .map(|(p, k)| format!("{p},{},{},{},{}\n", k.runs, k.version, k.inputs, k.page));
    let text = format!("paper,runs,version,inputs,page\n{}", rows.collect::<String>());
    let written = fs::write(page_of(paper), page).and_then(|()| fs::write(root().join(LIST), text));
    written.map_err(|e| LabError::Internal(e.to_string()))?;
    println!("wrote {}", page_of(paper).display());
    opens_soon(paper)
}

/// Looks at how long the page takes to open.
fn opens_soon(paper: &str) -> Result<(), LabError> {
    let page = fs::read_to_string(page_of(paper)).map_err(|e| LabError::Internal(e.to_string()))?;
    let Some(time) = opens_in(&page) else { return Ok(()) };
    println!("{paper} opens in {:.2} s", time.as_secs_f64());
    if time > LONGEST {
        return Err(LabError::Internal(format!(
            "{paper}: its page takes more than {} s to open",
            LONGEST.as_secs()
        )));
    }
    Ok(())
}

/// Whether every run of a kept page comes out the same.
fn compare(paper: &str) -> Result<bool, LabError> {
    let (now, _) = made(paper)?;
    let kept = fs::read_to_string(page_of(paper)).unwrap_or_default();
    let same = outcomes(&now) == outcomes(&kept);
    println!(
        "{paper}: {}",
        if same {
            "as kept"
        } else {
            "drifted: `cargo run -p xtask -- reproductions` makes it anew"
        }
    );
    Ok(same)
}

/// The table of a page's runs, with the digest of each.
fn runs_of(page: &str) -> &str {
    let table = page.split_once("<details id=\"runs\">").map_or("", |p| p.1);
    table.split_once("</details>").map_or(table, |p| p.0)
}

/// The same without the names of configurations, which a new parameter changes.
fn outcomes(page: &str) -> Vec<&str> {
    let config = "<td data-head=\"config\">";
    runs_of(page)
        .lines()
        .map(|l| l.split(config).next().unwrap_or(l))
        .collect()
}

fn list() -> BTreeMap<String, Kept> {
    let text = fs::read_to_string(root().join(LIST)).unwrap_or_default();
    let row = |line: &str| {
        let mut cells = line.split(',').map(str::to_owned);
        let mut next = || cells.next().unwrap_or_default();
        let paper = next();
        let kept = Kept {
            runs: next().parse().unwrap_or(0),
            version: next(),
            inputs: next(),
            page: next(),
        };
        (paper, kept)
    };
    text.lines().skip(1).map(row).collect()
}

/// Digest of the files that say what a paper's reproduction is.
fn inputs(paper: &str) -> String {
    let of = |file: &str| {
        let path = root().join("experiments").join(paper).join(file);
        fs::read(path).unwrap_or_default()
    };
    let files = [
        "experiment.toml",
        "claims.toml",
        "readings.toml",
        "figures.toml",
        "best.toml",
    ];
    hex(&files.map(of).concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_papers::reproduce::planned;

    const AGAIN: &str = "`cargo run --profile quick -p xtask -- reproductions` makes it anew";

    #[test]
    fn kept_pages_are_those_that_the_command_made_of_todays_files() {
        let list = list();
        for (paper, kept) in &list {
            let page = fs::read(page_of(paper)).unwrap();
            assert_eq!(kept.page, hex(&page), "{paper} was edited: {AGAIN}");
            assert_eq!(kept.inputs, inputs(paper), "{paper}'s files have changed: {AGAIN}");
            assert!(page.len() < 2_000_000, "{paper}: {} bytes", page.len());
        }
        assert!(
            !list.is_empty() && list.keys().all(|p| names().contains(&p.as_str())),
            "a page of no paper"
        );
        // A page that the command has not made yet says so where pages are listed.
        let about = fs::read_to_string(root().join("docs/reproductions/README.md")).unwrap();
        for paper in names() {
            let line = about.lines().find(|l| l.contains(&format!("({paper}.html)"))).unwrap();
            assert_eq!(line.contains("made before"), !list.contains_key(paper), "{paper}");
        }
    }
    #[test]
    fn everyone_can_read_kept_pages_at_any_width() {
        use fencepost_pages::browser::{WIDTHS, objections, too_wide};
        for paper in list().keys() {
            let page = fs::read_to_string(page_of(paper)).unwrap();
            for width in WIDTHS {
                assert_eq!(too_wide(&page, width).unwrap_or_default(), "", "{paper} at {width}");
            }
            assert_eq!(objections(&page).unwrap_or_default(), [""; 0], "{paper}");
        }
    }
    #[test]
    fn a_run_of_each_kept_page_comes_out_as_it_shows() {
        for paper in list().keys() {
            let folder = std::env::temp_dir().join(format!("fencepost-kept-{paper}-{}", std::process::id()));
            let store = Store::open(&folder).unwrap();
            let options = Options {
                paper,
                scale: Scale::Quick,
                seed: 1,
                seeds: 1,
                asked: &[],
                readings: false,
                jobs: 1,
                store: &store,
            };
            let all = planned(&options).unwrap();
            let request = all
                .iter()
                .filter(|r| !r.check)
                .min_by_key(|r| (r.ops + r.warmup, r.threads))
                .unwrap();
            let run = fencepost_run::run::run(request).unwrap();
            let page = fs::read_to_string(page_of(paper)).unwrap();
            // A new parameter changes what configurations are called, not what comes out.
            let shown = runs_of(&page)
                .lines()
                .any(|l| l.contains(&format!(">{}<", run.program)) && l.contains(&run.log_digest));
            assert!(shown, "{paper}: {} comes out differently: {AGAIN}", request.program);
            let _ = fs::remove_dir_all(folder);
        }
    }
}
