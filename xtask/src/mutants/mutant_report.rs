//! What a draw shows, by file.

use super::store::Fate;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Mutants that no run can tell from the original: file, change, line of source, argument.
const EQUIVALENT: &str = include_str!("../../mutants/equivalent.txt");

/// Mutants that are argued to be equivalent: a line each.
pub(super) fn equivalents() -> impl Iterator<Item = &'static str> {
    EQUIVALENT.lines().filter(|l| !l.is_empty() && !l.starts_with('#'))
}

#[derive(Default)]
struct Count {
    caught: [usize; 3],
    equivalent: usize,
    missed: Vec<String>,
}
impl Count {
    fn add(&mut self, key: &str, fate: &Fate) {
        match fate {
            Fate::Caught { by, .. } => self.caught[net_of(by)] += 1,
            _ if equivalents().any(|e| e.starts_with(&format!("{key} | "))) => self.equivalent += 1,
            _ => self.missed.push(key.to_owned()),
        }
    }
    fn all(&self) -> usize {
        self.caught.iter().sum::<usize>() + self.equivalent + self.missed.len()
    }
}
fn net_of(by: &str) -> usize {
    match by.split(' ').next() {
        Some("fencepost") => 0,
        Some("test") => 1,
        _ => 2,
    }
}

/// The report, and how many were missed.
pub(super) fn of<'a>(
    (krate, seed): (&str, u64),
    total: usize,
    left_out: usize,
    fates: impl Iterator<Item = (&'a str, &'a Fate)>,
) -> (String, usize) {
    let (mut files, mut sum) = (BTreeMap::<String, Count>::new(), Count::default());
    for (key, fate) in fates {
        let file = key.split(" | ").next().unwrap_or_default().to_owned();
        files.entry(file).or_default().add(key, fate);
        sum.add(key, fate);
    }
    let mut out = String::new();
    let row = |out: &mut String, name: &str, c: &Count| {
        let [commands, tests, net] = c.caught;
        let (equivalent, missed) = (c.equivalent, c.missed.len());
        let line = format!(
            "{name:<64} {:>5} {commands:>8} {tests:>6} {net:>4} {equivalent:>11} {missed:>7}",
            c.all()
        );
        writeln!(out, "{line}").expect("text");
    };
    let heads = ["mutants", "commands", "tests", "net", "equivalent", "missed"];
    let [a, b, c, d, e, f] = heads;
    writeln!(out, "\n{:<62} {a:>7} {b:>8} {c:>6} {d:>4} {e:>11} {f:>7}", "caught by").expect("text");
    files.iter().for_each(|(name, count)| row(&mut out, name, count));
    row(&mut out, krate, &sum);
    let caught: usize = sum.caught.iter().sum();
    let share = 100.0 * caught as f64 / (sum.all() - sum.equivalent).max(1) as f64;
    writeln!(
        out,
        "seed {}: {} of {total} mutants drawn, {left_out} left out that no switch can plant; {caught} caught, {share:.0} % of those that are no equivalents",
        seed,
        sum.all(),
    )
    .expect("text");
    sum.missed
        .iter()
        .for_each(|m| writeln!(out, "    missed {m}").expect("text"));
    (out, sum.missed.len())
}

#[test]
fn a_report_counts_by_file_and_net() {
    let caught = |by: &str| Fate::Caught {
        by: by.into(),
        how: "exit code 1".into(),
    };
    let fates = [caught("fencepost run"), caught("test y"), Fate::Missed];
    let keys = ["a.rs | one | x", "a.rs | two | x", "b.rs | three | x"];
    let (text, missed) = of(("fencepost-x", 4), 50, 2, keys.into_iter().zip(&fates));
    assert_eq!(missed, 1);
    assert!(text.contains("3 of 50 mutants drawn, 2 left out"), "{text}");
    assert!(
        text.contains("2 caught, 67 %") && text.contains("missed b.rs | three | x"),
        "{text}"
    );
}
