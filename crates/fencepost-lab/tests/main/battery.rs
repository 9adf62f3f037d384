//! The battery of every registered design: the sample in which each meets every program, machine and medium.

use fencepost_lab::battery::{Extent, Part, heading, run};

#[test]
#[ignore = "over six minutes since the programs tripled: its sample has to shrink; `cargo run --profile quick -p xtask -- battery` runs it"]
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
