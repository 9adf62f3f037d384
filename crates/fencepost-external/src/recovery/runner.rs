//! Runs recovery on images, one process each or one for many.

use crate::recovery::command::Recover;
use crate::recovery::deadline::Deadlines;
use crate::recovery::image::{Base, ImageFile};
use crate::recovery::process::ProcessRunner;
use crate::recovery::server::ServerRunner;
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
        base: &Base,
        deadlines: &Arc<Deadlines>,
    ) -> Runner {
        let image = ImageFile::new(folder.join(format!("image-{number}")), base.clone());
        match recover.server {
            true => Runner::Server(ServerRunner::new(recover.clone(), image, Arc::clone(deadlines))),
            false => Runner::Process(ProcessRunner::new(recover.clone(), image, Arc::clone(deadlines))),
        }
    }
    /// Runs it on one image.
    pub(crate) fn run(&mut self, job: &ImageJob) -> Result<Answer, LabError> {
        self.run_state(&job.words, &job.crash)
    }
    /// Runs it on one state.
    pub(crate) fn run_state(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Answer, LabError> {
        let (mut answer, base) = match self {
            Runner::Process(p) => (p.run(words, crash)?, p.base()),
            Runner::Server(s) => (s.run(words, crash)?, s.base()),
        };
        // How long the files are shows before anything in them is read.
        if let Some(reads) = &mut answer.reads {
            reads.splice(0..0, base.length_words());
        }
        Ok(answer)
    }
}
