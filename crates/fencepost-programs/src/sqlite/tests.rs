//! What the database is asked for, and how much room it gets.

use super::*;
use fencepost_kernel::params::Raw;
use fencepost_sqlite::File;
use std::collections::BTreeSet;

fn sqlite(scheme: Scheme, ops: u32, params: &[(&str, i64)]) -> Result<Sqlite, ProgramError> {
    Sqlite::build(&Settings {
        threads: 3,
        ops,
        scheme,
        params: params.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect(),
        ..Settings::default()
    })
}
/// Kinds have their shares. A fill stores keys behind all others, ascending in each thread and each once; an overwrite a row that was there;
/// what is stored or read at random is any of twice as many. Values are never the same.
#[test]
fn requests_have_the_shares_that_are_declared() {
    let shares = [
        ("rows", 40),
        ("batch", 2),
        ("fill", 10),
        ("random", 20),
        ("overwrite", 30),
    ];
    let w = sqlite(Scheme::UndoArray, 10, &shares).expect("sizes that fit");
    let (mut kinds, mut drawn) = ([0u32; 4], [(); 4].map(|()| BTreeSet::new()));
    let mut values = BTreeSet::new();
    for thread in 0..3 {
        let mut last = 0;
        for k in 0..4000 {
            let requests = w.input(thread, k);
            assert_eq!(requests.as_slice().len(), 2);
            for r in requests.as_slice() {
                kinds[r.kind as usize] += 1;
                assert!(values.insert(r.value) && r.value >> 32 == u64::from(thread) + 1);
                if r.kind == Kind::Fill {
                    assert!(r.key >= 80 && r.key > last);
                    last = r.key;
                }
                assert!(drawn[r.kind as usize].insert(r.key) || r.kind != Kind::Fill);
            }
        }
    }
    for (n, percent) in kinds.iter().zip([10, 20, 30, 40]) {
        assert!(n.abs_diff(24_000 * percent / 100) < 400, "{kinds:?}");
    }
    let [_, random, overwritten, read] = drawn;
    assert!(random.into_iter().eq(0..80) && overwritten.into_iter().eq(0..40) && read.into_iter().eq(0..80));
}
/// Shares fill the hundred at most, and every request has a value of its own.
#[test]
fn what_cannot_be_asked_for_is_refused() {
    let with = |fill| {
        sqlite(
            Scheme::UndoArray,
            10,
            &[("fill", fill), ("random", 30), ("overwrite", 30)],
        )
        .is_ok()
    };
    assert!(with(40) && !with(41));
    let ops = |ops| sqlite(Scheme::SqliteJournal, ops, &[("batch", 64)]);
    assert!(ops(u32::MAX).is_err());
}
/// Rows fill half of their pages: twice as many bytes as rows, keys and what is stored later have, 96 beside each value, and 16 pages more.
/// SQLite's journals have a page and a header for each page that changes.
#[test]
fn files_have_room_for_what_may_be_written() {
    for (rows, value, batch, ops) in [(100, 100, 1, 10), (10_000, 8, 4, 100), (3, 1000, 64, 7)] {
        let params = [("rows", rows), ("value", value), ("batch", batch), ("checkpoint", 50)];
        let requests = 3 * ops * batch as u64;
        let bytes = 2 * (2 * rows as u64 + requests) * (value as u64 + 96);
        let pages = 16 + bytes.div_ceil(4096);
        // On four levels of table and index a page with its neighbours and a new one; the first page, the list of free ones.
        let changed = (batch as u64 * 34).min(pages);
        let framed = 4096 + 64;
        for (scheme, journal, wal) in [
            (Scheme::UndoArray, 0, 0),
            (Scheme::SqliteJournal, (changed + 2) * framed, 0),
            (Scheme::SqliteWal, 4 * framed, (50 + 2 * changed + 1) * framed),
        ] {
            let w = sqlite(scheme, ops as u32, &params).expect("sizes that fit");
            let room = [File::Pages, File::Journal, File::Wal].map(|f| w.files.area(f).len);
            assert_eq!(room, [pages * 4096, journal, wal], "{}", scheme.name());
            assert_eq!(w.index.is_some(), scheme == Scheme::SqliteWal);
            let hot = (2 + rows as u64 / 16).min(pages) * 4096;
            assert_eq!(w.resident()[0].len, hot);
            // A line of the log for every word of a page that changes, and two lines.
            let log = w.rt.log(1).0 - w.rt.log(0).0;
            let words = if journal == 0 { 128 + changed * 4096 / 8 * 64 } else { 0 };
            assert_eq!(log, words.max(4096).next_multiple_of(4096));
        }
    }
}
