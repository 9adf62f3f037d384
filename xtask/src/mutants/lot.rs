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

/// The order in which mutants of these keys are drawn with a seed: those first that were `tried`. Where a mutant stands depends on its own
/// key alone, so that a draw is the same one, as far as its mutants are still there, when sources have changed.
pub(super) fn order(keys: &[String], seed: u64, tried: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_cached_key(|i| (!tried(&keys[*i]), Stream::new(seed, &keys[*i]).next_u64()));
    order
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
fn a_draw_depends_on_its_seed_and_outlives_its_neighbours() {
    let keys: Vec<String> = (1..50).map(|n| format!("file {n}")).collect();
    let draw = |keys: &[String], seed, tried: &str| -> Vec<String> {
        let order = order(keys, seed, |key| key == tried);
        order.into_iter().map(|i| keys[i].clone()).collect()
    };
    let all = draw(&keys, 1, "");
    assert_ne!(all, draw(&keys, 2, ""));
    let mut sorted = all.clone();
    sorted.sort_by_key(|k| keys.iter().position(|other| other == k));
    assert_eq!(sorted, keys);
    // One is gone and one is new: the others stand as they did.
    let mut changed = keys[1..].to_vec();
    changed.insert(7, "new".into());
    let without = |list: &[String]| -> Vec<String> {
        let stays = |k: &&String| *k != &keys[0] && *k != "new";
        list.iter().filter(stays).cloned().collect()
    };
    assert_eq!(without(&draw(&changed, 1, "")), without(&all));
    assert_eq!(draw(&keys, 1, &all[20])[0], all[20]);
}
