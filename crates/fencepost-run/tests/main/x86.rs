//! The x86 family with real programs: every logging runtime at every crash point, and the fence-free ideal convicted.

use super::common::sizes;
use fencepost_programs::programs;
use fencepost_run::config::Resolved;
use fencepost_run::crash::{CrashRequest, crash};
use fencepost_run::request::Request;
use fencepost_run::result::DEFAULT_BUDGET;
use fencepost_run::result::{Check, RunResult};
use fencepost_run::run::run_resolved;
use fencepost_run::simulate::warning;
use fencepost_run::verdict::Verdict;
use std::collections::HashMap;

const SOUND: [&str; 3] = ["x86-adr", "themis", "themis-llc"];

/// Crash points that are examined of one run, evenly spread: SQLite writes pages, and has tens of thousands.
fn most_points(program: &str) -> u64 {
    if program == "sqlite" { 2_000 } else { DEFAULT_BUDGET }
}

/// A small checked run; every crash point is examined. Structures are small, so that operations meet.
fn request(program: &str, design: &str, machine: &str, sets: &[&str]) -> Request {
    Request {
        program: program.into(),
        design: design.into(),
        machine: machine.into(),
        threads: Some(3),
        ops: 8,
        warmup: 0,
        check: true,
        budget: Some(most_points(program)),
        sets: sizes(program)
            .into_iter()
            .chain(sets.iter().map(|s| (*s).to_owned()))
            .collect(),
        ..Request::default()
    }
}
fn run(request: &Request) -> RunResult {
    let name = format!(
        "{} {} {} {:?}",
        request.program, request.design, request.machine, request.media
    );
    let resolved = Resolved::resolve(request).unwrap_or_else(|e| panic!("{name}: {e}"));
    run_resolved(&resolved).unwrap_or_else(|e| panic!("{name}: {e}"))
}
fn checked(r: &RunResult) -> &Check {
    r.check.as_ref().expect("checked")
}
/// Conforms, recovers at every crash point, and had some.
fn clean(r: &RunResult) {
    let c = checked(r);
    let name = format!("{} {} {} {}", r.program, r.design, r.machine, r.media);
    assert!(!c.violated(), "{name}: {:?}", c.witnesses);
    let all = c.points_total.min(most_points(&r.program));
    assert_eq!(c.points, all, "{name}: crash points were left out");
    assert!(c.points > 10, "{name}: only {} crash points", c.points);
}

/// Every program on each of its logging runtimes survives a power failure after every durable event, also when the
/// write-combining buffer is slow; how often a thread went from one kind of store to the other without a fence between.
fn every_logging_runtime_recovers_on(design: &str) -> u64 {
    let mut switches = 0;
    for about in programs() {
        for scheme in about.schemes {
            for delay in ["0ns", "500ns"] {
                let set = format!("design.{design}.drain_delay={delay}");
                let r = run(&Request {
                    log: Some(scheme.name().into()),
                    ops: if about.name == "sqlite" { 5 } else { 20 },
                    ..request(about.name, design, "themis", &[&set])
                });
                clean(&r);
                switches += r.counters["design.unfenced_switches"];
                // Programs that order their persists by hand, and SQLite's own journals, store their logs as any data.
                let by_itself = ["raw", "sqlite-journal", "sqlite-wal", "pmfs-journal"].contains(&scheme.name());
                assert!(
                    r.counters["nt_stores"] > 0 || by_itself,
                    "{}: logs take the short path",
                    about.name
                );
            }
        }
    }
    switches
}
#[test]
fn every_logging_runtime_recovers_at_every_crash_point() {
    every_logging_runtime_recovers_on("x86-adr");
}
#[test]
fn every_logging_runtime_recovers_with_the_order_enforced_by_hardware() {
    let switches = every_logging_runtime_recovers_on("themis");
    assert!(
        switches > 50,
        "the rule that Themis adds was hardly ever relied on: {switches} times"
    );
}
#[test]
fn every_logging_runtime_recovers_with_lines_held_at_the_last_cache() {
    let switches = every_logging_runtime_recovers_on("themis-llc");
    assert!(
        switches > 50,
        "the rule that Themis adds was hardly ever relied on: {switches} times"
    );
}

