//! What each check takes without a mutant and which mutants it reaches, kept for a build: a draw that goes on need not measure it again.

use crate::sources::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Time, and the mutants that are reached.
type Known = (Duration, BTreeSet<usize>);

/// Times of one build.
pub(super) struct Takes {
    path: PathBuf,
    known: BTreeMap<String, Known>,
}
impl Takes {
    /// Those of the build that made `program`, if any were kept; those of another build are dropped.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn open(program: &Path) -> Result<Takes, String> {
        let failed = |e: std::io::Error| format!("{}: {e}", program.display());
        let made = fs::metadata(program).and_then(|m| m.modified()).map_err(failed)?;
        let build = made
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos()
            .to_string();
        let path = root().join("target/mutants/takes.txt");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        let same = lines.next() == Some(build.as_str());
        if !same {
            fs::write(&path, build + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let known = lines.filter(|_| same).filter_map(read).collect();
        Ok(Takes { path, known })
    }
    /// What a check takes and reaches, if that was measured.
    pub(super) fn of(&self, name: &str) -> Option<Known> {
        self.known.get(name).cloned()
    }
    /// A file for the mutants that a check reaches, by its number; it does not exist.
    ///
    /// # Errors
    /// An older one cannot be removed.
    pub(super) fn no_mutants_yet(&self, check: usize) -> Result<PathBuf, String> {
        let path = self.path.with_file_name(format!("reached-{check}.txt"));
        match fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {e}", path.display())),
            _ => Ok(path),
        }
    }
    /// Keeps what a check takes, and what it has just reached, which a file says that is removed.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn add(&mut self, name: &str, takes: Duration, file: &Path) -> Result<(), String> {
        let reached = fs::read_to_string(file).unwrap_or_default();
        let _ = fs::remove_file(file);
        let reached: BTreeSet<usize> = reached.lines().filter_map(|l| l.parse().ok()).collect();
        let list: Vec<String> = reached.iter().map(usize::to_string).collect();
        let file = OpenOptions::new().append(true).open(&self.path);
        let written = file.and_then(|mut f| writeln!(f, "{} [{}] {name}", takes.as_millis(), list.join(",")));
        written.map_err(|e| format!("{}: {e}", self.path.display()))?;
        self.known.insert(name.to_owned(), (takes, reached));
        Ok(())
    }
}

fn read(line: &str) -> Option<(String, Known)> {
    let (takes, rest) = line.split_once(" [")?;
    let (list, name) = rest.split_once("] ")?;
    let reached = list.split(',').filter_map(|n| n.parse().ok()).collect();
    Some((name.to_owned(), (Duration::from_millis(takes.parse().ok()?), reached)))
}

#[test]
fn names_have_blanks() {
    let (name, (takes, reached)) = read("150 [3,17] fencepost run hash").expect("a line");
    assert_eq!(
        (name.as_str(), takes),
        ("fencepost run hash", Duration::from_millis(150))
    );
    assert_eq!(reached, BTreeSet::from([3, 17]));
    assert!(read("1 [] x").is_some_and(|r| r.1.1.is_empty()) && read("fencepost").is_none());
}
