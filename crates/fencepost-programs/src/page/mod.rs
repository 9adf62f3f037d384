//! The page about programs, made from the registry and from what was counted.

use crate::programs;
use std::fmt::Write as _;

/// Whole operations, ours and by hand.
const COUNTS: &str = include_str!("../sites/reference.csv");

/// Instructions of one operation of a program, run in one way.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Count {
    /// Program.
    pub program: &'static str,
    /// `volatile`, `inline`, `inline-grouped` or `library`.
    pub way: &'static str,
    /// Ours.
    pub ours: f64,
    /// The same operation written by hand, where it was.
    pub reference: Option<f64>,
}

/// Every counted operation.
pub fn counts() -> Vec<Count> {
    let lines = COUNTS.lines().filter(|l| !l.starts_with('#')).skip(1);
    lines
        .filter_map(|line| {
            let mut cells = line.split(',');
            Some(Count {
                program: cells.next()?,
                way: cells.next()?,
                ours: cells.next()?.parse().ok()?,
                reference: cells.next().and_then(|c| c.parse().ok()),
            })
        })
        .collect()
}

/// The page.
pub fn page() -> String {
    let mut list = String::from("| program | what it does | logging |\n| --- | --- | --- |\n");
    for p in programs() {
        let schemes: Vec<String> = p.schemes.iter().map(|s| format!("`{}`", s.name())).collect();
        let _ = writeln!(
            list,
            "| [`{0}`](programs/{0}.md) | {1} | {2} |",
            p.name,
            p.about,
            schemes.join(" ")
        );
    }
    let mut table = String::from("| program | way | ours | reference | ratio |\n| --- | --- | --- | --- | --- |\n");
    for c in counts() {
        let (theirs, ratio) = match c.reference {
            Some(r) => (format!("{r:.0}"), format!("{:.2}", c.ours / r)),
            None => (String::new(), String::new()),
        };
        let _ = writeln!(
            table,
            "| `{}` | {} | {:.0} | {theirs} | {ratio} |",
            c.program, c.way, c.ours
        );
    }
    include_str!("programs.md")
        .replace("@PROGRAMS@", list.trim_end())
        .replace("@COUNTS@", table.trim_end())
}
#[cfg(test)]
mod tests {
    use super::*;
    /// What the instructions of an operation are held to.
    const MOST: f64 = 1.3;

    #[test]
    fn ours_are_near_what_is_written_by_hand() {
        let lines = COUNTS.lines().filter(|l| !l.starts_with('#')).count();
        assert_eq!(counts().len(), lines - 1, "a line is malformed");
        for program in ["cq", "sps", "hash", "rbtree", "tatp", "tpcc"] {
            for way in ["volatile", "inline"] {
                let counts = counts();
                let c = counts.iter().find(|c| c.program == program && c.way == way);
                let c = c.unwrap_or_else(|| panic!("{program} {way} was never counted"));
                let reference = c.reference.expect("there is one by hand");
                assert!(
                    c.ours <= MOST * reference,
                    "{program} {way}: {} beside {reference}",
                    c.ours
                );
            }
        }
    }
}
