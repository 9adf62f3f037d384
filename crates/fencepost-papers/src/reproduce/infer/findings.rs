//! What the joint readings that were tried say: what a claim needs, and which claims were never met together.

use super::archive::Archive;

/// A reading that every joint reading meeting a claim takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// The row.
    pub row: usize,
    /// The input.
    pub input: usize,
    /// Its reading.
    pub reading: usize,
    /// How many joint readings meet the row.
    pub met_in: usize,
}

/// A need is only stated when fewer than one set in so many joint readings of this size would agree by chance.
const CHANCE: f64 = 0.01;

/// The readings without which no joint reading that was tried meets a row. That all agree on a reading says nothing where most of
/// what was tried takes it, so each is weighed against its share of everything tried.
pub(super) fn needs(archive: &Archive, rows: usize) -> Vec<Need> {
    let Some(first) = archive.tried.first() else {
        return Vec::new();
    };
    let (all, inputs) = (archive.tried.len() as f64, first.taken.len());
    let mut needs = Vec::new();
    for row in 0..rows {
        let meeting: Vec<_> = archive.tried.iter().filter(|t| t.rows[row].met).collect();
        let Some(one) = meeting.first() else { continue };
        for input in 0..inputs {
            let reading = one.taken[input];
            let agree = meeting.iter().all(|t| t.taken[input] == reading);
            let share = archive.tried.iter().filter(|t| t.taken[input] == reading).count() as f64 / all;
            if agree && share.powi(meeting.len() as i32) < CHANCE {
                needs.push(Need {
                    row,
                    input,
                    reading,
                    met_in: meeting.len(),
                });
            }
        }
    }
    needs
}

/// Rows that no joint reading met.
pub(super) fn unreached(archive: &Archive, rows: &[usize]) -> Vec<usize> {
    let met = |r: &usize| archive.tried.iter().any(|t| t.rows[*r].met);
    rows.iter().copied().filter(|r| !met(r)).collect()
}

/// Pairs of rows of which each was met, and both together never.
pub(super) fn never_together(archive: &Archive, rows: &[usize]) -> Vec<[usize; 2]> {
    let never = unreached(archive, rows);
    let reached: Vec<usize> = rows.iter().copied().filter(|r| !never.contains(r)).collect();
    let mut pairs = Vec::new();
    for (i, a) in reached.iter().enumerate() {
        for b in &reached[i + 1..] {
            if !archive.tried.iter().any(|t| t.meets(&[*a, *b])) {
                pairs.push([*a, *b]);
            }
        }
    }
    pairs
}

/// Least and greatest value of a row over everything tried.
pub(super) fn range(archive: &Archive, row: usize) -> Option<[f64; 2]> {
    let values = || archive.tried.iter().filter_map(|t| t.rows[row].value);
    Some([values().reduce(f64::min)?, values().reduce(f64::max)?])
}

/// Cuts rows in two halves, as a split of this number does: by the hash of their names, so that a new row moves no other.
pub(super) fn halves(names: &[&str], split: u64) -> [Vec<usize>; 2] {
    let hash = |name: &str| {
        let bytes = name.bytes().map(u64::from);
        fencepost_kernel::rng::hash(&std::iter::once(split).chain(bytes).collect::<Vec<_>>())
    };
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|i| hash(names[*i]));
    let mut second = order.split_off(order.len() / 2);
    order.sort_unstable();
    second.sort_unstable();
    [order, second]
}

#[cfg(test)]
mod tests {
    use super::super::archive::{Judged, Tried};
    use super::*;

    /// Two inputs of three readings, all nine tried. Row 0 needs reading 2 of the first input, row 1 reading 1 of it, row 2
    /// nothing, row 3 is never met.
    fn archive() -> Archive {
        let mut archive = Archive::default();
        for n in 0..9 {
            let taken = vec![n % 3, n / 3];
            let met = |m: bool, v: f64| Judged {
                value: Some(v),
                met: m,
                near: 0.0,
            };
            let rows = vec![
                met(taken[0] == 2, n as f64),
                met(taken[0] == 1, 1.0),
                met(true, 1.0),
                met(false, 1.0),
            ];
            archive.add(Tried { taken, rows });
        }
        archive
    }

    #[test]
    fn needs_reach_and_pairs_of_a_full_factorial() {
        let (archive, all) = (archive(), [0, 1, 2, 3]);
        assert_eq!(unreached(&archive, &all), [3]);
        assert_eq!(never_together(&archive, &all), [[0, 1]]);
        assert_eq!(range(&archive, 0), Some([0.0, 8.0]));
        // Three of nine agree on a reading that a third of all take: one in 27 by chance, too often to be stated.
        assert_eq!(needs(&archive, 4), []);
    }
    #[test]
    fn a_need_is_stated_when_chance_does_not_explain_it() {
        let mut archive = Archive::default();
        for n in 0..27 {
            let taken = vec![n % 3, n / 3];
            let rows = vec![Judged::order(n % 3 == 2), Judged::order(true)];
            archive.add(Tried { taken, rows });
        }
        let need = Need {
            row: 0,
            input: 0,
            reading: 2,
            met_in: 9,
        };
        assert_eq!(
            needs(&archive, 2),
            [need],
            "(1/3)^9; the second row is met everywhere and needs nothing"
        );
    }
    #[test]
    fn halves_are_disjoint_and_differ_among_splits() {
        let names: Vec<String> = (0..21).map(|n| format!("ROW-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let splits: Vec<_> = (0..5).map(|s| halves(&names, s)).collect();
        for [a, b] in &splits {
            assert_eq!((a.len(), b.len()), (10, 11));
            assert!(a.iter().all(|r| !b.contains(r)));
        }
        assert!(splits.windows(2).all(|w| w[0] != w[1]));
        assert_eq!(splits[0], halves(&names, 0), "fixed");
    }
}
