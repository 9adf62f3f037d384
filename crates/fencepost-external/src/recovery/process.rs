//! One process an image.

use crate::emulated::failure;
use crate::recovery::command::{ReadsBy, Recover};
use crate::recovery::deadline::Deadlines;
use crate::recovery::emulator::{Copies, observed};
use crate::recovery::image::{Base, ImageFile};
use crate::recovery::served::{Copied, Served};
use crate::recovery::text::{list, read_line};
use fencepost_contract::images::Answer;
use fencepost_kernel::{CrashPoint, planted};
use fencepost_run::{BadInput, LabError};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

/// What recovery is told of the operations before a crash: those that had begun, and those that were acknowledged.
fn told(crash: &CrashPoint) -> [String; 2] {
    let none_told = planted!("external.acked-too-few", "recovery is told what was acknowledged");
    let acked = match none_told {
        true => &vec![0; crash.acked.len()],
        false => &crash.acked,
    };
    [list(&crash.begun), list(acked)]
}

/// Runs the command anew for every image.
pub(crate) struct ProcessRunner {
    recover: Recover,
    image: ImageFile,
    deadlines: Arc<Deadlines>,
    output: PathBuf,
    reads: PathBuf,
    /// The emulator, if it runs the command.
    served: Option<Served>,
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
            served: None,
        }
    }
    pub(crate) fn base(&self) -> &Base {
        self.image.base()
    }
    /// Runs it on one image. If the emulator fails, once more: that it failed says nothing of the recovery.
    pub(crate) fn run(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Answer, LabError> {
        if let Ok(answer) = self.attempt(words, crash)? {
            return Ok(answer);
        }
        self.attempt(words, crash)?.map_err(|why| {
            BadInput::new(format!("the emulator itself failed, twice: {why}"))
                .hint("nothing follows of the recovery; leave --reads emulator out for this command")
                .into()
        })
    }
    /// One run, or why the emulator failed.
    fn attempt(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Result<Answer, String>, LabError> {
        self.image.write(words, false)?;
        for file in [Some(&self.output), self.observed().then_some(&self.reads)]
            .into_iter()
            .flatten()
        {
            File::create(file).map_err(|e| LabError::file("write", file, e))?;
        }
        let (status, expired) = match self.recover.reads {
            ReadsBy::Emulator(_) => self.copied(crash)?,
            _ => self.spawned(crash)?,
        };
        let said = match status.success() {
            true => String::new(),
            false => String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned(),
        };
        if let (ReadsBy::Emulator(_), Some(why)) = (&self.recover.reads, failure(&said)) {
            return Ok(Err(why));
        }
        let failed = self.recover.verdict(status, expired, &said)?;
        let known = self.known(failed.is_some())?;
        Ok(Ok(Answer { failed, ..known }))
    }
    fn observed(&self) -> bool {
        self.recover.reads != ReadsBy::Nobody
    }
    /// The command for the image as it is now, but for its standard input.
    fn command(&self, told: &[String; 2]) -> Result<Command, LabError> {
        let open = || File::options().append(true).open(&self.output);
        let (out, again) = (open(), open());
        let failed = |e| LabError::file("write", &self.output, e);
        let mut command = self.recover.start(&self.image, &self.copies())?;
        command.stdout(out.map_err(failed)?).stderr(again.map_err(failed)?);
        command.env("FENCEPOST_IMAGE", self.image.path());
        command.env("FENCEPOST_BEGUN", &told[0]);
        command.env("FENCEPOST_ACKED", &told[1]);
        Ok(command)
    }
    fn copies(&self) -> Copies<'_> {
        Copies {
            reads: &self.reads,
            input: self.input(),
            output: &self.output,
        }
    }
    fn input(&self) -> &Path {
        match self.image.base().is_folder() {
            true => Path::new("/dev/null"),
            false => self.image.path(),
        }
    }
    /// Runs it as a process.
    fn spawned(&self, crash: &CrashPoint) -> Result<(ExitStatus, bool), LabError> {
        let input = File::open(self.input()).map_err(|e| LabError::file("read", self.input(), e))?;
        let mut command = self.command(&told(crash))?;
        command.stdin(input);
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
        Ok((status, expired))
    }
    /// Runs a copy of it under the emulator.
    fn copied(&mut self, crash: &CrashPoint) -> Result<(ExitStatus, bool), LabError> {
        let told = told(crash);
        let mut served = match self.served.take().filter(|s| s.was_told(&told)) {
            Some(served) => served,
            None => Served::start(&mut self.command(&told)?, told, &self.recover)?,
        };
        let Copied { status, expired } = served.run(&self.recover, &self.deadlines)?;
        if served.lives() {
            self.served = Some(served);
        }
        Ok((status, expired))
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

/// A run that says nothing of what it read may have read anything: what the run before it said is gone.
#[test]
fn what_one_run_read_is_not_taken_for_what_the_next_one_did() {
    let scratch = super::scratch::Scratch::new().expect("a folder");
    let mark = scratch.path().join("mark").display().to_string();
    let request = Recover {
        command: format!("test -e {mark} || echo read 0 8 > $FENCEPOST_READS; touch {mark}; true"),
        server: false,
        reads: ReadsBy::Report,
        timeout: std::time::Duration::from_secs(60),
        memory: None,
    };
    let image = ImageFile::new(scratch.path().join("image"), Base::whole([0; 64].into()));
    let deadlines = Arc::new(Deadlines::default());
    let mut runner = ProcessRunner::new(request, image, deadlines);
    let nothing = CrashPoint {
        begun: vec![],
        acked: vec![],
    };
    let mut read = || runner.run(&[], &nothing).expect("it runs").reads;
    assert!(read().is_some_and(|reads| reads.len() == 1));
    assert_eq!(read(), None);
}
