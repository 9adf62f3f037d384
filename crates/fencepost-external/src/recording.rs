//! What the processes of a recorded program left: journals, made one.

use fencepost_record::{FAILED, Shared, read_journal};
use fencepost_run::{BadInput, LabError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time that processes have to end after the program itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// An event, in the one order of all of them.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) number: u64,
    /// Whether it was written down later than it happened: it is before the event of its number.
    pub(crate) late: bool,
    pub(crate) thread: u32,
    /// Instructions of the thread since its event before.
    pub(crate) work: u64,
    /// What it did, as the log has it but for offsets: `store f0+0x40 5`.
    pub(crate) what: String,
    /// Which process.
    pub(crate) process: usize,
    /// The frames of its stack: `3+0x12<5+0x77`.
    pub(crate) place: String,
}

/// A process of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    pub(crate) program: PathBuf,
    /// Files with code, by their numbers in places.
    pub(crate) modules: BTreeMap<String, PathBuf>,
    pub(crate) events: u64,
}

/// A call that could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refused {
    pub(crate) call: String,
    pub(crate) why: String,
    pub(crate) process: usize,
    pub(crate) place: String,
}

/// Everything that was recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    pub(crate) events: Vec<Noted>,
    pub(crate) processes: Vec<Process>,
    /// By number: the largest length that a file had, where it was touched at all.
    pub(crate) lengths: BTreeMap<usize, u64>,
    /// By number: the length that a file began with.
    pub(crate) first_lengths: BTreeMap<usize, u64>,
    /// What the files held: file, offset, word.
    pub(crate) initial: Vec<(usize, u64, u64)>,
    /// Calls that could not be recorded, and how often.
    pub(crate) refused: BTreeMap<Refused, u64>,
    /// Files that were left out, and what was done to them.
    pub(crate) beside: BTreeSet<(String, String)>,
    /// Functions that were asked for and are there.
    pub(crate) found: BTreeSet<String>,
    /// Processes that have ended by themselves, by their numbers in the system.
    pub(crate) exited: BTreeSet<u32>,
    /// System calls that the emulator does not have.
    pub(crate) missing: BTreeSet<String>,
    /// Lines that were accessed before recording began, the newest last: process, vCPU, lines.
    pub(crate) warm: Vec<(usize, u32, String)>,
    /// The threads of processes' vCPUs; of several, the first.
    pub(crate) vcpus: BTreeMap<(usize, u32), u32>,
}

impl Recording {
    /// Reads what is in the folder of a recording, once every process has ended.
    pub(crate) fn read(folder: &Path) -> Result<Recording, LabError> {
        let state = folder.join("state");
        let shared = Shared::open(&state).map_err(|e| LabError::file("read", &state, e))?;
        wait(shared)?;
        if shared.ended.load(Ordering::Relaxed) == FAILED {
            // On a full disk there may be no place for the reason.
            let why = std::fs::read_to_string(folder.join("failed")).unwrap_or_default();
            let why = if why.is_empty() {
                "the recording cannot be written: is the disk full?".into()
            } else {
                why
            };
            return Err(BadInput::new(why).hint("nothing was written").into());
        }
        let mut recording = Recording::default();
        for number in 1.. {
            let path = folder.join(format!("journal-{number}"));
            if !path.exists() {
                break;
            }
            let text = read_journal(&path).map_err(|e| LabError::file("read", &path, e))?;
            recording.processes.push(Process::default());
            for line in text.lines() {
                let damaged = || LabError::Internal(format!("{}: `{line}`", path.display()));
                recording.line(line).ok_or_else(damaged)?;
            }
        }
        recording.events.sort_by_key(|e| (e.number, !e.late));
        let first = |k: &usize| (*k, shared.files[*k].first_length.load(Ordering::Relaxed));
        recording.first_lengths = recording.lengths.keys().map(first).collect();
        Ok(recording)
    }
    fn line(&mut self, line: &str) -> Option<()> {
        let process = self.processes.len().checked_sub(1)?;
        let (word, rest) = line.split_once(' ')?;
        match word {
            "e" | "late" => {
                let mut parts = rest.splitn(4, ' ');
                let mut number = || parts.next()?.parse::<u64>().ok();
                let (order, thread, work) = (number()?, number()?, number()?);
                let (what, place) = parts.next()?.split_once(" @")?;
                self.processes[process].events += 1;
                self.events.push(Noted {
                    number: order,
                    late: word == "late",
                    thread: thread as u32,
                    work,
                    what: what.to_owned(),
                    process,
                    place: place.to_owned(),
                });
            }
            "program" => self.processes[process].program = PathBuf::from(rest),
            "module" => {
                let (number, path) = rest.split_once(' ')?;
                self.processes[process]
                    .modules
                    .insert(number.to_owned(), PathBuf::from(path));
            }
            "size" => {
                let (file, length) = rest.split_once(' ')?;
                let known = self.lengths.entry(file.parse().ok()?).or_default();
                *known = (*known).max(length.parse().ok()?);
            }
            "initial" => {
                let (at, value) = rest.split_once(' ')?;
                let (file, offset) = address(at)?;
                self.initial.push((file, offset, hexadecimal(value)?));
            }
            "refused" => {
                let (call, rest) = rest.split_once(" @")?;
                let (place, why) = rest.split_once(' ')?;
                let refused = Refused {
                    call: call.to_owned(),
                    why: why.to_owned(),
                    process,
                    place: place.to_owned(),
                };
                *self.refused.entry(refused).or_default() += 1;
            }
            "beside" => {
                let (how, path) = rest.split_once(' ')?;
                self.beside.insert((path.to_owned(), how.to_owned()));
            }
            "found" => {
                self.found.insert(rest.to_owned());
            }
            "exited" => {
                self.exited.insert(rest.parse().ok()?);
            }
            "warm" => {
                let (vcpu, lines) = rest.split_once(' ')?;
                self.warm.push((process, vcpu.parse().ok()?, lines.to_owned()));
            }
            "vcpu" => {
                let (vcpu, thread) = rest.split_once(' ')?;
                let vcpu = (process, vcpu.parse().ok()?);
                self.vcpus.entry(vcpu).or_insert(thread.parse().ok()?);
            }
            "missing" => {
                self.missing.insert(rest.to_owned());
            }
            _ => return None,
        }
        Some(())
    }
}

impl Recording {
    /// The thread that a vCPU ran; where that has no events, one of the same process that has, or none.
    pub(crate) fn thread_of(&self, process: usize, vcpu: u32) -> Option<u32> {
        let of_process = || self.vcpus.range((process, 0)..(process + 1, 0)).next().map(|v| *v.1);
        self.vcpus.get(&(process, vcpu)).copied().or_else(of_process)
    }
}

/// Waits for the processes that the program has left behind.
fn wait(shared: &Shared) -> Result<(), BadInput> {
    let begun = Instant::now();
    loop {
        let left = shared.living();
        match left.first() {
            None => return Ok(()),
            Some(process) if begun.elapsed() > PATIENCE => {
                let found = format!("process {process} of the program still runs after the program has ended");
                return Err(BadInput::new(found).hint("end it in the command that is recorded; nothing was written"));
            }
            Some(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// A number `0x40`.
pub(crate) fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}
/// File and offset of `f1+0x40`.
pub(crate) fn address(text: &str) -> Option<(usize, u64)> {
    let (file, offset) = text.strip_prefix('f')?.split_once('+')?;
    Some((file.parse().ok()?, hexadecimal(offset)?))
}
