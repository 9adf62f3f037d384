//! A deliberate mistake of recovery, and planted faults of every part, against the commands that users have.

use fencepost_battery::command::{Command, Outcome};
use fencepost_kernel::fault;
use fencepost_run::crash::{CrashOutcome, CrashRequest, Grain, LineOrder, crash};
use fencepost_run::designs;
use fencepost_run::request::Request;

fn redo(program: &str, variant: &str, recovery_fails: bool) -> CrashOutcome {
    let request = Request {
        program: program.into(),
        threads: Some(1),
        ops: 3,
        log: Some("redo".into()),
        variant: Some(variant.into()),
        ..Request::default()
    };
    let asked = CrashRequest {
        request,
        contract: Some("px86".into()),
        budget: Some("2000".into()),
        schedules: Some(1),
        doubt: None,
        recovery_fails,
        line_order: Some(LineOrder::Fifo),
        grain: Grain::Word,
        small: false,
    };
    crash(&asked).expect("a possible exploration")
}

/// A redo log that recovery ends before it has replayed it: one power failure never shows it, a second one does.
#[test]
fn a_recovery_that_cannot_be_repeated_is_convicted() {
    for program in ["sps", "rbtree"] {
        let found = |variant, fails| redo(program, variant, fails).violated();
        assert!(!found("recovery-ends-log-first", false), "{program}");
        assert!(found("recovery-ends-log-first", true), "{program}");
        assert!(!found("correct", true), "{program}");
    }
}

fn run(program: &str, (design, media): (&str, &str), variant: Option<&str>, seed: u64, sets: &[&str]) -> Command {
    let info = designs().iter().find(|d| d.name == design).expect("a design");
    let request = Request {
        program: program.into(),
        design: design.into(),
        media: Some(media.into()),
        threads: Some(4),
        ops: 12,
        warmup: 0,
        seed,
        check: true,
        log: variant.map(|_| "redo".into()),
        variant: variant.map(str::to_owned),
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        ..Request::default()
    };
    Command::Run(info, request)
}

#[test]
fn a_checked_run_lets_power_fail_during_recovery() {
    let said = |variant| run("sps", ("so-adr", "pwq"), Some(variant), 1, &[]).outcome();
    assert_eq!(said("correct"), Outcome::Clean);
    assert_eq!(said("recovery-ends-log-first"), Outcome::Violated(Some(true)));
}

/// Of these programs replay in order hides the mistake, unless part of a transaction is durable before what precedes it: lines that
/// follow one another lie in different banks here.
#[test]
fn a_recovery_that_ends_a_log_first_is_convicted_where_data_becomes_durable_out_of_order() {
    for (program, sets) in [
        ("commitstore", &["pm.media.mapping=row-column-bank"][..]),
        ("ssca2", &["pm.media.mapping=row-column-bank", "program.vertices=2"]),
    ] {
        let said = |variant| run(program, ("so-adr", "pwq"), Some(variant), 1, sets).outcome();
        assert_eq!(said("correct"), Outcome::Clean, "{program}");
        let found = said("recovery-ends-log-first");
        assert_eq!(found, Outcome::Violated(Some(true)), "{program}");
    }
}

/// Each of these once showed in no command, for want of a rule or of a program that brings the situation about.
#[test]
fn what_once_escaped_is_convicted() {
    let caches: &[&str] = &["l1.size=256B", "l1.ways=2", "llc.size=512B", "llc.ways=2"];
    let pointers = &["design.pointer_bits=1", "design.wcb_entries=2"];
    let buffered: &[&str] = &["core.fence_execution=buffered"];
    let reads = &[
        "l1.size=256B",
        "l1.ways=2",
        "llc.size=512B",
        "llc.ways=2",
        "pm.controller.read_queue=1",
        "program.random.lines=24",
    ];
    let logged = &[
        "machine.log_area=1KiB",
        "l1.size=256B",
        "l1.ways=2",
        "llc.size=512B",
        "llc.ways=2",
        "program.random.lines=24",
    ];
    let clients = &["network.clients=3", "network.transactions=4", "program.random.lines=3"];
    for (name, place, sets) in [
        ("core.forwarding-left-out", ("so", "pwq"), caches),
        ("core.forwards-older-store", ("so", "pwq"), caches),
        ("core.release-overtakes", ("delegated", "pwq"), caches),
        ("hierarchy.dirt-lost-on-transfer", ("broi", "pwq"), caches),
        ("loc.slot-reused-early", ("loc-wal", "pwq"), &["machine.log_area=1KiB"]),
        ("themis.store-during-wrap", ("themis", "pwq"), pointers),
        ("delegated.remote-unordered", ("delegated", "pcm"), clients),
        ("core.store-passes-fence", ("delegated", "pwq"), buffered),
        ("memory.free-read-entry-not-told", ("delegated", "pwq"), reads),
        ("hierarchy.read-misses-log", ("loc-wal", "pwq"), logged),
        ("hierarchy.store-hits-shared", ("delegated", "pcm"), caches),
        ("broi.barrier-left-out", ("broi", "pcm"), caches),
        ("broi.barriers-stay", ("broi", "pcm"), caches),
    ] {
        let convicts = |seed| {
            let command = run("random", place, None, seed, sets);
            assert_eq!(command.outcome(), Outcome::Clean, "{name}: {command}");
            let (faulty, reached) = fault::with(name, || command.outcome());
            reached && matches!(faulty, Outcome::Violated(_) | Outcome::Defect(_))
        };
        assert!((1..=12).any(convicts), "{name}");
    }
}

