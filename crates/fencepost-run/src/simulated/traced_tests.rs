//! Runs driven by traces, of several processes, or that commit only now and then.

use crate::request::Request;
use crate::result::RunResult;
use crate::run::run;

fn request(design: &str, sets: &[&str]) -> Request {
    Request {
        program: "hash".into(),
        design: design.into(),
        machine: "fgc".into(),
        threads: Some(8),
        ops: 40,
        warmup: 5,
        sets: ([
            "program.hash.buckets=7",
            "program.hash.keys=64",
            "program.hash.preload=20",
        ]
        .iter())
        .chain(sets)
        .map(|s| (*s).to_owned())
        .collect(),
        ..Request::default()
    }
}
fn ran(design: &str, sets: &[&str]) -> RunResult {
    run(&request(design, sets)).unwrap_or_else(|e| panic!("{design}: {e}"))
}
const TRACE: &str = "machine.driven_by=trace";

/// Seven buckets, eight threads: programs that run wait for locks; the trace of the same operations has nothing to wait for.
#[test]
fn a_trace_waits_for_no_lock_of_its_program() {
    let (runs, traced) = (ran("global-commit", &[]), ran("global-commit", &[TRACE]));
    let waits = |r: &RunResult| r.stalls.get("lock-wait").copied().unwrap_or(0);
    assert!(waits(&runs) > runs.time_ps, "{:?}", runs.stalls);
    // Threads that have done their warm-up wait for the others.
    assert!(waits(&traced) < waits(&runs) / 4, "{:?}", traced.stalls);
    assert_eq!(traced.ops, runs.ops);
    assert!(
        traced.note.as_ref().is_some_and(|n| n.contains("no verdict")),
        "{:?}",
        traced.note
    );
    assert!(runs.note.is_none_or(|n| !n.contains("no verdict")));
}
/// What a thread loads and stores is a matter of the program, not of the design or its parameters.
#[test]
fn every_design_replays_the_same_accesses() {
    let accesses = |design: &str, more: &[&str]| {
        let sets = [&[TRACE][..], more].concat();
        // What stands in store queues when measuring begins depends on the design.
        let whole = Request {
            warmup: 0,
            ..request(design, &sets)
        };
        let r = run(&whole).unwrap_or_else(|e| panic!("{design}: {e}"));
        ["loads", "stores", "nt_stores"].map(|c| r.counters[c])
    };
    let first = accesses("global-commit", &[]);
    assert!(first[0] > 1000 && first[1] > 1000, "{first:?}");
    for (design, more) in [
        ("per-task-commit", &[][..]),
        ("per-task-commit", &["design.queues=2", "design.path=300ns"][..]),
        ("so-adr", &["pm.controller.durable_at=accept"]),
        ("global-commit", &["design.overlap=joined"]),
    ] {
        assert_eq!(accesses(design, more), first, "{design} {more:?}");
    }
}
#[test]
fn designs_of_hardware_transactions_replay_traces_too() {
    for design in ["loc-wal", "delegated", "themis", "broi"] {
        let r = Request {
            machine: if design == "loc-wal" { "loc" } else { "fgc" }.into(),
            threads: Some(4),
            ..request(design, &[TRACE])
        };
        let r = run(&r).unwrap_or_else(|e| panic!("{design}: {e}"));
        assert_eq!(r.ops, 4 * 40, "{design}");
    }
}
#[test]
fn a_trace_gives_the_same_run_again() {
    let both = [0, 1].map(|_| ran("per-task-commit", &[TRACE, "machine.processes=2"]).log_digest);
    assert_eq!(both[0], both[1]);
}
/// Two processes of four threads write to twice the lines, and as much as two runs of one alone.
#[test]
fn processes_have_memory_of_their_own() {
    let of = |threads, sets: &[&str]| Request {
        threads: Some(threads),
        warmup: 0,
        ..request("global-commit", sets)
    };
    let (one, two) = (of(4, &[TRACE]), of(8, &[TRACE, "machine.processes=2"]));
    let (one, two) = (run(&one).unwrap(), run(&two).unwrap());
    let of = |r: &RunResult, c: &str| r.counters[c];
    assert_eq!(two.ops, 2 * one.ops);
    for counter in ["loads", "stores", "flushes"] {
        assert_eq!(of(&two, counter), 2 * of(&one, counter), "{counter}");
    }
}
#[test]
fn commits_that_are_put_off_are_fewer() {
    let commits = |every: &str| ran("global-commit", &[TRACE, every]).counters["design.commits"];
    let (all, tenth) = (commits("machine.commit_every=1"), commits("machine.commit_every=10"));
    assert!(tenth * 9 < all && all < tenth * 12, "{all} and {tenth}");
}
/// One thread alone has no lock to wait for: what its trace does is the program, whose every crash point recovers.
#[test]
fn the_trace_of_one_thread_is_judged() {
    let judged = |design: &str, program: &str, machine: &str| {
        let r = run(&Request {
            check: true,
            threads: Some(1),
            program: program.into(),
            machine: machine.into(),
            ops: 12,
            sets: vec![TRACE.into()],
            ..request(design, &[])
        });
        let r = r.unwrap_or_else(|e| panic!("{design}, {program}: {e}"));
        let check = r.check.unwrap_or_else(|| panic!("{design}, {program}: no check"));
        assert!(check.points > 12 && !check.violated(), "{design}, {program}: {check:?}");
    };
    judged("per-task-commit", "cq", "fgc");
    judged("so", "hashmap", "dpo");
    judged("themis", "btree", "themis");
    judged("broi", "ctree", "broi");
    judged("loc-wal", "bplustree", "loc");
}
#[test]
fn such_runs_are_not_judged() {
    for sets in [&[TRACE][..], &["machine.commit_every=2"]] {
        let checked = Request {
            check: true,
            ..request("global-commit", sets)
        };
        let e = run(&checked).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("no verdict"), "{e}");
    }
    let refused = |sets: &[&str]| run(&request("global-commit", sets)).unwrap_err().to_string();
    assert!(refused(&["machine.processes=2"]).contains("traces only"));
    assert!(refused(&[TRACE, "machine.processes=3"]).contains("shared out"));
    let random = Request {
        program: "random".into(),
        sets: vec![TRACE.into()],
        ..request("global-commit", &[])
    };
    assert!(run(&random).unwrap_err().to_string().contains("race"));
}
