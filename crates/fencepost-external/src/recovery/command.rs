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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::image::Base;
    use std::os::unix::process::ExitStatusExt;

    fn recover(command: &str) -> Recover {
        Recover {
            command: command.into(),
            server: false,
            reads: ReadsBy::Report,
            timeout: Duration::from_secs(10),
            memory: None,
        }
    }

    #[test]
    fn the_end_of_a_process_is_a_verdict_unless_it_did_not_run() {
        let recover = recover("audit");
        let verdict = |raw: i32, expired: bool, said: &str| {
            let found = recover.verdict(ExitStatus::from_raw(raw), expired, said);
            found.map_err(|e| e.to_string())
        };
        let failed = |why: &str| Ok(Some(why.to_owned()));
        assert_eq!(verdict(0, false, "hello\n"), Ok(None));
        assert_eq!(verdict(3 << 8, false, ""), failed("exit status 3"));
        assert_eq!(verdict(3 << 8, false, "one\n two \n\n"), failed("exit status 3: two"));
        assert_eq!(verdict(11, false, "one\n"), failed("killed by signal 11: one"));
        // One that was killed because it took too long hangs, however it ended.
        for raw in [0, 9, 127 << 8] {
            assert_eq!(verdict(raw, true, ""), failed("recovery hangs: no end after 10s"));
        }
        for code in [126, 127] {
            let why = verdict(code << 8, false, "sh: audit: not found\n").expect_err("it did not run");
            assert!(why.contains("`audit` cannot be run: sh: audit: not found"), "{why}");
        }
        assert!(verdict(125 << 8, false, "").is_ok());
    }
    #[test]
    fn the_path_of_the_image_has_its_place_in_the_command() {
        let on = |command: &str, server| {
            let recover = Recover {
                server,
                ..recover(command)
            };
            recover.command_on(Path::new("/tmp/a b"))
        };
        assert_eq!(on("audit -v", false), "audit -v '/tmp/a b'");
        assert_eq!(on("audit {} -v", false), "audit '/tmp/a b' -v");
        assert_eq!(
            (on("audit", true), on("audit {}", true)),
            ("audit".into(), "audit '/tmp/a b'".into())
        );
        let unobserved = recover("audit").unobserved();
        assert_eq!((unobserved.reads, &unobserved.command[..]), (ReadsBy::Nobody, "audit"));
        assert_eq!((ReadsBy::Nobody.name(), ReadsBy::Report.name()), ("unknown", "report"));
    }
    /// What needs no shell is started without; memory is limited by one, in units of 1024 bytes.
    #[test]
    fn a_shell_starts_what_needs_one() {
        let image = ImageFile::new("/tmp/image".into(), Base::whole([0; 8].into()));
        let copies = Copies {
            reads: Path::new(""),
            input: Path::new(""),
            output: Path::new(""),
        };
        let words = |recover: &Recover| {
            let command = recover.start(&image, &copies).expect("no emulator is asked for");
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(words(&recover("audit -v")), ["audit", "-v", "/tmp/image"]);
        assert_eq!(
            words(&recover("audit | cat")),
            ["/bin/sh", "-c", "audit | cat /tmp/image"]
        );
        let limited = Recover {
            memory: Some(10 << 20),
            ..recover("audit")
        };
        assert_eq!(words(&limited), ["/bin/sh", "-c", "ulimit -v 10240; audit /tmp/image"]);
    }
}
