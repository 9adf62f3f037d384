//! Random transactional threads on every design and several machines, every crash state checked.

mod loc_common;
use loc_common::*;

fn shape(seed: u64) -> Shape {
    Shape {
        seed,
        threads: 1 + (seed % 3) as u8,
        ops: 24,
        lines: [3, 12, 40][seed as usize / 3 % 3],
        stores: [2, 6, 12][seed as usize / 9 % 3],
        flush: [0, 4, 9][seed as usize / 2 % 3],
        abort: [0, 5][seed as usize % 2],
    }
}

#[test]
fn loc_sem4_no_crash_point_shows_a_partial_transaction() {
    let mut looked = 0;
    for word in HARDWARE {
        for seed in 0..72 {
            for (name, spec) in [("roomy", roomy(3)), ("cramped", cramped(3)), ("ones", ones(3))] {
                let s = shape(seed);
                let report = run(&spec, design(word, &[], 3), random_threads(s));
                let contract = if word == "kiln" { "kiln" } else { "loc" };
                let checked = check_run(&report, word, &[]).and_then(|n| conforms(&report, contract).map(|()| n));
                looked += checked.unwrap_or_else(|e| panic!("{word} on {name}, {s:?}: {e}"));
            }
        }
    }
    assert!(looked > 100_000, "only {looked} crash states");
}
