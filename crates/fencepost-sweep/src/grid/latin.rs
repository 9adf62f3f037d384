//! Latin hypercubes: every axis is cut into as many equal parts as there are samples, and each part is met once.

use super::axes::{Axis, Between, Setting, Values};
use super::node::Scalar;
use fencepost_kernel::rng;

/// What an axis is in one of `samples` samples; `axis` numbers it.
pub(super) fn sample(axis: &Axis, number: u64, seed: u64, samples: u64, i: u64) -> Setting {
    let part = permuted(&[seed, number], samples, i);
    match &axis.values {
        // A list that is shorter than the samples comes round as evenly as can be.
        Values::Listed(list) => list[(u128::from(part) * list.len() as u128 / u128::from(samples)) as usize].clone(),
        Values::Between(b) => {
            let within = (rng::hash(&[seed, number, i, 1]) >> 11) as f64 / (1u64 << 53) as f64;
            vec![(axis.name.clone(), at(b, (part as f64 + within) / samples as f64))]
        }
    }
}

/// The value at a share of the way.
fn at(b: &Between, share: f64) -> Scalar {
    let x = match b.log {
        true => (b.from.ln() + share * (b.to.ln() - b.from.ln())).exp(),
        // Every whole number is as likely as another.
        false if b.whole => b.from + share * (b.to - b.from + 1.0) - 0.5,
        false => b.from + share * (b.to - b.from),
    };
    match b.whole {
        true => Scalar::Int(x.round().clamp(b.from, b.to) as i64),
        false if b.unit.is_empty() => Scalar::Float(x.clamp(b.from, b.to)),
        false => Scalar::Text(format!("{:.3}{}", x.clamp(b.from, b.to), b.unit)),
    }
}

/// Where `i` goes in a permutation of `0..n` that the words choose: a Feistel network on the next power of four, walked until it is back
/// in range, so that no list of all samples is needed.
fn permuted(words: &[u64], n: u64, i: u64) -> u64 {
    let half = (64 - n.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut x = i;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..4 {
            let word = rng::hash(&[words[0], words[1], round, right]);
            (left, right) = (right, (left ^ word) & mask);
        }
        x = left << half | right;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    #[test]
    fn every_part_is_met_once() {
        for n in [1, 2, 3, 7, 64, 100, 1000] {
            let met: BTreeSet<u64> = (0..n).map(|i| permuted(&[3, 5], n, i)).collect();
            assert_eq!(met, (0..n).collect(), "{n}");
        }
        let order = |seed| (0..50).map(|i| permuted(&[seed, 0], 50, i)).collect::<Vec<_>>();
        assert_ne!(order(1), order(2));
    }
    #[test]
    fn shares_in_closed_form() {
        let b = |whole, log, unit: &str| Between {
            from: 1.0,
            to: 100.0,
            unit: unit.into(),
            whole,
            log,
        };
        assert_eq!(at(&b(false, false, ""), 0.5), Scalar::Float(50.5));
        assert_eq!(at(&b(false, true, "ns"), 0.5), Scalar::Text("10.000ns".into()));
        assert_eq!(
            (at(&b(true, false, ""), 0.0), at(&b(true, false, ""), 0.9999)),
            (Scalar::Int(1), Scalar::Int(100))
        );
    }
}
