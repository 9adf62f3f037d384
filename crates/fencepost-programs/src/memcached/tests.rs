//! Requests, sizes of values, and what the shards hold before the run.

use super::*;
use fencepost_kernel::params::Raw;
use std::collections::BTreeSet;

fn cache(threads: u32, params: &[(&str, i64)]) -> Memcached {
    let settings = Settings {
        threads,
        params: params.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect(),
        ..Settings::default()
    };
    Memcached::build(&settings).expect("sizes that fit")
}
/// SETs, and GETs that move what they find, have their shares; every key is drawn, and every value is another.
#[test]
fn requests_have_the_shares_that_are_declared() {
    let w = cache(
        2,
        &[("keys", 40), ("preload", 10), ("set_percent", 20), ("bump_percent", 30)],
    );
    let (mut sets, mut moves, mut keys, mut values) = (0, 0, BTreeSet::new(), BTreeSet::new());
    for (thread, k) in (0..2).flat_map(|t| (0..10_000).map(move |k| (t, k))) {
        match w.input(thread, k) {
            Request::Set { key, value, words } => {
                assert!(value != 0 && values.insert(value) && words == w.words(key));
                sets += 1;
            }
            Request::Get { moves: true, .. } => moves += 1,
            Request::Get { .. } => {}
        }
        keys.insert(w.input(thread, k).key());
    }
    assert!(
        (3800..4200).contains(&sets) && (4550..5050).contains(&moves),
        "{sets} and {moves} of 20000"
    );
    assert!(keys.into_iter().eq(1..=40));
}
/// A key's value has one length, any from the smallest to the largest.
#[test]
fn values_have_any_length_of_those_declared() {
    let w = cache(1, &[]);
    let mut lengths = [0u32; 65];
    (1..=57_000).for_each(|key| lengths[w.words(key) as usize] += 1);
    assert!(lengths[..8].iter().all(|n| *n == 0));
    assert!(lengths[8..].iter().all(|n| (850..1150).contains(n)), "{lengths:?}");
}
/// Each shard holds its part of the items, the first keys that fall to it, and no more than that.
#[test]
fn shards_are_filled_up_to_their_capacity() {
    for (entries, preload, shards, capacity) in [(64, 100, 4, 16), (64, 5, 4, 16), (3, 100, 4, 1), (66, 100, 3, 16)] {
        let w = cache(1, &[("entries", entries), ("preload", preload), ("shards", shards)]);
        assert_eq!((w.places.capacity, w.places.lists.count()), (capacity, 4));
        let planted = w.planted();
        for (number, shard) in (0..).zip(&planted) {
            let own = (1..=preload as u64).filter(|k| w.places.shard(*k) == number);
            let keys: Vec<u64> = own.take(capacity as usize).collect();
            assert!(shard.items.keys().copied().eq(keys.iter().copied()));
            assert!(shard.order.values().copied().eq(keys.iter().copied()) && shard.changes == keys.len() as u64);
        }
        let lengths: Vec<u64> = w.resident().iter().map(|s| s.len).collect();
        assert_eq!(lengths, [4 * 64, 8192 * 8, preload as u64 * 576]);
    }
}
