//! `faults --run [--seconds N] [NAME..]`: plants every fault in turn, runs the commands that users have, and prints who convicts which.

use crate::faults::{all, lacking};
use fencepost_battery::commands::commands;
use fencepost_battery::planted::{Bench, PARTS, Tried, declared, part_of};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Share of the faults that a command of a user must convict, in percent.
const MUST: usize = 95;
/// Time for one fault, in seconds, unless the command says so.
const SECONDS: u64 = 120;

/// Runs it; 1 if more faults escape than may.
pub(crate) fn command(only: &[&str]) -> ExitCode {
    if lacking("faults --run") {
        return ExitCode::from(2);
    }
    let (limit, only) = match only {
        ["--seconds", n, rest @ ..] => (n.parse().unwrap_or(SECONDS), rest),
        all => (SECONDS, all),
    };
    let planted = all().into_iter().map(|f| f.name);
    let names: BTreeSet<String> = planted.chain(declared().into_iter().map(str::to_owned)).collect();
    let wanted = |n: &String| only.is_empty() || only.iter().any(|o| n.contains(o));
    let names: Vec<String> = names.into_iter().filter(wanted).collect();
    // Faults make code panic on purpose; what it says stands in the table.
    std::panic::set_hook(Box::new(|_| {}));
    let bench = Bench::new(commands(&beside("fencepost")), Duration::from_secs(limit));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tried = bench.convict(name);
            println!("{tried}");
            done.push(tried);
        }
        done
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let tried: Vec<Tried> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..workers).map(|_| s.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|t| t.join().expect("panics are caught within a command"));
        joined.flatten().collect()
    });
    println!("\n{:<30} {:>7} {:>9}", "part", "planted", "convicted");
    for (part, (title, _)) in PARTS.iter().enumerate() {
        let here = || tried.iter().filter(move |t| part_of(&t.name) == part);
        println!(
            "{title:<30} {:>7} {:>9}",
            here().count(),
            here().filter(convicts).count()
        );
    }
    let convicted = tried.iter().filter(convicts).count();
    println!(
        "{convicted} of {} planted faults are convicted by a command of a user: {:.1} %, {MUST} % are asked for",
        tried.len(),
        100.0 * convicted as f64 / tried.len().max(1) as f64
    );
    let escaped = tried.iter().filter(|t| !convicts(t));
    escaped.for_each(|t| println!("    {t}"));
    // Threads that a fault keeps from ending are left behind.
    std::process::exit(i32::from(convicted * 100 < tried.len() * MUST))
}

fn convicts(t: &&Tried) -> bool {
    t.convicted.is_some()
}

/// A program that the same build puts beside this one.
pub(crate) fn beside(name: &str) -> PathBuf {
    let me = std::env::current_exe().unwrap_or_default();
    me.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
