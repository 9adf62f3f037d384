//! What to search.

use crate::recovery::command::Recover;
use crate::target::Target;
use fencepost_contract::explore::Budget;
use std::path::PathBuf;

/// A search for a crash image that recovery does not survive.
#[derive(Clone, Debug)]
pub struct ExternalRequest {
    /// The recorded log.
    pub log: PathBuf,
    /// Persistent memory before the recorded execution; zero if absent.
    pub image: Option<PathBuf>,
    /// What may become durable in which order.
    pub target: Target,
    /// Recovery and audit.
    pub recover: Recover,
    /// When to stop.
    pub budget: Budget,
    /// Images at a time.
    pub jobs: usize,
    /// Folder for verdicts, result and failing image: what is there already is not repeated.
    pub output: Option<PathBuf>,
}
