//! What was tried, kept as lines of JSON.

use super::lot::Mutant;
use crate::sources::root;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A check ended in another way than without it.
    Caught { by: String, how: String },
    /// No check did.
    Missed,
    /// It is not one that can be switched at run time.
    NotSwitched(String),
}
impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Caught { by, how } => write!(f, "caught   {by}: {how}"),
            Fate::Missed => f.write_str("MISSED "),
            Fate::NotSwitched(why) => write!(f, "left out {why}"),
        }
    }
}

/// The fates of the draws with one seed.
pub(super) struct Store {
    path: PathBuf,
    fates: BTreeMap<String, Fate>,
}
impl Store {
    /// # Errors
    /// It cannot be read.
    pub(super) fn open(seed: u64) -> Result<Store, String> {
        let name = format!("draw-{seed}.jsonl");
        let path = root().join("target/mutants").join(name);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text
            .lines()
            .map(|l| read(l).ok_or_else(|| format!("{}: {l}", path.display())));
        let fates = lines.collect::<Result<_, _>>()?;
        Ok(Store { path, fates })
    }
    /// What is known of one.
    pub(super) fn fate(&self, key: &str) -> Option<&Fate> {
        self.fates.get(key)
    }
    /// Adds what became of one; the last word counts.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn add(&mut self, key: &str, fate: Fate) -> Result<(), String> {
        if self.fates.get(key) == Some(&fate) {
            return Ok(());
        }
        let failed = |e: std::io::Error| format!("{}: {e}", self.path.display());
        let folder = self.path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.map_err(failed)?;
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let line = written(key, &fate);
        writeln!(file.map_err(failed)?, "{line}").map_err(failed)?;
        self.fates.insert(key.to_owned(), fate);
        Ok(())
    }
}

fn written(key: &str, fate: &Fate) -> Value {
    match fate {
        Fate::Caught { by, how } => json!({"mutant": key, "caught": by, "how": how}),
        Fate::Missed => json!({"mutant": key}),
        Fate::NotSwitched(why) => json!({"mutant": key, "not_switched": why}),
    }
}
fn read(line: &str) -> Option<(String, Fate)> {
    let v: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| v[name].as_str().map(str::to_owned);
    let fate = match (text("caught"), text("not_switched")) {
        (Some(by), _) => Fate::Caught { by, how: text("how")? },
        (None, Some(why)) => Fate::NotSwitched(why),
        (None, None) => Fate::Missed,
    };
    Some((text("mutant")?, fate))
}

/// Keys of mutants; a second one of the same change on the same line has its place besides.
///
/// # Errors
/// A source cannot be read.
pub(super) fn keys(mutants: &[Mutant]) -> Result<Vec<String>, String> {
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    let (mut keys, mut known) = (Vec::new(), BTreeSet::new());
    for m in mutants {
        if !sources.contains_key(m.file.as_str()) {
            let text = fs::read_to_string(root().join(&m.file)).map_err(|e| format!("{}: {e}", m.file))?;
            sources.insert(&m.file, text);
        }
        let key = m.key(&sources[m.file.as_str()]);
        let again = !known.insert(key.clone());
        keys.push(match again {
            true => format!("{key} | {:?}", m.piece.start),
            false => key,
        });
    }
    Ok(keys)
}

#[test]
fn fates_are_read_as_written() {
    let caught = Fate::Caught {
        by: "test x".into(),
        how: "no end".into(),
    };
    for fate in [caught, Fate::Missed, Fate::NotSwitched("const".into())] {
        assert_eq!(read(&written("a", &fate).to_string()), Some(("a".into(), fate)));
    }
}
