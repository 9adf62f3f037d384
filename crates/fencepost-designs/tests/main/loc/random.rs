//! Random transactional threads on every design, several machines and settings; every crash state checked.

use super::common::*;
use fencepost_kernel::Bytes;
use fencepost_kernel::params::Raw;
use fencepost_kernel::rng::hash;
use fencepost_machine::{MachineSpec, RunReport};
use std::collections::BTreeMap;

fn shape(seed: u64) -> Shape {
    let pick = |i: u64, of: &[u64]| of[(hash(&[seed, i]) % of.len() as u64) as usize];
    Shape {
        seed,
        threads: pick(1, &[1, 2, 3]) as u8,
        ops: 24,
        lines: pick(2, &[1, 3, 12, 40, 150]),
        stores: pick(3, &[2, 6, 12, 40]),
        flush: pick(4, &[0, 4, 9]),
        abort: pick(5, &[0, 0, 5]),
        reads: pick(6, &[0, 3, 5]),
    }
}
/// Runs and checks; returns the number of crash states, and the run.
fn judge(spec: &MachineSpec, name: &str, set: Set<'_>, s: Shape) -> (usize, RunReport) {
    let report = run(spec, design(name, set, 3), random_threads(s));
    let checked = check_run(&report, name, set).and_then(|n| conforms(&report, contract(name)).map(|()| n));
    let looked = checked.unwrap_or_else(|e| panic!("{name} {set:?}, {s:?}: {e}"));
    (looked, report)
}

#[test]
fn loc_sem4_no_crash_point_shows_a_partial_transaction() {
    let mut looked = 0;
    for design in hardware() {
        for seed in 0..40 {
            for spec in [roomy(3), cramped(3), ones(3)] {
                looked += judge(&spec, design, &[], shape(seed)).0;
            }
        }
    }
    assert!(looked > 60_000, "only {looked} crash states");
}

