//! What the queue is asked for, and queues of both shapes beside a plain one.

use super::*;
use crate::pool::tests::Words;
use fencepost_kernel::Dialect;
use fencepost_kernel::params::Raw;
use std::collections::{BTreeSet, VecDeque};

fn queue(ops: u32, params: &[(&str, i64)], ring: bool) -> Cq {
    let mut params: Vec<(String, Raw)> = params.iter().map(|(n, v)| ((*n).to_owned(), Raw::Int(*v))).collect();
    if ring {
        params.push(("shape".to_owned(), Raw::Text("ring".to_owned())));
    }
    let settings = Settings {
        threads: 2,
        ops,
        params,
        ..Settings::default()
    };
    Cq::build(&settings).expect("sizes that fit")
}
/// Of a hundred operations as many insert as declared, each a value of its own that tells thread and operation.
#[test]
fn as_many_operations_insert_as_declared() {
    for (percent, range) in [(0, 0..1), (30, 5700..6300), (50, 9700..10_300), (100, 20_000..20_001)] {
        let q = queue(10, &[("insert_percent", percent)], false);
        let mut values = BTreeSet::new();
        for (thread, k) in (0..2).flat_map(|t| (0..10_000).map(move |k| (t, k))) {
            if let Some(value) = q.input(thread, k) {
                assert_eq!(
                    (value >> 32, value & 0xffff_ffff),
                    (u64::from(thread) + 1, u64::from(k) + 1)
                );
                values.insert(value);
            }
        }
        assert!(range.contains(&values.len()), "{percent}: {}", values.len());
    }
}
/// First in, first out, down to an empty queue; a circular buffer takes nothing when it is full, and its slots are used again.
#[test]
fn queues_of_both_shapes_are_first_in_first_out() {
    for ring in [false, true] {
        let q = queue(3000, &[("preload", 5), ("slots", 13)], ring);
        let mut m = Words::default();
        q.setup(&mut m);
        let mut plain: VecDeque<u64> = (1..=5).collect();
        let (mut full, mut empty) = (0, 0);
        for k in 0..3000 {
            // Long stretches in which one or the other prevails.
            let inserts = rng::hash(&[u64::from(k)]) % 10 < if k / 100 % 2 == 0 { 7 } else { 3 };
            let input = inserts.then(|| Cq::value(0, k));
            let done = q
                .op(&mut Pm::new(&mut m, Dialect::PLAIN), 0, k, &input)
                .expect("nothing aborts");
            let expected = match input {
                Some(_) if ring && plain.len() == 16 => {
                    full += 1;
                    Outcome::default()
                }
                Some(value) => {
                    plain.push_back(value);
                    Outcome {
                        kind: INSERTED,
                        words: [value, 0, 0],
                    }
                }
                None => match plain.pop_front() {
                    Some(value) => Outcome {
                        kind: DELETED,
                        words: [value, 0, 0],
                    },
                    None => {
                        empty += 1;
                        Outcome::default()
                    }
                },
            };
            assert_eq!(done, expected, "{k}");
        }
        assert!(empty > 20 && (full > 20 || !ring), "{empty} {full}");
    }
}
/// Head and tail pointer on lines of their own, and the dummy with the nodes, or the slots.
#[test]
fn what_is_read_most_is_what_was_there() {
    for (ring, bytes) in [(false, 8 * 64), (true, 16 * 64)] {
        let q = queue(10, &[("preload", 7), ("slots", 16)], ring);
        let spans = q.resident();
        assert_eq!(spans.iter().map(|s| s.len).collect::<Vec<_>>(), [8, 8, bytes]);
        assert_eq!((spans[0].at, spans[1].at), (q.head, q.tail));
        assert!(q.tail.0 - q.head.0 >= 64);
        assert_eq!(q.rt.pool().blocks(), if ring { 0 } else { 2 * 10 });
    }
    let too_many = Settings {
        params: vec![
            ("shape".into(), Raw::Text("ring".into())),
            ("slots".into(), Raw::Int(9)),
            ("preload".into(), Raw::Int(17)),
        ],
        ..Settings::default()
    };
    assert!(Cq::build(&too_many).is_err(), "nine slots are sixteen");
    assert_eq!(
        queue(1, &[("slots", 9), ("preload", 16)], true).ring.map(|r| r.count()),
        Some(16)
    );
}
