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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_journal_is_kept_with_its_process() {
        let mut all = Recording::default();
        assert_eq!(all.line("program /bin/first"), None, "of no process");
        let lines = [
            "program /bin/a b",
            "module 3 /lib/c d.so",
            "size 0 100",
            "size 0 50",
            "size 1 8",
            "initial f1+0x40 0x11",
            "found main",
            "exited 123",
            "missing io_uring_setup",
            "beside written /tmp/a b",
        ];
        let more = [
            "e 7 2 30 store f0+0x40 0x5 @3+0x12<5+0x77",
            "late 9 1 0 sfence @?",
            "refused writev @3+0x1 it is too long",
            "refused writev @3+0x1 it is too long",
            "refused writev @3+0x2 it is too long",
            "warm 4 f0+0x40*3 0x1000",
            "vcpu 4 2",
            "vcpu 4 3",
            "vcpu 5 3",
        ];
        for lines in [&lines[..], &more] {
            all.processes.push(Process::default());
            for line in lines {
                assert!(all.line(line).is_some(), "{line}");
            }
        }
        let [first, second] = &all.processes[..] else {
            panic!("two processes");
        };
        assert_eq!((first.program.to_str(), first.events), (Some("/bin/a b"), 0));
        assert_eq!(first.modules, [("3".to_owned(), PathBuf::from("/lib/c d.so"))].into());
        assert_eq!((second.events, second.modules.len()), (2, 0));
        assert_eq!(all.lengths, [(0, 100), (1, 8)].into(), "the largest length");
        assert_eq!(all.initial, [(1, 0x40, 0x11)]);
        assert_eq!(all.found, ["main".to_owned()].into());
        assert_eq!(all.exited, [123].into());
        assert_eq!(all.missing, ["io_uring_setup".to_owned()].into());
        assert_eq!(all.beside, [("/tmp/a b".to_owned(), "written".to_owned())].into());
        let noted = |e: &Noted| (e.number, e.late, e.thread, e.work, e.process);
        let events: Vec<_> = all.events.iter().map(noted).collect();
        assert_eq!(events, [(7, false, 2, 30, 1), (9, true, 1, 0, 1)]);
        let (what, place) = (&all.events[0].what[..], &all.events[0].place[..]);
        assert_eq!((what, place), ("store f0+0x40 0x5", "3+0x12<5+0x77"));
        let refused = |place: &str| Refused {
            call: "writev".into(),
            why: "it is too long".into(),
            process: 1,
            place: place.into(),
        };
        assert_eq!(all.refused, [(refused("3+0x1"), 2), (refused("3+0x2"), 1)].into());
        assert_eq!(all.warm, [(1, 4, "f0+0x40*3 0x1000".to_owned())]);
        assert_eq!(all.vcpus, [((1, 4), 2), ((1, 5), 3)].into(), "the first thread");
        for bad in [
            "nonsense 1",
            "e 7 2",
            "e 7 2 x sfence @?",
            "e 7 2 3 sfence",
            "size 0",
            "initial 0x40 0x1",
            "exited",
        ] {
            assert_eq!(all.line(bad), None, "{bad}");
        }
    }
    #[test]
    fn numbers_and_addresses_are_as_the_recorder_writes_them() {
        assert_eq!(
            (hexadecimal("0x4F"), hexadecimal("4F"), hexadecimal("0x")),
            (Some(79), None, None)
        );
        assert_eq!(address("f12+0x40"), Some((12, 64)));
        for bad in ["12+0x40", "f12", "f12+40", "fx+0x40"] {
            assert_eq!(address(bad), None, "{bad}");
        }
    }
    /// Journals are counted from 1, and their events put into one order: what was written down late is before the event of its number.
    #[test]
    fn the_journals_of_all_processes_are_one_recording() {
        let scratch = crate::recovery::scratch::Scratch::new().expect("a folder");
        let folder = scratch.path();
        let shared = Shared::open(&folder.join("state")).expect("a folder to write to");
        shared.files[1].first_length.store(48, Ordering::Relaxed);
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a folder to write to");
        put(
            "journal-1",
            "program /bin/a\nsize 1 64\ne 5 0 0 sfence @?\ne 2 0 0 store f1+0x0 0x1 @?\n",
        );
        put(
            "journal-2",
            "program /bin/b\nlate 5 1 0 store f1+0x8 0x1 @?\ne 3 1 0 sfence @?\n",
        );
        put("journal-4", "program /bin/c\n");
        let all = Recording::read(folder).expect("a recording");
        let order: Vec<_> = all.events.iter().map(|e| (e.number, e.late, e.process)).collect();
        assert_eq!(order, [(2, false, 0), (3, false, 1), (5, true, 1), (5, false, 0)]);
        let programs: Vec<_> = all.processes.iter().map(|p| (p.program.to_str(), p.events)).collect();
        assert_eq!(programs, [(Some("/bin/a"), 2), (Some("/bin/b"), 2)]);
        assert_eq!((all.lengths, all.first_lengths), ([(1, 64)].into(), [(1, 48)].into()));
        put("journal-2", "program /bin/b\nnonsense\n");
        let why = || {
            Recording::read(folder)
                .map(|_| ())
                .expect_err("no recording")
                .to_string()
        };
        assert!(why().contains("journal-2: `nonsense`"), "{}", why());
        shared.ended.store(FAILED, Ordering::Relaxed);
        assert!(why().contains("is the disk full?"), "{}", why());
        put("failed", "the program forked too often");
        assert!(why().contains("the program forked too often"), "{}", why());
    }
}
