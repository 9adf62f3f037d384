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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::command::ReadsBy;
    use std::os::unix::process::CommandExt;
    use std::time::Duration;

    /// Starts a script of a shell in the emulator's place. No copy has the number that it tells.
    fn served(script: &str, timeout: Duration) -> (Served, Recover) {
        let functions = "ask() { test \"$(dd bs=1 count=1 2>/dev/null)\" = $1 || exit 9; }
copy() { printf '\\376\\377\\377\\177'; printf \"\\\\$1\\\\0\\\\0\\\\0\\\\$2\\\\0\\\\0\\\\0\"; }\n";
        let recover = Recover {
            command: "audit".into(),
            server: false,
            reads: ReadsBy::Nobody,
            timeout,
            memory: None,
        };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec >&0\n{functions}{script}")]);
        command.process_group(0);
        let told = ["2,1".to_owned(), "1,0".to_owned()];
        let served = Served::start(&mut command, told, &recover).expect("a shell");
        (served, recover)
    }

    #[test]
    fn each_copy_has_its_own_end_and_the_emulators_is_the_programs() {
        // One exits with 3, one is killed by a signal; then the emulator itself exits.
        let script = "ask r; copy 1 3; ask k\nask r; copy 2 11; ask k\nask r; exit 5\n";
        let (mut served, recover) = served(script, Duration::from_secs(600));
        let watch = Deadlines::start();
        assert!(served.was_told(&["2,1".into(), "1,0".into()]) && !served.was_told(&["2,1".into(), "1,1".into()]));
        let mut run = |lives| {
            let Copied { status, expired } = served.run(&recover, &watch.0).expect("it has an end");
            assert_eq!((served.lives(), expired), (lives, false));
            (status.code(), status.signal())
        };
        assert_eq!(run(true), (Some(3), None));
        assert_eq!(run(true), (None, Some(9)), "11 is 9 in octal");
        assert_eq!(run(false), (Some(5), None));
    }
    #[test]
    fn a_program_that_makes_no_copy_in_time_has_expired() {
        let (mut served, recover) = served("exec sleep 600", Duration::from_millis(50));
        let watch = Deadlines::start();
        let Copied { status, expired } = served.run(&recover, &watch.0).expect("it has an end");
        assert_eq!((status.signal(), expired, served.lives()), (Some(9), true, false));
    }
    #[test]
    fn an_emulator_ends_with_those_who_ask_it() {
        let (served, _) = served("exec sleep 600", Duration::from_secs(60));
        let process = served.emulator.id();
        let there = || std::path::Path::new(&format!("/proc/{process}")).exists();
        assert!(there());
        drop(served);
        assert!(!there());
    }
}
