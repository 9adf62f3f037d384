//! The concurrent queue as a circular buffer, with slots that are used again.

use fencepost_run::crash::{CrashRequest, Grain, crash};
use fencepost_run::request::Request;
use fencepost_run::run::run;

const SETS: [&str; 3] = ["program.cq.shape=ring", "program.cq.slots=4", "program.cq.preload=3"];

fn request() -> Request {
    Request {
        program: "cq".into(),
        sets: SETS.map(str::to_owned).to_vec(),
        ..Request::default()
    }
}
fn violated(contract: &str, log: &str, variant: &str) -> bool {
    let found = crash(&CrashRequest {
        request: Request {
            threads: Some(1),
            ops: 8,
            log: Some(log.into()),
            variant: Some(variant.into()),
            ..request()
        },
        contract: Some(contract.into()),
        budget: Some("20000".into()),
        schedules: Some(1),
        doubt: None,
        recovery_fails: false,
        line_order: None,
        grain: Grain::Word,
        small: false,
    });
    let found = found.unwrap_or_else(|e| panic!("{contract} {log} {variant}: {e}"));
    assert!(
        found.violated() || found.complete,
        "{contract} {log} {variant} ended early"
    );
    found.violated()
}

#[test]
fn slots_are_used_again_on_designs_of_every_family() {
    for (design, machine) in [
        ("so", "dpo"),
        ("delegated", "dpo"),
        ("delegated-merge", "dpo"),
        ("themis", "themis"),
        ("broi", "broi"),
        ("loc-wal", "loc"),
        ("kiln", "loc"),
        ("per-task-commit", "fgc"),
    ] {
        let done = run(&Request {
            design: design.into(),
            machine: machine.into(),
            threads: Some(3),
            ops: 20,
            warmup: 0,
            check: true,
            budget: Some(60),
            ..request()
        });
        let check = done
            .unwrap_or_else(|e| panic!("{design}: {e}"))
            .check
            .expect("asked for");
        assert!(!check.violated(), "{design}: {:#?}", check.witnesses);
        assert_eq!(check.conforms, Some(true), "{design}");
    }
}

#[test]
fn each_mistake_is_broken_where_its_instruction_carries_the_order() {
    let broken = |contract: &str, log: &str| {
        let variants = [
            "correct",
            "missing-flush",
            "missing-fence",
            "wrong-store-order",
            "non-atomic-update",
            "semantic-mistake",
            "unflushed-link",
        ];
        variants.map(|v| violated(contract, log, v))
    };
    let everything_but_correct = [false, true, true, true, true, true, true];
    assert_eq!(broken("px86", "raw"), everything_but_correct);
    assert_eq!(broken("px86", "undo-array"), everything_but_correct);
    // Without flushes to miss; a fence still carries the order of entry and count.
    assert_eq!(broken("epoch", "raw"), [false, false, true, true, true, true, false]);
    // All that was stored is durable, in order: mistakes of order and logic are left.
    assert_eq!(broken("eadr", "raw"), [false, false, false, true, true, true, false]);
}
