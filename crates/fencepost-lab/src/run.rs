//! One run: program, design and machine put together, simulated, and checked if asked for.

use crate::check::check;
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::experiment::kept::Identity;
use crate::experiment::runs::Job;
use crate::outcome::result;
pub use crate::outcome::{FENCE_DISTANCE, machine_counters};
use crate::replicated;
use crate::request::Request;
use crate::result::RunResult;
use crate::simulate::simulate;
use fencepost_kernel::Program;
use fencepost_programs::Visit;

/// Resolves and runs a request.
pub fn run(request: &Request) -> Result<RunResult, LabError> {
    run_resolved(&Resolved::resolve(request)?)
}

/// Runs a resolved request. Deterministic but for the host's cost.
pub fn run_resolved(resolved: &Resolved) -> Result<RunResult, LabError> {
    if resolved.is_replication() {
        return replicated::run(resolved);
    }
    fencepost_programs::with_program(resolved.program_word(), &resolved.program, Simulate { resolved })
        .map_err(|e| LabError::from(BadInput::new(e.to_string())))?
}

/// What identifies the run of an experiment's job. The key also covers what is checked.
pub fn key(job: &Job) -> Result<Identity, LabError> {
    let resolved = Resolved::resolve(&job.request)?;
    let check = match (job.request.check, job.request.budget) {
        (false, _) => String::new(),
        (true, None) => "-checked".into(),
        (true, Some(n)) => format!("-checked-{n}"),
    };
    let (program, design) = (&job.request.program, &job.request.design);
    let digest = resolved.digest();
    Ok(Identity {
        key: format!("{program}-{design}-{}{check}", &digest[..24]),
        digest,
        config: resolved.to_toml(true),
    })
}

struct Simulate<'a> {
    resolved: &'a Resolved,
}
impl Visit for Simulate<'_> {
    type Out = Result<RunResult, LabError>;
    fn visit<P: Program>(self, program: P) -> Self::Out {
        let request = &self.resolved.request;
        let simulated = simulate(self.resolved, &program, request.check)?;
        let checked = match request.check {
            true => Some(check(self.resolved, &program, &simulated.report)?),
            false => None,
        };
        Ok(result(self.resolved, &simulated, checked))
    }
}
