//! What is measured, for every program: checking changes nothing, and all threads do equal work after the warm-up.

use crate::common::sizes;
use fencepost_run::request::Request;
use fencepost_run::result::RunResult;
use fencepost_run::run::run;

const THREADS: u32 = 2;
const OPS: u32 = 4;

fn request(program: &str, design: &str) -> Request {
    Request {
        program: program.into(),
        design: design.into(),
        threads: Some(THREADS),
        ops: OPS,
        warmup: 2,
        budget: Some(1),
        sets: sizes(program),
        ..Request::default()
    }
}
/// What a simulation is, as far as a result tells.
fn simulated(r: &RunResult) -> (&str, u64, u64, u64) {
    (&r.log_digest, r.time_ps, r.instructions, r.ops)
}

#[test]
fn checking_changes_nothing_that_is_simulated_of_any_program() {
    for (about, design) in fencepost_programs::programs()
        .iter()
        .zip(["so", "x86-adr", "delegated"].iter().cycle())
    {
        let [plain, checked] = [false, true].map(|check| {
            run(&Request {
                check,
                ..request(about.name, design)
            })
            .unwrap_or_else(|e| panic!("{} on {design}: {e}", about.name))
        });
        assert_eq!(simulated(&plain), simulated(&checked), "{} on {design}", about.name);
        assert!(plain.check.is_none() && checked.check.is_some());
    }
}
#[test]
fn every_program_is_measured_over_the_operations_asked_for() {
    for about in fencepost_programs::programs() {
        let r = run(&request(about.name, "volatile")).unwrap_or_else(|e| panic!("{}: {e}", about.name));
        assert_eq!(r.ops, u64::from(THREADS * OPS), "{}", about.name);
    }
}
