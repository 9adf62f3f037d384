//! Recording an unmodified program under the emulator.

use crate::places::Places;
use crate::program::emulated;
use crate::recording::{Recording, Refused};
use crate::recovery::emulator::{check_emulator, find, plain, plugin};
use crate::relocate::{Layout, compare};
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Instant;

/// A program to be recorded.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The files that are persistent memory.
    pub pm: Vec<PathBuf>,
    /// Where the log goes; for several schedules a folder.
    pub log: PathBuf,
    /// The emulator.
    pub emulator: String,
    /// The plugin; `None` looks beside the running executable.
    pub plugin: Option<PathBuf>,
    /// Memory accesses after which another thread may go on, at most.
    pub quantum: u64,
    /// Function, or address `0x..` as linked, with whose first call recording begins.
    pub region: Option<String>,
    /// Function, or address, whose calls acknowledge what the calling thread did before.
    pub acknowledge: Option<String>,
    /// Whether accesses to volatile memory are recorded, too.
    pub volatile: bool,
    /// Runs, each with threads in another order.
    pub schedules: u32,
    /// What the first order comes of.
    pub seed: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// The log, or the folder of logs.
    pub log: String,
    /// Executions that differ: logs.
    pub executions: u64,
    /// Lines with events, of all logs.
    pub events: u64,
    /// Threads with events.
    pub threads: usize,
    /// How the program ended, each time if that varied.
    pub status: String,
    /// Programs of which processes were recorded, and the events of each.
    pub programs: BTreeMap<String, u64>,
    /// Files that were left out: mapped shared or written, and not named.
    pub left_out: Vec<String>,
    /// System calls that the emulator does not have; the program was told so.
    pub missing_calls: Vec<String>,
    /// Seconds under the recorder.
    pub seconds: f64,
    /// Nanoseconds an event, everything the emulator does included.
    pub ns_per_event: f64,
    /// Events that were named by file and line.
    pub named: u64,
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Records a program. Nothing is written unless all of it was recorded.
///
/// # Errors
/// An emulator or plugin that is not there, or not one that can record; a program that cannot be started or not be followed;
/// something that it does to its files and that cannot be recorded.
pub fn record(request: &RecordRequest) -> Result<Recorded, LabError> {
    let session = Session::new(request)?;
    let mut found = Recorded {
        log: request.log.display().to_string(),
        executions: 0,
        events: 0,
        threads: 0,
        status: String::new(),
        programs: BTreeMap::new(),
        left_out: Vec::new(),
        missing_calls: Vec::new(),
        seconds: 0.0,
        ns_per_event: 0.0,
        named: 0,
    };
    let (mut ends, mut texts) = (BTreeSet::new(), Vec::new());
    let mut all = Recording::default();
    for run in 0..u64::from(request.schedules) {
        session.restore(run)?;
        let begun = Instant::now();
        let (status, recording) = session.run(run)?;
        found.seconds += begun.elapsed().as_secs_f64();
        ends.insert(status.to_string());
        session.judge(&recording, status)?;
        let (text, named) = session.log(&recording);
        found.events += recording.events.len() as u64;
        found.named += named;
        let threads: BTreeSet<u32> = recording.events.iter().map(|e| e.thread).collect();
        found.threads = found.threads.max(threads.len());
        for process in &recording.processes {
            *found.programs.entry(process.program.display().to_string()).or_default() += process.events;
        }
        all.beside.extend(recording.beside);
        all.missing.extend(recording.missing);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    found.executions = texts.len() as u64;
    session.write(&texts)?;
    found.status = ends.into_iter().collect::<Vec<_>>().join(", ");
    found.left_out = all.beside.iter().map(|(path, how)| format!("{path} ({how})")).collect();
    found.missing_calls = all.missing.into_iter().collect();
    found.ns_per_event = found.seconds * 1e9 / found.events.max(1) as f64;
    Ok(found)
}

/// What the runs of one recording share.
struct Session<'r> {
    request: &'r RecordRequest,
    plugin: PathBuf,
    /// The program with its arguments; a script's interpreter is the program.
    command: Vec<String>,
    emulator: PathBuf,
    files: Vec<PathBuf>,
    folder: Folder,
}

