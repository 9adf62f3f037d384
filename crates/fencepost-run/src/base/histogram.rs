//! How often values occurred.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often each value was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Unit of the values.
    pub unit: String,
    /// Value, occurrences.
    pub values: BTreeMap<u64, u64>,
}
impl Histogram {
    /// A histogram of these occurrences.
    pub fn new(unit: &str, values: &BTreeMap<u64, u64>) -> Histogram {
        let values = values.clone();
        Histogram {
            unit: unit.into(),
            values,
        }
    }
    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.values.values().sum()
    }
    /// Share of the samples that are at most `value`; 0 without samples.
    pub fn at_most(&self, value: u64) -> f64 {
        let below: u64 = self.values.range(..=value).map(|v| v.1).sum();
        below as f64 / self.count().max(1) as f64
    }
    /// The least value that at least this share of the samples does not exceed; `None` without samples.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let (all, mut so_far) = (self.count() as f64, 0);
        let reached = |(_, n): &(&u64, &u64)| {
            so_far += **n;
            so_far as f64 / all >= share
        };
        self.values.iter().find(reached).map(|(v, _)| *v)
    }
    /// Mean of the samples; 0 without samples.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.values.iter().map(|(v, n)| *v as f64 * *n as f64).sum();
        sum / self.count().max(1) as f64
    }
    /// The largest value seen.
    pub fn max(&self) -> Option<u64> {
        self.values.keys().next_back().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition: the least value of which at least that share is no larger.
    #[test]
    fn a_quantile_is_the_least_value_that_enough_samples_do_not_exceed() {
        let h = Histogram::new("ps", &[(3, 1), (5, 2), (8, 4), (13, 1)].into());
        for share in [0.0, 0.1, 0.125, 0.13, 0.375, 0.376, 0.5, 0.875, 0.9, 1.0] {
            let least = h.values.keys().copied().find(|v| h.at_most(*v) >= share);
            assert_eq!(h.quantile(share), least, "{share}");
        }
        assert_eq!(h.quantile(0.5), Some(8));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
