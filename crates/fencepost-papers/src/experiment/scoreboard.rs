//! The scoreboard as a whole: its rows counted, and written as CSV.

use super::kinds::Kind;
use super::score::{Row, Score};
use fencepost_table::{Builder, Field, Table};

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

/// Schema `fencepost-scoreboard`: a row for each claim. Numbers are numbers where the scoreboard has one, and absent elsewhere.
pub fn to_table(rows: &[Row]) -> Table {
    const fn field(name: &'static str, about: &'static str) -> Field<'static> {
        Field { name, unit: "", about }
    }
    /// A number in the unit that the row's `unit` names.
    const fn in_unit(name: &'static str, about: &'static str) -> Field<'static> {
        let unit = "as `unit` says";
        Field { name, unit, about }
    }
    let number = |text: &str| text.parse::<f64>().ok();
    let mut table = Builder::new("fencepost-scoreboard", 1);
    for r in rows {
        table
            .row()
            .set(field("id", "claim"), &r.id)
            .set(field("paper", "the paper's value"), &r.paper)
            .set(field("kind", "what stands behind the row"), r.kind.name())
            .set(field("measured", "our value as text"), &r.measured)
            .maybe(in_unit("value", "our value where it is a number"), number(&r.measured))
            .maybe(
                in_unit("spread", "half of the 95 % interval of ours over the seeds"),
                number(&r.spread),
            )
            .set(field("unit", "unit of both values"), &r.unit)
            .maybe(field("ratio", "ours over the paper's"), number(&r.ratio))
            .set(
                field("verdict", "match, miss, unsteady, quoted or not-run"),
                r.verdict.name(),
            )
            .maybe(in_unit("low", "least value over the readings"), number(&r.low))
            .maybe(in_unit("high", "greatest value over the readings"), number(&r.high))
            .maybe(
                field("holds", "share of the readings under which the claim is met"),
                number(&r.holds),
            )
            .set(
                field("decided_by", "open input with the largest main effect"),
                &r.decided_by,
            )
            .set(field("note", "reason, test, or values per program"), &r.note);
    }
    table.finish()
}
