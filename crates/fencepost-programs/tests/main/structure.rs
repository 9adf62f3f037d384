//! The structures themselves: long runs at full size keep every invariant and end as a plain model of them ends.

use crate::common::*;
use fencepost_kernel::params::Raw;
use fencepost_kernel::{Addr, Dialect, LineAddr, OpRecord, Program, Span};
use fencepost_programs::{About, Scheme, Settings, Variant, Visit, with_program};
use std::collections::VecDeque;

struct Long(Dialect, u32, u32);
impl Visit for Long {
    type Out = Vec<OpRecord>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let Long(dialect, threads, ops) = self;
        let run = record(&p, dialect, threads, ops, 21);
        let model = p.model(&run.ops);
        let end = fencepost_kernel::CrashPoint {
            begun: vec![ops; threads as usize],
            acked: vec![ops; threads as usize],
        };
        judge(&p, &model, &persistent(&run.last), &end).unwrap_or_else(|v| panic!("{v:?}"));
        run.ops
    }
}
/// Sizes of programs whose full size takes longer to build than to run.
fn sizes(program: &str) -> Vec<(String, Raw)> {
    let sizes: &[(&str, i64)] = match program {
        "tatp" => &[("subscribers", 300)],
        "ctree" | "hashmap" => &[("preload", 50)],
        "tpcc" => &[("items", 200), ("customers", 20), ("orders", 20), ("warehouses", 2)],
        _ => &[],
    };
    let mut all: Vec<(String, Raw)> = sizes.iter().map(|(n, v)| ((*n).into(), Raw::Int(*v))).collect();
    if program == "tatp" {
        all.push(("mix".into(), Raw::Text("standard".into())));
    }
    all
}
fn long(program: &str, scheme: Scheme, dialect: Dialect, ops: u32) -> Vec<OpRecord> {
    let s = Settings {
        threads: 4,
        ops,
        seed: 5,
        scheme,
        params: sizes(program),
        ..Settings::default()
    };
    with_program(program, &s, Long(dialect, 4, ops)).unwrap()
}

#[test]
fn long_runs_keep_every_invariant() {
    for (word, ops) in [
        ("cq", 2000),
        ("sps", 1500),
        ("hash", 1500),
        ("rbtree", 2000),
        ("bplustree", 1000),
        ("commitstore", 500),
        ("ll", 1000),
        ("ctree", 1000),
        ("hashmap", 1000),
        ("pc", 1500),
        ("tatp", 1500),
        ("tpcc", 300),
        ("btree", 1000),
        ("ssca2", 500),
        ("sdg", 1500),
        ("sqlite", 60),
        ("redis", 500),
        ("memcached", 500),
        ("vacation", 500),
        ("echo", 100),
        ("nstore-ycsb", 100),
        ("nstore-tpcc", 200),
    ] {
        for (scheme, dialect) in [
            (Scheme::UndoArray, SO),
            (Scheme::UndoList, ADR),
            (Scheme::Redo, DELEGATED),
            (Scheme::RedoBlock, SO),
            (Scheme::LibraryArray, SO),
            (Scheme::LibraryList, ADR),
            (Scheme::UndoArray, HARDWARE),
            (Scheme::Redo, VOLATILE),
        ] {
            long(word, scheme, dialect, ops);
        }
    }
}

/// Several trees, down to some that are empty, and a graph that is analysed while it grows.
#[test]
fn trees_side_by_side_and_analyses_keep_every_invariant() {
    let cases: [(&str, &[(&str, i64)]); 6] = [
        ("rbtree", &[("trees", 7), ("keys", 200), ("preload", 90)]),
        ("rbtree", &[("trees", 16), ("keys", 24), ("preload", 5)]),
        ("btree", &[("trees", 7), ("keys", 400), ("preload", 190), ("pairs", 4)]),
        ("btree", &[("trees", 16), ("keys", 24), ("preload", 5)]),
        (
            "bplustree",
            &[
                ("trees", 7),
                ("keys", 400),
                ("preload", 190),
                ("pairs", 4),
                ("batch", 3),
            ],
        ),
        ("ssca2", &[("vertices", 64), ("degree", 8), ("analyses", 60)]),
    ];
    for (program, params) in cases {
        for (scheme, dialect) in [(Scheme::UndoArray, SO), (Scheme::Redo, DELEGATED)] {
            let s = Settings {
                threads: 4,
                ops: 400,
                seed: 5,
                scheme,
                params: params.iter().map(|(n, v)| ((*n).into(), Raw::Int(*v))).collect(),
                ..Settings::default()
            };
            let ops = with_program(program, &s, Long(dialect, 4, 400)).unwrap();
            if program == "ssca2" {
                let visits = ops.iter().filter(|o| o.outcome.kind == 2).count();
                assert!((860..1060).contains(&visits), "60 of 100 of 1600: {visits}");
            }
        }
    }
}

