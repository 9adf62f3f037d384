//! The toy design of `docs/extending.md`, compiled from the page: added to a list by its one line it reorders and refuses, and
//! is convicted when broken.

include!(concat!(env!("OUT_DIR"), "/extending.rs"));

use fencepost_battery::random::Case;
use fencepost_battery::{Extent, Part, heading, run};
use fencepost_designs::DesignInfo;
use fencepost_machine::seam::Cause;

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
            .harts
            .iter()
            .map(|h| h.account.stalled(Cause::PersistBufferFull).0);
        full.sum::<u64>() > 0
    };
    assert!((0..50).any(|seed| stalled(&seed)));
}
