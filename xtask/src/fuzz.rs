//! `fuzz`: what users give, mutated. No input may panic, overflow or take long.
//!
//! Each target starts from the inputs in `xtask/corpus/TARGET`, one file each, and mutates them. An input that breaks is written
//! beside them as `broken-HASH`, so that it stays a test from then on.

use crate::sources::root;
use clap::Parser as _;
use fencepost::args::{Cli, Command, ConfigCommand};
use fencepost_contract::{ContractKind, Demands, recorded};
use fencepost_kernel::rng::{Stream, hash};
use fencepost_run::config::machine::MachineConfig;
use fencepost_run::config::{Resolved, Source, layer};
use fencepost_run::replay_key::ReplayKey;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longest input that is tried, in bytes.
const LONGEST: usize = 4096;
/// What takes longer hangs.
const HANGS: Duration = Duration::from_secs(30);

/// A kind of input and what reads it.
struct Target {
    name: &'static str,
    read: fn(&str),
}
const TARGETS: [Target; 5] = [
    Target {
        name: "toml",
        read: toml,
    },
    Target { name: "log", read: log },
    Target {
        name: "trace",
        read: trace,
    },
    Target {
        name: "replay",
        read: replay,
    },
    Target {
        name: "args",
        read: args,
    },
];

/// A machine file: parsed, applied, validated.
fn toml(text: &str) {
    let Ok(layer) = layer::parse(&Source::new("fuzz.toml", text)) else {
        return;
    };
    let Ok(mut machine) = MachineConfig::load("dpo", None) else {
        return;
    };
    for s in &layer.settings {
        if let Err(e) = machine.apply(s) {
            let _ = e.to_string();
        }
    }
    if let Err(e) = machine.validate() {
        let _ = e.to_string();
    }
}

/// A recorded log: parsed and judged.
fn log(text: &str) {
    if let Ok(log) = recorded::parse(text) {
        for kind in [ContractKind::Px86, ContractKind::StrictSc] {
            if let Err(refusal) = log.conform(&kind.into(), Demands { complete: true }) {
                let _ = log.explain(&refusal);
            }
        }
    }
}

/// A stream of memory requests: parsed, and sent to a medium.
fn trace(text: &str) {
    let _ = fencepost_run::memtrace::of_text("fuzz.trace", text, "pcm", None);
}

/// A replay id: read, and its run resolved.
fn replay(text: &str) {
    if let Ok(key) = ReplayKey::decode(text) {
        let _ = Resolved::resolve(&key.request);
    }
}

/// A command line, one argument a line: parsed, and the run that it asks for resolved.
fn args(text: &str) {
    let Ok(cli) = Cli::try_parse_from(std::iter::once("fencepost").chain(text.lines())) else {
        return;
    };
    let request = match &cli.command {
        Command::Run(a) => {
            let program = a.program.as_deref().unwrap_or("cq");
            a.common.request(program, &a.design, a.work.ops, a.work.warmup)
        }
        Command::Crash(a) => {
            let program = a.program.as_deref().unwrap_or("cq");
            let design = a.design.as_deref().unwrap_or("volatile");
            a.common.request(program, design, a.ops, 0)
        }
        Command::Config(ConfigCommand::Show(a)) => a.common.request(&a.program, &a.design, a.work.ops, a.work.warmup),
        _ => return,
    };
    let _ = Resolved::resolve(&request);
}

/// Fuzzes every target, or the one of this name, each for this long; says what broke.
pub(crate) fn run(only: Option<&str>, time: Duration) -> Result<(), String> {
    let wanted = |t: &&Target| only.is_none_or(|name| t.name == name);
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    if targets.is_empty() {
        return Err(format!("targets are {}", TARGETS.map(|t| t.name).join(", ")));
    }
    // What is caught is reported by the input that caused it.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = targets.iter().try_for_each(|t| {
        let tried = fuzz(t, time)?;
        println!("{}: {tried} inputs", t.name);
        Ok(())
    });
    std::panic::set_hook(hook);
    outcome
}

