//! Planted faults against the commands that users have: which command convicts which fault.
//!
//! Every fault (`fencepost_kernel::planted!`) breaks one rule. With one of them on, the commands of [`super::commands`] are run one
//! after the other. A fault is convicted by the first command whose outcome is another one than without the fault: a violation, a
//! defect reported by the simulator itself, or a known mistake that is no longer found.

use super::command::{Command, Outcome};
use super::commands::on_design;
use fencepost_designs::all as designs;
use fencepost_kernel::fault;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Random programs within which a fault that a design declares must show.
const PATIENCE: usize = 80;

/// Faults that no command is known to convict, and why.
pub const ESCAPES: &[(&str, &str)] = &[
    (
        "core.store-passes-fence",
        "only a fence that waits in the store queue can be passed, and no design of the registry has one",
    ),
    (
        "delegated.read-set-ignored",
        "rcbsp orders nothing after a read of an old value: the hardware keeps more than it promises",
    ),
    (
        "hierarchy.write-overtakes-write",
        "both wait for one queue, which refuses the younger whenever it refuses the older",
    ),
    (
        "memory.same-line-order-ignored",
        "two writes of one line need the same bank, and the scheduler takes the older one whether it has to or not",
    ),
    (
        "recover.older-region-resumed",
        "a region of these programs overwrites nothing that the one before it reads, so that resuming either ends alike",
    ),
    (
        "tx.longer-range-unlogged",
        "no program announces a longer range at an address for which its transaction has a record",
    ),
];

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

/// What a command says without a fault, and which planted lines it reaches; `None` where it cannot tell.
struct Known {
    without: Outcome,
    asked: Option<BTreeSet<&'static str>>,
}
impl Known {
    fn of(command: &Command) -> Known {
        let (without, asked) = fault::asked(|| command.outcome());
        let asked = command.tells().then_some(asked);
        Known { without, asked }
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
    /// Plants one fault and runs the commands that reach it until one convicts it.
    pub fn convict(&self, name: &str) -> Tried {
        let mut left = self.limit;
        let mut tried = Tried {
            name: name.to_owned(),
            reached: false,
            commands: 0,
            convicted: None,
        };
        for (command, known) in &self.commands {
            let known = known.get_or_init(|| Known::of(command));
            if known.asked.as_ref().is_some_and(|a| !a.contains(name)) {
                continue;
            }
            tried.reached |= known.asked.is_some();
            tried.commands += 1;
            let began = Instant::now();
            let Some(outcome) = faulty(command, name, left) else {
                break;
            };
            if outcome.differs(&known.without) {
                tried.convicted = Some((command.to_string(), outcome));
                break;
            }
            left = left.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
        }
        tried
    }
}

/// What a command says with a fault, in a thread of its own, which is left behind if the command does not end in time.
fn faulty(command: &Command, name: &str, limit: Duration) -> Option<Outcome> {
    let (done, result) = mpsc::channel();
    let (command, name) = (command.clone(), name.to_owned());
    thread::spawn(move || done.send(fault::with(&name, || command.outcome()).0));
    result.recv_timeout(limit).ok()
}

/// Plants the faults that designs declare as values of a parameter: each once, on the first design that has it.
pub fn declared() -> Vec<Tried> {
    let mut all: Vec<Tried> = Vec::new();
    for (d, info) in designs().iter().enumerate() {
        for f in info.faults {
            if all.iter().any(|t| t.name == f.name) {
                continue;
            }
            let values = f.values.iter().map(|(name, value)| format!("design.{name}={value}"));
            let values: Vec<String> = values.collect();
            let faulty = |round| match on_design(d, "random", round, true)? {
                Command::Run(info, mut request) => {
                    request.sets.retain(|s| !s.starts_with("design."));
                    request.sets.extend(values.iter().cloned());
                    request.ops = 12;
                    Some(Command::Run(info, request))
                }
                other => Some(other),
            };
            let wrong = |o: &Outcome| matches!(o, Outcome::Violated(_) | Outcome::Defect(_));
            let convicts = |c: Command| Some((c.to_string(), c.outcome())).filter(|o| wrong(&o.1));
            all.push(Tried {
                name: f.name.to_owned(),
                reached: true,
                commands: PATIENCE,
                convicted: (0..PATIENCE).filter_map(faulty).find_map(convicts),
            });
        }
    }
    all
}
