//! What was tried: joint readings and what every claim is under them.

use super::space::Taken;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A claim under one joint reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// The value, for claims that are numbers.
    pub value: Option<f64>,
    /// Whether the claim is met.
    pub met: bool,
    /// How near an unmet claim is, from 0 (far, or not a number) towards 1 (met); only the search looks at it.
    pub near: f64,
}
impl Judged {
    /// A claim with a value that has a paper's number beside it: nearer by the logarithm of their ratio.
    pub(super) fn number(value: f64, paper: f64, met: bool) -> Judged {
        let off = (value / paper).ln().abs();
        let near = if met { 1.0 } else { 1.0 / (1.0 + off / 1.2f64.ln()) };
        Judged {
            value: Some(value),
            met,
            near: if near.is_finite() { near } else { 0.0 },
        }
    }
    /// A claim that holds or does not.
    pub(super) fn order(met: bool) -> Judged {
        Judged {
            value: None,
            met,
            near: f64::from(u8::from(met)),
        }
    }
}

/// A joint reading and its claims, in the order of the rows.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// The readings.
    pub taken: Taken,
    /// The claims.
    pub rows: Vec<Judged>,
}
impl Tried {
    /// How many of these rows are met, and how near the others are together.
    pub(super) fn rank(&self, rows: &[usize]) -> (usize, f64) {
        let met = rows.iter().filter(|r| self.rows[**r].met).count();
        (met, rows.iter().map(|r| self.rows[*r].near).sum())
    }
    /// Whether all of these rows are met.
    pub(super) fn meets(&self, rows: &[usize]) -> bool {
        rows.iter().all(|r| self.rows[*r].met)
    }
}

/// Every joint reading that was tried, in the order of trying.
#[derive(Clone, Debug, Default)]
pub(super) struct Archive {
    /// The joint readings.
    pub tried: Vec<Tried>,
    place: HashMap<Taken, usize>,
}
impl Archive {
    /// Adds what was tried; a joint reading that is there already stays as it is.
    pub(super) fn add(&mut self, tried: Tried) {
        if !self.has(&tried.taken) {
            self.place.insert(tried.taken.clone(), self.tried.len());
            self.tried.push(tried);
        }
    }
    /// Whether a joint reading was tried.
    pub(super) fn has(&self, taken: &Taken) -> bool {
        self.place.contains_key(taken)
    }
    /// A joint reading that was tried.
    pub(super) fn get(&self, taken: &Taken) -> Option<&Tried> {
        self.place.get(taken).map(|i| &self.tried[*i])
    }
    /// The joint readings that meet most of these rows, best first; of equals the one that was tried first.
    pub(super) fn best(&self, rows: &[usize], n: usize) -> Vec<&Tried> {
        let mut order: Vec<&Tried> = self.tried.iter().collect();
        let rank = |t: &&Tried| t.rank(rows);
        order.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
        order.truncate(n);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearer_values_rank_higher_and_met_rows_highest() {
        let near = |v| Judged::number(v, 10.0, false).near;
        assert!(near(13.0) > near(20.0) && near(20.0) > near(100.0) && near(100.0) > 0.0);
        assert!((near(12.0) - 0.5).abs() < 1e-12, "a factor of 1.2 away");
        assert!((near(10.0 / 1.44) - 1.0 / 3.0).abs() < 1e-12, "and one of 1.44, below");
        assert_eq!(near(-1.0), 0.0, "no logarithm");
        let tried = |name: usize, rows: [Judged; 2]| Tried {
            taken: vec![name],
            rows: rows.to_vec(),
        };
        let mut archive = Archive::default();
        archive.add(tried(0, [Judged::order(false), Judged::number(100.0, 10.0, false)]));
        archive.add(tried(1, [Judged::order(false), Judged::number(13.0, 10.0, false)]));
        archive.add(tried(2, [Judged::order(true), Judged::number(1000.0, 10.0, false)]));
        archive.add(tried(2, [Judged::order(false), Judged::order(false)]));
        let order = |rows: &[usize]| archive.best(rows, 9).iter().map(|t| t.taken[0]).collect::<Vec<_>>();
        assert_eq!(order(&[0, 1]), [2, 1, 0]);
        assert_eq!(order(&[1]), [1, 0, 2]);
        assert_eq!(order(&[]), [0, 1, 2]);
        assert!(
            archive
                .get(&vec![2])
                .is_some_and(|t| t.meets(&[0]) && !t.meets(&[0, 1]))
        );
    }
}