/// Reads `60s`, `500ms` or `2m`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..at].parse().ok()?;
    match &text[at..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

fn corpus(target: &str) -> PathBuf {
    root().join("xtask/corpus").join(target)
}

/// Inputs of a target's corpus, in order of their names.
fn seeds(target: &str) -> Result<Vec<Vec<u8>>, String> {
    let folder = corpus(target);
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.sort();
    let read = |p: &PathBuf| std::fs::read(p).map_err(|e| format!("{}: {e}", p.display()));
    let seeds: Vec<Vec<u8>> = files.iter().map(read).collect::<Result<_, _>>()?;
    match seeds.is_empty() {
        true => Err(format!("{} is empty", folder.display())),
        false => Ok(seeds),
    }
}

/// Tries the corpus, then mutations of it until the time is over. Returns the number of inputs.
fn fuzz(target: &Target, time: Duration) -> Result<u64, String> {
    let seeds = seeds(target.name)?;
    let (send, inputs) = mpsc::sync_channel::<String>(0);
    let (done, answers) = mpsc::channel::<Result<(), ()>>();
    let read = target.read;
    // A thread of its own, so that an input that hangs is noticed; it is left behind then.
    std::thread::spawn(move || {
        for input in inputs {
            let outcome = catch_unwind(AssertUnwindSafe(|| read(&input)));
            if done.send(outcome.map_err(|_| ())).is_err() {
                break;
            }
        }
    });
    let mut random = Stream::new(1, target.name);
    let (begun, mut tried) = (Instant::now(), 0u64);
    loop {
        let input = match seeds.get(tried as usize) {
            Some(seed) => seed.clone(),
            None if begun.elapsed() > time => return Ok(tried),
            None => mutated(&seeds, &mut random),
        };
        let text = String::from_utf8_lossy(&input).into_owned();
        send.send(text.clone()).map_err(|e| e.to_string())?;
        match answers.recv_timeout(HANGS) {
            Ok(Ok(())) => tried += 1,
            Ok(Err(())) => return Err(broken(target.name, &text, "ends in a panic")),
            Err(_) => return Err(broken(target.name, &text, "hangs")),
        }
    }
}

/// Keeps an input that breaks in the corpus.
fn broken(target: &str, text: &str, how: &str) -> String {
    let bytes: Vec<u64> = text.bytes().map(u64::from).collect();
    let path = corpus(target).join(format!("broken-{:016x}", hash(&bytes)));
    let kept = std::fs::write(&path, text).map_or_else(|e| e.to_string(), |()| path.display().to_string());
    format!("{target}: an input {how}; kept as {kept}")
}

/// Pieces that parsers treat specially.
const PIECES: [&str; 24] = [
    "",
    "\n",
    " ",
    "=",
    ".",
    ",",
    "&",
    "@",
    "#",
    "\"",
    "[",
    "]",
    "0x",
    "-1",
    "0",
    "18446744073709551615",
    "9223372036854775808",
    "4294967296",
    "\u{feff}",
    "\u{0}",
    "é",
    "1e999",
    "pm+0xffffffffffffffff",
    "..",
];

/// A few random changes to a random seed.
fn mutated(seeds: &[Vec<u8>], random: &mut Stream) -> Vec<u8> {
    let pick = |random: &mut Stream| &seeds[random.below(seeds.len() as u64) as usize];
    let mut out = pick(random).clone();
    for _ in 0..=random.below(6) {
        let at = random.below(out.len() as u64 + 1) as usize;
        let end = (at + random.below(24) as usize).min(out.len());
        match random.below(6) {
            0 => drop(out.drain(at..end)),
            1 => {
                let copy = out[at..end].to_vec();
                out.splice(at..at, copy);
            }
            2 => {
                let piece = PIECES[random.below(PIECES.len() as u64) as usize];
                out.splice(at..end, piece.bytes());
            }
            3 if at < out.len() => out[at] ^= 1 << random.below(8),
            4 if at < out.len() => out[at] = random.below(256) as u8,
            _ => {
                let other = pick(random);
                let from = random.below(other.len() as u64 + 1) as usize;
                let to = (from + random.below(200) as usize).min(other.len());
                out.splice(at..at, other[from..to].iter().copied());
            }
        }
    }
    out.truncate(LONGEST);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_survives_a_few_seconds() {
        run(None, Duration::from_secs(2)).unwrap_or_else(|e| panic!("{e}"));
    }
    #[test]
    fn a_panic_is_noticed_and_mutations_differ() {
        let picky = Target {
            name: "toml",
            read: |text| assert!(!text.contains('\u{0}')),
        };
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let said = fuzz(&picky, Duration::from_secs(20));
        std::panic::set_hook(hook);
        let said = said.expect_err("a zero byte is among the pieces");
        let kept = said.rsplit(' ').next().expect("a path").to_owned();
        assert!(said.contains("panic"), "{said}");
        std::fs::remove_file(kept).expect("it was kept");
    }
    #[test]
    fn durations_are_read() {
        assert_eq!(duration("60s"), Some(Duration::from_secs(60)));
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        assert_eq!((duration("60"), duration("s"), duration("1h")), (None, None, None));
    }
}
