//! What a run reports, changed a little, is no longer what it did.

use crate::config::Resolved;
use crate::functional::{hardware, judge};
use crate::request::Request;
use crate::simulate::{build_design, program_of, simulate};
use fencepost_kernel::Ps;
use fencepost_machine::{MachineSpec, RunReport};
use fencepost_reference::Hardware;

/// A recorded run with a warm-up, its machine, and what the reference knows of that.
fn ran() -> (RunReport, MachineSpec, Hardware) {
    let request = Request {
        program: "hashmap".into(),
        design: "delegated".into(),
        machine: "dpo".into(),
        threads: Some(2),
        ops: 6,
        warmup: 2,
        sets: ["l1.size=1KiB", "llc.size=4KiB", "program.hashmap.preload=20"]
            .map(str::to_owned)
            .to_vec(),
        ..Request::default()
    };
    let resolved = Resolved::resolve(&request).expect("a run");
    let (design, program) = (build_design(&resolved), program_of(&resolved));
    let ran = simulate(
        &resolved,
        design.expect("a design"),
        &*program.expect("a program"),
        true,
    );
    let design = build_design(&resolved).expect("a design");
    let spec = resolved.machine.spec;
    let hardware = hardware(&spec, &*design, false, false);
    (ran.expect("it is sound").report, spec, hardware)
}

#[test]
fn a_report_that_was_changed_is_a_breach() {
    let rule = |change: fn(&mut RunReport, &mut MachineSpec)| {
        let (mut report, mut spec, hardware) = ran();
        change(&mut report, &mut spec);
        judge(&report, &spec, hardware, true).err().map(|b| b.rule)
    };
    assert_eq!(rule(|_, _| {}), None);
    let times = Some("commands keep the times of their medium");
    assert_eq!(rule(|_, m| m.pm.media.t_rcd = Ps::from_ns(500)), times);
    assert_eq!(rule(|_, m| m.dram.media.t_rcd = Ps::from_ns(500)), times);
    let memory = Some("every line is one access to a row, and one transfer");
    assert_eq!(rule(|r, _| r.pm.row_hits += 1), memory);
    assert_eq!(rule(|r, _| r.before.dram.bytes += 64), memory);
    assert_eq!(rule(|r, _| r.dram.busy -= 1), memory);
    let asked = Some("what is asked for is read or forwarded");
    assert_eq!(rule(|r, _| r.counters.memory_reads[1] += 100_000), asked);
    assert_eq!(
        rule(|r, _| r.counters.memory_writes[0] += 1),
        Some("writes are issued or merged")
    );
    let design = Some("what a design counts adds up");
    assert_eq!(rule(|r, _| r.design_counts[0] += 1), design);
    assert_eq!(rule(|r, _| r.before.design[0][0] += 1), design);
    assert_eq!(rule(|r, _| r.log_start += 1), Some("the warm-up is counted apart"));
    let threads = Some("busy time and stalls are the time of a thread");
    assert_eq!(rule(|r, _| r.hw_threads[1].finished += Ps(1)), threads);
    assert_eq!(
        rule(|r, _| r.hw_threads[1].ops = 0),
        Some("operations are counted once")
    );
}
