//! Decisions that runs took and did not take, over all of them.

use fencepost_kernel::fault::{self, Sides};
use std::collections::BTreeMap;

/// A side of a decision that fewer runs than this took is rare.
const RARE: u64 = 4;

/// How many runs took each side of each decision, and reached each planted line.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<&'static str, Sides>);

impl Coverage {
    /// Adds the decisions of one run; whether one of them is rare, so that runs like it are worth more.
    pub fn add(&mut self, run: &BTreeMap<&'static str, Sides>) -> bool {
        let mut rare = false;
        for (name, sides) in run {
            let all = self.0.entry(name).or_default();
            for side in 0..2 {
                all[side] += u64::from(sides[side] > 0);
                rare |= sides[side] > 0 && all[side] <= RARE;
            }
        }
        rare
    }
    /// Adds those of other runs.
    pub fn join(&mut self, other: &Coverage) {
        for (name, sides) in &other.0 {
            let all = self.0.entry(name).or_default();
            (0..2).for_each(|side| all[side] += sides[side]);
        }
    }
    /// Sides of decisions that no run took, and planted lines that no run reached.
    pub fn never(&self) -> Vec<String> {
        let runs = |name: &str, side: usize| self.0.get(name).map_or(0, |s| s[side]);
        let sides = fault::decisions().flat_map(|n| [(n, 1, "never taken"), (n, 0, "always taken")]);
        let sides = sides.filter(|(n, side, _)| runs(n, *side) == 0);
        let lines = fault::names().filter(|n| runs(n, 1) == 0);
        let sides = sides.map(|(n, _, what)| format!("decision {n}: {what}"));
        sides
            .chain(lines.map(|n| format!("planted line {n}: never reached")))
            .collect()
    }
    /// Sides of decisions, and those that some run took; planted lines, and those that some run reached.
    pub fn counts(&self) -> [usize; 4] {
        let runs = |name: &str| self.0.get(name).copied().unwrap_or_default();
        let sides = fault::decisions().flat_map(runs).filter(|n| *n > 0).count();
        let lines = fault::names().filter(|n| runs(n)[1] > 0).count();
        [2 * fault::decisions().count(), sides, fault::names().count(), lines]
    }
}

#[test]
fn sides_that_no_run_took_are_listed() {
    let name = fault::decisions().next().expect("there are decisions");
    let mut coverage = Coverage::default();
    assert!(coverage.add(&BTreeMap::from([(name, [0, 3])])), "the first run is rare");
    let never = coverage.never();
    assert!(never.contains(&format!("decision {name}: always taken")));
    assert!(!never.contains(&format!("decision {name}: never taken")));
    for _ in 0..RARE {
        coverage.add(&BTreeMap::from([(name, [0, 1])]));
    }
    assert!(!coverage.add(&BTreeMap::from([(name, [0, 1])])));
    assert_eq!(coverage.counts()[1], 1);
}
