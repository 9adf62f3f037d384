//! `bench A B [--rounds N] [-- ARGS..]`: two commits timed in turns on this host, and the ratio of their rates with its interval.
//!
//! Each commit is checked out and built as it is distributed, in a folder of its own below `target/bench`, where it stays until the next
//! call. Then each of a list of commands (or the one behind `--`) runs with A and with B, first the one and then the other, every
//! second round the other way round. What counts is the time of the processor: a neighbour on the host then matters little, and to both
//! alike. A pair is one ratio; pairs have a mean and an interval. Results must not differ, unless `--differ` says that they may.

use crate::sources::root;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Pairs of each command, unless the call says so: an interval of nine has 2.3 standard errors on each side.
const ROUNDS: usize = 9;

/// Runs of every kind that users wait for: simulated programs on designs that differ most, a check, an exploration.
const COMMANDS: [&str; 9] = [
    "run cq -d so -m dpo --ops 20000 --json",
    "run sps -d delegated -m dpo --ops 10000 --json",
    "run tatp -d volatile -m dpo --ops 40000 --json",
    "run rbtree -d x86-adr -m themis --ops 10000 --json",
    "run ctree -d themis -m themis --ops 6000 --json",
    "run hash -d broi -m broi --ops 1000 --json",
    "run btree -d loc-wal -m loc --ops 10000 --json",
    "run sps -d so -m dpo --threads 2 --ops 200 --check --json",
    "crash commitstore --contract px86 --ops 1200 --json",
];

struct Options {
    commits: [String; 2],
    rounds: usize,
    differ: bool,
    command: Option<Vec<String>>,
}

impl Options {
    fn read(args: &[&str]) -> Option<Options> {
        let (args, command) = match args.iter().position(|a| *a == "--") {
            Some(at) => (&args[..at], Some(&args[at + 1..])),
            None => (args, None),
        };
        let (mut commits, mut rounds, mut differ) = (Vec::new(), ROUNDS, false);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match *arg {
                "--rounds" => rounds = rest.next()?.parse().ok().filter(|n| *n >= 2)?,
                "--differ" => differ = true,
                commit if !commit.starts_with('-') => commits.push(commit.to_owned()),
                _ => return None,
            }
        }
        let command = command.map(|c| c.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        Some(Options {
            commits: commits.try_into().ok()?,
            rounds,
            differ,
            command: command.filter(|c| !c.is_empty()),
        })
    }
}

/// Runs it; 1 where outputs differ and may not, 2 where something cannot be built or run.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let Some(options) = Options::read(args) else {
        eprintln!("usage: cargo run -p xtask -- bench A B [--rounds N] [--differ] [-- ARGS..]");
        return ExitCode::from(2);
    };
    match compare(&options) {
        Ok(same) => ExitCode::from(u8::from(!same && !options.differ)),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Whether all outputs were the same.
fn compare(options: &Options) -> Result<bool, String> {
    let [a, b] = &options.commits;
    let built = [built("a", a)?, built("b", b)?];
    let commands: Vec<Vec<String>> = match &options.command {
        Some(command) => vec![command.clone()],
        None => COMMANDS
            .iter()
            .map(|c| c.split(' ').map(str::to_owned).collect())
            .collect(),
    };
    println!("rate of {b} over that of {a}, {} pairs each\n", options.rounds);
    let (mut all, mut same) = (Vec::new(), true);
    for words in &commands {
        let (mut ratios, mut outputs) = (Vec::new(), None);
        for round in 0..options.rounds {
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            let mut times = [0.0; 2];
            for which in order {
                let (time, output) = timed(&built[which], words)?;
                times[which] = time;
                same &= *outputs.get_or_insert_with(|| output.clone()) == output;
            }
            ratios.push((times[0] / times[1]).ln());
        }
        println!("{}  {}", Interval::of(&ratios), words.join(" "));
        all.extend(ratios);
    }
    println!("{}  all", Interval::of(&all));
    if !same {
        println!("outputs differ");
    }
    Ok(same)
}

/// Mean of ratios and its 95 % interval, from their logarithms.
struct Interval {
    mean: f64,
    half: f64,
}
impl Interval {
    fn of(logs: &[f64]) -> Interval {
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Interval {
            mean,
            half: student(logs.len() - 1) * (variance / n).sqrt(),
        }
    }
}
impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [low, mean, high] = [self.mean - self.half, self.mean, self.mean + self.half].map(f64::exp);
        write!(f, "{mean:.3} ({low:.3} to {high:.3})")
    }
}

