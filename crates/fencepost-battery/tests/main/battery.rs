//! The battery of every registered design: the sample in which each meets every program, machine and medium.

use fencepost_battery::{Extent, Part, heading, run};

#[test]
fn every_registered_design_passes_its_battery() {
    let verdicts = run(fencepost_designs::all(), Extent::sample(), &Part::ALL);
    let table: Vec<String> = verdicts.iter().map(ToString::to_string).collect();
    assert!(
        verdicts.iter().all(|v| v.wrong().next().is_none()),
        "\n{}\n{}",
        heading(),
        table.join("\n")
    );
}
