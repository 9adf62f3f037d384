//! The commands that a user has for checking, as data: `run --check`, `crash`, `replay`.
//!
//! [`commands`] lists them for [`super::planted`]: every program on every design, correct programs and deliberate mistakes under
//! several contracts, and the replay of what `crash` printed. Random programs run on machines of three sizes: with small caches,
//! with caches of a few lines, and with every queue, the log and the design at their smallest besides.

use super::product;
use crate::config::Resolved;
use crate::config::machine::MachineConfig;
use crate::config::presets::{Kind, names};
use crate::crash::{CrashRequest, Grain, crash};
use crate::error::LabError;
use crate::replay::replay;
use crate::request::Request;
use crate::result::Check;
use crate::run::run_resolved;
use crate::variants::sizes;
use fencepost_contract::ContractKind;
use fencepost_designs::{DesignInfo, all as designs};
use fencepost_programs::{About, Scheme, Variant, programs};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Random programs run on each design, each on another machine.
const ROUNDS: usize = 40;
/// Caches of a few sets.
const SMALL_CACHES: [&str; 2] = ["l1.size=1KiB", "llc.size=4KiB"];
/// Caches of four to eight lines, and more lines than that: dirty lines leave all the time and come back.
const TINY_CACHES: [&str; 5] = [
    "l1.size=256B",
    "l1.ways=2",
    "llc.size=512B",
    "llc.ways=2",
    "program.random.lines=24",
];
/// Every queue of the machine at size one, and a hardware log of two groups, which wraps.
const QUEUES_OF_ONE: [&str; 8] = [
    "core.rob=2",
    "core.load_queue=1",
    "core.store_queue=1",
    "l1.mshrs=1",
    "l1.writeback_buffer=1",
    "pm.controller.write_queue=1",
    "pm.controller.read_queue=1",
    "machine.log_area=1KiB",
];
/// Contracts under which programs are explored: each is about other instructions.
const CONTRACTS: [ContractKind; 4] = [
    ContractKind::Px86,
    ContractKind::Px86Pcommit,
    ContractKind::Rcbsp,
    ContractKind::StrictSc,
];

/// What a command says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is wrong.
    Clean,
    /// Crash states break; whether the persist order was one that the contract allows.
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

