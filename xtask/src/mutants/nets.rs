//! What may catch a mutant, cheapest first: a fixed list of user commands, single tests of the crate and of those that run whole programs,
//! the battery of each design, a short piece of the net.
//!
//! Each runs once without a mutant, which says how long it takes and which mutants it reaches at all; it is asked of no others.

use super::jobs::each;
use super::takes::Takes;
use super::tree::{Built, WHOLE};
use crate::user_commands::UserCommand;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A check with a mutant may take this many times what it takes without, and [`MORE`].
const LONGER: u32 = 6;
const MORE: Duration = Duration::from_secs(8);
/// A test that takes longer than this without a mutant is left out.
const TOO_LONG: Duration = Duration::from_secs(150);
/// The same of a test of another crate, which has hundreds of shorter ones.
const TOO_LONG_ELSEWHERE: Duration = Duration::from_secs(10);
/// In place of the time of a test that fails without a mutant.
const FAILS: Duration = Duration::from_secs(1 << 20);
/// Memory of one process.
const MEMORY_KIB: &str = "8000000";

/// One check: a program, how it must end, and what that takes.
pub(super) struct Check {
    /// As one types it, or the name of the test program.
    pub name: String,
    program: PathBuf,
    args: Vec<String>,
    /// The listed fault that is planted.
    planted: Option<String>,
    folder: PathBuf,
    code: i32,
    takes: Duration,
    /// It is left out if it takes longer.
    most: Duration,
    reaches: BTreeSet<usize>,
}

/// How a check ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this exit code; `None`: by a signal.
    With(Option<i32>),
    /// Not in time.
    Late,
}

impl Check {
    /// Runs it with a mutant, or without one and with a file for the mutants that it reaches.
    fn run(&self, mutant: Result<usize, &Path>, limit: Duration) -> io::Result<Ended> {
        let mut shell = Command::new("sh");
        let text = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
        shell
            .args(["-c", &text])
            .arg(&self.program)
            .args(&self.args)
            .current_dir(&self.folder);
        shell.envs(self.planted.as_ref().map(|fault| ("FENCEPOST_FAULT", fault)));
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match mutant {
            Ok(number) => shell.env("FENCEPOST_MUTANT", number.to_string()),
            Err(reached) => shell.env("FENCEPOST_REACHED", reached),
        };
        wait(shell.spawn()?, limit)
    }
    /// What convicts the mutant, if this check does.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(super) fn catches(&self, mutant: usize) -> io::Result<Option<String>> {
        if !self.reaches.contains(&mutant) {
            return Ok(None);
        }
        Ok(match self.run(Ok(mutant), self.takes * LONGER + MORE)? {
            Ended::With(Some(code)) if code == self.code => None,
            Ended::With(Some(code)) => Some(format!("exit code {code}")),
            Ended::With(None) => Some("a signal".into()),
            Ended::Late => Some("no end".into()),
        })
    }
}

/// Waits for a process, and ends it when it is late.
fn wait(mut child: Child, limit: Duration) -> io::Result<Ended> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::With(status.code()));
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::Late);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// The user commands of the list.
///
/// # Errors
/// A line of the list is not understood.
pub(super) fn commands(built: &Built, folder: &Path) -> Result<Vec<Check>, String> {
    let check = |c: UserCommand| Check {
        name: c.to_string(),
        program: built.fencepost.clone(),
        planted: c.fault.clone(),
        args: c.args,
        folder: folder.to_owned(),
        code: c.code,
        takes: Duration::ZERO,
        most: TOO_LONG,
        reaches: BTreeSet::new(),
    };
    Ok(crate::user_commands::all()?.into_iter().map(check).collect())
}
/// The tests of a crate and of [`WHOLE`], one by one: a mutant is then asked of those alone that reach it.
///
/// # Errors
/// A test program does not list its tests.
pub(super) fn tests(built: &Built, krate: &str) -> Result<Vec<Check>, String> {
    let ran = |folder: &Path| WHOLE.iter().chain([&krate]).any(|k| folder.ends_with(k));
    let mut all = Vec::new();
    for (program, folder) in built.tests.iter().filter(|(_, folder)| ran(folder)) {
        let check = |test: String| Check {
            name: format!(
                "test {} {test}",
                program.file_stem().unwrap_or_default().to_string_lossy()
            ),
            program: program.clone(),
            planted: None,
            args: ["--exact", &test, "-q"].map(str::to_owned).to_vec(),
            folder: folder.clone(),
            code: 0,
            takes: Duration::ZERO,
            most: if folder.ends_with(krate) {
                TOO_LONG
            } else {
                TOO_LONG_ELSEWHERE
            },
            reaches: BTreeSet::new(),
        };
        all.extend(listed(program, folder)?.into_iter().map(check));
    }
    Ok(all)
}
/// The tests of a test program, without those that are ignored.
fn listed(program: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let said = |more: &[&str]| -> Result<Vec<String>, String> {
        let mut command = Command::new(program);
        command
            .args(["--list", "--format", "terse"])
            .args(more)
            .current_dir(folder);
        let out = command.output().map_err(|e| format!("{}: {e}", program.display()))?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        Ok(text
            .lines()
            .filter_map(|l| Some(l.strip_suffix(": test")?.to_owned()))
            .collect())
    };
    let ignored = said(&["--ignored"])?;
    Ok(said(&[])?.into_iter().filter(|t| !ignored.contains(t)).collect())
}
/// Random runs of each design.
const RUNS: &str = "500";