/// Behind a fence that waits in the store queue a thread goes on, but what it acknowledges is known to nobody before the fence has acted.
#[test]
fn fences_in_the_store_queue_accuse_no_design() {
    let sets = [
        "core.fence_execution=buffered",
        "l1.size=256B",
        "l1.ways=2",
        "llc.size=512B",
        "llc.ways=2",
    ];
    for design in ["so", "so-adr", "x86-adr", "delegated", "themis", "global-commit"] {
        for seed in 1..=4 {
            let command = run("random", (design, "pwq"), None, seed, &sets);
            assert_eq!(command.outcome(), Outcome::Clean, "{command}");
        }
    }
}

/// `pcommit` waits for no store, but for a fence that waits in the store queue before it: on media that are durable at the device alone
/// everything hangs on that.
#[test]
fn pcommit_does_not_pass_a_fence_in_the_store_queue() {
    for design in ["so", "s-wal", "global-commit"] {
        for program in ["cq", "sps"] {
            let request = Request {
                program: program.into(),
                design: design.into(),
                ops: 4,
                warmup: 0,
                check: true,
                sets: vec!["core.fence_execution=buffered".into()],
                ..Request::default()
            };
            let info = designs().iter().find(|d| d.name == design).expect("a design");
            let command = Command::Run(info, request);
            assert_eq!(command.outcome(), Outcome::Clean, "{command}");
            let (faulty, reached) = fault::with("core.fence-passes-fence", || command.outcome());
            assert!(reached && matches!(faulty, Outcome::Defect(_)), "{command}: {faulty:?}");
        }
    }
}

/// With four times as many operations there are four times as many crash points; the steps of an audit may grow with their logarithm.
#[test]
fn steps_of_an_exploration_grow_with_the_operations() {
    let steps = |ops| {
        let request = Request {
            program: "commitstore".into(),
            threads: Some(1),
            ops,
            ..Request::default()
        };
        let asked = CrashRequest {
            request,
            contract: Some("px86".into()),
            budget: None,
            schedules: Some(1),
            doubt: None,
            recovery_fails: false,
            line_order: None,
            grain: Grain::Word,
            small: false,
        };
        let found = crash(&asked).expect("a possible exploration");
        assert!(!found.violated() && found.recoveries > u64::from(ops), "{found:?}");
        found.steps
    };
    let (few, many) = (steps(60), steps(240));
    assert!(many < 6 * few, "{few} and {many} steps");
}

/// What no contract tells: each of these changes results, and nothing that becomes durable in an order that a contract forbids, or only by
/// chance. The functional reference names the event.
#[test]
fn the_reference_convicts_what_keeps_the_contract() {
    let slow: &[&str] = &["l1.size=256B", "l1.ways=2", "llc.size=512B", "llc.ways=2"];
    // Where completion keeps order, no write waits for the epoch before.
    let waits: &[&str] = &[slow, &["design.delegated.ordered_issue=false"]].concat();
    let (issued, register) = ("whose data has left", "one register");
    let epochs = "earlier epochs";
    for (name, program, place, sets, says) in [
        ("memory.merged-into-issued", "random", ("so-adr", "pwq"), slow, issued),
        (
            "memory.merged-into-issued",
            "random",
            ("delegated", "pcm"),
            slow,
            issued,
        ),
        ("memory.epoch-passed", "random", ("delegated", "pcm"), waits, epochs),
        ("broi.barrier-index-off-by-one", "random", ("broi", "pcm"), slow, epochs),
        (
            "ranges.bound-twice",
            "commitstore",
            ("per-task-commit", "pcm"),
            &[],
            register,
        ),
        (
            "ranges.bound-twice",
            "random",
            ("per-task-commit", "pcm"),
            &[],
            register,
        ),
    ] {
        let convicts = |seed| {
            let command = run(program, place, None, seed, sets);
            assert_eq!(command.outcome(), Outcome::Clean, "{name}: {command}");
            let (faulty, reached) = fault::with(name, || command.outcome());
            reached
                && matches!(faulty, Outcome::Defect(why) if why.contains("functional reference") && why.contains(says))
        };
        assert!((1..=40).any(convicts), "{name} by {program}");
    }
}
