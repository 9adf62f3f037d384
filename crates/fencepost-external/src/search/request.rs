//! What to search.

use crate::recovery::command::Recover;
use crate::recovery::emulator::Emulator;
use crate::target::Target;
use fencepost_contract::explore::Budget;
use std::path::PathBuf;

/// A search for a crash image that recovery does not survive.
#[derive(Clone, Debug)]
pub struct ExternalRequest {
    /// The recorded log, or a folder of logs.
    pub log: PathBuf,
    /// Which of the executions that it holds, from 0; all of them are searched where nothing else is said.
    pub execution: usize,
    /// Persistent memory before the recorded execution; zero if absent.
    pub image: Option<PathBuf>,
    /// What may become durable in which order.
    pub target: Target,
    /// Recovery and audit.
    pub recover: Recover,
    /// When to stop.
    pub budget: Budget,
    /// Lets power fail again while recovery runs, which this emulator records.
    pub nested: Option<Emulator>,
    /// Images at a time.
    pub jobs: usize,
    /// Folder for verdicts, result and failing image: what is there already is not repeated.
    pub output: Option<PathBuf>,
}