/// The battery of each design by itself: of all of them together it takes too long to be asked about one mutant.
pub(super) fn batteries(built: &Built, folder: &Path) -> Vec<Check> {
    let battery = |name: &str| task(built, folder, &["battery", "--design", name]);
    fencepost_battery::net::design_names().map(battery).collect()
}

/// The explorer against brute force, and a piece of the net for each design: those that reach a mutant are asked about it.
pub(super) fn net(built: &Built, folder: &Path) -> Vec<Check> {
    let explorer = task(built, folder, &["explorer", "--programs", "1000", "--seed", "5"]);
    let net = |name: &str| task(built, folder, &["net", "--design", name, "--runs", RUNS, "--seed", "5"]);
    let nets = fencepost_battery::net::design_names().map(net);
    std::iter::once(explorer).chain(nets).collect()
}

fn task(built: &Built, folder: &Path, args: &[&str]) -> Check {
    Check {
        name: format!("xtask {}", args.join(" ")),
        program: built.xtask.clone(),
        planted: None,
        args: args.iter().map(|a| (*a).to_owned()).collect(),
        folder: folder.to_owned(),
        code: 0,
        takes: Duration::ZERO,
        most: TOO_LONG,
        reaches: BTreeSet::new(),
    }
}

/// The checks, cheapest first, with what each takes without a mutant; and those that were left out, with the reason.
/// What was measured of the same build stands in `takes`. So many are measured at a time.
///
/// # Errors
/// A command does not end as it must without any mutant.
pub(super) fn timed(checks: Vec<Check>, takes: &mut Takes, jobs: usize) -> Result<(Vec<Check>, Vec<String>), String> {
    let unknown: Vec<usize> = (0..checks.len())
        .filter(|i| takes.of(&checks[*i].name).is_none())
        .collect();
    let takes = Mutex::new(takes);
    each(&unknown, jobs, |i| {
        let check = &checks[i];
        let reached = takes.lock().map_err(|e| e.to_string())?.no_mutants_yet(i)?;
        let begun = Instant::now();
        let known = match check.run(Err(&reached), TOO_LONG).map_err(|e| e.to_string())? {
            Ended::With(code) if code == Some(check.code) => begun.elapsed(),
            Ended::Late => TOO_LONG,
            // A test may want what a copy does not have.
            Ended::With(_) if check.name.starts_with("test ") => FAILS,
            Ended::With(code) => {
                return Err(format!("without a mutant `{}` ends with {code:?}", check.name));
            }
        };
        takes
            .lock()
            .map_err(|e| e.to_string())?
            .add(&check.name, known, &reached)
    })?;
    let takes = takes.into_inner().map_err(|e| e.to_string())?;
    let (mut timed, mut left_out) = (Vec::new(), Vec::new());
    for mut check in checks {
        (check.takes, check.reaches) = takes.of(&check.name).unwrap_or_default();
        match check.takes {
            FAILS => left_out.push(format!("it fails without a mutant: {}", check.name)),
            takes if takes >= check.most => left_out.push(format!("it takes too long: {}", check.name)),
            _ => timed.push(check),
        }
    }
    timed.sort_by_key(|c| c.takes);
    Ok((timed, left_out))
}
