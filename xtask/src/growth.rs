//! `growth [--full] [PROGRAM..]`: how time and memory of a run grow with operations, threads and data.
//!
//! Each run is a process of its own, so that its peak memory is its own. Time is that of the processor (not every host counts
//! instructions), and memory what the process held at most. Over each axis a power is fitted to the points, and another to the upper half of them,
//! where what a start costs no longer counts; the larger one must not exceed 1.1 (a tenth for memory against operations: a run keeps nothing
//! of an operation that is over). Sixty-four threads must do half as many memory operations a second as eight.
//!
//! `--full` goes to ten million operations and four gigabytes of data; without it a call takes some minutes.

use crate::sources::root;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const DESIGNS: [&str; 3] = ["so", "delegated", "themis"];
/// Swaps in an array, and a hash table: both keep the size of their data, whatever they run.
const PROGRAMS: [&str; 2] = ["sps", "hash"];
/// The largest power that is linear growth, as far as a host shows it.
const LINEAR: f64 = 1.1;
/// The largest that is none.
const NONE: f64 = 0.1;
/// A run that takes less, in seconds, says nothing of how time grows.
const SHORTEST: f64 = 0.02;

/// What is varied.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Axis {
    /// Operations of two threads, in all.
    Operations,
    /// Threads, each with the same operations.
    Threads,
    /// Bytes of the program's data.
    Data,
}
impl Axis {
    const ALL: [Axis; 3] = [Axis::Operations, Axis::Threads, Axis::Data];
    fn name(self) -> &'static str {
        match self {
            Axis::Operations => "operations",
            Axis::Threads => "threads",
            Axis::Data => "data",
        }
    }
    fn points(self, full: bool) -> Vec<u64> {
        let powers = |base: u64, from: u32, to: u32| (from..=to).map(|e| base.pow(e)).collect();
        match (self, full) {
            (Axis::Operations, false) => powers(10, 3, 6),
            (Axis::Operations, true) => powers(10, 3, 7),
            (Axis::Threads, _) => powers(2, 0, 6),
            (Axis::Data, false) => powers(4, 10, 14),
            (Axis::Data, true) => powers(4, 10, 16),
        }
    }
    /// The largest powers of time and of memory.
    fn limits(self) -> [f64; 2] {
        match self {
            Axis::Operations => [LINEAR, NONE],
            Axis::Threads | Axis::Data => [LINEAR, LINEAR],
        }
    }
    /// A run of this axis at `x`.
    fn words(self, program: &str, x: u64) -> Vec<String> {
        let (threads, ops, data) = match self {
            Axis::Operations => (2, x / 2, 1 << 20),
            Axis::Threads => (x, 2000, 1 << 20),
            Axis::Data => (2, 1000, x),
        };
        // Entries of 64 bytes; items of 64 bytes besides their buckets.
        let sizes = match program {
            "sps" => vec![format!("program.entries={}", data / 64)],
            _ => {
                let items = (data / 80).min(1 << 23);
                let of = |name: &str, n: u64| format!("program.{name}={n}");
                vec![of("preload", items), of("keys", 2 * items), of("buckets", items)]
            }
        };
        let mut words = vec!["--threads".into(), threads.to_string(), "--ops".into(), ops.to_string()];
        for set in sizes.into_iter().chain([format!("core.cores={}", threads.max(2))]) {
            words.extend(["--set".into(), set]);
        }
        words
    }
}

/// One run: what was varied, seconds of the processor, bytes, memory operations a second.
#[derive(Copy, Clone, Debug)]
struct Point {
    x: f64,
    seconds: f64,
    bytes: f64,
    rate: f64,
}

/// The power of `x` by which `y` grows: the slope of a straight line through the logarithms, by least squares.
fn power(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let above: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let below: f64 = logs.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    above / below
}
/// The larger power of all points and of the upper half of them; none where fewer than two are left.
fn growth(points: &[(f64, f64)]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    let upper = &points[(points.len() / 2).min(points.len() - 2)..];
    Some(power(points).max(power(upper)))
}

