//! The toy design of `docs/extending.md`, compiled from the page: added to a list by its one line it reorders and refuses, and
//! is convicted when broken.

include!(concat!(env!("OUT_DIR"), "/extending.rs"));

use fencepost_battery::random::Case;
use fencepost_battery::{Extent, Part, heading, run};
use fencepost_designs::info::Promise;
use fencepost_designs::{DesignInfo, Honours};
use fencepost_kernel::{Fence, TraceKind};
use fencepost_machine::seam::Cause;
use std::collections::BTreeSet;

/// A registry with the toy in it.
static DESIGNS: [DesignInfo; 1] = [toy::INFO];

#[test]
fn the_toy_passes_the_battery_that_its_line_brings() {
    let extent = Extent {
        programs: 1_000,
        ..Extent::sample()
    };
    let verdicts = run(&DESIGNS, extent, &Part::ALL);
    let table: Vec<String> = verdicts.iter().map(ToString::to_string).collect();
    assert!(
        verdicts.iter().all(|v| v.wrong().next().is_none()),
        "\n{}\n{}",
        heading(),
        table.join("\n")
    );
    let (_, random) = &verdicts[0].parts[1];
    assert!(random.reordered > 0, "it never reordered");
    let (_, faults) = &verdicts[0].parts[5];
    assert!(faults.runs > 0, "no fault was tried");
}

/// A design that honours nothing but these fences: no idiom of its dialect uses them.
const fn honouring(fences: &'static [Fence]) -> DesignInfo {
    DesignInfo {
        promise: Promise {
            reorders: false,
            honours: Honours {
                flushes: &[],
                fences,
                nt_stores: false,
                transactions: false,
            },
            ..fencepost_designs::volatile::INFO.promise
        },
        ..fencepost_designs::volatile::INFO
    }
}
static OWN_BARRIER: [DesignInfo; 1] = [honouring(&[Fence::PersistBarrier, Fence::Dmb])];
static EVERY_FENCE: [DesignInfo; 1] = [honouring(&Fence::ALL)];

/// Random programs are drawn from what a design declares, and the battery says what was left out.
#[test]
fn random_programs_issue_what_a_design_honours_and_nothing_else() {
    let mut issued = BTreeSet::new();
    for seed in 0..60 {
        let report = Case::draw(&OWN_BARRIER[0], seed).run().expect("it does not get stuck");
        let trace = report.trace.expect("a recorded run");
        assert!(!trace.stores.iter().any(|s| s.nt), "a non-temporal store");
        for event in &trace.events {
            match event.kind {
                TraceKind::Fence(kind) => drop(issued.insert(format!("{kind:?}"))),
                TraceKind::Flush { kind, .. } => panic!("a flush {kind:?}"),
                _ => {}
            }
        }
    }
    assert_eq!(Vec::from_iter(issued), ["Dmb", "PersistBarrier"]);
    let extent = Extent {
        programs: 8,
        ..Extent::sample()
    };
    let verdicts = run(&OWN_BARRIER, extent, &[Part::Random]);
    assert_eq!(verdicts[0].wrong().collect::<Vec<_>>(), Vec::<&str>::new());
    let nothing = Extent { programs: 1, ..extent };
    let verdicts = run(&EVERY_FENCE, nothing, &[Part::Random]);
    let wrong: Vec<&str> = verdicts[0].wrong().collect();
    assert!(
        !wrong.is_empty() && wrong.iter().all(|w| w.contains("no random program issued it")),
        "{wrong:?}"
    );
}

/// A design of one's own is short: no more than 60 lines of code, comments and its test apart.
#[test]
fn the_toy_is_short() {
    let (design, _) = toy::INFO.source.split_once("#[cfg(test)]").expect("it has a test");
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = design.lines().filter(code).count();
    assert!((30..=60).contains(&lines), "{lines} lines of code");
}

/// A full buffer makes stores wait.
#[test]
fn the_toy_refuses() {
    let stalled = |seed: &u64| {
        let mut case = Case::draw(&DESIGNS[0], *seed);
        case.smallest();
        let report = case.run().expect("it does not get stuck");
        let full = report
            .hw_threads
            .iter()
            .map(|h| h.account.stalled(Cause::PersistBufferFull).0);
        full.sum::<u64>() > 0
    };
    assert!((0..50).any(|seed| stalled(&seed)));
}
