//! Synchronous and delegated ordering with real programs: each design's contract holds, and every crash point recovers, on
//! every program and every medium.

mod common;
use common::sizes;
use fencepost_lab::config::Resolved;
use fencepost_lab::config::presets::{Kind, names};
use fencepost_lab::request::Request;
use fencepost_lab::result::RunResult;
use fencepost_lab::run::run_resolved;
use fencepost_programs::programs;

fn checked(program: &str, design: &str, media: &str, set: Option<&str>) -> RunResult {
    let request = Request {
        program: program.into(),
        design: design.into(),
        media: Some(media.into()),
        threads: Some(4),
        ops: 8,
        warmup: 0,
        check: true,
        sets: sizes(program).iter().copied().chain(set).map(str::to_owned).collect(),
        ..Request::default()
    };
    let run = Resolved::resolve(&request).map(|r| run_resolved(&r));
    match run {
        Ok(Ok(result)) => result,
        Ok(Err(e)) => panic!("{program} {design} {media}: {e}"),
        Err(e) => panic!("{program} {design} {media}: {e}"),
    }
}

/// Each with its contract wherever the medium is durable, `so-adr` where the controller answers for accepted writes.
#[test]
fn contracts_hold_on_every_program_and_medium() {
    let accept = Some("pm.controller.durable_at=accept");
    for about in programs() {
        for media in names(Kind::Media) {
            for (design, contract, set) in [
                ("so", "px86-pcommit", Some("pm.controller.durable_at=device")),
                ("so-adr", "px86", accept),
                ("delegated", "rcbsp", None),
                ("delegated-merge", "rcbsp", None),
            ] {
                let r = checked(about.word, design, media, set);
                let name = format!("{} {design} {media}", about.word);
                let c = r.check.expect("asked for");
                assert!(!c.violated(), "{name}: {:?}", c.witnesses);
                assert_eq!(c.contract.as_deref(), Some(contract), "{name}");
                assert_eq!(c.points, c.points_total, "{name}: crash points were left out");
                assert!(c.points > 10, "{name}: only {} crash points", c.points);
            }
        }
    }
}

/// The same check convicts `so-adr` where accepted writes are not durable: its flushes complete too early there.
#[test]
fn flushes_that_complete_before_the_medium_has_the_line_are_convicted() {
    for program in ["cq", "sps", "hash", "rbtree", "bplustree"] {
        let r = checked(program, "so-adr", "pcm", Some("pm.controller.durable_at=device"));
        assert!(r.warning.is_some(), "{program}: no warning");
        assert!(r.check.is_some_and(|c| c.violated()), "{program} went unnoticed");
    }
}
