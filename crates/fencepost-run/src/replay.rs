//! Running recovery again on the crash state that a replay id names.

use crate::check::{in_flight, recorded, replay_prefix};
use crate::config::Resolved;
use crate::crash::{Explore, refuse};
use crate::crash_witness::{CrashWitness, cut_witness, prefix_witness};
use crate::error::{BadInput, LabError};
use crate::replay_key::{ReplayKey, What, contract_from};
use crate::simulate::{program_of, simulate};
use fencepost_contract::explore::{Budget, ReplayId};
use fencepost_harness::AnyProgram;
use serde::Serialize;

/// What a replayed crash state turned out to be.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// The id.
    pub id: String,
    /// Program word.
    pub program: String,
    /// `violated` or `clean`.
    pub verdict: String,
    /// The failing state, if it fails.
    pub witness: Option<CrashWitness>,
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
    let verdict = if witness.is_some() { "violated" } else { "clean" };
    Ok(Replayed {
        id: id.into(),
        program: resolved.request.program.clone(),
        verdict: verdict.into(),
        witness,
    })
}

struct Again<'a> {
    resolved: &'a Resolved,
    what: &'a What,
    id: &'a str,
}
impl Again<'_> {
    fn run(self, program: &dyn AnyProgram) -> Result<Option<CrashWitness>, LabError> {
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
                Ok(found.witness.as_ref().map(|w| cut_witness(w, "contract cut")))
            }
            What::Flight(name) => {
                contract_from(name)?;
                let s = simulate(self.resolved, program, true)?;
                let mut witness =
                    Err(BadInput::new("the replay id names writes in flight, and the run has none").into());
                let oracle = program.oracle(&recorded(&s.report)?.ops);
                in_flight(self.resolved, &*oracle, &s.report, |explorer, recovery| {
                    let found = explorer.replay(recovery, self.id);
                    let found = found.map_err(|e| LabError::from(BadInput::new(e.to_string())))?;
                    witness = Ok(found.witness.as_ref().map(|w| cut_witness(w, "writes in flight")));
                    Ok(())
                })?;
                witness
            }
            What::Prefix { events, digest } => {
                let s = simulate(self.resolved, program, true)?;
                if s.report.log.digest() as u32 != *digest {
                    let other = "the replay id belongs to another run: the persist log differs (another version?)";
                    return Err(BadInput::new(other).into());
                }
                let second = ReplayId::decode_again(self.id).map_err(|e| BadInput::new(e.to_string()))?;
                let oracle = program.oracle(&recorded(&s.report)?.ops);
                let broken = replay_prefix(self.resolved, &*oracle, &s.report, *events, second.as_ref())?;
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