/// Runs it; 1 where something grows faster than it should, 2 where something cannot be built or run.
pub(crate) fn command(args: &[&str]) -> ExitCode {
    let full = args.first() == Some(&"--full");
    let named = if full { &args[1..] } else { args };
    if named.iter().any(|p| !PROGRAMS.contains(p)) {
        eprintln!(
            "usage: cargo run -p xtask -- growth [--full] [{}]..",
            PROGRAMS.join(" | ")
        );
        return ExitCode::from(2);
    }
    let programs = if named.is_empty() { &PROGRAMS[..] } else { named };
    match all(programs, full) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faster) => {
            println!("{faster} grow faster than they should");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// How many powers are too large.
fn all(programs: &[&str], full: bool) -> Result<u32, String> {
    let fencepost = built()?;
    let mut wrong = 0;
    println!(
        "{:10} {:8} {:10} {:>6} {:>7}",
        "axis", "program", "design", "time", "memory"
    );
    for axis in Axis::ALL {
        for program in programs {
            for design in DESIGNS {
                let xs = axis.points(full).into_iter();
                let points = xs.map(|x| measured(&fencepost, program, design, axis, x));
                let points = points.collect::<Result<Vec<Point>, String>>()?;
                wrong += judged(axis, program, design, &points);
            }
        }
    }
    Ok(wrong)
}

/// One line; how much of it is wrong.
fn judged(axis: Axis, program: &str, design: &str, points: &[Point]) -> u32 {
    let long = points.iter().filter(|p| p.seconds >= SHORTEST);
    let times: Vec<(f64, f64)> = long.map(|p| (p.x, p.seconds)).collect();
    let memory: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.bytes)).collect();
    let powers = [growth(&times), growth(&memory)];
    let text = powers.map(|p| p.map_or("-".into(), |p| format!("{p:.2}")));
    let too_large = |(p, limit): (&Option<f64>, f64)| u32::from(p.is_some_and(|p| p > limit));
    let mut wrong: u32 = powers.iter().zip(axis.limits()).map(too_large).sum();
    let rate = |threads: f64| points.iter().find(|p| p.x == threads).map(|p| p.rate);
    let mut note = String::new();
    if let (Axis::Threads, Some(eight), Some(most)) = (axis, rate(8.0), rate(64.0)) {
        note = format!("  64 threads at {:.2} of the rate of 8", most / eight);
        wrong += u32::from(most < eight / 2.0);
    }
    let mark = if wrong > 0 { "  too fast" } else { "" };
    let name = axis.name();
    println!(
        "{name:10} {program:8} {design:10} {:>6} {:>7}{note}{mark}",
        text[0], text[1]
    );
    let last = points.last().map(|p| (p.x, p.seconds, p.bytes / f64::from(1 << 20)));
    if let Some((x, seconds, mib)) = last {
        println!("{:30} {x} {name}: {seconds:.2} s, {mib:.0} MiB", "");
    }
    wrong
}

fn measured(fencepost: &PathBuf, program: &str, design: &str, axis: Axis, x: u64) -> Result<Point, String> {
    let mut call = Command::new(fencepost);
    call.args(["run", program, "-d", design, "-m", "dpo", "--json"])
        .args(axis.words(program, x));
    let out = call.output().map_err(|e| format!("{}: {e}", fencepost.display()))?;
    let text = String::from_utf8_lossy(&out.stdout);
    let host = serde_json::from_str::<Value>(&text)
        .ok()
        .map(|result| result["host"].clone());
    let number = |name: &str| host.as_ref()?[name].as_f64();
    let point = || {
        Some(Point {
            x: x as f64,
            seconds: number("seconds")?,
            bytes: number("peak_rss_bytes")?,
            rate: number("mops_per_s")?,
        })
    };
    point().ok_or_else(|| format!("{program} on {design}, {} {x}: {}", axis.name(), text.trim()))
}

/// The command, as it is released.
fn built() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--release", "--quiet", "-p", "fencepost"])
        .current_dir(root());
    let status = build.status().map_err(|e| e.to_string())?;
    status
        .success()
        .then(|| root().join("target/release/fencepost"))
        .ok_or_else(|| "the command does not build".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        [1e3, 1e4, 1e5, 1e6].map(|x| (x, f(x))).into()
    }
    #[test]
    fn powers_are_found_and_a_start_does_not_hide_them() {
        assert!((growth(&of(|x| 3.0 * x * x)).unwrap() - 2.0).abs() < 1e-9);
        assert!((growth(&of(|_| 7.0)).unwrap()).abs() < 1e-9);
        // A start that costs as much as ten thousand operations.
        let hidden = of(|x| 1e8 + x * x);
        assert!(power(&hidden) < 1.7 && growth(&hidden).unwrap() > 1.9);
        assert_eq!(growth(&[(1.0, 1.0)]), None);
    }
    #[test]
    fn what_grows_too_fast_counts() {
        let points = |time: f64, memory: f64, rate: f64| -> Vec<Point> {
            [8f64, 16.0, 32.0, 64.0]
                .map(|x| Point {
                    x,
                    seconds: x.powf(time),
                    bytes: 1e6 * x.powf(memory),
                    rate: x.powf(rate),
                })
                .into()
        };
        let wrong = |axis, time, memory, rate| judged(axis, "sps", "so", &points(time, memory, rate));
        assert_eq!(wrong(Axis::Operations, 1.0, 0.0, 0.0), 0);
        assert_eq!(wrong(Axis::Operations, 1.2, 0.2, 0.0), 2);
        assert_eq!(wrong(Axis::Data, 1.0, 1.0, 0.0), 0);
        assert_eq!(wrong(Axis::Data, 1.0, 1.2, 0.0), 1);
        assert_eq!(wrong(Axis::Threads, 1.0, 0.0, -0.3), 0);
        assert_eq!(wrong(Axis::Threads, 1.0, 0.0, -0.4), 1);
    }
}
