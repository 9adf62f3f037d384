//! Transactions rolled back at random positions: 10,000 random programs, every crash state, and the contract.

mod loc_common;
use fencepost_kernel::params::Raw;
use fencepost_kernel::rng::hash;
use loc_common::*;

/// One random program: threads, a machine, a design, how often the hardware aborts at a commit, how often a thread does
/// (anywhere in its transaction).
fn abort_somewhere(seed: u64) -> usize {
    let pick = |i: u64, of: &[u64]| of[(hash(&[seed, i]) % of.len() as u64) as usize];
    let word = HARDWARE[(seed % 5) as usize];
    let shape = Shape {
        seed,
        threads: pick(1, &[1, 2, 3]) as u8,
        ops: 7,
        lines: pick(2, &[2, 5, 12]),
        stores: pick(3, &[1, 3, 8]),
        flush: pick(4, &[0, 3]),
        abort: pick(5, &[0, 2, 4]),
        reads: pick(6, &[0, 5]),
    };
    let mut set = vec![
        ("abort_every", Raw::Int(pick(7, &[1, 2, 3, 6]) as i64)),
        ("abort_seed", Raw::Int(seed as i64)),
    ];
    if word.starts_with("loc") {
        set.push(("speculation_degree", Raw::Int(pick(8, &[1, 3, 16]) as i64)));
    }
    let spec = [roomy, cramped, ones][pick(9, &[0, 1, 2]) as usize](3);
    let report = run(&spec, design(word, &set, 3), random_threads(shape));
    let contract = if word == "kiln" { "kiln" } else { "loc" };
    let checked = check_run(&report, word, &set).and_then(|_| conforms(&report, contract));
    checked.unwrap_or_else(|e| panic!("seed {seed}: {word} {set:?}, {shape:?}: {e}"));
    history(&report, false).aborted
}

/// A quarter of the seeds each, so that they run side by side.
fn share(of: u64) {
    let aborted: usize = (0..10_000).filter(|seed| seed / 5 % 4 == of).map(abort_somewhere).sum();
    assert!(aborted > 2_500, "only {aborted} aborts");
}
#[test]
fn aborts_at_random_positions_first_share() {
    share(0);
}
#[test]
fn aborts_at_random_positions_second_share() {
    share(1);
}
#[test]
fn aborts_at_random_positions_third_share() {
    share(2);
}
#[test]
fn aborts_at_random_positions_fourth_share() {
    share(3);
}
