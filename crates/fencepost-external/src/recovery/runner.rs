//! Runs recovery on images, one process each or one for many.

use super::command::Recover;
use super::deadline::Deadlines;
use super::image::ImageFile;
use super::process::ProcessRunner;
use super::server::ServerRunner;
use fencepost_contract::images::{Answer, ImageJob};
use fencepost_kernel::CrashPoint;
use fencepost_run::LabError;
use std::path::Path;
use std::sync::Arc;

/// Runs recovery on images, one after another.
pub(crate) enum Runner {
    /// One process an image.
    Process(ProcessRunner),
    /// One process for many.
    Server(ServerRunner),
}
impl Runner {
    /// A runner with files of its own in `folder`.
    pub(crate) fn new(
        recover: &Recover,
        folder: &Path,
        number: usize,
        base: &Arc<[u8]>,
        deadlines: &Arc<Deadlines>,
    ) -> Runner {
        let image = ImageFile::new(folder.join(format!("image-{number}")), Arc::clone(base));
        match recover.server {
            true => Runner::Server(ServerRunner::new(recover.clone(), image, Arc::clone(deadlines))),
            false => Runner::Process(ProcessRunner::new(recover.clone(), image, Arc::clone(deadlines))),
        }
    }
    /// Runs it on one image.
    pub(crate) fn run(&mut self, job: &ImageJob) -> Result<Answer, LabError> {
        match self {
            Runner::Process(p) => p.run(&job.words, &job.crash),
            Runner::Server(s) => s.run(&job.words, &job.crash),
        }
    }
    /// Runs it on one state.
    pub(crate) fn run_state(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Answer, LabError> {
        match self {
            Runner::Process(p) => p.run(words, crash),
            Runner::Server(s) => s.run(words, crash),
        }
    }
}