/// A machine and settings drawn from a seed; sizes are as small as they can be about half of the time.
fn setting(name: &str, seed: u64) -> (MachineSpec, Vec<(&'static str, Raw)>) {
    let int = |v: u64| Raw::Int(v as i64);
    let pick = |i: u64, of: &[u64]| of[(hash(&[seed, i]) % of.len() as u64) as usize];
    let mut set = vec![
        ("tx_entries", int(pick(10, &[1, 2, 5, 128]))),
        ("abort_seed", int(seed)),
        ("abort_every", int(pick(11, &[0, 1, 2, 7]))),
    ];
    if has(name, "log_buffer") {
        let in_place = ["strict", "lazy"][pick(13, &[0, 1]) as usize];
        set.push(("log_buffer", int(pick(12, &[1, 3, 14]))));
        set.push(("in_place", Raw::Text(in_place.into())));
    }
    if has(name, "speculation_degree") {
        set.push(("speculation_degree", int(pick(14, &[1, 2, 5, 16, 32]))));
    }
    if has(name, "pair_buffer") {
        let pairs = ["8B", "64B", "32KiB"][pick(15, &[0, 1, 2]) as usize];
        set.push(("pair_buffer", Raw::Text(pairs.into())));
    }
    let mut spec = [roomy(3), cramped(3), ones(3)][pick(16, &[0, 1, 2]) as usize].clone();
    // The head and as little as one block group: the log wraps, and grows when running transactions fill it.
    spec.log_area = Bytes(512 * pick(17, &[2, 3, 4, 10, 150, 65_536]));
    (spec, set)
}

/// Seeds of a test: `FENCEPOST_SEEDS=first..end` in the environment, or the test's own.
fn seeds(own: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let parse = |t: String| {
        let (first, end) = t.split_once("..")?;
        Some(first.parse().ok()?..end.parse().ok()?)
    };
    std::env::var("FENCEPOST_SEEDS").ok().and_then(parse).unwrap_or(own)
}

/// What the mechanism must be seen to do in the runs of `every_setting_keeps_its_promise`, by design: a check of what never
/// happens is none.
const SEEN: [(&str, &[&str]); 4] = [
    (
        "h-wal",
        &[
            "evicted_to_log",
            "reads_from_log",
            "log_expansions",
            "tx_aborted_with",
            "table_full",
        ],
    ),
    (
        "ec-wal",
        &["evicted_to_log", "reads_from_buffer", "log_reads", "log_expansions"],
    ),
    (
        "loc-wal",
        &[
            "blocks_merged",
            "version_overflows",
            "blocks_rescued",
            "reads_from_log",
            "reads_from_buffer",
            "log_expansions",
        ],
    ),
    (
        "loc-kiln",
        &[
            "blocks_merged",
            "version_overflows",
            "blocks_rescued",
            "reads_from_log",
            "evicted_to_log",
        ],
    ),
];

#[test]
fn every_setting_keeps_its_promise() {
    let mut failed: Vec<String> = Vec::new();
    let mut seen: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for design in hardware() {
        for seed in seeds(1000..1160) {
            let (spec, set) = setting(design, seed);
            match std::panic::catch_unwind(|| judge(&spec, design, &set, shape(seed)).1) {
                Ok(report) => {
                    let counters = SEEN.iter().filter(|s| s.0 == design).flat_map(|s| s.1);
                    counters.for_each(|c| *seen.entry((design, c)).or_default() += stat(&report, c));
                }
                Err(e) => {
                    let why = e.downcast_ref::<String>().map_or("?", String::as_str);
                    failed.push(why.chars().take(700).collect());
                }
            }
        }
    }
    let first = &failed[..failed.len().min(6)];
    assert!(
        failed.is_empty(),
        "{} failures, the first of them: {first:#?}",
        failed.len()
    );
    let never: Vec<_> = seen.iter().filter(|s| *s.1 == 0).map(|s| s.0).collect();
    assert!(never.is_empty(), "never happened: {never:?}");
}

/// Runs that earlier mechanisms got wrong; what went wrong.
#[test]
fn runs_that_were_once_wrong() {
    let int = |v: u64| Raw::Int(v as i64);
    let shape = |seed, threads, lines, stores, reads| Shape {
        seed,
        threads,
        ops: 24,
        lines,
        stores,
        flush: 0,
        abort: 0,
        reads,
    };
    let aborts = |entries: u64, seed: u64, every: u64| {
        vec![
            ("tx_entries", int(entries)),
            ("abort_seed", int(seed)),
            ("abort_every", int(every)),
        ]
    };
    // A line dirtied by an aborted transaction was on its way home, and its arrival was taken for a later version's.
    judge(&ones(3), "kiln", &aborts(1, 11623, 1), shape(11623, 1, 40, 6, 3));
    // A miss waited for a miss register, and meanwhile the line was taken for the log.
    let mut spec = cramped(3);
    let mut set = aborts(128, 30697, 7);
    set.push(("log_buffer", int(3)));
    set.push(("pair_buffer", Raw::Text("64B".into())));
    for groups in [2, 3, 4, 10, 150, 65_536] {
        spec.log_area = Bytes(512 * groups);
        judge(&spec, "loc-wal", &set, shape(30697, 3, 40, 12, 5));
    }
    // A flush after a transaction that only read did not wait for what it had read.
    let flushes = Shape {
        flush: 4,
        ..shape(1, 2, 12, 6, 5)
    };
    judge(&roomy(3), "ec-wal", &[], flushes);
}

/// A commit record is written when every line of every group is durable: `h-wal` does not need whole groups, as designs that
/// count blocks do.
#[test]
fn a_log_with_commit_records_needs_no_atomic_groups() {
    let set = [("group_atomic", Raw::Bool(false))];
    for seed in 0..30 {
        for spec in [roomy(3), cramped(3)] {
            let s = Shape {
                threads: 2,
                lines: 12,
                stores: 6,
                flush: 4,
                abort: 0,
                reads: 0,
                ..shape(seed)
            };
            judge(&spec, "h-wal", &set, s);
        }
    }
}
