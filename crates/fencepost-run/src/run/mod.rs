//! One run: program, design and machine put together, simulated, and checked if asked for.

mod replicated;

use crate::check::check;
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::kept::Identity;
use crate::outcome::result;
pub use crate::outcome::{FENCE_DISTANCE, machine_counters};
use crate::progress::Progress;

use crate::request::Request;
use crate::result::RunResult;
use crate::simulate::{build_design, program_of, simulate_until};
use fencepost_kernel::PersistLog;
use fencepost_machine::seam::Design;
use std::time::Instant;

/// Resolves and runs a request.
pub fn run(request: &Request) -> Result<RunResult, LabError> {
    let (resolved, design) = Resolved::built(request)?;
    run_built(&resolved, design, None, &())
}

/// Runs a resolved request. Deterministic but for the host's cost.
pub fn run_resolved(resolved: &Resolved) -> Result<RunResult, LabError> {
    run_built(resolved, build_design(resolved)?, None, &())
}

/// Runs a resolved request with the mechanism that was built for it, examines as many crash points as can be until a moment, and
/// says how far it has come.
pub fn run_built(
    resolved: &Resolved,
    design: Box<dyn Design>,
    until: Option<Instant>,
    progress: &dyn Progress,
) -> Result<RunResult, LabError> {
    Ok(run_logged(resolved, design, until, progress)?.0)
}

/// The same, with the persist log; that of a run without a check is empty.
pub fn run_logged(
    resolved: &Resolved,
    design: Box<dyn Design>,
    until: Option<Instant>,
    progress: &dyn Progress,
) -> Result<(RunResult, PersistLog), LabError> {
    let request = &resolved.request;
    if request.cycles.is_some() && (request.check || resolved.is_replication()) {
        let e = BadInput::new(
            "a run of a number of cycles ends in the middle of operations: it cannot be checked or replicated",
        );
        return Err(e.hint("leave out the cycles").into());
    }
    if resolved.is_replication() {
        return replicated::run(resolved, design);
    }
    let program = program_of(resolved)?;
    let Some(simulated) = simulate_until(resolved, design, &*program, request.check, until)? else {
        let e = BadInput::new("the simulated run alone takes longer than the budget");
        return Err(e
            .hint("give more time, or fewer operations: --ops N, --warmup N")
            .into());
    };
    let checked = match request.check {
        true => Some(check(resolved, &*program, &simulated.report, until, progress)?),
        false => None,
    };
    Ok((result(resolved, &simulated, checked), simulated.report.log))
}

/// Resolves a request, and says what identifies its run.
pub fn identified(request: &Request) -> Result<(Identity, Resolved), LabError> {
    let resolved = Resolved::resolve(request)?;
    Ok((Identity::of(&resolved), resolved))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(ops: u32, cycles: Option<u64>) -> Request {
        Request {
            program: "hash".into(),
            machine: "fgc".into(),
            threads: Some(2),
            ops,
            warmup: 5,
            cycles,
            sets: vec!["program.hash.buckets=7".into(), "program.hash.preload=8".into()],
            ..Request::default()
        }
    }

    #[test]
    fn a_number_of_cycles_is_measured_whatever_is_left_to_do() {
        let (half, whole) = (run(&asked(900, Some(15_000))), run(&asked(900, Some(30_000))));
        let (half, whole) = (half.unwrap(), whole.unwrap());
        // 2.7 GHz: 370 ps.
        assert_eq!([half.time_ps, whole.time_ps], [15_000 * 370, 30_000 * 370]);
        assert!(half.instructions < whole.instructions && whole.ops < 1800);
        let ipc = whole.instructions as f64 / (2.0 * 30_000.0);
        assert!((whole.ipc - ipc).abs() < 1e-9);
    }
    #[test]
    fn too_little_work_and_checks_of_a_part_are_refused() {
        let e = run(&asked(3, Some(15_000_000))).unwrap_err().to_string();
        assert!(e.contains("no operations left"), "{e}");
        let checked = Request {
            check: true,
            ..asked(3, Some(1))
        };
        assert!(run(&checked).is_err());
    }

    /// Swaps of entries that fit the caches many times over, on a machine of few threads.
    fn swaps(warmup: u32, check: bool) -> RunResult {
        let request = Request {
            program: "sps".into(),
            design: "volatile".into(),
            threads: Some(4),
            ops: 50,
            warmup,
            sets: vec!["program.entries=400".into()],
            check,
            ..Request::default()
        };
        run(&request).expect("a valid request")
    }
    #[test]
    fn resident_data_is_in_the_caches_when_measuring_begins() {
        assert_eq!(swaps(5, false).pm_reads, 0);
        // 400 entries of a line each, of which 200 swaps in a cold run touch more than half.
        assert!(swaps(0, false).pm_reads > 200);
    }
    #[test]
    fn every_thread_is_measured_over_the_operations_asked_for() {
        for warmup in [1, 7] {
            assert_eq!(swaps(warmup, false).ops, 4 * 50);
        }
    }
    #[test]
    fn checking_changes_nothing_that_is_simulated() {
        for design in ["volatile", "so", "themis"] {
            let request = |check| Request {
                program: "cq".into(),
                design: design.into(),
                ops: 20,
                check,
                ..Request::default()
            };
            let [plain, checked] = [false, true].map(|c| run(&request(c)).expect("a valid request"));
            assert_eq!(
                (plain.log_digest, plain.time_ps),
                (checked.log_digest, checked.time_ps),
                "{design}"
            );
            assert!(checked.check.is_some());
        }
    }
}
