//! The transactional family as users run it: every program at test scale with a power failure at every durable event, the
//! laws of the paper on whole programs, and every design on every machine.

use fencepost_designs::registry;
use fencepost_lab::config::machine::MachineConfig;
use fencepost_lab::request::Request;
use fencepost_lab::result::{Check, RunResult};
use fencepost_lab::run::run;

const FAMILY: [&str; 6] = ["s-wal", "h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln"];
const HARDWARE: [&str; 5] = ["h-wal", "ec-wal", "loc-wal", "kiln", "loc-kiln"];
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
fn every_durable_event_of_every_program_is_survived() {
    for (program, _) in PROGRAMS {
        for design in FAMILY {
            let mut points = 0;
            for sets in [&[][..], &TINY] {
                for ack_every in [false, true] {
                    points += clean(&Request {
                        ack_every,
                        ..request(program, design, sets)
                    });
                }
            }
            assert!(points > 100, "{program} on {design}: only {points} crash points");
        }
    }
}

#[test]
fn nodes_of_four_kibibytes_and_two_hundred_pairs() {
    let sets = [
        "program.bplustree.keys=700",
        "program.bplustree.preload=390",
        "program.bplustree.pairs=200",
    ];
    for design in HARDWARE {
        clean(&Request {
            ops: 8,
            ..request("bplustree", design, &sets)
        });
    }
}

#[test]
fn programs_that_the_hardware_rolls_back_are_right() {
    for (program, _) in PROGRAMS {
        for design in HARDWARE {
            for seed in 1..4 {
                let aborts = format!("design.{design}.abort_seed={seed}");
                let every = format!("design.{design}.abort_every={}", 1 + seed);
                let r = Request {
                    seed,
                    ..request(program, design, &[&aborts, &every])
                };
                clean(&r);
                let counters = checked(&r).0.counters;
                assert!(counters["design.tx_aborts"] > 0, "{r:?}");
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

#[test]
fn planted_faults_show_in_programs() {
    let convicted = |design: &str, sets: &[&str]| {
        PROGRAMS.iter().any(|p| {
            let r = Request {
                ops: 40,
                threads: None,
                ..request(p.0, design, sets)
            };
            checked(&r).1.violations > 0
        })
    };
    assert!(convicted("loc-wal", &["design.fault=pair-first"]));
    assert!(convicted(
        "loc-wal",
        &["design.fault=no-rescue", "design.abort_every=3"]
    ));
    assert!(convicted("loc-wal", &["design.group_atomic=false"]));
    assert!(convicted("ec-wal", &["design.group_atomic=false"]));
    let early: Vec<&str> = TINY.iter().copied().chain(["design.fault=in-place-early"]).collect();
    assert!(convicted("loc-wal", &early));
}

#[test]
fn every_design_runs_on_every_machine() {
    for machine in ["broi", "dpo", "fgc", "loc", "themis"] {
        let threads = MachineConfig::load(machine, None).unwrap().spec.harts().min(4);
        for design in registry::all() {
            for program in ["sps", "rbtree"] {
                let r = Request {
                    machine: machine.into(),
                    threads: Some(u32::from(threads)),
                    ops: 10,
                    ..request(program, design.name, &[])
                };
                let check = checked(&r).1;
                assert!(check.as_expected(), "{r:?}: {:#?}", check.witnesses);
                assert!(check.conforms == Some(true) || check.expected_violations, "{r:?}");
                if FAMILY.contains(&design.name) {
                    clean(&r);
                }
            }
        }
    }
}
