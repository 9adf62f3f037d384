//! One command of a user, as data: what it runs, what it says, and how it is typed.

use fencepost_designs::DesignInfo;
use fencepost_kernel::fault;
use fencepost_papers::experiment::runs::Runs;
use fencepost_papers::experiment::statement::Statement;
use fencepost_papers::reproduce::papers::statements;
use fencepost_run::LabError;
use fencepost_run::config::Resolved;
use fencepost_run::crash::{CrashRequest, crash};
use fencepost_run::replay::replay;
use fencepost_run::request::Request;
use fencepost_run::result::Check;
use fencepost_run::run::run_resolved;
use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is wrong.
    Clean,
    /// Crash states break, or a rule does; whether the persist order was one that the contract allows.
    Violated(Option<bool>),
    /// The simulator or the checker found a defect of its own, and says which.
    Defect(String),
    /// The command refuses.
    Refused(String),
}
impl Outcome {
    /// Whether this is another verdict than without a fault.
    pub(super) fn differs(&self, without: &Outcome) -> bool {
        match (self, without) {
            (Outcome::Defect(_), Outcome::Defect(_)) | (Outcome::Refused(_), Outcome::Refused(_)) => false,
            (a, b) => a != b,
        }
    }
}
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Clean => f.write_str("clean"),
            Outcome::Violated(Some(false)) => f.write_str("violated, and the contract too"),
            Outcome::Violated(_) => f.write_str("violated"),
            Outcome::Defect(why) => write!(f, "defect: {why}"),
            Outcome::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

/// What a checked run examined.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Crash points that were examined.
    pub points: u64,
    /// Those that there are.
    pub points_total: u64,
    /// Whether the program's violations are expected there, and the hardware kept its contract.
    pub expected: bool,
}
impl Examined {
    fn of(c: &Check) -> Examined {
        Examined {
            points: c.points,
            points_total: c.points_total,
            expected: c.expected_violations && c.conforms == Some(true),
        }
    }
}

/// A command of a user.
#[derive(Clone)]
pub enum Command {
    /// `run PROGRAM --check`.
    Run(&'static DesignInfo, Request),
    /// `crash PROGRAM`.
    Crash(CrashRequest),
    /// `replay` of what that `crash` printed.
    Replay(CrashRequest),
    /// `reproduce` of the paper that claims the rule with this check: no rule of the mechanism may miss.
    Rule(&'static str),
    /// A command that starts processes of its own, by its arguments: the program `fencepost` at this path.
    Process(PathBuf, Vec<String>),
}
impl Command {
    /// Whether the planted lines that it reaches are known: those of other processes are not.
    pub(super) fn tells(&self) -> bool {
        !matches!(self, Command::Process(..))
    }
    /// Runs it in this thread, with the faults of this thread.
    pub fn outcome(&self) -> Outcome {
        self.examined().0
    }
    /// The same, and of a checked run what was examined.
    pub fn examined(&self) -> (Outcome, Option<Examined>) {
        let examined = Cell::new(None);
        (self.caught(&examined), examined.get())
    }
    fn caught(&self, examined: &Cell<Option<Examined>>) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| self.run(examined))) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(e @ (LabError::Internal(_) | LabError::Convicted { .. }))) => Outcome::Defect(e.to_string()),
            Ok(Err(e)) => Outcome::Refused(e.to_string()),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Outcome::Defect(format!("panics: {}", text.unwrap_or("?")))
            }
        }
    }
    fn run(&self, examined: &Cell<Option<Examined>>) -> Result<Outcome, LabError> {
        match self {
            Command::Run(info, request) => {
                let result = Resolved::with_design(request, info).and_then(|r| run_resolved(&r))?;
                examined.set(result.check.as_ref().map(Examined::of));
                Ok(result.check.map_or(Outcome::Clean, |c| of_check(&c)))
            }
            Command::Crash(request) => crash(request).map(|c| verdict(c.violated())),
            Command::Replay(request) => crash(request).and_then(|c| {
                let id = c.witness.and_then(|w| w.replay).unwrap_or_default();
                Ok(verdict(replay(&id)?.witness.is_some()))
            }),
            Command::Rule(name) => {
                let holds = |s: &Statement| s.test(&Runs::default()).is_ok();
                Ok(verdict(!statements().find(name).is_some_and(holds)))
            }
            Command::Process(program, args) => {
                let faults = fault::current();
                // Faults that are parameters alone are none of its.
                let planted = faults.names().iter().filter(|n| fault::names().any(|k| k == **n));
                let code = in_process(program, args, &planted.cloned().collect::<Vec<_>>().join(","));
                Ok(match code? {
                    Some(0) => Outcome::Clean,
                    Some(1) => Outcome::Violated(None),
                    Some(2) => Outcome::Refused("exit code 2".into()),
                    code => Outcome::Defect(format!("exit code {code:?}")),
                })
            }
        }
    }
}
/// The exit code of a command with these faults.
fn in_process(program: &Path, args: &[impl AsRef<OsStr>], faults: &str) -> Result<Option<i32>, LabError> {
    let mut child = std::process::Command::new(program);
    child.args(args).env(fault::VARIABLE, faults);
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let done = child.status().map_err(|e| LabError::Internal(e.to_string()))?;
    Ok(done.code())
}
/// Whether a program that may be built there takes planted faults.
pub(super) fn takes_faults(program: &Path) -> bool {
    let some = fault::names().next().unwrap_or_default();
    in_process(program, &["list", "contracts"], some).is_ok_and(|code| code == Some(0))
}
fn verdict(violated: bool) -> Outcome {
    match violated {
        true => Outcome::Violated(None),
        false => Outcome::Clean,
    }
}
fn of_check(c: &Check) -> Outcome {
    match c.violated() {
        true => Outcome::Violated(c.conforms),
        false => Outcome::Clean,
    }
}
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = match self {
            Command::Rule(name) => return write!(f, "reproduce, rule {name}"),
            Command::Process(_, args) => return f.write_str(&args.join(" ")),
            Command::Run(_, r) => r,
            Command::Crash(c) | Command::Replay(c) => &c.request,
        };
        let threads = r.threads.unwrap_or(1);
        if let Command::Crash(c) | Command::Replay(c) = self {
            let contract = c.contract.as_deref().unwrap_or("-");
            write!(f, "crash {} --contract {contract}", r.program)?;
            if let Some(variant) = &r.variant {
                write!(f, " --variant {variant}")?;
            }
        } else {
            write!(f, "run {} -d {} -m {}", r.program, r.design, r.machine)?;
            if let Some(media) = &r.media {
                write!(f, " --media {media}")?;
            }
            write!(f, " --check --warmup 0 --seed {}", r.seed)?;
            if r.ack_every {
                f.write_str(" --ack every")?;
            }
        }
        if let Some(log) = &r.log {
            write!(f, " --log {log}")?;
        }
        write!(f, " --threads {threads} --ops {}", r.ops)?;
        r.sets.iter().try_for_each(|s| write!(f, " --set {s}"))?;
        match self {
            Command::Replay(_) => f.write_str(", then replay"),
            _ => Ok(()),
        }
    }
}
