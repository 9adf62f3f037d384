//! The runs of one recording.

use super::files::files;
use super::gaps::Gaps;
use super::request::{RecordRequest, Unseen};
use crate::emulated;
use crate::places::Places;
use crate::program::emulated;
use crate::recording::{Recording, Refused};
use crate::recovery::emulator::{check_emulator, find, plain};
use crate::recovery::plugin::plugin;
use crate::relocate::{Layout, compare};
use fencepost_run::{BadInput, LabError};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a run was.
pub(super) enum Outcome {
    /// An execution to be kept.
    Execution,
    /// It did nothing to the persistent files: why.
    Nothing(BadInput),
}

/// Folders of recordings that are under way.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what recordings under way have written, for a process that ends in the middle of one.
pub fn remove_unfinished() {
    for folder in unfinished().drain(..) {
        let _ = std::fs::remove_dir_all(folder);
    }
}
fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);
impl Folder {
    fn new(path: PathBuf) -> Result<Folder, LabError> {
        std::fs::create_dir(&path).map_err(|e| LabError::file("create folder", &path, e))?;
        unfinished().push(path.clone());
        Ok(Folder(path))
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        unfinished().retain(|f| *f != self.0);
    }
}

/// What the runs of one recording share.
pub(super) struct Session<'r> {
    request: &'r RecordRequest,
    plugin: PathBuf,
    /// The program with its arguments; a script's interpreter is the program.
    command: Vec<String>,
    emulator: PathBuf,
    files: Vec<PathBuf>,
    folder: Folder,
    /// Where the program's input begins, if that is a file.
    input: u64,
}

