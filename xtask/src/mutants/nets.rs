//! What may catch a mutant, cheapest first: a fixed list of user commands, the crate's own tests, a short piece of the net.
//!
//! Each runs once without a mutant, which says how long it takes and which mutants it reaches at all; it is asked of no others.

use super::takes::Takes;
use super::tree::Built;
use crate::user_commands::UserCommand;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A check with a mutant may take this many times what it takes without, and [`MORE`].
const LONGER: u32 = 6;
const MORE: Duration = Duration::from_secs(8);
/// A test program that takes longer than this without a mutant is left out.
const TOO_LONG: Duration = Duration::from_secs(150);
/// Memory of one process.
const MEMORY_KIB: &str = "8000000";

/// One check: a program, how it must end, and what that takes.
pub(super) struct Check {
    /// As one types it, or the name of the test program.
    pub name: String,
    program: PathBuf,
    args: Vec<String>,
    folder: PathBuf,
    code: i32,
    takes: Duration,
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
        name: format!("fencepost {}", c.args.join(" ")),
        program: built.fencepost.clone(),
        args: c.args,
        folder: folder.to_owned(),
        code: c.code,
        takes: Duration::ZERO,
        reaches: BTreeSet::new(),
    };
    Ok(crate::user_commands::all()?.into_iter().map(check).collect())
}
/// The test programs of a crate.
pub(super) fn tests(built: &Built, krate: &str) -> Vec<Check> {
    let own = built.tests.iter().filter(|(_, folder)| folder.ends_with(krate));
    let check = |(program, folder): &(PathBuf, PathBuf)| Check {
        name: format!("test {}", program.file_stem().unwrap_or_default().to_string_lossy()),
        program: program.clone(),
        args: ["--test-threads", "2", "-q"].map(str::to_owned).to_vec(),
        folder: folder.clone(),
        code: 0,
        takes: Duration::ZERO,
        reaches: BTreeSet::new(),
    };
    own.map(check).collect()
}
/// Random runs of each design.
const RUNS: &str = "500";

/// The explorer against brute force, and a piece of the net for each design: those that reach a mutant are asked about it.
pub(super) fn net(built: &Built, folder: &Path) -> Vec<Check> {
    let check = |args: &[&str]| Check {
        name: format!("xtask {}", args.join(" ")),
        program: built.xtask.clone(),
        args: args.iter().map(|a| (*a).to_owned()).collect(),
        folder: folder.to_owned(),
        code: 0,
        takes: Duration::ZERO,
        reaches: BTreeSet::new(),
    };
    let explorer = check(&["explorer", "--programs", "1000", "--seed", "5"]);
    let net = |name: &str| check(&["net", "--design", name, "--runs", RUNS, "--seed", "5"]);
    let nets = fencepost_battery::net::design_names().map(net);
    std::iter::once(explorer).chain(nets).collect()
}

/// The checks, cheapest first, with what each takes without a mutant; and those that were left out because they take too long.
/// What was measured of the same build stands in `takes`.
///
/// # Errors
/// A check does not end as it must without any mutant.
pub(super) fn timed(checks: Vec<Check>, takes: &mut Takes) -> Result<(Vec<Check>, Vec<String>), String> {
    let (mut timed, mut left_out) = (Vec::new(), Vec::new());
    for mut check in checks {
        if takes.of(&check.name).is_none() {
            let reached = takes.no_mutants_yet()?;
            let begun = Instant::now();
            let known = match check.run(Err(&reached), TOO_LONG).map_err(|e| e.to_string())? {
                Ended::With(code) if code == Some(check.code) => begun.elapsed(),
                Ended::Late => TOO_LONG,
                Ended::With(code) => {
                    return Err(format!("without a mutant `{}` ends with {code:?}", check.name));
                }
            };
            takes.add(&check.name, known)?;
        }
        (check.takes, check.reaches) = takes.of(&check.name).unwrap_or_default();
        match check.takes < TOO_LONG {
            true => timed.push(check),
            false => left_out.push(check.name),
        }
    }
    timed.sort_by_key(|c| c.takes);
    Ok((timed, left_out))
}