impl<'r> Session<'r> {
    fn new(request: &'r RecordRequest) -> Result<Session<'r>, LabError> {
        if request.schedules == 0 {
            return Err(BadInput::new("0 schedules record nothing").into());
        }
        check_emulator(&request.emulator)?;
        let plugin = plugin(request.plugin.as_deref())?;
        let command = emulated(&request.command)?;
        let files = files(&request.pm)?;
        if request.schedules == 1 && request.log.is_dir() {
            let found = format!("{} is a folder, and one log is a file", request.log.display());
            return Err(BadInput::new(found).into());
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
        std::fs::create_dir(&folder).map_err(|e| LabError::file("create folder", &folder, e))?;
        Ok(Session {
            emulator: find(&request.emulator)?,
            request,
            plugin,
            command,
            files,
            folder: Folder(folder),
        })
    }
    /// Before the first run, keeps what the files hold; before another, makes them hold it again.
    fn restore(&self, run: u64) -> Result<(), LabError> {
        if self.request.schedules == 1 {
            return Ok(());
        }
        for (i, file) in self.files.iter().enumerate() {
            let kept = self.folder.0.join(format!("kept-{i}"));
            let failed = |e| LabError::file("restore", file, e);
            let absent = |p: &Path| match std::fs::remove_file(p) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed(e)),
                _ => Ok(()),
            };
            let (from, to) = if run == 0 { (file, &kept) } else { (&kept, file) };
            match from.exists() {
                true => std::fs::copy(from, to).map(|_| ()).map_err(failed)?,
                false => absent(to)?,
            }
        }
        Ok(())
    }
    fn run(&self, run: u64) -> Result<(ExitStatus, Recording), LabError> {
        let folder = Folder(self.folder.0.join(format!("run-{run}")));
        std::fs::create_dir(&folder.0).map_err(|e| LabError::file("create folder", &folder.0, e))?;
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
        command.args(["-cpu", "max", "-plugin", &plugin]).args(&self.command);
        // libpmem flushes by instructions only where it takes the file for persistent memory.
        if std::env::var_os("PMEM_IS_PMEM_FORCE").is_none() {
            command.env("PMEM_IS_PMEM_FORCE", "1");
        }
        let status = command
            .status()
            .map_err(|e| BadInput::new(format!("`{}` does not start: {e}", self.request.emulator)))?;
        if !folder.0.join("journal-1").exists() {
            let found = format!("the emulator could not run `{}` ({status})", self.command[0]);
            return Err(BadInput::new(found).hint("what it said is above").into());
        }
        Ok((status, Recording::read(&folder.0)?))
    }
    /// Whether a recording is one.
    fn judge(&self, recording: &Recording, status: ExitStatus) -> Result<(), LabError> {
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
            let names: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
            let found = format!(
                "nothing was recorded: the program ({status}) neither wrote nor mapped and stored to {}",
                names.join(", ")
            );
            let mut bad =
                BadInput::new(found).hint("--pm names the file itself; it is mapped with MAP_SHARED, or written");
            for (path, how) in &recording.beside {
                bad = bad.hint(format!("{path} was {how}"));
            }
            return Err(bad.into());
        }
        compare(recording, &self.files)
    }
    /// The log of a recording, and how many of its lines have a line of the program.
    fn log(&self, recording: &Recording) -> (String, u64) {
        let layout = Layout::of(recording);
        let mut text = String::from("fencepost-log 1\n");
        text += &layout.head(recording, &self.files);
        let (mut places, mut named) = (Places::default(), 0);
        for event in &recording.events {
            let process = &recording.processes[event.process];
            let (place, known) = places.name(event.process, process, &event.place);
            named += u64::from(known);
            let thread = event.thread;
            if event.work > 0 {
                let _ = writeln!(text, "{thread} work {}", event.work.min(u64::from(u32::MAX)));
            }
            let _ = writeln!(text, "{thread} {} @ {place}", layout.event(event));
        }
        (text, named)
    }
    /// Writes the logs, whole or not at all.
    fn write(&self, texts: &[String]) -> Result<(), LabError> {
        let put = |name: &str, text: &str| {
            let path = self.folder.0.join(name);
            std::fs::write(&path, text).map_err(|e| LabError::file("write", &self.request.log, e))?;
            Ok::<_, LabError>(path)
        };
        let log = &self.request.log;
        let failed = |e| LabError::file("write", log, e);
        if self.request.schedules == 1 {
            let new = put("log", &texts[0])?;
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

/// The persistent files by whole paths.
fn files(asked: &[PathBuf]) -> Result<Vec<PathBuf>, LabError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in asked {
        let bad = |why: &str| BadInput::new(format!("--pm {}: {why}", path.display()));
        let file = match path.canonicalize() {
            Ok(file) => file,
            // It need not be there yet, but its folder must.
            Err(_) => {
                let whole = std::path::absolute(path).map_err(|e| LabError::file("find", path, e))?;
                let (folder, name) = (whole.parent(), whole.file_name());
                let folder = folder.and_then(|f| f.canonicalize().ok());
                let (Some(folder), Some(name)) = (folder, name) else {
                    return Err(bad("its folder is not there").into());
                };
                folder.join(name)
            }
        };
        let name = file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        if file.is_dir() {
            return Err(bad("is a folder").hint("name each file: --pm FILE --pm FILE").into());
        }
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@' || c == '#') {
            return Err(bad("a log has no place for a name with blanks, `@` or `#`").into());
        }
        if files.iter().any(|f| f.file_name() == file.file_name()) {
            return Err(bad("two files have one name, by which a log tells them apart").into());
        }
        files.push(file);
    }
    match files.is_empty() {
        true => Err(BadInput::new("name the persistent file: --pm FILE").into()),
        false => Ok(files),
    }
}
