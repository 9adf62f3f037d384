//! The transactional family as users run it: what the paper says of whole programs.

use fencepost_designs::all;
use fencepost_run::request::Request;
use fencepost_run::result::{Check, RunResult};
use fencepost_run::run::run;

/// Every design with hardware transactions.
fn hardware() -> impl Iterator<Item = &'static str> {
    all().iter().filter(|d| d.promise.honours.transactions).map(|d| d.name)
}
/// Programs, with sizes at which operations meet each other and nodes split.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("cq", &["program.cq.preload=4"]),
    ("sps", &["program.sps.entries=24", "program.sps.swaps=2"]),
    (
        "hash",
        &[
            "program.hash.buckets=7",
            "program.hash.keys=24",
            "program.hash.preload=8",
        ],
    ),
    ("rbtree", &["program.rbtree.keys=40", "program.rbtree.preload=20"]),
    (
        "bplustree",
        &[
            "program.bplustree.keys=60",
            "program.bplustree.preload=30",
            "program.bplustree.pairs=8",
        ],
    ),
];
/// Caches of a few lines, so that lines leave before and after they are logged.
const TINY: [&str; 3] = ["l1.size=1KiB", "l2.size=2KiB", "llc.size=4KiB"];

fn request(program: &str, design: &str, sets: &[&str]) -> Request {
    let sizes = PROGRAMS.iter().find(|p| p.0 == program).map_or(&[][..], |p| p.1);
    Request {
        program: program.into(),
        design: design.into(),
        machine: "loc".into(),
        threads: Some(2),
        ops: 16,
        warmup: 0,
        sets: sizes.iter().chain(sets).map(|s| (*s).to_owned()).collect(),
        check: true,
        ..Request::default()
    }
}
fn checked(request: &Request) -> (RunResult, Check) {
    let result = run(request).unwrap_or_else(|e| panic!("{request:?}: {e}"));
    let check = result.check.clone().expect("asked for");
    (result, check)
}
/// A run of which every crash point was tried and nothing is wrong; how many they were.
fn clean(request: &Request) -> u64 {
    let check = checked(request).1;
    assert!(!check.violated(), "{request:?}: {:#?}", check.witnesses);
    assert_eq!(check.points, check.points_total, "{request:?}");
    assert_eq!(check.conforms, Some(true), "{request:?}");
    check.points
}

#[test]
fn nodes_of_four_kibibytes_and_two_hundred_pairs() {
    let sets = [
        "program.bplustree.keys=700",
        "program.bplustree.preload=390",
        "program.bplustree.pairs=200",
    ];
    for design in hardware() {
        clean(&Request {
            ops: 8,
            ..request("bplustree", design, &sets)
        });
    }
}

/// A thread whose commit was rolled back published the node that it had inserted: another deleted it.
#[test]
fn a_rolled_back_insertion_is_not_published() {
    for threads in [4, 8] {
        for seed in 1..9 {
            for design in hardware() {
                let machine = if threads == 4 { "loc" } else { "dpo" };
                clean(&Request {
                    threads: Some(threads),
                    machine: machine.into(),
                    ops: 20,
                    seed,
                    ..request("cq", design, &["program.cq.preload=2", "design.abort_every=4"])
                });
            }
        }
    }
}

#[test]
fn loc_x1_a_window_of_one_is_eager_commit_on_every_program() {
    for (program, _) in PROGRAMS {
        for seed in 1..4 {
            for sets in [&[][..], &TINY] {
                let of = |design: &str, more: &[&str]| {
                    let sets: Vec<&str> = sets.iter().chain(more).copied().collect();
                    let r = Request {
                        seed,
                        ops: 40,
                        check: false,
                        ..request(program, design, &sets)
                    };
                    let r = run(&r).unwrap();
                    (r.log_digest, r.durable_events, r.time_ps)
                };
                let one = of("loc-wal", &["design.loc-wal.speculation_degree=1"]);
                assert_eq!(one, of("ec-wal", &[]), "{program}, seed {seed}");
            }
        }
    }
}

#[test]
fn mistakes_that_hardware_cannot_heal_are_convicted() {
    for (program, _) in PROGRAMS {
        for design in ["loc-wal", "kiln"] {
            let convicted = |variant: &str| {
                (1..6).any(|seed| {
                    let r = Request {
                        seed,
                        ops: 40,
                        variant: Some(variant.into()),
                        ..request(program, design, &[])
                    };
                    checked(&r).1.violations > 0
                })
            };
            for variant in ["semantic-mistake", "non-atomic-update"] {
                assert!(convicted(variant), "{program} {variant} on {design}");
            }
            // The hardware orders everything itself: software that forgets to does no harm.
            assert!(!convicted("missing-flush"), "{program} on {design}");
        }
    }
}