/// The 97.5 % quantile of Student's distribution (a table; normal beyond it).
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 15] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    ];
    TABLE.get(freedom.max(1) - 1).copied().unwrap_or(1.96)
}

/// The command of a commit, as it is distributed.
fn built(name: &str, commit: &str) -> Result<PathBuf, String> {
    let home = root().join("target/bench").join(name);
    let (tree, target) = (home.join("tree"), home.join("target"));
    let tree_name = tree.to_str().ok_or("a path is no text")?;
    if tree.exists() {
        git(&["-C", tree_name, "checkout", "--quiet", "--force", "--detach", commit])?;
    } else {
        fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
        git(&["worktree", "add", "--quiet", "--force", "--detach", tree_name, commit])?;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Commits before there was a profile for distribution were distributed as they were released.
    let manifest = fs::read_to_string(tree.join("Cargo.toml")).map_err(|e| e.to_string())?;
    let profile = if manifest.contains("[profile.dist]") {
        "dist"
    } else {
        "release"
    };
    let mut build = Command::new(cargo);
    build.args([
        "build",
        "--profile",
        profile,
        "--quiet",
        "-p",
        "fencepost",
        "--target-dir",
    ]);
    let status = build
        .arg(&target)
        .current_dir(&tree)
        .status()
        .map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("{commit} does not build"));
    }
    Ok(target.join(profile).join("fencepost"))
}

fn git(words: &[&str]) -> Result<(), String> {
    let said = Command::new("git").args(words).current_dir(root()).output();
    let said = said.map_err(|e| format!("git: {e}"))?;
    let wrong = String::from_utf8_lossy(&said.stderr);
    said.status
        .success()
        .then_some(())
        .ok_or_else(|| format!("git {}: {wrong}", words.join(" ")))
}

/// Seconds of the processor that a call takes, and what it prints, but for what it says of the host.
fn timed(program: &Path, words: &[impl AsRef<OsStr>]) -> Result<(f64, Vec<u8>), String> {
    let before = of_children()?;
    let mut call = Command::new(program);
    call.args(words)
        .stderr(Stdio::null())
        .current_dir(root().join("target/bench"));
    let out = call.output().map_err(|e| format!("{}: {e}", program.display()))?;
    // Violations are results too.
    if !matches!(out.status.code(), Some(0 | 1)) {
        let words: Vec<_> = words.iter().map(|w| w.as_ref().to_string_lossy()).collect();
        return Err(format!("{} {}: {}", program.display(), words.join(" "), out.status));
    }
    Ok((of_children()? - before, without_host(out.stdout)))
}

/// Seconds of the processor that all calls so far have taken.
fn of_children() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| e.to_string())?;
    let seconds = |t: TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// A result without its times on the host; other output as it is.
fn without_host(output: Vec<u8>) -> Vec<u8> {
    match serde_json::from_slice::<serde_json::Value>(&output) {
        Ok(serde_json::Value::Object(mut result)) => {
            result.remove("host");
            serde_json::to_vec(&result).unwrap_or(output)
        }
        _ => output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios 1 and 4: their mean is 2, and its interval with one degree of freedom a factor of 2^12.706 each way.
    #[test]
    fn a_mean_of_ratios_has_students_interval() {
        let i = Interval::of(&[0.0, 4f64.ln()]);
        assert!((i.mean - 2f64.ln()).abs() < 1e-12);
        assert!((i.half - 12.706 * 2f64.ln()).abs() < 1e-9, "{}", i.half);
        assert_eq!(Interval::of(&[2f64.ln(); 9]).to_string(), "2.000 (2.000 to 2.000)");
    }
    #[test]
    fn calls_are_read_and_others_refused() {
        let read = |text: &str| Options::read(&text.split(' ').collect::<Vec<_>>());
        let o = read("main~1 main --rounds 4 -- run cq -d so").expect("a call");
        assert_eq!((o.commits, o.rounds), (["main~1".to_owned(), "main".to_owned()], 4));
        assert_eq!(o.command.expect("a command").join(" "), "run cq -d so");
        for wrong in ["main", "a b c", "a b --rounds 1", "a b --rounds", "a b --round 3"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
    #[test]
    fn only_times_on_the_host_may_differ() {
        let of = |text: &str| without_host(text.as_bytes().to_vec());
        let first = of(r#"{"time_ps": 1, "host": {"seconds": 2}}"#);
        assert_eq!(first, of(r#"{"time_ps": 1, "host": {"seconds": 3}}"#));
        assert_ne!(first, of(r#"{"time_ps": 2, "host": {"seconds": 2}}"#));
        assert_eq!(of("words"), b"words");
    }
}
