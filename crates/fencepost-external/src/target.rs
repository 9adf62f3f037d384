//! What crash states of a log are allowed by: a contract, or a design for which the log is translated.

use crate::log::Loaded;
use crate::marks::warnings;
use crate::translate::translate;
use fencepost_contract::Contract;
use fencepost_run::config::Resolved;
use fencepost_run::request::Request;
use fencepost_run::simulate::{contract_of, warning};
use fencepost_run::{BadInput, LabError};

/// What crash states of a log are allowed by.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A contract, for the log as it was recorded.
    Contract(Contract),
    /// The contract of a design, for the log in the instructions of that design.
    Design {
        /// Design, machine, medium and settings; the rest has no effect.
        request: Box<Request>,
        /// Overrides what the contract says about lines and grain; its kind has no effect.
        params: Contract,
    },
}

/// A target for one log.
pub(crate) struct Aimed {
    pub(crate) contract: Contract,
    /// The design, where the log was translated.
    pub(crate) design: Option<String>,
    pub(crate) warnings: Vec<String>,
}

impl Target {
    /// Makes the log what it is on the target.
    ///
    /// # Errors
    /// A configuration that is impossible; a program that the design cannot run.
    pub(crate) fn aim(&self, loaded: &mut Loaded) -> Result<Aimed, LabError> {
        let (request, params) = match self {
            Target::Contract(contract) => {
                return Ok(Aimed {
                    contract: *contract,
                    design: None,
                    warnings: fencepost_run::judge::unused(contract.kind, &loaded.log)
                        .into_iter()
                        .collect(),
                });
            }
            Target::Design { request, params } => (request, params),
        };
        let resolved = Resolved::resolve(&Request {
            threads: Some(loaded.log.trace.threads),
            ..(**request).clone()
        })?;
        let (dialect, design) = (resolved.dialect(), resolved.design.name);
        if resolved.is_replication() {
            return Err(BadInput::new(format!("`{design}` is about replicas, and a log is of one machine")).into());
        }
        let mut told = warnings(&loaded.log, dialect, design)?;
        told.extend(warning(&resolved));
        loaded.log = translate(&loaded.log, dialect, resolved.design.promise.honours);
        let mut contract = Contract::from(contract_of(&resolved));
        (contract.params.line_order, contract.params.grain) = (params.params.line_order, params.params.grain);
        Ok(Aimed {
            contract,
            design: Some(design.to_owned()),
            warnings: told,
        })
    }
}
