//! How the user's recovery is started, what it is told, and what its end means.

use crate::recovery::emulator::{Copies, Emulator};
use crate::recovery::image::ImageFile;
use crate::recovery::text::{is_plain, quoted};
use fencepost_run::{BadInput, LabError};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// The user's recovery-and-audit command.
///
/// It runs on one crash image at a time. Exit status 0 says that recovery survives; anything else, a signal, or no end
/// within `timeout`, that it does not. The path of the image replaces `{}` in the command, or follows it; the image is also
/// its standard input and `FENCEPOST_IMAGE`. `FENCEPOST_BEGUN` and `FENCEPOST_ACKED` hold the numbers of operations begun and
/// acknowledged per thread, separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Recover {
    /// The command, as for a shell.
    pub command: String,
    /// Started once, it is asked about many images over its standard input and output.
    pub server: bool,
    /// How what it reads is known.
    pub reads: ReadsBy,
    /// Longest time for one image.
    pub timeout: Duration,
    /// Most address space, in bytes.
    pub memory: Option<u64>,
}

/// How the explorer learns what recovery reads of an image.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadsBy {
    /// Not at all: every image that differs is run.
    Nobody,
    /// The command reports it (in the file `FENCEPOST_READS`; a server in its answers).
    Report,
    /// The emulator observes it.
    Emulator(Emulator),
}
impl ReadsBy {
    /// Its name in output and on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            ReadsBy::Nobody => "unknown",
            ReadsBy::Report => "report",
            ReadsBy::Emulator(_) => "emulator",
        }
    }
}

/// Exit statuses with which a shell says that there is no such command.
const NOT_RUN: [i32; 2] = [126, 127];

impl Recover {
    /// The same without an observer.
    pub(crate) fn unobserved(&self) -> Recover {
        Recover {
            reads: ReadsBy::Nobody,
            ..self.clone()
        }
    }
    /// The command for this image.
    pub(crate) fn command_on(&self, image: &Path) -> String {
        let path = image.to_string_lossy();
        match (self.command.contains("{}"), self.server) {
            (true, _) => self.command.replace("{}", &quoted(&path)),
            (false, true) => self.command.clone(),
            (false, false) => format!("{} {}", self.command, quoted(&path)),
        }
    }
    /// A process that runs the command on `image`, in a process group of its own; under an observer, for one image after another.
    pub(crate) fn start(&self, image: &ImageFile, to: &Copies<'_>) -> Result<Command, LabError> {
        let mut text = self.command_on(image.path());
        let mut command = if let ReadsBy::Emulator(emulator) = &self.reads {
            emulator.start(&text, &image.base().files(image.path()), to)?
        } else if self.memory.is_none() && is_plain(&text) {
            let mut parts = text.split_whitespace();
            let mut command = Command::new(parts.next().unwrap_or_default());
            command.args(parts);
            command
        } else {
            if let Some(bytes) = self.memory {
                text = format!("ulimit -v {}; {text}", bytes / 1024);
            }
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(text);
            command
        };
        use std::os::unix::process::CommandExt;
        command.process_group(0).stdin(Stdio::null());
        Ok(command)
    }
    /// What the end of a process says: `None` if it survives.
    ///
    /// # Errors
    /// The command could not be run at all.
    pub(crate) fn verdict(&self, status: ExitStatus, expired: bool, said: &str) -> Result<Option<String>, LabError> {
        use std::os::unix::process::ExitStatusExt;
        let tail = said
            .trim()
            .lines()
            .last()
            .map(|l| format!(": {}", l.trim()))
            .unwrap_or_default();
        Ok(match (expired, status.code(), status.signal()) {
            (true, ..) => Some(format!("recovery hangs: no end after {:?}", self.timeout)),
            (_, Some(0), _) => None,
            (_, Some(code), _) if NOT_RUN.contains(&code) => return Err(self.not_run(said.trim())),
            (_, Some(code), _) => Some(format!("exit status {code}{tail}")),
            (_, None, signal) => Some(format!("killed by signal {}{tail}", signal.unwrap_or(0))),
        })
    }
    /// The command could not be run.
    pub(crate) fn not_run(&self, why: &str) -> LabError {
        BadInput::new(format!("the recovery command `{}` cannot be run: {why}", self.command)).into()
    }
}