/// Maps of the object store in which keys come and go, one a transaction or three, down to the last key of an empty map: as many are
/// removed as a map of that size gives, and every invariant holds.
#[test]
fn maps_that_remove_keep_every_invariant() {
    for program in ["ctree", "hashmap"] {
        for (keys, preload, batch) in [(100, 50, 1), (3, 1, 1), (90, 45, 3)] {
            for (scheme, dialect) in [
                (Scheme::UndoArray, SO),
                (Scheme::UndoList, ADR),
                (Scheme::Redo, DELEGATED),
                (Scheme::LibraryArray, ADR),
                (Scheme::UndoArray, HARDWARE),
            ] {
                let sizes = [("keys", keys), ("preload", preload), ("batch", batch)];
                let mut params: Vec<(String, Raw)> = sizes.iter().map(|(n, v)| ((*n).into(), Raw::Int(*v))).collect();
                params.push(("removes".into(), Raw::Bool(true)));
                let s = Settings {
                    threads: 4,
                    ops: 400,
                    seed: 5,
                    scheme,
                    params,
                    ..Settings::default()
                };
                let ops = with_program(program, &s, Long(dialect, 4, 400)).unwrap();
                let removing = ops.iter().filter(|o| o.outcome.words[0] != 0).count();
                // Half of all keys are there; one in eight transactions of three keys finds none of its own.
                let expected = if batch == 1 { 720..880 } else { 1320..1480 };
                assert!(expected.contains(&removing), "{program} {keys}: {removing} of 1600");
            }
        }
    }
}

#[test]
fn all_modes_do_the_same_operations() {
    for (word, ops) in [
        ("cq", 300),
        ("sps", 300),
        ("hash", 300),
        ("rbtree", 300),
        ("bplustree", 100),
        ("ll", 300),
        ("ctree", 300),
        ("hashmap", 300),
        ("pc", 300),
        ("tatp", 300),
        ("tpcc", 100),
        ("btree", 300),
        ("ssca2", 300),
        ("sdg", 300),
        ("sqlite", 30),
        ("redis", 300),
        ("memcached", 300),
        ("vacation", 300),
        ("echo", 100),
        ("nstore-ycsb", 100),
        ("nstore-tpcc", 100),
    ] {
        let reference = long(word, Scheme::UndoArray, VOLATILE, ops);
        for scheme in [Scheme::UndoArray, Scheme::UndoList, Scheme::Redo, Scheme::RedoBlock] {
            assert_eq!(long(word, scheme, ADR, ops), reference, "{word} {}", scheme.name());
        }
        assert_eq!(
            long(word, Scheme::UndoArray, HARDWARE, ops),
            reference,
            "{word} under hardware transactions"
        );
    }
}

/// The queue against a plain one: the recorder runs whole operations one after the other, so each delete returns the front.
#[test]
fn the_queue_is_first_in_first_out() {
    let ops = long("cq", Scheme::Raw, ADR, 1000);
    let mut queue: VecDeque<u64> = (1..=500).collect();
    let (mut deleted, mut empty) = (0, 0);
    for o in &ops {
        match o.outcome.kind {
            1 => queue.push_back(o.outcome.words[0]),
            2 => {
                assert_eq!(queue.pop_front(), Some(o.outcome.words[0]));
                deleted += 1;
            }
            _ => {
                assert!(queue.is_empty());
                empty += 1;
            }
        }
    }
    assert!(
        deleted > 1500 && deleted + empty < 2500,
        "{deleted} deletes, {empty} found nothing"
    );
}

#[test]
fn same_seed_same_run_other_seed_other_run() {
    let run = |seed| {
        let s = Settings {
            threads: 2,
            ops: 50,
            seed,
            ..Settings::default()
        };
        with_program("sps", &s, Long(ADR, 2, 50)).unwrap()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// Persistent lines that were there before the run, that operations read, and that no resident span covers: cold when measuring begins.
struct Undeclared;
impl Visit for Undeclared {
    type Out = Vec<LineAddr>;
    fn visit<P: Program>(self, p: P) -> Self::Out {
        let run = record(&p, VOLATILE, THREADS, OPS, 3);
        let resident = p.resident();
        let covered = |l: &LineAddr| {
            let lines = |s: &Span| s.at.line().0..=Addr(s.at.0 + s.len.max(1) - 1).line().0;
            resident.iter().any(|s| lines(s).contains(&l.0))
        };
        // Images keep whole pages: a line that holds something was stored to.
        let holds = |l: &LineAddr| (0..8).any(|w| run.initial.word(Addr(l.0 * 64 + w * 8)) != 0);
        let there = run.initial.pm_lines().filter(holds);
        there.filter(|l| run.loaded.contains(l) && !covered(l)).collect()
    }
}
#[test]
fn what_operations_read_of_the_initial_data_is_declared_resident() {
    let undeclared = |about: &About| {
        let s = settings(about.name, about.schemes[0], Variant::Correct, 3);
        !with_program(about.name, &s, Undeclared).unwrap().is_empty()
    };
    let programs = fencepost_programs::programs();
    let with_cold_lines: Vec<_> = programs.iter().filter(|p| undeclared(p)).map(|p| p.name).collect();
    assert!(with_cold_lines.is_empty(), "{with_cold_lines:?}");
}

/// A node of five pairs may be split after every other insertion, and each split by another above it: 4,000 more keys are 4,000 more nodes.
#[test]
fn a_pool_has_a_node_for_every_split() {
    let bytes = |ops| {
        let params = [("pairs", 5), ("batch", 4)].map(|(name, n)| (name.to_owned(), Raw::Int(n)));
        let settings = Settings {
            ops,
            params: params.to_vec(),
            ..Settings::default()
        };
        let footprint = fencepost_programs::footprint("bplustree", &settings);
        footprint.expect("it can be built").pm.0
    };
    assert!(bytes(2000) - bytes(1000) >= 4000 * 4096);
}
