//! Recovery under the emulator that is started once: a copy of it for each image.

use crate::recovery::command::Recover;
use crate::recovery::deadline::{Deadlines, kill};
use fencepost_run::LabError;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

/// An emulator that makes copies of a program.
pub(crate) struct Served {
    emulator: Child,
    control: UnixStream,
    /// What the program was told of its image when it was started.
    told: [String; 2],
}

/// What became of one copy.
pub(crate) struct Copied {
    pub(crate) status: ExitStatus,
    /// Whether it was killed because it took too long.
    pub(crate) expired: bool,
}

impl Served {
    /// Starts the command, which has everything but its standard input.
    pub(crate) fn start(command: &mut Command, told: [String; 2], recover: &Recover) -> Result<Served, LabError> {
        let failed = |e: std::io::Error| LabError::Internal(format!("a socket for the emulator: {e}"));
        let (control, its) = UnixStream::pair().map_err(failed)?;
        command.stdin(OwnedFd::from(its));
        let emulator = command.spawn().map_err(|e| recover.not_run(&e.to_string()))?;
        Ok(Served {
            emulator,
            control,
            told,
        })
    }
    /// Whether it was told this.
    pub(crate) fn was_told(&self, told: &[String; 2]) -> bool {
        self.told == *told
    }
    /// Runs a copy on the image as it is now.
    /// Where the emulator has ended without making a copy, its own end is that of the program.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn run(&mut self, recover: &Recover, deadlines: &Deadlines) -> Result<Copied, LabError> {
        // Until it makes its first copy it is the program itself that runs.
        deadlines.set(self.emulator.id(), recover.timeout);
        let copy = self.ask();
        let expired = deadlines.done(self.emulator.id());
        if let Some(copied) = copy.and_then(|copy| self.follow(copy, recover, deadlines)) {
            return Ok(copied);
        }
        let status = self.end().map_err(|e| LabError::Internal(e.to_string()))?;
        Ok(Copied { status, expired })
    }
    /// Waits for the end of a copy.
    fn follow(&mut self, copy: u32, recover: &Recover, deadlines: &Deadlines) -> Option<Copied> {
        deadlines.set(copy, recover.timeout);
        let ended = self.number().zip(self.number());
        let expired = deadlines.done(copy);
        let (code, status) = ended?;
        self.control.write_all(b"k").ok()?;
        /// `CLD_EXITED` of `waitid`.
        const EXITED: i32 = 1;
        Some(Copied {
            status: ExitStatus::from_raw(if code == EXITED { status << 8 } else { status }),
            expired,
        })
    }
    fn ask(&mut self) -> Option<u32> {
        self.control.write_all(b"r").ok()?;
        self.number()?.try_into().ok()
    }
    fn number(&mut self) -> Option<i32> {
        let mut bytes = [0; 4];
        self.control.read_exact(&mut bytes).ok()?;
        Some(i32::from_le_bytes(bytes))
    }
    /// Whether it can make more copies.
    pub(crate) fn lives(&mut self) -> bool {
        matches!(self.emulator.try_wait(), Ok(None))
    }
    /// How it has ended, once it answers no more.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        kill(self.emulator.id());
        self.emulator.wait()
    }
}
impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
