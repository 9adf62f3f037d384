//! A fixed piece of the net: it is clean, it decides what it is for, and it catches what is broken.

use fencepost_battery::net::whole::{THREADS, runs};
use fencepost_battery::net::{Budget, Caught, cast};
use fencepost_kernel::fault;

fn piece(runs: u64, seed: u64, until_wrong: bool) -> Caught {
    cast(Budget {
        time: None,
        runs,
        whole: false,
        design: None,
        seed,
        jobs: 1,
        until_wrong,
    })
}

#[test]
fn a_piece_of_the_net_is_clean_and_takes_most_decisions() {
    let caught = piece(500, 1, false);
    assert!(caught.wrong.is_empty(), "{caught}");
    // Half of those with parameters off their defaults, and hardly one of the others.
    assert!(caught.refused < 110, "{caught}");
    let [sides, taken, ..] = caught.coverage.counts();
    assert!(taken * 4 > sides * 3, "{caught}");
}

/// None of these is in a list of runs that was made for it.
#[test]
fn the_net_catches_what_is_broken() {
    for name in [
        "hierarchy.dirt-lost-on-downgrade",
        "memory.merged-into-issued",
        "core.forwards-older-store",
        "loc.pairs-ignored",
    ] {
        let (caught, reached) = fault::with(name, || piece(150, 2, true));
        assert!(reached || !caught.wrong.is_empty(), "{name} is not reached");
        assert!(!caught.wrong.is_empty(), "{name}: {caught}");
    }
}

/// Every program meets every design that accepts it, with each number of threads.
#[test]
fn programs_in_the_sizes_of_users_meet_every_design() {
    let all: Vec<String> = runs().iter().map(ToString::to_string).collect();
    for threads in THREADS {
        let with = all
            .iter()
            .filter(|r| r.contains(&format!("--threads {threads} ")))
            .count();
        assert!(with > 300, "{with} runs with {threads} threads");
    }
}
