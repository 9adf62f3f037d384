//! What machine code of litmus tests computes, on one thread, where every result is known.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use fencepost_native::litmus::{Arithmetic, Left, Litmus, Source, Step, When};
use fencepost_native::run_litmus;

fn alone(steps: Vec<Step>, registers: Vec<u64>, words: Vec<u64>) -> Left {
    let test = Litmus {
        threads: vec![steps],
        registers: vec![registers],
        places: (0..words.len()).map(|w| (w, w % 8)).collect(),
        words,
    };
    let left = run_litmus(&test, 3).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(left.values().sum::<u64>(), 3);
    assert_eq!(left.len(), 1, "{left:?}");
    left.into_keys().next().unwrap()
}

const A: Source = Source::Register(0);

#[test]
fn arithmetic_and_memory() {
    use Arithmetic::{Add, And, Or, Sub, Xor};
    for (what, result) in [(Add, 19), (Sub, 5), (And, 4), (Or, 15), (Xor, 11)] {
        let b = Source::Value(7);
        let left = alone(vec![Step::Compute { what, to: 1, a: A, b }], vec![12, 0], vec![]);
        assert_eq!(left.registers, [[12, result]], "{what:?}");
    }
    let steps = vec![
        Step::Load { to: 0, word: 1 },
        Step::Store {
            word: 0,
            value: A,
            non_temporal: false,
        },
        Step::Sfence,
        Step::Store {
            word: 2,
            value: Source::Value(u64::MAX),
            non_temporal: true,
        },
        Step::Mfence,
        Step::Flush { word: 2 },
        Step::Lfence,
        Step::Exchange {
            to: 1,
            word: 0,
            value: Source::Value(3),
        },
        Step::FetchAdd {
            to: 2,
            word: 1,
            value: Source::Value(10),
        },
    ];
    let left = alone(steps, vec![0; 3], vec![1, 2, 3]);
    assert_eq!(
        (left.registers, left.words),
        (vec![vec![2, 2, 2]], vec![3, 12, u64::MAX])
    );
    let swap = |new| Step::CompareExchange {
        expected: 0,
        word: 0,
        new: Source::Value(new),
    };
    // Succeeds, then finds what it has written instead of 9.
    let set = Step::Set {
        to: 0,
        value: Source::Value(9),
    };
    let left = alone(vec![swap(6), set, swap(7)], vec![5], vec![5]);
    assert_eq!((left.registers, left.words), (vec![vec![6]], vec![6]));
}

#[test]
fn jumps_compare() {
    let minus = u64::MAX;
    for (when, pairs) in [
        (When::Equal, [(1, 1, true), (1, 2, false), (minus, 1, false)]),
        (When::NotEqual, [(1, 1, false), (1, 2, true), (minus, 1, true)]),
        (When::Less, [(1, 1, false), (1, 2, true), (minus, 1, true)]),
        (When::GreaterEqual, [(1, 1, true), (1, 2, false), (minus, 1, false)]),
        (When::LessEqual, [(1, 1, true), (2, 1, false), (minus, 1, true)]),
        (When::Greater, [(1, 1, false), (2, 1, true), (minus, 1, false)]),
        (When::Below, [(1, 1, false), (1, 2, true), (minus, 1, false)]),
        (When::AboveEqual, [(1, 1, true), (1, 2, false), (minus, 1, true)]),
        (When::BelowEqual, [(1, 1, true), (2, 1, false), (minus, 1, false)]),
        (When::Above, [(1, 1, false), (2, 1, true), (minus, 1, true)]),
        (When::Always, [(1, 1, true), (1, 2, true), (2, 1, true)]),
    ] {
        for (a, b, taken) in pairs {
            let (a, b) = (Source::Value(a), Source::Value(b));
            let set = Step::Set {
                to: 0,
                value: Source::Value(1),
            };
            let left = alone(vec![Step::Jump { when, a, b, target: 2 }, set], vec![0], vec![]);
            assert_eq!(left.registers[0][0] == 0, taken, "{when:?} {a:?} {b:?}");
        }
    }
}

#[test]
fn what_would_run_astray_is_refused() {
    let refused = |steps| {
        let test = Litmus {
            threads: vec![steps],
            registers: vec![vec![0]],
            words: vec![0],
            places: vec![(0, 0)],
        };
        run_litmus(&test, 1).is_err()
    };
    let (a, b, when) = (A, A, When::Always);
    assert!(refused(vec![Step::Load { to: 1, word: 0 }]));
    assert!(refused(vec![Step::Load { to: 0, word: 1 }]));
    assert!(refused(vec![Step::Jump { when, a, b, target: 0 }]));
    assert!(refused(vec![Step::Jump { when, a, b, target: 2 }]));
    assert!(!refused(vec![Step::Jump { when, a, b, target: 1 }]));
}
