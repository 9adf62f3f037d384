//! Mechanism against contract.

use super::harness::{Setup, programs};
use fencepost_designs::{Environment, find};

/// The designs whose rooms stand in this test's care; the others have a battery of their own.
const WORDS: [&str; 5] = ["volatile", "so", "so-adr", "delegated", "delegated-merge"];

/// Unmutated designs are never accused, and each relaxed one is seen to reorder.
fn never_accused(word: &str) {
    let info = find(word).expect("registered");
    let mut reordered = 0;
    for seed in 0..10_000u64 {
        let mut s = Setup::new(info.name)
            .durable_on_accept(seed % 3 == 0 || !(info.sound)(Environment::new(false, false)))
            .tso(seed % 4 == 0);
        if seed % 5 == 0 {
            s = s.tiny();
        }
        if seed % 7 == 0 {
            s.spec.core.threads_per_core = 2;
        }
        let threads = usize::from(s.spec.harts());
        let report = s.run(&programs(seed, threads, 24, 1 + seed % 6));
        match s.judge(&report) {
            Ok(r) => reordered += r.reordered,
            Err(refusal) => panic!("{word}, seed {seed}: {refusal}"),
        }
        for hart in &report.harts {
            assert_eq!(
                hart.account.total(),
                hart.finished - hart.started,
                "{word}: stalls sum to time"
            );
        }
    }
    assert!(
        !info.promise.reorders || reordered > 0,
        "{word} was never seen to reorder"
    );
}
#[test]
fn volatile_is_never_accused() {
    never_accused("volatile");
}
#[test]
fn so_is_never_accused() {
    never_accused("so");
}
#[test]
fn so_adr_is_never_accused_on_a_durable_queue() {
    never_accused("so-adr");
}
#[test]
fn delegated_is_never_accused() {
    never_accused("delegated");
}
#[test]
fn delegated_merge_is_never_accused() {
    never_accused("delegated-merge");
}

/// The parameters whose values the papers do not state change speed, never order.
#[test]
fn never_accused_under_other_parameters() {
    let variants: [(&str, &str, &str); 9] = [
        ("so", "pcommit", "drain-empty"),
        ("so", "pcommit", "exclusive"),
        ("delegated", "arbitration", "oldest-first"),
        ("delegated", "ordered_issue", "true"),
        ("delegated", "path_slot", "40ns"),
        ("delegated", "path_slot", "0ns"),
        ("delegated", "entries", "1"),
        ("delegated-merge", "ordered_issue", "true"),
        ("delegated-merge", "fences", "1"),
    ];
    for (word, name, value) in variants {
        for seed in 0..60 {
            let s = Setup::new(word).with(name, value);
            let s = if seed % 5 == 0 { s.tiny() } else { s };
            let report = s.run(&programs(1000 + seed, 3, 40, 1 + seed % 6));
            if let Err(refusal) = s.judge(&report) {
                panic!("{word} with {name} = {value}, seed {seed}: {refusal}");
            }
        }
    }
}

/// CHECKER 4b: each planted fault is convicted by conformance on some random program.
#[test]
fn planted_faults_are_convicted() {
    let faults = [
        ("so", "pcommit-ignores-others"),
        ("so", "sfence-ignores-flushes"),
        ("delegated", "read-clears-youngest"),
        ("delegated", "filter-misses-an-address"),
        ("delegated", "drain-ignores-dependences"),
        ("delegated", "coalesce-with-dependences"),
        ("delegated", "epoch-boundary-skipped"),
        ("delegated-merge", "filter-misses-an-address"),
        ("delegated-merge", "drain-ignores-dependences"),
        ("delegated-merge", "read-clears-youngest"),
        ("delegated-merge", "coalesce-with-dependences"),
        ("delegated-merge", "epoch-boundary-skipped"),
    ];
    for (word, fault) in faults {
        let s = Setup::new(word).with("fault", fault);
        // A slow path keeps entries in the buffers, where dependences matter.
        let s = if word == "so" { s } else { s.with("path_slot", "60ns") };
        let convicted = (0..1500).find(|seed| s.judge(&s.run(&programs(*seed, 3, 60, 1 + seed % 4))).is_err());
        assert!(convicted.is_some(), "{word} with {fault} was never convicted");
    }
}

/// Flush and fence on a memory that is durable only at the device promises what it cannot keep.
#[test]
fn so_adr_on_a_device_durable_memory_is_convicted() {
    let s = Setup::new("so-adr");
    assert!(!(s.info.sound)(s.environment()));
    let convicted = (0..50).any(|seed| s.judge(&s.run(&programs(seed, 3, 40, 4))).is_err());
    assert!(convicted);
}

/// Same configuration and seed: same log, to the byte; another program: another log.
#[test]
fn same_seed_same_log() {
    for info in WORDS.map(|w| find(w).expect("registered")) {
        let s = Setup::new(info.name);
        let digest = |seed| s.run(&programs(seed, 3, 40, 4)).log.digest();
        assert_eq!(digest(1), digest(1), "{}", info.name);
        assert_ne!(digest(1), digest(2), "{}", info.name);
    }
}
