//! Running recovery again on the crash state that a replay id names.

use crate::check::{Recorded, recorded};
use crate::config::Resolved;
use crate::crash::{Explore, refuse};
use crate::error::{BadInput, LabError};
use crate::replay_key::{ReplayKey, What, contract_from};
use crate::simulate::{build_design, program_of, simulate};
use crate::verdict::{self, Verdict};
use crate::witness::{Searched, Witness, cut_witness, prefix_witness};
use fencepost_contract::explore::{AnyOracle, Budget, ReplayId};
use fencepost_harness::AnyProgram;
use fencepost_machine::RunReport;
use serde::Serialize;

/// What a replayed crash state turned out to be.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// The id.
    pub id: String,
    /// Program word.
    pub program: String,
    /// Whether recovery failed.
    #[serde(serialize_with = "verdict::serialize")]
    pub verdict: Verdict,
    /// The failing state, if it fails.
    pub witness: Option<Witness>,
}

/// Runs recovery again on the crash state that an id names.
pub fn replay(id: &str) -> Result<Replayed, LabError> {
    let id = id.trim();
    let key = ReplayKey::decode(id)?;
    let resolved = Resolved::resolve(&key.request)?;
    let again = Again {
        resolved: &resolved,
        what: &key.what,
        id,
    };
    let witness = again.run(&*program_of(&resolved)?)?;
    Ok(Replayed {
        id: id.into(),
        program: resolved.request.program.clone(),
        verdict: verdict::of_failure(witness.is_some()),
        witness,
    })
}

struct Again<'a> {
    resolved: &'a Resolved,
    what: &'a What,
    id: &'a str,
}
impl<'a> Again<'a> {
    fn recorded(&self, oracle: &'a dyn AnyOracle, report: &'a RunReport) -> Recorded<'a> {
        Recorded {
            resolved: self.resolved,
            oracle,
            report,
        }
    }
    fn run(self, program: &dyn AnyProgram) -> Result<Option<Witness>, LabError> {
        match self.what {
            What::Cut(name) => {
                let explore = Explore {
                    resolved: self.resolved,
                    contract: contract_from(name)?,
                    budget: Budget::Unlimited,
                    schedules: None,
                    doubt: None,
                    recovery_fails: true,
                    simulated: false,
                };
                let (check, run) = explore.check();
                let found = program.replay(&check, run, self.id).map_err(refuse)?;
                Ok(found.witness.as_ref().map(|w| cut_witness(w, Searched::Contract)))
            }
            What::Flight(name) => {
                contract_from(name)?;
                let s = simulate(self.resolved, build_design(self.resolved)?, program, true)?;
                let mut witness =
                    Err(BadInput::new("the replay id names writes in flight, and the run has none").into());
                let oracle = program.oracle(&recorded(&s.report)?.ops, &s.report.initial);
                self.recorded(&*oracle, &s.report).in_flight(|explorer, recovery| {
                    let found = explorer.replay(recovery, self.id);
                    let found = found.map_err(|e| LabError::from(BadInput::new(e.to_string())))?;
                    witness = Ok(found.witness.as_ref().map(|w| cut_witness(w, Searched::InFlight)));
                    Ok(())
                })?;
                witness
            }
            What::Prefix { events, digest } => {
                let s = simulate(self.resolved, build_design(self.resolved)?, program, true)?;
                if s.report.log.digest() as u32 != *digest {
                    let other = "the replay id belongs to another run: the persist log differs (another version?)";
                    return Err(BadInput::new(other).into());
                }
                let second = ReplayId::decode_again(self.id).map_err(|e| BadInput::new(e.to_string()))?;
                let oracle = program.oracle(&recorded(&s.report)?.ops, &s.report.initial);
                let run = self.recorded(&*oracle, &s.report);
                let broken = run.replay_prefix(*events, second.as_ref())?;
                Ok(broken.map(|b| prefix_witness(self.resolved, &b, &s.report)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn damaged_ids_are_bad_input() {
        for id in [
            "",
            "cq",
            "cut?program",
            "cut?program=cq",
            "log?contract=px86",
            "run?program=cq:00",
        ] {
            assert!(replay(id).is_err_and(|e| e.exit_code() == 2), "{id}");
        }
    }
}