impl<'r> Session<'r> {
    pub(super) fn new(request: &'r RecordRequest) -> Result<Session<'r>, LabError> {
        if request.schedules == Some(0) {
            return Err(BadInput::new("0 schedules record nothing").into());
        }
        check_emulator(&request.emulator)?;
        let plugin = plugin(request.plugin.as_deref())?;
        let command = emulated(&request.command)?;
        let files = files(&request.pm)?;
        if request.schedules.is_none_or(|n| n == 1) && request.log.is_dir() {
            let found = format!("{} is a folder, and one log is a file", request.log.display());
            return Err(BadInput::new(found)
                .hint("with --schedules K it is a folder of logs")
                .into());
        }
        let log = std::path::absolute(&request.log).map_err(|e| LabError::file("find", &request.log, e))?;
        if log.exists() && !log.is_file() && !log.is_dir() {
            return Err(BadInput::new(format!("{} is no file for a log", request.log.display())).into());
        }
        if files.contains(&log) {
            return Err(BadInput::new("the log would go to the persistent file").into());
        }
        let folder = log.with_extension(format!("recording-{}", std::process::id()));
        plain(&plugin)?;
        plain(&folder)?;
        Ok(Session {
            emulator: find(&request.emulator)?,
            request,
            plugin,
            command,
            files,
            folder: Folder::new(folder)?,
            input: rustix::fs::tell(std::io::stdin()).unwrap_or(0),
        })
    }
    /// Keeps what the files hold, before the first run.
    pub(super) fn keep(&self) -> Result<(), LabError> {
        self.copies(|file, kept| (file, kept))
    }
    /// Makes them hold it again, before another.
    pub(super) fn restore(&self) -> Result<(), LabError> {
        self.copies(|file, kept| (kept, file))
    }
    fn copies(&self, ends: impl for<'p> Fn(&'p Path, &'p Path) -> (&'p Path, &'p Path)) -> Result<(), LabError> {
        for (i, file) in self.files.iter().enumerate() {
            let kept = self.folder.0.join(format!("kept-{i}"));
            let failed = |e| LabError::file("restore", file, e);
            let (from, to) = ends(file, &kept);
            if from.exists() {
                crate::sparse::copy(from, to).map_err(failed)?;
            } else if to.exists() {
                std::fs::remove_file(to).map_err(failed)?;
            }
        }
        Ok(())
    }
    /// One run. If the emulator fails, once more: that it failed says nothing of the program.
    pub(super) fn run(&self, run: u64, unseen: Option<&Unseen>) -> Result<(ExitStatus, Recording), LabError> {
        if let Ok(done) = self.attempt(run, unseen)? {
            return Ok(done);
        }
        self.restore()?;
        self.attempt(run, unseen)?.map_err(|why| {
            let found = format!("the emulator itself failed, twice: {why}");
            BadInput::new(found)
                .hint("nothing was written, and nothing follows of the program; another --seed or --quantum makes another order")
                .into()
        })
    }
    /// One run, or why the emulator failed.
    fn attempt(&self, run: u64, unseen: Option<&Unseen>) -> Result<Result<(ExitStatus, Recording), String>, LabError> {
        let folder = Folder::new(self.folder.0.join(format!("run-{run}")))?;
        let mut options = format!(
            "quantum {}\nseed {}\nemulator {}\nplugin {}\n",
            self.request.quantum,
            self.request.seed.wrapping_add(run),
            self.emulator.display(),
            self.plugin.display()
        );
        let names = [
            ("region", &self.request.region),
            ("acknowledge", &self.request.acknowledge),
        ];
        for (key, name) in names {
            if let Some(name) = name {
                let _ = writeln!(options, "{key} {name}");
            }
        }
        if let Some(gap) = self.request.region_gap {
            let _ = writeln!(options, "region-gap {gap}");
        }
        if self.request.volatile {
            options += "memory all\n";
        }
        for file in &self.files {
            let _ = writeln!(options, "pm {}", file.display());
        }
        let path = folder.0.join("options");
        std::fs::write(&path, options).map_err(|e| LabError::file("write", &path, e))?;
        let mut command = Command::new(&self.emulator);
        let plugin = format!("{},recording={}", self.plugin.display(), folder.0.display());
        // The seed is for what a process gets of chance when it starts.
        command.args(["-cpu", "max", "-seed", "1", "-plugin", &plugin]);
        command.args(&self.command);
        if self.request.keeps_stdout {
            command.stdout(std::io::stderr());
        }
        if run > 0 {
            // What it says is said once, and what it is told it is told again, where that can be.
            command.stdout(Stdio::null());
            let _ = rustix::fs::seek(std::io::stdin(), rustix::fs::SeekFrom::Start(self.input));
        }
        if let Some(unseen) = unseen {
            let failed = |e| LabError::file("read", &unseen.input, e);
            command.stdin(std::fs::File::open(&unseen.input).map_err(failed)?);
            command.stdout(Stdio::null());
            command.envs(unseen.environment.iter().cloned());
        }
        // libpmem flushes by instructions only where it takes the file for persistent memory.
        if std::env::var_os("PMEM_IS_PMEM_FORCE").is_none() {
            command.env("PMEM_IS_PMEM_FORCE", "1");
        }
        let ended = emulated::run(&mut command, unseen.is_none())
            .map_err(|e| BadInput::new(format!("`{}` does not start: {e}", self.request.emulator)))?;
        let status = ended.status;
        if let Some(why) = ended.unable {
            let found = format!("a process of the program cannot be recorded: {why}");
            return Err(BadInput::new(found).hint("nothing was written").into());
        }
        if let Some(why) = ended.failure {
            return Ok(Err(why));
        }
        if !folder.0.join("journal-1").exists() {
            let found = format!("the emulator could not run `{}` ({status})", self.command[0]);
            return Err(BadInput::new(found).hint("what it said is above").into());
        }
        let recording = Recording::read(&folder.0)?;
        if status.code().is_some() && !recording.exited.contains(&ended.process) {
            return Ok(Err(format!("{status}, and the program had not ended")));
        }
        Ok(Ok((status, recording)))
    }
    /// Whether a recording is one.
    pub(super) fn judge(&self, recording: &Recording, status: ExitStatus) -> Result<Outcome, LabError> {
        let asked = [&self.request.region, &self.request.acknowledge];
        let mut asked = asked.into_iter().flatten();
        if let Some(name) = asked.find(|n| !recording.found.contains(*n)) {
            let found = format!("no program that ran has a function `{name}`");
            return Err(BadInput::new(found)
                .hint("it must be in the symbol table (`nm`), or give an address: 0x1234")
                .into());
        }
        if !recording.refused.is_empty() {
            return Err(refused(recording).into());
        }
        if !recording.events.iter().any(|e| e.what.contains(" f")) {
            return Ok(Outcome::Nothing(self.nothing(recording, status)));
        }
        compare(recording, &self.files)?;
        Ok(Outcome::Execution)
    }
    /// Why there is nothing to keep, and what may be the reason.
    fn nothing(&self, recording: &Recording, status: ExitStatus) -> BadInput {
        let names: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
        let names = names.join(", ");
        let mut found =
            format!("nothing was recorded: the program ({status}) neither wrote nor mapped and stored to {names}");
        let mut hints = vec!["--pm names the file itself; it is mapped with MAP_SHARED, or written".to_owned()];
        if let Some(gap) = self.request.region_gap {
            found += &format!(" after it had left that alone for {gap} instructions");
        }
        hints.extend(recording.beside.iter().map(|(path, how)| format!("{path} was {how}")));
        if !recording.missing.is_empty() {
            let calls: Vec<&str> = recording.missing.iter().map(String::as_str).collect();
            hints.push(format!("the emulator does not have {}", calls.join(", ")));
        }
        BadInput::new(found).hint(hints.join("; "))
    }
    /// The log of a recording, and how many of its lines have a line of the program.
    pub(super) fn log(&self, recording: &Recording) -> (String, u64) {
        let mut layout = Layout::of(recording);
        let mut text = String::from("fencepost-log 1\n");
        text += &layout.head(recording, &self.files);
        let (mut places, mut named) = (Places::default(), 0);
        let mut gaps = self.request.acknowledge_gap.map(Gaps::new);
        for event in &recording.events {
            let process = &recording.processes[event.process];
            let (place, known) = places.name(event.process, process, &event.place);
            named += u64::from(known);
            let thread = event.thread;
            for line in gaps.iter_mut().flat_map(|g| g.before(event)) {
                let _ = writeln!(text, "{thread} {line}");
            }
            if event.work > 0 {
                let _ = writeln!(text, "{thread} work {}", event.work.min(u64::from(u32::MAX)));
            }
            for line in layout.event(event) {
                let _ = writeln!(text, "{thread} {line} @ {place}");
            }
        }
        for (thread, line) in gaps.into_iter().flat_map(Gaps::at_end) {
            let _ = writeln!(text, "{thread} {line}");
        }
        (text, named)
    }
    /// Writes the logs, whole or not at all.
    pub(super) fn write(&self, texts: &[String]) -> Result<(), LabError> {
        let put = |name: &str, text: &str| {
            let path = self.folder.0.join(name);
            std::fs::write(&path, text).map_err(|e| LabError::file("write", &self.request.log, e))?;
            Ok::<_, LabError>(path)
        };
        let log = &self.request.log;
        let failed = |e| LabError::file("write", log, e);
        if self.request.schedules.is_none_or(|n| n == 1) {
            let new = put("log", &texts.concat())?;
            return std::fs::rename(new, log).map_err(failed);
        }
        std::fs::create_dir_all(log).map_err(failed)?;
        for (i, text) in texts.iter().enumerate() {
            let new = put("log", text)?;
            std::fs::rename(new, log.join(format!("{}.log", i + 1))).map_err(failed)?;
        }
        Ok(())
    }
}

/// Why a recording ended, in words: what, where, how often.
fn refused(recording: &Recording) -> BadInput {
    let mut places = Places::default();
    let mut told: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for (
        Refused {
            call,
            why,
            process,
            place,
        },
        times,
    ) in &recording.refused
    {
        let (place, _) = places.name(*process, &recording.processes[*process], place);
        *told.entry((call.clone(), place, why.clone())).or_default() += times;
    }
    let total: u64 = told.values().sum();
    let mut text = format!("the program cannot be recorded: {total} calls reach its persistent files unseen\n");
    for ((call, place, why), times) in told.iter().take(20) {
        let _ = writeln!(text, "  {call} at {place}, {times} times: {why}");
    }
    BadInput::new(text.trim_end().to_owned()).hint("nothing was written")
}

#[cfg(test)]
mod tests;
