//! Planted faults of the transactional family: each is convicted, and the same runs without it are clean.

mod loc_common;
use fencepost_kernel::params::Raw;
use loc_common::*;

fn shape(seed: u64) -> Shape {
    Shape {
        seed,
        threads: 2,
        ops: 20,
        lines: 12,
        stores: 6,
        flush: 4,
        abort: 0,
        reads: 0,
    }
}
/// How many of the runs the crash states convict, and how many the contract does.
fn convicted(word: &str, set: Set<'_>) -> (u32, u32) {
    let contract = if word == "kiln" { "kiln" } else { "loc" };
    let mut by = (0, 0);
    for seed in 0..30 {
        for spec in [roomy(3), cramped(3)] {
            let report = run(&spec, design(word, set, 3), random_threads(shape(seed)));
            by.0 += u32::from(check_crashes(&report, word, set).is_err());
            by.1 += u32::from(conforms(&report, contract).is_err());
        }
    }
    by
}
fn fault(name: &str) -> (&'static str, Raw) {
    ("fault", Raw::Text(name.into()))
}
const ABORTS: (&str, Raw) = ("abort_every", Raw::Int(3));

#[test]
fn without_a_fault_nothing_is_accused() {
    for word in HARDWARE {
        assert_eq!(convicted(word, &[]), (0, 0), "{word}");
        assert_eq!(convicted(word, &[ABORTS]), (0, 0), "{word} with aborts");
    }
}
#[test]
fn a_pair_that_counts_before_its_successor_is_committed() {
    let (states, _) = convicted("loc-wal", &[fault("pair-first")]);
    assert!(states > 0);
}
#[test]
fn lines_that_go_home_before_their_transaction_is_committed() {
    for word in ["h-wal", "ec-wal", "loc-wal"] {
        let (states, order) = convicted(word, &[fault("in-place-early")]);
        assert!(
            states > 0 && order > 0,
            "{word}: {states} by crash states, {order} by the contract"
        );
    }
}
#[test]
fn an_abort_that_does_not_rescue_its_predecessors() {
    for word in ["loc-wal", "loc-kiln"] {
        let (states, _) = convicted(word, &[fault("no-rescue"), ABORTS]);
        assert!(states > 0, "{word}");
    }
}
#[test]
fn a_block_group_that_is_not_atomic() {
    for word in ["ec-wal", "loc-wal"] {
        let (states, _) = convicted(word, &[("group_atomic", Raw::Bool(false))]);
        assert!(states > 0, "{word}");
    }
    // A commit record is written when every line of every group is durable: it does not need whole groups.
    assert_eq!(convicted("h-wal", &[("group_atomic", Raw::Bool(false))]), (0, 0));
}
