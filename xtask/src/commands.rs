//! `commands [--write] [--every N]`: the list of user commands, each held to its exit code and to what it yielded when that was recorded.
//!
//! An exit code says that a command is wrong; what it yields (times, counters, numbers of states, the witness) says only that something moved since it
//! was recorded, as `digests` does for a list of runs: a change of time alone has no verdict. `--write` records anew, after a change that means to.

use crate::sources::root;
use crate::user_commands::{self, UserCommand};
use fencepost_kernel::rng::hash_bytes;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first word of this program's arguments by which it is the command `fencepost`.
pub(crate) const AS_FENCEPOST: &str = "fencepost";
const HEADER: &str = "command,yields";
/// So many of those that moved are named.
const SHOWN: usize = 20;

fn path() -> PathBuf {
    root().join("xtask/mutants/yields.csv")
}

/// The name of a command in the record: its arguments, hashed.
fn name(command: &UserCommand) -> u64 {
    let words = command.fault.iter().chain(&command.args);
    hash_bytes(words.cloned().collect::<Vec<_>>().join("\u{1f}").as_bytes())
}

/// What the recorded commands yielded.
fn recorded() -> std::io::Result<BTreeMap<u64, u64>> {
    let text = std::fs::read_to_string(path())?;
    let pair = |line: &str| {
        let (name, yields) = line.split_once(',')?;
        Some((
            u64::from_str_radix(name, 16).ok()?,
            u64::from_str_radix(yields, 16).ok()?,
        ))
    };
    Ok(text.lines().skip(1).filter_map(pair).collect())
}

/// Fields that say nothing of what was simulated: which parameters there are, and what this host took.
const OTHER: [&str; 4] = ["config_digest", "host", "seconds", "images_per_s"];

/// What a search of images that found a violation says whatever its jobs had tried by then.
const FOUND: [&str; 2] = ["verdict", "witness"];

/// What a document holds, without what differs from run to run.
fn yields(document: &[u8]) -> u64 {
    match serde_json::from_slice::<serde_json::Value>(document) {
        Ok(mut document) => {
            if let Some(fields) = document.as_object_mut() {
                let searched = fields.contains_key("images_per_s");
                OTHER.iter().for_each(|name| drop(fields.remove(*name)));
                // Until one of several jobs finds a violation the others have done more or less.
                if searched && fields["verdict"] == "violated" {
                    fields.retain(|name, _| FOUND.contains(&name.as_str()));
                }
            }
            hash_bytes(document.to_string().as_bytes())
        }
        Err(_) => hash_bytes(document),
    }
}

/// What the commands of a list did.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    moved: Vec<String>,
    yields: BTreeMap<u64, u64>,
}

/// Runs these commands, so many at a time; without a record none has moved.
fn hold(list: &[UserCommand], recorded: Option<&BTreeMap<u64, u64>>, jobs: usize) -> std::io::Result<Found> {
    let program = std::env::current_exe()?;
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Found::default()));
    let work = || -> std::io::Result<()> {
        while let Some(command) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (code, document) = command.run(Command::new(&program).arg(AS_FENCEPOST))?;
            let (name, yields) = (name(command), yields(&document));
            let mut found = found.lock().expect("no panic");
            if code != Some(command.code) {
                let ends = code.map_or("a signal".to_owned(), |c| format!("exit code {c}"));
                let said = format!("{command}: ends with {ends}, and should with {}", command.code);
                found.wrong.push(said);
            } else if recorded.is_some_and(|r| r.get(&name) != Some(&yields)) {
                found.moved.push(command.to_string());
            }
            found.yields.insert(name, yields);
        }
        Ok(())
    };
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| s.spawn(work)).collect();
        threads.into_iter().try_for_each(|t| t.join().expect("no panic"))
    })?;
    Ok(found.into_inner().expect("no panic"))
}

/// How many commands there are, and what is wrong with how they end; so many run at a time.
///
/// # Errors
/// The list is not understood, or a command cannot be started.
pub(crate) fn wrong(jobs: usize) -> Result<(usize, Vec<String>), String> {
    let list = user_commands::all()?;
    let found = hold(&list, None, jobs).map_err(|e| e.to_string())?;
    Ok((list.len(), found.wrong))
}

fn written(yields: &BTreeMap<u64, u64>) -> std::io::Result<()> {
    let mut text = String::from(HEADER);
    for (name, yields) in yields {
        let _ = write!(text, "\n{name:016x},{yields:016x}");
    }
    text.push('\n');
    std::fs::write(path(), text)
}

/// Runs it; 1 if a command ends otherwise than it must or yields what was not recorded, 2 for other arguments and in builds without faults.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let every = match *args {
        [] | ["--write"] => Some(1),
        ["--every", n] => n.parse().ok().filter(|n| *n > 0),
        _ => None,
    };
    let Some(every) = every else {
        eprintln!("usage: cargo run -p xtask --features faults -- commands [--write | --every N]");
        return ExitCode::from(2);
    };
    if crate::faults::lacking("commands") {
        return ExitCode::from(2);
    }
    let writes = args == ["--write"];
    let outcome = user_commands::all().and_then(|all| {
        let list: Vec<UserCommand> = all.into_iter().step_by(every).collect();
        let recorded = (!writes).then(recorded).transpose();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let found = recorded.and_then(|recorded| hold(&list, recorded.as_ref(), jobs));
        Ok((list.len(), found.map_err(|e| e.to_string())?))
    });
    let (tried, found) = match outcome {
        Ok(found) => found,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    // What ends otherwise than it must is nothing to hold others to.
    if writes
        && found.wrong.is_empty()
        && let Err(e) = written(&found.yields)
    {
        eprintln!("cannot write the record: {e}");
        return ExitCode::from(2);
    }
    found.wrong.iter().for_each(|said| println!("WRONG   {said}"));
    found
        .moved
        .iter()
        .take(SHOWN)
        .for_each(|said| println!("MOVED   {said}"));
    println!(
        "{tried} commands: {} end otherwise than they must, {} yield what was not recorded",
        found.wrong.len(),
        found.moved.len()
    );
    ExitCode::from(u8::from(found.wrong.len() + found.moved.len() > 0))
}

/// What is recorded belongs to a command of the list, and all of them have a record.
#[test]
fn every_command_has_its_record() {
    let recorded = recorded().expect("a record");
    let list = user_commands::all().expect("a list");
    let lacking: Vec<String> = list
        .iter()
        .filter(|c| !recorded.contains_key(&name(c)))
        .map(ToString::to_string)
        .collect();
    assert!(
        lacking.is_empty(),
        "`cargo run --release --features faults -p xtask -- commands --write`: {lacking:?}"
    );
    let names: std::collections::BTreeSet<u64> = list.iter().map(name).collect();
    let dead = recorded.keys().filter(|n| !names.contains(n)).count();
    assert_eq!(dead, 0, "records of commands that are in the list no longer");
}

/// Which parameters there are is not what a run yields; everything else is.
#[test]
fn a_document_is_what_it_yields() {
    let one = yields(br#"{"time_ps": 5, "config_digest": "a"}"#);
    assert_eq!(one, yields(br#"{"config_digest": "b", "time_ps": 5}"#));
    assert_ne!(one, yields(br#"{"time_ps": 6, "config_digest": "a"}"#));
}
