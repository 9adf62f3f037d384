//! Recording an unmodified program under the emulator.

use crate::recovery::emulator::{check_emulator, find, plain, plugin};
use fencepost_run::{BadInput, LabError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A program to be recorded.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Files whose path starts with this are persistent memory, where they are mapped shared.
    pub pm: PathBuf,
    /// Where the log goes.
    pub log: PathBuf,
    /// The emulator.
    pub emulator: String,
    /// The plugin; `None` looks beside the running executable.
    pub plugin: Option<PathBuf>,
    /// Memory accesses after which another thread may go on.
    pub quantum: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// The log.
    pub log: String,
    /// Lines with events.
    pub events: u64,
    /// Exit status of the program.
    pub status: i32,
    /// Seconds under the recorder.
    pub seconds: f64,
    /// Nanoseconds an event, everything the emulator does included.
    pub ns_per_event: f64,
    /// Places of the log that were named by file and line.
    pub named: u64,
}

/// Records a program.
///
/// # Errors
/// An emulator or plugin that is not there, or not one that can record; a program that cannot be started.
pub fn record(request: &RecordRequest) -> Result<Recorded, LabError> {
    let Some((program, arguments)) = request.command.split_first() else {
        return Err(BadInput::new("give the program to record after `--`").into());
    };
    check_emulator(&request.emulator)?;
    let plugin = plugin(request.plugin.as_deref())?;
    let program = find(program)?;
    let pm = std::path::absolute(&request.pm).map_err(|e| LabError::file("find", &request.pm, e))?;
    let text = |p: &Path| p.to_string_lossy().into_owned();
    for path in [&plugin, &pm, &request.log] {
        plain(path)?;
    }
    let options = format!(
        "{},log={},pm={},quantum={}",
        text(&plugin),
        text(&request.log),
        text(&pm),
        request.quantum
    );
    let mut command = Command::new(&request.emulator);
    command
        .args(["-cpu", "max", "-plugin", &options])
        .arg(&program)
        .args(arguments);
    // libpmem flushes by instructions only where it takes the file for persistent memory.
    if std::env::var_os("PMEM_IS_PMEM_FORCE").is_none() {
        command.env("PMEM_IS_PMEM_FORCE", "1");
    }
    let begun = Instant::now();
    let status = command
        .status()
        .map_err(|e| BadInput::new(format!("`{}` does not start: {e}", request.emulator)))?;
    let seconds = begun.elapsed().as_secs_f64();
    let (events, named) = name_places(&request.log, &program)?;
    if events == 0 {
        let found = format!(
            "nothing was recorded: no file whose path starts with {} was stored to",
            pm.display()
        );
        return Err(BadInput::new(found)
            .hint("the file must be mapped with MAP_SHARED; --pm names it")
            .into());
    }
    Ok(Recorded {
        log: text(&request.log),
        events,
        status: status.code().unwrap_or(-1),
        seconds,
        ns_per_event: seconds * 1e9 / events as f64,
        named,
    })
}

/// Replaces addresses of the program's code by files and lines, as far as its debug information has them.
/// Answers the number of events, and of places that were named.
fn name_places(log: &Path, program: &Path) -> Result<(u64, u64), LabError> {
    let text = std::fs::read_to_string(log).map_err(|e| LabError::file("read", log, e))?;
    let own = program
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let address = |line: &str| {
        let place = line.rsplit_once(" @ ")?.1;
        let (file, at) = place.rsplit_once('+')?;
        (file == own).then(|| at.to_owned())
    };
    let mut names: BTreeMap<String, Option<String>> = text.lines().filter_map(address).map(|a| (a, None)).collect();
    look_up(program, &mut names);
    let mut out = String::with_capacity(text.len());
    let (mut events, mut named) = (0, 0);
    for line in text.lines() {
        let is_event = line.starts_with(|c: char| c.is_ascii_digit()) && line.split(' ').nth(1) != Some("work");
        events += u64::from(is_event);
        match address(line).and_then(|a| names.get(&a)?.clone()) {
            Some(name) => {
                named += 1;
                out.push_str(line.rsplit_once(" @ ").map_or(line, |l| l.0));
                out.push_str(" @ ");
                out.push_str(&name);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    std::fs::write(log, out).map_err(|e| LabError::file("write", log, e))?;
    Ok((events, named))
}
/// Asks `addr2line` for all addresses at once. Without it, or without debug information, addresses stay.
fn look_up(program: &Path, names: &mut BTreeMap<String, Option<String>>) {
    let mut tool = Command::new("addr2line");
    tool.arg("-e")
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut child) = tool.spawn() else { return };
    let asked: Vec<String> = names.keys().cloned().collect();
    if let Some(mut input) = child.stdin.take() {
        std::thread::spawn(move || input.write_all((asked.join("\n") + "\n").as_bytes()));
    }
    let Ok(output) = child.wait_with_output() else { return };
    let answers = String::from_utf8_lossy(&output.stdout).into_owned();
    for (name, answer) in names.values_mut().zip(answers.lines()) {
        let place = answer.split(" (").next().unwrap_or(answer);
        let short = place.rsplit('/').next().unwrap_or(place);
        *name =
            (!place.starts_with("??") && !place.ends_with(":?") && !place.ends_with(":0")).then(|| short.to_owned());
    }
}
