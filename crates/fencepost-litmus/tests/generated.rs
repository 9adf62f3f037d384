//! Tests made from cycles: as the literature has them, and in as many ways as there are.

use fencepost_contract::ContractKind;
use fencepost_litmus::generate::{Cycle, Size, between, crash_suite, name, suite};
use fencepost_litmus::{Arch, Model, Outcome, parse};

const ALL: Size = Size { edges: 6, threads: 3 };

/// The shapes of up to three threads: on x86 with nothing between (A: allowed, F: forbidden), and what a mere dependence on the reading
/// side leaves under arm.cat, the multi-copy-atomic ARMv7, aarch64.cat and ppc.cat, writes fenced.
const SHAPES: [(&str, char); 23] = [
    ("MP", 'F'),
    ("SB", 'A'),
    ("LB", 'F'),
    ("S", 'F'),
    ("R", 'A'),
    ("2+2W", 'F'),
    ("WRC", 'F'),
    ("ISA2", 'F'),
    ("RWC", 'A'),
    ("W+RWC", 'A'),
    ("WWC", 'F'),
    ("WRW+WR", 'A'),
    ("WRW+2W", 'F'),
    ("WRR+2W", 'F'),
    ("Z6.0", 'A'),
    ("Z6.1", 'F'),
    ("Z6.2", 'F'),
    ("Z6.3", 'F'),
    ("Z6.4", 'A'),
    ("Z6.5", 'A'),
    ("3.SB", 'A'),
    ("3.LB", 'F'),
    ("3.2W", 'F'),
];

fn allowed(tests: &[(String, String)], name: &str, model: Model) -> bool {
    let (_, text) = tests
        .iter()
        .find(|t| t.0 == name)
        .unwrap_or_else(|| panic!("{name} was not made"));
    let test = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Outcome::of(&test, model).unwrap().observation() != "Never"
}

#[test]
fn every_shape_is_as_the_literature_has_it() {
    let [x86, arm, aarch64, ppc] = [Arch::X86, Arch::Arm, Arch::AArch64, Arch::Ppc].map(|arch| suite(arch, ALL));
    for (shape, plain) in SHAPES {
        let made = |links: &str| format!("{shape}+{links}");
        assert_eq!(allowed(&x86, &made("pos"), Model::Tso), plain == 'A', "{shape} on x86");
        assert!(!allowed(&x86, &made("mfences"), Model::Tso), "{shape} on x86, fenced");
        // Relaxed machines allow every shape with nothing between, and none with full fences.
        for (tests, fence, models) in [
            (&arm, "dmbs", &[Model::Armv7, Model::Armv7Mca][..]),
            (&aarch64, "dmb.sys", &[Model::Aarch64][..]),
            (&ppc, "syncs", &[Model::Ppc][..]),
        ] {
            for model in models {
                assert!(allowed(tests, &made("pos"), *model), "{shape} under {model}");
                assert!(!allowed(tests, &made(fence), *model), "{shape} fenced under {model}");
            }
        }
    }
    // Dependences alone: what passes on another thread's store tells the models apart.
    let deps = [
        ("MP+dmb+addr", [false; 2]),
        ("WRC+data+addr", [true, false]),
        ("WRC+addrs", [true, false]),
    ];
    for (name, [armv7, mca]) in deps {
        if arm.iter().any(|t| t.0 == name) {
            assert_eq!(allowed(&arm, name, Model::Armv7), armv7, "{name}");
            assert_eq!(allowed(&arm, name, Model::Armv7Mca), mca, "{name}");
        }
    }
    assert!(arm.iter().any(|t| t.0 == "WRC+addrs") && arm.iter().any(|t| t.0 == "MP+dmb+addr"));
}

#[test]
fn every_skeleton_is_made_once() {
    // With two threads and four edges: MP, SB, LB, S, R and 2+2W.
    let two = Cycle::skeletons(4, 2, false);
    assert_eq!(two.len(), 6, "{two:#?}");
    // Up to three threads of at most two accesses: every shape of the literature, and no other.
    let names: Vec<String> = Cycle::skeletons(6, 3, false).iter().map(name).collect();
    let mut shapes: Vec<&str> = names
        .iter()
        .map(|n| n.trim_end_matches("+pos"))
        .map(|n| n.trim_end_matches("+po"))
        .collect();
    let mut known = SHAPES.map(|s| s.0);
    shapes.sort_unstable();
    known.sort_unstable();
    assert_eq!(shapes, known);
}

#[test]
fn every_made_test_reads_and_its_condition_can_hold() {
    let archs = [
        (Arch::X86, Model::Tso),
        (Arch::Arm, Model::Armv7),
        (Arch::AArch64, Model::Aarch64),
        (Arch::Ppc, Model::Ppc),
    ];
    for (arch, model) in archs {
        for (name, text) in suite(arch, ALL) {
            let test = parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let program = fencepost_litmus::Program::new(&test).unwrap();
            // In some coherent candidate at least, allowed or not: otherwise the test asks for nothing.
            let picture = fencepost_litmus::picture::witness(&program, model).unwrap();
            assert!(picture.is_some(), "{name}:\n{text}");
        }
    }
    for (name, text) in crash_suite(6, 2) {
        let test = parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(test.crash.is_some());
    }
}

#[test]
fn the_smallest_tests_between_two_contracts_are_the_known_ones() {
    // x86 lets a fence without a flush go by; RCBSP does not. The other way round a flush without a fence orders nothing under RCBSP.
    let found = between(ContractKind::Px86, ContractKind::Rcbsp, 5);
    assert_eq!(found.len(), 5);
    assert!(
        found[0].1.contains("SFENCE") && !found[0].1.contains("CL"),
        "{}",
        found[0].1
    );
    let found = between(ContractKind::Rcbsp, ContractKind::Px86, 5);
    assert!(found[0].1.contains("CLFLUSH"), "{}", found[0].1);
    assert!(between(ContractKind::Px86, ContractKind::Px86, 1).is_empty());
    assert!(between(ContractKind::StrictTso, ContractKind::None, 1).is_empty());
    // One rule apart: a non-temporal store, then a store.
    let found = between(ContractKind::Px86, ContractKind::Themis, 1);
    assert!(found[0].1.contains("MOVNTI"), "{}", found[0].1);
}
