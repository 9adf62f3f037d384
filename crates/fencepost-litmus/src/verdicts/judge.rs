//! One verdict, by a consistency model or by a crash contract.

use crate::crash::{self, CrashOutcome};
use crate::executions::models::Model;
use crate::executions::outcome::Outcome;
use crate::format::test::Arch;
use crate::paths::program::{Program, ProgramError};
use fencepost_contract::ContractKind;
use std::str::FromStr;

/// A model or a contract.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Judge {
    /// What is visible.
    Model(Model),
    /// What a power failure leaves.
    Contract(ContractKind),
}

/// Neither a model nor a contract has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{0}`")]
pub struct UnknownJudge(pub String);

/// A verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Final states under the model, or under the model that the contract builds on.
    pub visible: Outcome,
    /// Crash states under the contract.
    pub crash: Option<CrashOutcome>,
}

impl Judged {
    /// What the headers of tests speak of: the crash condition under a contract, else the final condition.
    pub fn observation(&self) -> &'static str {
        match &self.crash {
            Some(crash) if !crash.condition.is_empty() => crash.observation(),
            _ => self.visible.observation(),
        }
    }
}

impl Judge {
    /// Every name.
    pub fn names() -> Vec<&'static str> {
        let contracts = ContractKind::ALL.into_iter().map(ContractKind::name);
        Model::ALL.into_iter().map(Model::name).chain(contracts).collect()
    }
    /// The judge of tests of an instruction set unless asked otherwise.
    pub fn of(arch: Arch) -> Judge {
        Judge::Model(Model::of(arch))
    }
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Judge::Model(model) => model.name(),
            Judge::Contract(kind) => kind.name(),
        }
    }
    /// Judges a test.
    ///
    /// # Errors
    /// If the test is too large, or the contract has no meaning for it.
    pub fn judge(self, program: &Program<'_>) -> Result<Judged, ProgramError> {
        Ok(match self {
            Judge::Model(model) => Judged {
                visible: Outcome::of_program(program, model)?,
                crash: None,
            },
            Judge::Contract(kind) => Judged {
                visible: Outcome::of_program(program, crash::base(kind, program.test))?,
                crash: Some(crash::crash(program, kind)?),
            },
        })
    }
}

impl FromStr for Judge {
    type Err = UnknownJudge;
    fn from_str(name: &str) -> Result<Judge, UnknownJudge> {
        if let Ok(model) = name.parse() {
            return Ok(Judge::Model(model));
        }
        name.parse()
            .map(Judge::Contract)
            .map_err(|_| UnknownJudge(name.to_owned()))
    }
}
