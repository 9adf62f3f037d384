//! Requests, merges and clients' stores.

use super::*;
use crate::pool::tests::Words;
use fencepost_kernel::params::Raw;
use std::collections::BTreeSet;

/// A client finds its own newest put of a key, before it is merged, and no other's.
#[test]
fn a_client_finds_what_it_has_put_itself() {
    let settings = Settings {
        threads: 2,
        ..Settings::default()
    };
    let (echo, mut m) = (Echo::build(&settings).unwrap(), Words::default());
    for (i, (key, id)) in (0..).zip([(1, 10), (2, 20), (1, 30), (4, 0)]) {
        echo.stage(&mut m, 1, i, &Request { key, id });
    }
    let found = |m: &mut Words, thread, used, key| echo.own(m, thread, used, key);
    assert_eq!([1, 2, 3, 4].map(|key| found(&mut m, 1, 4, key)), [30, 20, 0, 0]);
    assert_eq!((found(&mut m, 1, 2, 1), found(&mut m, 0, 4, 1)), (10, 0));
}

fn echo(params: &[(&str, i64)]) -> Echo {
    let settings = Settings {
        threads: 3,
        params: params.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect(),
        ..Settings::default()
    };
    Echo::build(&settings).expect("sizes that fit")
}
/// Puts, and updates among them, have their shares; updates are of keys that were there, other puts of the others, gets of any.
#[test]
fn requests_have_the_shares_that_are_declared() {
    let w = echo(&[
        ("keys", 50),
        ("preload", 20),
        ("put_percent", 80),
        ("update_percent", 70),
    ]);
    let (mut updates, mut adds, mut gets) = (0u32, 0u32, 0u32);
    let mut keys = [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
    let mut ids = BTreeSet::new();
    for (thread, k) in (0..3).flat_map(|t| (0..10_000).map(move |k| (t, k))) {
        let Request { key, id } = w.input(thread, k);
        let kind = match id {
            0 => {
                gets += 1;
                2
            }
            _ if key <= 20 => {
                updates += 1;
                0
            }
            _ => {
                adds += 1;
                1
            }
        };
        keys[kind].insert(key);
        assert!(id == 0 || ids.insert(id));
    }
    let near = |n: u32, share: f64| (f64::from(n) / 30_000.0 - share).abs() < 0.01;
    assert!(
        near(updates, 0.56) && near(adds, 0.24) && near(gets, 0.2),
        "{updates} {adds} {gets}"
    );
    assert!(
        keys[0].iter().copied().eq(1..=20) && keys[1].iter().copied().eq(21..=50) && keys[2].iter().copied().eq(1..=50)
    );
    // Where all keys are there every put is an update.
    let full = echo(&[("keys", 20), ("preload", 20)]);
    assert!((0..1000).all(|k| full.input(0, k).key <= 20));
}
/// A client merges with every so many requests, and what it merges are the puts since.
#[test]
fn a_merge_holds_the_puts_since_the_last() {
    let w = echo(&[("batch", 5)]);
    for k in 0..40 {
        assert_eq!(w.merges(k), k % 5 == 4);
        if w.merges(k) {
            let puts: Vec<Request> = (k - 4..=k).map(|k| w.input(1, k)).filter(|r| r.id != 0).collect();
            assert_eq!(w.merged(1, k).collect::<Vec<_>>(), puts);
        }
    }
    assert_eq!(
        w.merged(1, 2).count(),
        (0..=2).filter(|k| w.input(1, *k).id != 0).count()
    );
}
/// Slots of a client lie one behind the other, each as long as key, identity and value, and clients' stores too.
#[test]
fn slots_lie_one_behind_the_other() {
    let w = echo(&[("batch", 5)]);
    let slots: Vec<u64> = (0..3)
        .flat_map(|t| (0..5).map(move |i| (t, i)))
        .map(|(t, i)| w.slot::<()>(t, i).addr.0)
        .collect();
    assert!(slots.windows(2).all(|s| s[1] - s[0] == 8 + 8 + 1024) && slots[0] == w.clients.0);
}
/// All of the master's index, and of the keys and versions that were there.
#[test]
fn what_is_read_most_is_what_was_there() {
    let w = echo(&[("preload", 10), ("buckets", 100)]);
    let lengths: Vec<u64> = w.resident().iter().map(|s| s.len).collect();
    // An entry has 152 bytes of 192, a version 1,040 of 1,088.
    assert_eq!(lengths, [128 * 8, 10 * 192, 10 * 1088]);
}
