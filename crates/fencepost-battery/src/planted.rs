//! Planted faults against the commands that users have: which command convicts which fault.
//!
//! Every fault (`fencepost_kernel::planted!`, or a value of a design's parameter `fault`, or both) breaks one rule. With one of them on,
//! the commands of [`super::commands`] are run one after the other. A fault is convicted by the first command whose outcome is another
//! one than without the fault: a violation, a defect reported by the simulator itself, or a known mistake that is no longer found.

use super::command::{Command, Outcome};
use super::commands::on_design;
use super::product;
use fencepost_designs::info::{PlantedFault, Scenario};
use fencepost_designs::{DesignInfo, all as designs};
use fencepost_kernel::fault;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Runs for each design that declares a fault, within which it must show.
const PATIENCE: usize = 4_000;
/// Operations of each thread in them, from run to run.
const LENGTHS: [u32; 3] = [12, 60, 200];
/// Longest that one command with a fault may take, beside ten times what it takes without.
const LONGEST: Duration = Duration::from_secs(4);

/// Commands of the list that are tried first, if they take less than [`SOON`] without a fault.
const FIRST: usize = 1_500;
/// See [`FIRST`].
const SOON: Duration = Duration::from_millis(300);

/// Faults that no command is known to convict, and why.
pub const ESCAPES: &[(&str, &str)] = &[(
    "delegated.read-set-ignored",
    "rcbsp orders nothing after a read of an old value: the hardware keeps more than it promises",
)];

/// Parts of the code in which faults are planted, with the first parts of their names; the other names are those of designs.
pub const PARTS: [(&str, &[&str]); 4] = [
    ("hierarchy", &["hierarchy"]),
    ("controller and core", &["memory", "core"]),
    (
        "explorer, runtimes, recovery, logs",
        &[
            "explorer", "contract", "conform", "tx", "recover", "oracle", "external", "judge",
        ],
    ),
    ("designs", &[]),
];
/// The part of the code that a fault is planted in, as an index of [`PARTS`].
pub fn part_of(name: &str) -> usize {
    let place = name.split('.').next().unwrap_or_default();
    let part = PARTS.iter().position(|p| p.1.contains(&place));
    part.unwrap_or(PARTS.len() - 1)
}

/// What became of one planted fault.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// Whether a planted line was reached at all.
    pub reached: bool,
    /// Commands run with it.
    pub commands: usize,
    /// The command that convicts it, and what it says.
    pub convicted: Option<(String, Outcome)>,
}
impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.convicted, self.reached) {
            (Some((command, outcome)), _) => {
                let said: String = outcome
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .chars()
                    .take(140)
                    .collect();
                write!(f, "convicted  {:<42} `{command}`: {said}", self.name)
            }
            (None, reached) => {
                let known = ESCAPES.iter().find(|e| e.0 == self.name).map(|e| e.1);
                let why = known.unwrap_or(match reached {
                    true => "reached, and no verdict differs",
                    false => "no command reaches it",
                });
                write!(f, "ESCAPES    {:<42} {} commands: {why}", self.name, self.commands)
            }
        }
    }
}

/// What a command says without a fault, which planted lines it reaches (`None` where it cannot tell), and what it takes.
struct Known {
    without: Outcome,
    asked: Option<BTreeSet<&'static str>>,
    took: Duration,
}
impl Known {
    fn of(command: &Command) -> Known {
        let began = Instant::now();
        let (without, asked) = fault::asked(|| command.outcome());
        let (asked, took) = (command.tells().then_some(asked), began.elapsed());
        Known { without, asked, took }
    }
}

