//! One process for many images.
//!
//! The process says `fencepost-server 1` first, and `fencepost-server 1 private` if it never changes the image file. Then
//! for every line
//!
//! ```text
//! image PATH BYTES begun 1,2 acked 1,1
//! ```
//!
//! it answers any number of lines `read OFFSET LENGTH` and one line `ok` or `fail REASON`. A process that ends or takes too
//! long fails the image, and is started again for the next.

use crate::recovery::command::{ReadsBy, Recover};
use crate::recovery::deadline::{Deadlines, kill};
use crate::recovery::emulator::Copies;
use crate::recovery::image::{Base, ImageFile};
use crate::recovery::text::{list, read_line};
use fencepost_contract::images::Answer;
use fencepost_kernel::CrashPoint;
use fencepost_run::{BadInput, LabError};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;

/// Asks one process about many images.
pub(crate) struct ServerRunner {
    recover: Recover,
    image: ImageFile,
    deadlines: Arc<Deadlines>,
    errors: PathBuf,
    running: Option<Running>,
}
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Never changes the image file.
    private: bool,
}
/// What a process said about an image, or that it has ended.
enum Said {
    Answer(Answer),
    Ended,
}

impl ServerRunner {
    pub(crate) fn new(recover: Recover, image: ImageFile, deadlines: Arc<Deadlines>) -> ServerRunner {
        ServerRunner {
            errors: image.path().with_extension("out"),
            recover,
            image,
            deadlines,
            running: None,
        }
    }
    pub(crate) fn base(&self) -> &Base {
        self.image.base()
    }
    pub(crate) fn run(&mut self, words: &[(u64, u64)], crash: &CrashPoint) -> Result<Answer, LabError> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        self.image.write(words, running.private)?;
        let process = running.child.id();
        self.deadlines.set(process, self.recover.timeout);
        let question = format!(
            "image {} {} begun {} acked {}\n",
            self.image.path().display(),
            self.image.len(),
            list(&crash.begun),
            list(&crash.acked)
        );
        let said = match running.input.write_all(question.as_bytes()) {
            Ok(()) => self.answer(&mut running)?,
            Err(_) => Said::Ended,
        };
        let expired = self.deadlines.done(process);
        match said {
            Said::Answer(answer) if !expired => {
                self.running = Some(running);
                Ok(answer)
            }
            _ => Ok(Answer {
                failed: Some(self.end(running, expired)?),
                ..Answer::default()
            }),
        }
    }
    fn start(&mut self) -> Result<Running, LabError> {
        let errors = File::create(&self.errors).map_err(|e| LabError::file("write", &self.errors, e))?;
        let nowhere = Path::new("");
        let mut command = self.recover.start(
            &self.image,
            &Copies {
                reads: nowhere,
                input: nowhere,
                output: nowhere,
            },
        )?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(|e| self.recover.not_run(&e.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(LabError::Internal("a piped process has pipes".into()));
        };
        let mut running = Running {
            child,
            input,
            output: BufReader::new(output),
            private: false,
        };
        let process = running.child.id();
        self.deadlines.set(process, self.recover.timeout);
        let mut greeting = String::new();
        let read = running.output.read_line(&mut greeting);
        let expired = self.deadlines.done(process);
        let words: Vec<&str> = greeting.split_whitespace().collect();
        match (read, words.as_slice()) {
            (Ok(_), ["fencepost-server", "1"]) => {}
            (Ok(_), ["fencepost-server", "1", "private"]) => running.private = true,
            _ => {
                let found = match expired {
                    true => "it said nothing in time".to_owned(),
                    false => format!("it said `{}`", greeting.trim()),
                };
                kill(process);
                let _ = running.child.wait();
                let hint =
                    "a server's first line is `fencepost-server 1`; without --server the command runs once an image";
                return Err(self.recover_error(&found).hint(hint).into());
            }
        }
        Ok(running)
    }
    fn recover_error(&self, found: &str) -> BadInput {
        let said = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let said = said.trim().lines().last().map(|l| format!(": {l}")).unwrap_or_default();
        BadInput::new(format!(
            "`{}` is no recovery server: {found}{said}",
            self.recover.command
        ))
    }
    fn answer(&self, running: &mut Running) -> Result<Said, LabError> {
        let (mut reads, mut line) = (Vec::new(), String::new());
        loop {
            line.clear();
            match running.output.read_line(&mut line) {
                Ok(n) if n > 0 && line.ends_with('\n') => {}
                _ => return Ok(Said::Ended),
            }
            let text = line.trim();
            let failed = match text.split_once(' ').unwrap_or((text, "")) {
                ("ok", "") => None,
                ("fail", why) => Some(why.trim().to_owned()),
                _ => match read_line(text) {
                    Some(read) => {
                        reads.push(read);
                        continue;
                    }
                    None => {
                        kill(running.child.id());
                        let _ = running.child.wait();
                        let hint = "answers are `read OFFSET LENGTH`, `ok` and `fail REASON`";
                        return Err(self.recover_error(&format!("it answered `{text}`")).hint(hint).into());
                    }
                },
            };
            let reads = (self.recover.reads == ReadsBy::Report && !reads.is_empty()).then_some(reads);
            return Ok(Said::Answer(Answer {
                failed,
                reads,
                unknown: None,
            }));
        }
    }
    /// Why a process that has ended, or must, fails its image.
    fn end(&self, mut running: Running, expired: bool) -> Result<String, LabError> {
        kill(running.child.id());
        let status = running.child.wait().map_err(|e| LabError::Internal(e.to_string()))?;
        let said = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let why = self.recover.verdict(status, expired, &said)?;
        Ok(why.unwrap_or_else(|| "the server ended without an answer".into()))
    }
}
impl Drop for ServerRunner {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            kill(running.child.id());
            let _ = running.child.wait();
        }
    }
}