/// A command of a user.
#[derive(Clone)]
pub enum Command {
    /// `run PROGRAM --check`.
    Run(&'static DesignInfo, Request),
    /// `crash PROGRAM`.
    Crash(CrashRequest),
    /// `replay` of what that `crash` printed.
    Replay(CrashRequest),
}
impl Command {
    /// Runs it in this thread.
    pub fn outcome(&self) -> Outcome {
        let run = || match self {
            Command::Run(info, request) => {
                let check = Resolved::with_design(request, info).and_then(|r| run_resolved(&r));
                check.map(|r| r.check.map_or(Outcome::Clean, |c| of_check(&c)))
            }
            Command::Crash(request) => crash(request).map(|c| {
                if c.violated() {
                    Outcome::Violated(None)
                } else {
                    Outcome::Clean
                }
            }),
            Command::Replay(request) => crash(request).and_then(|c| {
                let id = c.witness.map(|w| w.replay).unwrap_or_default();
                let again = replay(&id)?;
                Ok(if again.witness.is_some() {
                    Outcome::Violated(None)
                } else {
                    Outcome::Clean
                })
            }),
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(e @ LabError::Internal(_))) => Outcome::Defect(e.to_string()),
            Ok(Err(e)) => Outcome::Refused(e.to_string()),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                Outcome::Defect(format!("panics: {}", text.unwrap_or("?")))
            }
        }
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
            Command::Run(_, r) => r,
            Command::Crash(c) | Command::Replay(c) => &c.request,
        };
        let threads = r.threads.unwrap_or(1);
        match self {
            Command::Run(..) => {
                write!(f, "run {} -d {} -m {}", r.program, r.design, r.machine)?;
                if let Some(media) = &r.media {
                    write!(f, " --media {media}")?;
                }
                write!(f, " --check --warmup 0 --seed {}", r.seed)?;
                if !r.ack_every {
                    f.write_str(" --ack end")?;
                }
            }
            Command::Crash(c) | Command::Replay(c) => {
                write!(
                    f,
                    "crash {} --contract {}",
                    r.program,
                    c.contract.as_deref().unwrap_or("-")
                )?;
                if let Some(variant) = &r.variant {
                    write!(f, " --variant {variant}")?;
                }
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

/// The sizes of machine and design in a round.
fn sizes_of(request: &mut Request, info: &DesignInfo, round: usize, l2: bool) {
    request.sets.retain(|s| !SMALL_CACHES.contains(&s.as_str()));
    if round.is_multiple_of(3) {
        request.sets.extend(SMALL_CACHES.map(str::to_owned));
        request.sets.extend(l2.then(|| "l2.size=2KiB".to_owned()));
        return;
    }
    request.sets.retain(|s| !s.starts_with("program.random.lines="));
    request.sets.extend(TINY_CACHES.map(str::to_owned));
    if l2 {
        request.sets.extend(["l2.size=256B", "l2.ways=4"].map(str::to_owned));
    }
    if round % 3 == 2 {
        request.sets.extend(QUEUES_OF_ONE.map(str::to_owned));
    }
    if round % 6 == 5 {
        let smallest = info
            .smallest
            .iter()
            .map(|(name, value)| format!("design.{name}={value}"));
        request.sets.extend(smallest);
    }
}

/// A checked run on a medium where the design keeps its promise, or (`sound` false) on one where it cannot.
pub(super) fn on_design(d: usize, program: &str, round: usize, sound: bool) -> Option<Command> {
    let (info, machines, media) = (&designs()[d], names(Kind::Machine), names(Kind::Media));
    let machine = machines[(round + d) % machines.len()];
    (0..media.len()).find_map(|i| {
        let medium = media[(i + round) % media.len()];
        let mut request = product::request(info, program, machine, Some(medium), round).ok()?;
        if program == "random" {
            let l2 = MachineConfig::load(machine, None).is_ok_and(|m| m.spec.l2.is_some());
            sizes_of(&mut request, info, round, l2);
        }
        let resolved = Resolved::with_design(&request, info).ok()?;
        (resolved.sound() == sound).then_some(Command::Run(info, request))
    })
}

fn explored(
    about: &About,
    scheme: Scheme,
    variant: Option<Variant>,
    contract: ContractKind,
    threads: u32,
) -> CrashRequest {
    CrashRequest {
        request: Request {
            program: about.word.into(),
            threads: Some(threads),
            ops: 4,
            log: Some(scheme.word().into()),
            variant: variant.map(|v| v.word().into()),
            sets: sizes(about),
            ..Request::default()
        },
        contract: Some(contract.word().into()),
        budget: Some("300".into()),
        schedules: Some(u64::from(threads)),
        doubt: None,
        recovery_fails: variant.is_none(),
        line_order: None,
        grain: Grain::Word,
    }
}

/// Every command, those on the simulated hardware first.
pub fn commands() -> (Vec<Command>, Vec<Command>) {
    let n = designs().len();
    let mut runs = Vec::new();
    let others: Vec<&str> = programs().iter().map(|p| p.word).filter(|p| *p != "random").collect();
    for round in 0..ROUNDS {
        runs.extend((0..n).filter_map(|d| on_design(d, "random", round, true)));
        // Every size of the machine comes before the other programs, which take longer.
        if let (2, round @ 0..3) = (round % 3, round / 3) {
            let each = others.iter().flat_map(|p| (0..n).map(move |d| (d, p)));
            runs.extend(each.filter_map(|(d, p)| on_design(d, p, round, true)));
        }
    }
    runs.extend((0..n).filter_map(|d| on_design(d, "sps", 0, false)));
    let mut crashes = Vec::new();
    for about in &programs() {
        for contract in CONTRACTS {
            for (scheme, threads) in about.variants.iter().flat_map(|v| [(v.0, 1), (v.0, 2)]) {
                crashes.push(Command::Crash(explored(about, scheme, None, contract, threads)));
            }
            let wrong = about.variants.iter().flat_map(|(scheme, variants)| {
                let wrong = variants.iter().filter(|v| **v != Variant::Correct);
                wrong.map(|v| (*scheme, *v))
            });
            let wrong = wrong.map(|(scheme, v)| explored(about, scheme, Some(v), contract, 1));
            for (i, request) in wrong.enumerate() {
                if i % 4 == 0 {
                    crashes.push(Command::Replay(request.clone()));
                }
                crashes.push(Command::Crash(request));
            }
        }
    }
    (runs, crashes)
}
