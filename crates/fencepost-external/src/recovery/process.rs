//! One process an image.

use crate::recovery::command::{ReadsBy, Recover};
use crate::recovery::deadline::Deadlines;
use crate::recovery::emulator::observed;
use crate::recovery::image::ImageFile;
use crate::recovery::text::{list, read_line};
use fencepost_contract::images::Answer;
use fencepost_kernel::{CrashPoint, planted};
use fencepost_run::{BadInput, LabError};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the command anew for every image.
pub(crate) struct ProcessRunner {
    recover: Recover,
    image: ImageFile,
    deadlines: Arc<Deadlines>,
    output: PathBuf,
    reads: PathBuf,
}

impl ProcessRunner {
    pub(crate) fn new(recover: Recover, image: ImageFile, deadlines: Arc<Deadlines>) -> ProcessRunner {
        let beside = |what: &str| image.path().with_extension(what);
        ProcessRunner {
            output: beside("out"),
            reads: beside("reads"),
            recover,
            image,
            deadlines,
        }
    }
    pub(crate) fn run(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Answer, LabError> {
        self.image.write(words, false)?;
        let open = |path: &PathBuf| File::create(path).map_err(|e| LabError::file("write", path, e));
        let out = open(&self.output)?;
        let again = out.try_clone().map_err(|e| LabError::file("write", &self.output, e))?;
        let input = match self.image.base().is_folder() {
            true => Path::new("/dev/null"),
            false => self.image.path(),
        };
        let input = File::open(input).map_err(|e| LabError::file("read", input, e))?;
        let mut command = self.recover.start(&self.image, &self.reads)?;
        command.stdin(input).stdout(out).stderr(again);
        command.env("FENCEPOST_IMAGE", self.image.path());
        command.env("FENCEPOST_BEGUN", list(&crash.begun));
        let acked = match planted!("external.acked-too-few", "recovery is told what was acknowledged") {
            true => &vec![0; crash.acked.len()],
            false => &crash.acked,
        };
        command.env("FENCEPOST_ACKED", list(acked));
        if self.recover.reads != ReadsBy::Nobody {
            open(&self.reads)?;
        }
        if self.recover.reads == ReadsBy::Report {
            command.env("FENCEPOST_READS", &self.reads);
        }
        let mut child = command.spawn().map_err(|e| self.recover.not_run(&e.to_string()))?;
        self.deadlines.set(child.id(), self.recover.timeout);
        // Not reaped before it is off the list, or its number could be another's when its time is over.
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        }
        let expired = self.deadlines.done(child.id());
        let status = child.wait().map_err(|e| LabError::Internal(e.to_string()))?;
        let said = match status.success() {
            true => String::new(),
            false => String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned(),
        };
        let failed = self.recover.verdict(status, expired, &said)?;
        let known = self.known(failed.is_some())?;
        Ok(Answer { failed, ..known })
    }
    /// What it read, as far as that is known. A recovery that failed need not have said it.
    fn known(&self, failed: bool) -> Result<Answer, LabError> {
        let text = || std::fs::read_to_string(&self.reads).unwrap_or_default();
        match &self.recover.reads {
            ReadsBy::Nobody => Ok(Answer::default()),
            ReadsBy::Report => {
                // Everything, unless every line is understood.
                let lines: Option<Vec<_>> = text().lines().map(read_line).collect();
                Ok(Answer {
                    reads: lines.filter(|l| !l.is_empty()),
                    ..Answer::default()
                })
            }
            ReadsBy::Emulator(_) => match observed(&text()) {
                None if !failed => {
                    let found = "the emulator's plugin did not leave what recovery read";
                    Err(BadInput::new(found)
                        .hint("leave --reads emulator out for this command")
                        .into())
                }
                known => Ok(known.unwrap_or_default()),
            },
        }
    }
}
