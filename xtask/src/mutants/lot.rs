//! Mutants of a crate, as `cargo mutants --list --json` names them, and a draw of them by lot.

use crate::sources::root;
use fencepost_kernel::Stream;
use serde_json::Value;
use std::process::Command;

/// Where a piece of source begins and ends: lines and columns from 1, columns in characters.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece {
    pub start: (usize, usize),
    pub end: (usize, usize),
}

/// One small change of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    /// Its crate.
    pub krate: String,
    /// Its file below the workspace's root.
    pub file: String,
    /// What is done and where, in the words of `cargo mutants`, without line and column.
    pub what: String,
    /// Kind of change, as `cargo mutants` calls it.
    pub genre: String,
    /// What is replaced; for a function its whole body.
    pub piece: Piece,
    /// By what.
    pub by: String,
}
impl Mutant {
    /// Name that stays the same while the lines above move: file, change, and the line of source.
    pub(super) fn key(&self, source: &str) -> String {
        let line = source.lines().nth(self.piece.start.0 - 1).unwrap_or_default();
        format!("{} | {} | {}", self.file, self.what, line.trim())
    }
}

/// All mutants of a crate.
///
/// # Errors
/// `cargo mutants` is not installed, or says something that is not understood.
pub(super) fn all(krate: &str) -> Result<Vec<Mutant>, String> {
    let mut command = Command::new("cargo");
    command
        .args(["mutants", "--list", "--json", "--no-config", "-p", krate])
        .current_dir(root());
    let said = command.output().map_err(|e| e.to_string())?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr).into_owned();
        return Err(format!(
            "`cargo mutants --list` fails; `cargo install cargo-mutants` brings it\n{why}"
        ));
    }
    let list: Value = serde_json::from_slice(&said.stdout).map_err(|e| e.to_string())?;
    let list = list.as_array().ok_or("`cargo mutants --list --json` gives no list")?;
    let understood = list
        .iter()
        .map(|m| mutant(m).ok_or_else(|| format!("not understood: {m}")));
    let mut all: Vec<Mutant> = understood.collect::<Result<_, _>>()?;
    // What only tests use is none of the code that they judge.
    all.retain(|m| !m.file.contains("/testkit/"));
    all.sort_by(|a, b| (&a.file, a.piece, &a.by).cmp(&(&b.file, b.piece, &b.by)));
    Ok(all)
}

fn mutant(m: &Value) -> Option<Mutant> {
    let at = |v: &Value| Some((v["line"].as_u64()? as usize, v["column"].as_u64()? as usize));
    let name = m["name"].as_str()?;
    // file:line:column: what
    let what = name.splitn(4, ':').nth(3)?.trim().to_owned();
    Some(Mutant {
        krate: m["package"].as_str()?.to_owned(),
        file: m["file"].as_str()?.to_owned(),
        what,
        genre: m["genre"].as_str()?.to_owned(),
        piece: Piece {
            start: at(&m["span"]["start"])?,
            end: at(&m["span"]["end"])?,
        },
        by: m["replacement"].as_str()?.to_owned(),
    })
}

/// The same mutants in an order drawn from a seed.
pub(super) fn shuffled(mut mutants: Vec<Mutant>, seed: u64) -> Vec<Mutant> {
    let mut dice = Stream::new(seed, "mutants");
    for i in (1..mutants.len()).rev() {
        mutants.swap(i, dice.below(i as u64 + 1) as usize);
    }
    mutants
}

#[test]
fn mutants_are_read_from_the_list() {
    let text = r#"{"file": "crates/x/src/a.rs", "genre": "BinaryOperator", "replacement": "==",
        "package": "x", "name": "crates/x/src/a.rs:3:9: replace != with == in f",
        "span": {"start": {"line": 3, "column": 9}, "end": {"line": 3, "column": 11}}}"#;
    let read = mutant(&serde_json::from_str(text).expect("JSON")).expect("a mutant");
    assert_eq!(
        read.key("\n\n  if a != b {}\n"),
        "crates/x/src/a.rs | replace != with == in f | if a != b {}"
    );
    assert_eq!((read.piece.start, read.piece.end), ((3, 9), (3, 11)));
}

#[test]
fn a_draw_depends_on_its_seed_and_loses_none() {
    let one = |n: usize| Mutant {
        krate: String::new(),
        file: format!("{n}"),
        what: String::new(),
        genre: String::new(),
        piece: Piece {
            start: (n, 1),
            end: (n, 2),
        },
        by: String::new(),
    };
    let list: Vec<Mutant> = (1..50).map(one).collect();
    let draw = |seed| shuffled(list.clone(), seed);
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let mut sorted = draw(1);
    sorted.sort_by_key(|m| m.piece);
    assert_eq!(sorted, list);
}
