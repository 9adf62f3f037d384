//! What may catch a mutant, cheapest first: a fixed list of user commands, the crate's own tests, a short piece of the net.

use super::tree::Built;
use crate::user_commands::UserCommand;
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
pub struct Check {
    /// As one types it, or the name of the test program.
    pub name: String,
    program: PathBuf,
    args: Vec<String>,
    folder: PathBuf,
    code: i32,
    takes: Duration,
}

/// How a check ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code; `None`: by a signal.
    With(Option<i32>),
    /// Not in time.
    Late,
}

impl Check {
    fn run(&self, mutant: Option<usize>, limit: Duration) -> io::Result<Ended> {
        let mut shell = Command::new("sh");
        let text = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
        shell
            .args(["-c", &text])
            .arg(&self.program)
            .args(&self.args)
            .current_dir(&self.folder);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        shell.env("FENCEPOST_MUTANT", mutant.map_or(String::new(), |n| n.to_string()));
        wait(shell.spawn()?, limit)
    }
    /// What convicts the mutant, if this check does.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn catches(&self, mutant: usize) -> io::Result<Option<String>> {
        Ok(match self.run(Some(mutant), self.takes * LONGER + MORE)? {
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
pub fn commands(built: &Built, folder: &Path) -> Result<Vec<Check>, String> {
    let check = |c: UserCommand| Check {
        name: format!("fencepost {}", c.args.join(" ")),
        program: built.fencepost.clone(),
        args: c.args,
        folder: folder.to_owned(),
        code: c.code,
        takes: Duration::ZERO,
    };
    Ok(crate::user_commands::all()?.into_iter().map(check).collect())
}
/// The test programs of a crate.
pub fn tests(built: &Built, krate: &str) -> Vec<Check> {
    let own = built.tests.iter().filter(|(_, folder)| folder.ends_with(krate));
    let check = |(program, folder): &(PathBuf, PathBuf)| Check {
        name: format!("test {}", program.file_stem().unwrap_or_default().to_string_lossy()),
        program: program.clone(),
        args: ["--test-threads", "2", "-q"].map(str::to_owned).to_vec(),
        folder: folder.clone(),
        code: 0,
        takes: Duration::ZERO,
    };
    own.map(check).collect()
}
/// A piece of the net, and the explorer against brute force.
pub fn net(built: &Built, folder: &Path) -> Vec<Check> {
    let check = |args: &[&str]| Check {
        name: format!("xtask {}", args.join(" ")),
        program: built.xtask.clone(),
        args: args.iter().map(|a| (*a).to_owned()).collect(),
        folder: folder.to_owned(),
        code: 0,
        takes: Duration::ZERO,
    };
    let explorer = ["explorer", "--programs", "500", "--seed", "5"];
    [check(&explorer), check(&["net", "--runs", "500", "--seed", "5"])].into()
}

/// The checks, cheapest first, with what each takes without a mutant; and those that were left out because they take too long.
///
/// # Errors
/// A check does not end as it must without any mutant.
pub fn timed(checks: Vec<Check>) -> Result<(Vec<Check>, Vec<String>), String> {
    let (mut timed, mut left_out) = (Vec::new(), Vec::new());
    for mut check in checks {
        let begun = Instant::now();
        let ended = check.run(None, TOO_LONG).map_err(|e| e.to_string())?;
        check.takes = begun.elapsed();
        match ended {
            Ended::With(code) if code == Some(check.code) => timed.push(check),
            Ended::Late => left_out.push(check.name),
            Ended::With(code) => return Err(format!("without a mutant `{}` ends with {code:?}", check.name)),
        }
    }
    timed.sort_by_key(|c| c.takes);
    Ok((timed, left_out))
}
