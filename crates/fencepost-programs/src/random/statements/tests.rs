//! What is drawn: words in use, ranges that overlap, and values that name their statements.

use super::*;

#[test]
fn a_range_that_overlaps_begins_in_a_line_in_use_and_ends_in_the_next() {
    let with = |overlaps| Plan {
        seed: 1,
        params: RandomParams {
            lines: 6,
            released_early: 0,
            overlaps,
            ..RandomParams::default()
        },
        honours: None,
        persistent: Addr::pm(64),
        volatile: Addr(0),
    };
    assert!((0..2000).all(|k| with(0).overlapping(k % 3, k).is_none()));
    let plan = with(100);
    let mut begun = std::collections::BTreeSet::new();
    for k in 0..200 {
        let range = plan.overlapping(k % 3, k).expect("a range, as every operation has one");
        let first = range
            .at
            .0
            .checked_sub(plan.persistent.0)
            .expect("not before the first line")
            / LINE_BYTES;
        let last = (range.at.0 + range.len - 1 - plan.persistent.0) / LINE_BYTES;
        assert_eq!(last, first + 1, "two lines");
        assert!(last < 6, "in use");
        begun.insert(first);
    }
    assert_eq!(begun.len(), 5, "each line but the last");
}
/// Words lie within the lines and words in use, wherever those begin, and each of them is drawn.
#[test]
fn every_word_in_use_is_drawn_and_no_other() {
    let params = RandomParams {
        lines: 3,
        volatile_lines: 2,
        words: 2,
        ..RandomParams::default()
    };
    let plan = Plan {
        seed: 1,
        params,
        honours: None,
        persistent: Addr::pm(64),
        volatile: Addr(640),
    };
    let drawn = |word: &dyn Fn(&mut Dice) -> Addr| -> std::collections::BTreeSet<u64> {
        (0..200).map(|i| word(&mut plan.dice(0, 0, i)).0).collect()
    };
    assert!(drawn(&|d| plan.volatile_word(d)).into_iter().eq([640, 648, 704, 712]));
    let first = Addr::pm(64).0;
    let persistent = [0, 8, 64, 72, 128, 136].map(|n| first + n);
    assert!(drawn(&|d| plan.persistent_word(d)).into_iter().eq(persistent));
}
#[test]
fn values_name_their_statements() {
    for (thread, k, i) in [(0, 0, 0), (253, 7, 99), (3, u32::MAX / 8, 5)] {
        assert_eq!(named(value(thread, k, i)), Some((thread, k, i)));
    }
    assert_eq!(named(0), None);
    assert_eq!(named(1 << 48), None);
}

/// What a transaction depends on is what it loads: to copy is to load and to store.
#[test]
fn a_copy_reads_one_word_and_stores_another() {
    let (from, to) = (Addr::pm(64), Addr::pm(128));
    let copy = Statement::Copy { from, to };
    assert_eq!(
        (copy.loads_from(), Vec::from_iter(copy.stores_to())),
        (Some(from), vec![to])
    );
    assert_eq!(Statement::Load(from).loads_from(), Some(from));
    for stores in [Statement::Store(to), Statement::NtStore(to), Statement::Persist(to)] {
        assert_eq!(
            (stores.loads_from(), Vec::from_iter(stores.stores_to())),
            (None, vec![to])
        );
    }
}
