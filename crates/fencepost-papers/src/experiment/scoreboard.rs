//! The scoreboard as a whole: its rows counted, and written as CSV.

use super::kinds::Kind;
use super::score::{Row, Score};

/// Number of rows per verdict.
pub fn tally(rows: &[Row]) -> [(Score, usize); 5] {
    [Score::Match, Score::Miss, Score::Unsteady, Score::Quoted, Score::NotRun]
        .map(|v| (v, rows.iter().filter(|r| r.verdict == v).count()))
}

/// Rows per kind and verdict: kinds are never added up, because only measurements and rules say how good a reproduction is.
pub fn tally_by_kind(rows: &[Row]) -> Vec<(Kind, [(Score, usize); 5])> {
    let of = |k: Kind| rows.iter().filter(|r| r.kind == k).cloned().collect::<Vec<_>>();
    Kind::ALL.iter().map(|k| (*k, tally(&of(*k)))).collect()
}

/// Columns of the scoreboard.
const COLUMNS: [&str; 13] = [
    "id",
    "paper",
    "kind",
    "measured",
    "spread",
    "unit",
    "ratio",
    "verdict",
    "low",
    "high",
    "holds",
    "decided_by",
    "note",
];

/// The scoreboard as CSV.
pub fn to_csv(rows: &[Row]) -> Vec<u8> {
    let mut w = csv::Writer::from_writer(Vec::new());
    for r in rows {
        w.serialize(r).expect("rows are plain text");
    }
    if rows.is_empty() {
        let _ = w.write_record(COLUMNS);
    }
    w.into_inner().unwrap_or_default()
}
