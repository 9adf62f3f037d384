//! Planted faults against the commands that users have: which command convicts which fault.
//!
//! Every fault (`fencepost_kernel::planted!`) breaks one rule. With one of them on, the commands of [`super::commands`] are run one
//! after the other. A fault is convicted by the first command whose outcome is another one than without the fault: a violation, a
//! defect reported by the simulator itself, or a known mistake that is no longer found.

use super::commands::{Command, Outcome, on_design};
use fencepost_designs::all as designs;
use fencepost_kernel::fault;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Random programs within which a fault that a design declares must show.
const PATIENCE: usize = 80;

/// Faults that no command is known to convict, and why.
pub const ESCAPES: &[(&str, &str)] = &[
    (
        "core.release-overtakes",
        "where stores may pass each other every dialect fences before a release, and under TSO the store queue is in order",
    ),
    (
        "explorer.second-failure-not-tried",
        "only a recovery that cannot be repeated shows it, and no program has one as a deliberate mistake",
    ),
    (
        "hierarchy.copies-survive-bypass",
        "no verdict: the store asks again for ever, and the run ends as stuck",
    ),
    (
        "hierarchy.dirt-lost-on-transfer",
        "whoever takes a line for itself stores to it, which makes it dirty again",
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

/// The commands with their outcomes without a fault, worked out when first asked for.
pub struct Bench {
    commands: [Vec<(Command, OnceLock<Outcome>)>; 2],
    limit: Duration,
}
impl Bench {
    /// A bench of these commands: on the simulated hardware, and of the explorer. A fault that nothing has convicted within
    /// `limit` escapes.
    pub fn new((runs, crashes): (Vec<Command>, Vec<Command>), limit: Duration) -> Bench {
        let unknown = |c: Vec<Command>| c.into_iter().map(|c| (c, OnceLock::new())).collect();
        Bench {
            commands: [unknown(runs), unknown(crashes)],
            limit,
        }
    }
    /// Plants one fault and runs the commands until one convicts it.
    pub fn convict(&self, name: &str) -> Tried {
        let part = name.split('.').next().unwrap_or_default();
        let own = |c: &Command| matches!(c, Command::Run(info, _) if info.name.starts_with(part));
        let of_design = self.commands[0].iter().any(|c| own(&c.0));
        let first = usize::from(!of_design && !["hierarchy", "memory", "core", "x86"].contains(&part));
        // The commands of the design that has the fault come first.
        let mut all: Vec<_> = self.commands[first].iter().chain(&self.commands[1 - first]).collect();
        all.sort_by_key(|c| !own(&c.0));
        let began = Instant::now();
        let mut tried = Tried {
            name: name.to_owned(),
            reached: false,
            commands: 0,
            convicted: None,
        };
        for (command, without) in all {
            if began.elapsed() > self.limit {
                break;
            }
            let without = without.get_or_init(|| command.outcome());
            let (outcome, reached) = fault::with(name, || command.outcome());
            tried.reached |= reached;
            tried.commands += 1;
            if reached && outcome.differs(without) {
                tried.convicted = Some((command.to_string(), outcome));
                break;
            }
        }
        tried
    }
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
