//! Random choices of operations, each a pure function of a hash.

use fencepost_kernel::rng;

/// A number in `0..n` from a well-mixed word.
pub(crate) fn below(h: u64, n: u64) -> u64 {
    ((u128::from(h) * u128::from(n)) >> 64) as u64
}
/// A number in `low..=high` from a well-mixed word.
pub(crate) fn between(h: u64, low: u64, high: u64) -> u64 {
    low + below(h, high - low + 1)
}
/// The non-uniform choice of TPC-C (2.1.6) and TATP: `low..=high`, numbers whose bits below `a` are set chosen more often; `c` is
/// the constant of the run.
pub(crate) fn non_uniform(h: u64, a: u64, c: u64, low: u64, high: u64) -> u64 {
    let mixed = below(rng::mix(h ^ 1), a + 1) | between(rng::mix(h ^ 2), low, high);
    (mixed + c) % (high - low + 1) + low
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn choices_stay_in_range_and_the_non_uniform_one_is_not_uniform() {
        let mut high_bits = [0u32; 2];
        for i in 0..20_000u64 {
            let h = rng::hash(&[i]);
            assert!((5..=15).contains(&between(h, 5, 15)));
            let uniform = between(h, 1, 3000) - 1;
            let skewed = non_uniform(h, 1023, 0, 1, 3000) - 1;
            assert!(skewed < 3000);
            // An "or" of two draws has three quarters of its low bits set.
            high_bits[0] += (uniform & 1023).count_ones();
            high_bits[1] += (skewed & 1023).count_ones();
        }
        assert!(high_bits[1] > high_bits[0] * 5 / 4, "{high_bits:?}");
    }
}