/// The commands, with what they say without a fault once that was asked for.
pub struct Bench {
    commands: Vec<(Command, OnceLock<Known>)>,
    limit: Duration,
}
impl Bench {
    /// A bench of these commands. A fault that nothing has convicted when the commands with it have taken `limit` escapes.
    pub fn new(commands: Vec<Command>, limit: Duration) -> Bench {
        let commands = commands.into_iter().map(|c| (c, OnceLock::new())).collect();
        Bench { commands, limit }
    }
    /// Plants one fault until a command convicts it: first the commands of designs that declare it, with the values that make it show;
    /// then every command that reaches it.
    pub fn convict(&self, name: &str) -> Tried {
        let mut tried = Tried {
            name: name.to_owned(),
            reached: false,
            commands: 0,
            convicted: None,
        };
        self.as_declared(&mut tried);
        if tried.convicted.is_none() {
            self.in_turn(&mut tried);
        }
        tried
    }
    /// With the commands of the list: those of the first that are soon done; those that cannot tell what they reach, if none of these
    /// reaches it; then all others.
    fn in_turn(&self, tried: &mut Tried) {
        let known = |i: usize| {
            let (command, known) = &self.commands[i];
            known.get_or_init(|| Known::of(command))
        };
        let blind = |i: usize| !self.commands[i].0.tells();
        let soon = |i: usize| i < FIRST && !blind(i) && known(i).took < SOON;
        let all = || 0..self.commands.len();
        let mut left = self.limit / 2;
        self.all_of(all().take(FIRST).filter(|i| soon(*i)), tried, &mut left);
        left += self.limit / 2;
        if tried.convicted.is_none() && !tried.reached {
            self.all_of(all().filter(|i| blind(*i)), tried, &mut left);
        }
        if tried.convicted.is_none() {
            self.all_of(all().filter(|i| !blind(*i) && !soon(*i)), tried, &mut left);
        }
    }
    /// With these commands, until the time is over.
    fn all_of(&self, commands: impl Iterator<Item = usize>, tried: &mut Tried, left: &mut Duration) {
        for (command, known) in commands.map(|i| &self.commands[i]) {
            let known = known.get_or_init(|| Known::of(command));
            if known.asked.as_ref().is_some_and(|a| !a.contains(tried.name.as_str())) {
                continue;
            }
            tried.reached |= known.asked.is_some();
            let longest = (*left).min(LONGEST + 10 * known.took);
            let began = Instant::now();
            tried.commands += 1;
            // One that does not end convicts nothing: a user would not know why.
            let outcome = faulty(command, &tried.name, longest);
            if let Some(outcome) = outcome.filter(|o| o.differs(&known.without)) {
                tried.convicted = Some((command.to_string(), outcome));
                return;
            }
            *left = left.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
        }
    }
    /// On each design that declares it.
    fn as_declared(&self, tried: &mut Tried) {
        let until = Instant::now() + self.limit;
        let faults = |(d, info): (usize, &'static DesignInfo)| info.faults.iter().map(move |f| (d, f));
        let mine: Vec<_> = designs().iter().enumerate().flat_map(faults).collect();
        let mine = mine.into_iter().filter(|(_, f)| f.name == tried.name);
        let mine: Vec<(usize, &PlantedFault)> = mine.collect();
        for round in 0..PATIENCE {
            for (d, command) in mine.iter().filter_map(|(d, f)| Some((*d, as_declared(*d, f, round)?))) {
                if Instant::now() > until {
                    return;
                }
                tried.commands += 1;
                tried.reached = true;
                let sound = || Command::outcome(&plain(d, &command)) == Outcome::Clean;
                match faulty(&command, &tried.name, LONGEST) {
                    Some(outcome @ (Outcome::Violated(_) | Outcome::Defect(_))) if sound() => {
                        tried.convicted = Some((command.to_string(), outcome));
                        return;
                    }
                    _ => {}
                }
            }
        }
    }
}

/// What a command says with a fault, in a thread of its own, which is left behind if the command does not end in time.
fn faulty(command: &Command, name: &str, limit: Duration) -> Option<Outcome> {
    let (done, result) = mpsc::channel();
    let (command, name) = (command.clone(), name.to_owned());
    thread::spawn(move || done.send(fault::with(&name, || command.outcome()).0));
    result.recv_timeout(limit).ok()
}

/// A run of the scenario in which a design declares that a fault shows, with the values that it declares.
fn as_declared(d: usize, fault: &PlantedFault, round: usize) -> Option<Command> {
    let (program, machine, sets) = match fault.scenario {
        Scenario::Random => ("random", None, &[][..]),
        // The scenario is one run.
        Scenario::Program { .. } if round > 0 => return None,
        Scenario::Program { program, machine, sets } => (program, Some(machine), sets),
    };
    let command = match machine {
        None => on_design(d, program, round, true)?,
        Some(machine) => {
            let request = product::request(&designs()[d], program, machine, None, 1).ok()?;
            Command::Run(&designs()[d], request)
        }
    };
    let Command::Run(info, mut request) = command else {
        return None;
    };
    request.sets.retain(|s| machine.is_some() || !s.starts_with("design."));
    request.sets.extend(sets.iter().map(|s| (*s).to_owned()));
    let values = fault
        .values
        .iter()
        .map(|(name, value)| format!("design.{name}={value}"));
    request.sets.extend(values);
    request.ops = match machine {
        None => LENGTHS[round % LENGTHS.len()],
        Some(_) => 40,
    };
    Some(Command::Run(info, request))
}

/// The same run without the design's own fault.
fn plain(d: usize, command: &Command) -> Command {
    let Command::Run(_, request) = command else {
        return command.clone();
    };
    let mut request = request.clone();
    request.sets.retain(|s| !s.starts_with("design.fault="));
    Command::Run(&designs()[d], request)
}

/// Names of the faults that designs declare.
pub fn declared() -> BTreeSet<&'static str> {
    designs().iter().flat_map(|i| i.faults).map(|f| f.name).collect()
}
