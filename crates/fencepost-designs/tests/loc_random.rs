//! Random transactional threads on every design, several machines and settings; every crash state checked.

mod loc_common;
use fencepost_kernel::Bytes;
use fencepost_kernel::params::Raw;
use fencepost_kernel::rng::hash;
use fencepost_machine::MachineSpec;
use loc_common::*;

fn shape(seed: u64) -> Shape {
    let pick = |i: u64, of: &[u64]| of[(hash(&[seed, i]) % of.len() as u64) as usize];
    Shape {
        seed,
        threads: pick(1, &[1, 2, 3]) as u8,
        ops: 24,
        lines: pick(2, &[3, 12, 40]),
        stores: pick(3, &[2, 6, 12]),
        flush: pick(4, &[0, 4, 9]),
        abort: pick(5, &[0, 0, 5]),
        reads: pick(6, &[0, 3, 5]),
    }
}
fn contract(word: &str) -> &str {
    if word == "kiln" { "kiln" } else { "loc" }
}
/// Runs and checks; answers the number of crash states.
fn judge(spec: &MachineSpec, word: &str, set: Set<'_>, s: Shape) -> usize {
    let report = run(spec, design(word, set, 3), random_threads(s));
    let checked = check_run(&report, word, set).and_then(|n| conforms(&report, contract(word)).map(|()| n));
    checked.unwrap_or_else(|e| panic!("{word} {set:?}, {s:?}: {e}"))
}

#[test]
fn loc_sem4_no_crash_point_shows_a_partial_transaction() {
    let mut looked = 0;
    for word in HARDWARE {
        for seed in 0..120 {
            for spec in [roomy(3), cramped(3), ones(3)] {
                looked += judge(&spec, word, &[], shape(seed));
            }
        }
    }
    assert!(looked > 200_000, "only {looked} crash states");
}

#[test]
fn every_setting_keeps_its_promise() {
    let int = |v: u64| Raw::Int(v as i64);
    for word in HARDWARE {
        for seed in 1000..1120u64 {
            let pick = |i: u64, of: &[u64]| of[(hash(&[seed, i]) % of.len() as u64) as usize];
            let mut set = vec![
                ("tx_entries", int(pick(10, &[1, 2, 5, 128]))),
                ("abort_seed", int(seed)),
            ];
            set.push(("abort_every", int(pick(11, &[0, 1, 2, 7]))));
            if LOGGED.contains(&word) {
                set.push(("log_buffer", int(pick(12, &[1, 3, 14]))));
                set.push((
                    "in_place",
                    Raw::Text(["strict", "lazy"][pick(13, &[0, 1]) as usize].into()),
                ));
            }
            if word.starts_with("loc") {
                set.push(("speculation_degree", int(pick(14, &[1, 2, 5, 16, 32]))));
            }
            if word == "loc-wal" {
                set.push((
                    "pair_buffer",
                    Raw::Text(["8B", "64B", "32KiB"][pick(15, &[0, 1, 2]) as usize].into()),
                ));
            }
            let mut spec = [roomy(3), cramped(3), ones(3)][pick(16, &[0, 1, 2]) as usize].clone();
            // The head and a few block groups: the log wraps. (Blocks of running transactions that the caches evict hold
            // their groups; the smallest log must hold those of three threads.)
            let evicts = spec.llc.size.0 < 1 << 16;
            spec.log_area = Bytes(512 * pick(17, if evicts { &[150, 300] } else { &[10, 20, 65_536] }));
            judge(&spec, word, &set, shape(seed));
        }
    }
}
