//! Random choices of operations, each a pure function of a hash, in integers, so that every machine draws the same.

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
/// TPC-C's choice of a customer among `n`, from 0 (2.4.1.2). The bits that are set more often are ten of the twelve that number the
/// standard's 3,000, and as many fewer of a smaller table.
pub(crate) fn customer(seed: u64, h: u64, n: u64) -> u64 {
    of_table(seed, h, n, n.next_power_of_two() / 4)
}
/// TPC-C's choice of an item among `n`, from 0 (2.4.1.5): 13 of the 17 bits that number the standard's 100,000.
pub(crate) fn item(seed: u64, h: u64, n: u64) -> u64 {
    of_table(seed, h, n, n.next_power_of_two() / 16)
}
/// TPC-C's choice of a last name among `n`, from 0 (2.1.6.1, 4.3.2.3): eight of the ten bits that number the standard's 1,000.
pub(crate) fn last_name(seed: u64, h: u64, n: u64) -> u64 {
    of_table(seed, h, n, n.next_power_of_two() / 4)
}
/// The constant `c` is drawn once a run.
fn of_table(seed: u64, h: u64, n: u64, bits: u64) -> u64 {
    let a = bits.max(1) - 1;
    let c = below(rng::hash(&[seed, a]), a + 1);
    non_uniform(h, a, c, 1, n) - 1
}
/// Whether an event of this many percent happens. `h` is a hash.
pub(crate) fn percent(h: u64, percent: u64) -> bool {
    below(h, 100) < percent
}
/// Where number `i` comes to stand when the numbers below `n` are shuffled: a Feistel network over the next even power of two, walked
/// until it meets a number below `n`.
pub(crate) fn shuffled(seed: u64, n: u64, i: u64) -> u64 {
    let half = n.next_power_of_two().ilog2().div_ceil(2).max(1);
    let mask = (1 << half) - 1;
    let mut at = i;
    loop {
        let round = |(left, right): (u64, u64), salt| (right, left ^ (rng::hash(&[seed, salt, right]) & mask));
        let (left, right) = (0..4).fold((at >> half, at & mask), round);
        at = left << half | right;
        if at < n {
            return at;
        }
    }
}
/// A number below `n` by a power law: `hot` percent of the numbers, the lowest, get `100 - hot` percent of the draws, and again so
/// among those. 80-20 is `hot` = 20.
pub(crate) fn power_law(h: u64, n: u64, hot: u64) -> u64 {
    let (mut span, mut h) = (n, h);
    while span > 1 {
        let head = (span * hot).div_ceil(100).max(1);
        h = rng::mix(h.wrapping_add(0x9e37_79b9_7f4a_7c15));
        if percent(h, hot) && head < span {
            return head + below(rng::mix(h ^ 1), span - head);
        }
        span = if head < span { head } else { 1 };
    }
    0
}
/// A number below `n`: `hot` percent of the numbers, the lowest, get `100 - hot` percent of the draws, alike on either side.
pub(crate) fn hot_and_cold(h: u64, n: u64, hot: u64) -> u64 {
    let head = (n * hot).div_ceil(100).max(1);
    let within = rng::mix(h ^ 1);
    if percent(h, hot) && head < n {
        head + below(within, n - head)
    } else {
        below(within, head)
    }
}
/// An edge of a scale-free graph of `1 << scale` vertices (R-MAT): the adjacency matrix is halved `scale` times in both directions, and a
/// quadrant chosen with 55, 10, 10 and 25 percent, as SSCA 2.2 does.
pub(crate) fn scale_free_edge(h: u64, scale: u32) -> (u64, u64) {
    let (mut from, mut to, mut h) = (0, 0, h);
    for _ in 0..scale {
        h = rng::mix(h.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let quadrant = match below(h, 100) {
            0..55 => 0,
            55..65 => 1,
            65..75 => 2,
            _ => 3,
        };
        from = from << 1 | quadrant >> 1;
        to = to << 1 | quadrant & 1;
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
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
    /// At the standard's sizes A is 1023, 8191 and 255 (2.1.6.1); a table of one row has that row.
    #[test]
    fn rows_of_tpcc_are_drawn_with_the_standards_constants() {
        for h in (0..2000u64).map(|i| rng::hash(&[9, i])) {
            let c = |a: u64| below(rng::hash(&[7, a]), a + 1);
            assert_eq!(customer(7, h, 3000), non_uniform(h, 1023, c(1023), 1, 3000) - 1);
            assert_eq!(item(7, h, 100_000), non_uniform(h, 8191, c(8191), 1, 100_000) - 1);
            assert_eq!(last_name(7, h, 1000), non_uniform(h, 255, c(255), 1, 1000) - 1);
            assert!(customer(7, h, 10) < 10 && item(7, h, 37) < 37);
            assert_eq!((customer(7, h, 1), item(7, h, 1)), (0, 0));
        }
    }
    const DRAWS: u64 = 100_000;

    /// How many of `DRAWS` draws fall below `limit`, in percent.
    fn share(draw: impl Fn(u64) -> u64, limit: u64) -> u64 {
        let hits = (0..DRAWS).filter(|i| draw(rng::hash(&[7, *i])) < limit).count() as u64;
        hits * 100 / DRAWS
    }
    #[test]
    fn the_hottest_fifth_gets_four_fifths_and_so_on_down() {
        let draw = |h| power_law(h, 1000, 20);
        for (limit, percent) in [(200, 80), (40, 64), (8, 51), (1000, 100)] {
            let found = share(draw, limit);
            assert!(found.abs_diff(percent) <= 1, "{found} percent below {limit}");
        }
        assert_eq!(power_law(5, 1, 20), 0);
        let drawn: BTreeSet<u64> = (0..DRAWS).map(|i| power_law(rng::hash(&[8, i]), 300, 20)).collect();
        assert!(drawn.iter().copied().eq(0..300), "every number has its chance");
    }
    #[test]
    fn hot_numbers_are_alike() {
        let draw = |h| hot_and_cold(h, 1000, 10);
        for (limit, percent) in [(100, 90), (50, 45), (550, 95), (1000, 100)] {
            let found = share(draw, limit);
            assert!(found.abs_diff(percent) <= 1, "{found} percent below {limit}");
        }
    }
    #[test]
    fn edges_fall_into_quadrants_as_declared() {
        // Source in the upper half: quadrants 0 and 1. Twice so: the square of that.
        for (limit, percent) in [(512, 65), (256, 42), (1024, 100)] {
            let found = share(|h| scale_free_edge(h, 10).0, limit);
            assert!(found.abs_diff(percent) <= 1, "{found} percent below {limit}");
        }
    }
    #[test]
    fn shuffling_leaves_nothing_out_and_nothing_in_place() {
        for n in [1, 2, 3, 7, 64, 1000, 4096] {
            let all: BTreeSet<u64> = (0..n).map(|i| shuffled(9, n, i)).collect();
            assert!(all.len() as u64 == n && all.last().is_some_and(|l| *l < n), "{n}");
        }
        let kept = (0..4096).filter(|i| shuffled(9, 4096, *i) == *i).count();
        assert!(kept < 8, "a shuffle leaves one in its place on average, not {kept}");
        // Powers of two do not stay together.
        let sets: BTreeSet<u64> = (0..64).map(|i| shuffled(9, 4096, i * 64) % 64).collect();
        assert!(sets.len() > 32, "{}", sets.len());
    }

    /// How often each number below `n` is drawn, in percent.
    fn shares(n: u64, draw: impl Fn(u64) -> u64) -> Vec<f64> {
        let mut hits = vec![0u32; n as usize];
        (0..DRAWS).for_each(|i| hits[draw(rng::hash(&[11, i])) as usize] += 1);
        hits.iter().map(|h| f64::from(*h) * 100.0 / DRAWS as f64).collect()
    }
    /// Six standard deviations of the widest share and more.
    fn alike(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1.0)
    }
    /// The standard's formula (2.1.6) over every pair of the two numbers it draws.
    fn by_formula(a: u64, c: u64, low: u64, high: u64) -> Vec<f64> {
        let (width, mut shares) = (high - low + 1, vec![0.0; high as usize + 1]);
        for (one, other) in (0..=a).flat_map(|one| (low..=high).map(move |other| (one, other))) {
            shares[((one | other) + c) as usize % width as usize + low as usize] += 100.0 / ((a + 1) * width) as f64;
        }
        shares
    }
    #[test]
    fn both_ends_of_a_range_are_reached_and_all_between_alike() {
        assert_eq!((below(0, 9), below(u64::MAX, 9)), (0, 8));
        assert_eq!((between(0, 5, 15), between(u64::MAX, 5, 15)), (5, 15));
        assert_eq!(between(u64::MAX, 7, 7), 7);
        assert!(alike(
            &shares(8, |h| between(h, 4, 7)),
            &[0.0, 0.0, 0.0, 0.0, 25.0, 25.0, 25.0, 25.0]
        ));
        assert!(percent(u64::MAX, 100) && !percent(0, 0) && percent(0, 1) && !percent(u64::MAX, 99));
        assert!(alike(&shares(2, |h| u64::from(percent(h, 30))), &[70.0, 30.0]));
    }
    #[test]
    fn non_uniform_choices_follow_the_standards_formula() {
        for (a, c, low, high) in [(3, 0, 0, 7), (3, 2, 5, 12), (7, 5, 1, 10), (0, 0, 2, 6)] {
            let found = shares(high + 1, |h| non_uniform(h, a, c, low, high));
            assert!(
                alike(&found, &by_formula(a, c, low, high)),
                "{a} {c} {low} {high}: {found:?}"
            );
        }
    }
    /// Two bits fewer than number the customers or the names, four fewer than number the items.
    #[test]
    fn small_tables_are_skewed_in_as_many_bits_fewer() {
        type Choice = fn(u64, u64, u64) -> u64;
        let choices: [(Choice, u64, u64); 4] = [(customer, 10, 3), (last_name, 10, 3), (item, 37, 3), (item, 10, 0)];
        for (seed, (choice, n, a)) in (1..4).flat_map(|seed| choices.map(|c| (seed, c))) {
            let found = shares(n, |h| choice(seed, h, n));
            // The constant is drawn: it is one of those that the standard allows.
            assert!(
                (0..=a).any(|c| alike(&found, &by_formula(a, c, 1, n)[1..])),
                "{n} of {a}: {found:?}"
            );
        }
    }
    #[test]
    fn the_power_law_holds_down_to_single_numbers() {
        // Of six the lowest two are hot, of two the lower.
        let found = shares(6, |h| power_law(h, 6, 20));
        assert!(alike(&found, &[64.0, 16.0, 5.0, 5.0, 5.0, 5.0]), "{found:?}");
        let found = shares(3, |h| power_law(h, 3, 20));
        assert!(alike(&found, &[80.0, 10.0, 10.0]), "{found:?}");
        let found = shares(5, |h| hot_and_cold(h, 5, 20));
        assert!(alike(&found, &[80.0, 5.0, 5.0, 5.0, 5.0]), "{found:?}");
        let found = shares(4, |h| hot_and_cold(h, 4, 30));
        assert!(alike(&found, &[35.0, 35.0, 15.0, 15.0]), "{found:?}");
        assert_eq!(shares(1, |h| hot_and_cold(h, 1, 20)), [100.0]);
    }
    #[test]
    fn every_cell_of_a_small_graph_has_the_share_of_its_quadrants() {
        let quadrants = [0.55, 0.10, 0.10, 0.25];
        let cell = |scale: u32, h| {
            let (from, to) = scale_free_edge(h, scale);
            from << scale | to
        };
        assert!(alike(&shares(4, |h| cell(1, h)), &quadrants.map(|q| q * 100.0)));
        // The upper bits of both numbers are the first quadrant, the lower bits the second.
        let product = |c: usize| {
            let (from, to) = (c >> 2, c & 3);
            quadrants[(from & 2) | (to >> 1)] * quadrants[(from & 1) << 1 | (to & 1)] * 100.0
        };
        let expected: Vec<f64> = (0..16).map(product).collect();
        assert!(alike(&shares(16, |h| cell(2, h)), &expected));
    }
}