/// The verdict of exploring every crash state that the design's own contract allows.
fn explored(program: &str, design: &str, log: &str) -> Verdict {
    explored_on(program, design, log, ("themis", 2, 3))
}
fn explored_on(program: &str, design: &str, log: &str, (machine, threads, ops): (&str, u32, u32)) -> Verdict {
    let request = Request {
        log: Some(log.into()),
        threads: Some(threads),
        ops,
        ..request(program, design, machine, &[])
    };
    let c = CrashRequest {
        request,
        contract: None,
        budget: Some("20000".into()),
        schedules: Some(1),
        doubt: None,
        recovery_fails: true,
        line_order: None,
        grain: fencepost_run::crash::Grain::Word,
        small: false,
    };
    crash(&c)
        .unwrap_or_else(|e| panic!("{program} {design} {log}: {e}"))
        .verdict
}

/// Without the fences between log and data every program that relies on them is broken by a crash state that x86 allows.
/// Redo logs and hand-ordered programs have no such fence; the iDO regions of `hash` and `ll` and the transaction of `tatp` are one
/// store, atomic without its record.
#[test]
fn ideal_is_convicted_by_contract_on_every_logged_program() {
    let mut wrong = Vec::new();
    // An operation of SQLite stores thousands of words: a search of so many states ends before it finds anything.
    for about in programs().into_iter().filter(|a| a.name != "sqlite") {
        for log in about.schemes.iter().map(|s| s.name()) {
            let relies = matches!(
                log,
                "undo-array" | "undo-list" | "library-array" | "library-list" | "ido"
            ) && !matches!((about.name, log), ("hash" | "ll", "ido") | ("tatp", _));
            let verdict = explored(about.name, "x86-ideal", log);
            if (verdict == Verdict::Violated) != relies {
                wrong.push(format!("{} {log}: {verdict}", about.name));
            }
            for design in SOUND {
                let verdict = explored(about.name, design, log);
                assert_ne!(verdict, Verdict::Violated, "{} {log} on {design}", about.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The same in simulated runs, once the write-combining buffer is slow. Programs whose transactions are one store of the
/// structure have no half-done state that a run could show.
#[test]
fn ideal_is_convicted_in_runs_with_a_slow_write_combining_buffer() {
    for program in ["cq", "rbtree", "sps", "bplustree"] {
        let go = |design: &str| {
            let set = format!("design.{design}.drain_delay=2us");
            run(&Request {
                ops: 60,
                ..request(program, design, "themis", &[&set])
            })
        };
        let ideal = go("x86-ideal");
        let c = checked(&ideal);
        assert!(c.violations > 0, "{program}: the slow buffer shows nothing");
        assert_eq!(
            c.conforms,
            Some(true),
            "{program}: the hardware keeps its contract; the program asks for too little"
        );
        SOUND.into_iter().for_each(|design| clean(&go(design)));
    }
}

/// The flag says what the list says: on every machine a run may fail on a design that is not crash consistent. Which is so, is found
/// by exploring what the contract allows of an undo log in the design's dialect.
#[test]
fn runs_may_fail_where_the_design_breaks_logs() {
    let machines = fencepost_run::config::presets::names(fencepost_run::config::presets::Kind::Machine);
    let (mut bounds, mut found) = (0, HashMap::new());
    for (info, machine) in fencepost_designs::all()
        .iter()
        .flat_map(|d| machines.iter().map(move |m| (d, m)))
    {
        let Ok(resolved) = Resolved::resolve(&request("sps", info.name, machine, &[])) else {
            continue; // serves clients only
        };
        let software = resolved.dialect().logging != fencepost_kernel::Logging::Hardware;
        let explore = || explored_on("sps", info.name, "undo-array", (machine, 1, 2)) == Verdict::Violated;
        let key = (info.name, resolved.environment());
        let broken = resolved.sound() && software && *found.entry(key).or_insert_with(explore);
        let expected = !resolved.sound() || broken;
        bounds += u32::from(broken && resolved.contract() != "none");
        assert_eq!(warning(&resolved).is_some(), expected, "{} on {machine}", info.name);
    }
    assert!(bounds > 0, "no upper bound among the designs");
    let plain = Request {
        program: "cq".into(),
        design: "x86-ideal".into(),
        machine: "themis".into(),
        ops: 20,
        check: true,
        ..Request::default()
    };
    assert!(checked(&run(&plain)).expected_violations);
}
