//! `growth [--full | --count] [PROGRAM | AXIS]..`: how time and memory of a run grow with operations, threads and data.
//!
//! Each run is a process of its own, so that its peak memory is its own. Time is that of the processor (not every host counts
//! instructions), and memory what the process held at most. Over each axis a power is fitted to the points, and another to the upper half of them,
//! where what a start costs no longer counts; the larger one must not exceed 1.1 (a tenth for memory against operations: a run keeps nothing
//! of an operation that is over). Sixty-four threads must do half as many memory operations a second as eight.
//!
//! A processor's time holds what the host's caches do too: where it grows too fast, host instructions decide, if valgrind is there to count them.
//!
//! `--full` goes to ten million operations and four gigabytes of data; without it a call takes some minutes. `--count` takes host instructions in
//! place of time, as valgrind counts them, of shorter runs: they are the same however busy the host is, and know nothing of its caches.

use crate::sources::root;
use serde_json::Value;
use std::path::{Path, PathBuf};
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

/// How a call measures.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Seconds of the processor.
    Timed,
    /// The same, of longer runs and larger data too.
    Full,
    /// Billions of host instructions, of shorter runs.
    Counted,
}

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
    fn points(self, way: Way) -> Vec<u64> {
        let powers = |base: u64, from: u32, to: u32| (from..=to).map(|e| base.pow(e)).collect();
        match (self, way) {
            (Axis::Operations, Way::Timed) => powers(10, 3, 6),
            (Axis::Operations, Way::Full) => powers(10, 3, 7),
            (Axis::Operations, Way::Counted) => powers(10, 2, 4),
            (Axis::Threads, _) => powers(2, 0, 6),
            (Axis::Data, Way::Timed) => powers(4, 10, 14),
            (Axis::Data, Way::Full) => powers(4, 10, 16),
            (Axis::Data, Way::Counted) => powers(4, 10, 13),
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
    fn words(self, program: &str, way: Way, x: u64) -> Vec<String> {
        let shorter = if way == Way::Counted { 10 } else { 1 };
        let (threads, ops, data) = match self {
            Axis::Operations => (2, x / 2, 1 << 20),
            Axis::Threads => (x, 2000 / shorter, 1 << 20),
            Axis::Data => (2, 1000 / shorter, x),
        };
        // Entries of 64 bytes; items of 64 bytes besides their buckets.
        let sizes = match program {
            "sps" => vec![format!("program.entries={}", data / 64)],
            _ => {
                let items = data / 80;
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

/// One run: what was varied, seconds of the processor or billions of instructions, bytes, memory operations for one of the former.
#[derive(Copy, Clone, Debug)]
struct Point {
    x: f64,
    cost: f64,
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
    let (way, named) = match args {
        ["--full", named @ ..] => (Way::Full, named),
        ["--count", named @ ..] => (Way::Counted, named),
        named => (Way::Timed, named),
    };
    let Some(wanted) = wanted(named) else {
        let axes = Axis::ALL.map(Axis::name).join(" | ");
        eprintln!(
            "usage: cargo run -p xtask -- growth [--full | --count] [{} | {axes}]..",
            PROGRAMS.join(" | ")
        );
        return ExitCode::from(2);
    };
    match all(&wanted, way) {
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

/// The programs and axes that are named, all where none is; `None` for another name.
fn wanted<'a>(named: &[&'a str]) -> Option<(Vec<&'a str>, Vec<Axis>)> {
    let axis = |name: &&str| Axis::ALL.into_iter().find(|a| a.name() == *name);
    let mut axes: Vec<Axis> = named.iter().filter_map(axis).collect();
    let mut programs: Vec<&str> = named.iter().copied().filter(|p| PROGRAMS.contains(p)).collect();
    if axes.len() + programs.len() < named.len() {
        return None;
    }
    if axes.is_empty() {
        axes.extend(Axis::ALL);
    }
    if programs.is_empty() {
        programs.extend(PROGRAMS);
    }
    Some((programs, axes))
}

/// How many powers are too large.
fn all((programs, axes): &(Vec<&str>, Vec<Axis>), way: Way) -> Result<u32, String> {
    let fencepost = built()?;
    let mut wrong = 0;
    println!(
        "{:10} {:8} {:10} {:>6} {:>7}",
        "axis", "program", "design", "time", "memory"
    );
    for axis in axes.iter().copied() {
        for program in programs {
            for design in DESIGNS {
                let of = |way: Way| -> Result<Vec<Point>, String> {
                    let xs = axis.points(way).into_iter();
                    xs.map(|x| measured(&fencepost, &axis.words(program, way, x), [program, design], (way, x)))
                        .collect()
                };
                let points = of(way)?;
                let doubted = way != Way::Counted && growth(&costs(&points, way)).is_some_and(|p| p > LINEAR);
                let counted = if doubted { of(Way::Counted).ok() } else { None };
                wrong += judged(axis, way, [program, design], (&points, counted.as_deref()));
            }
        }
    }
    Ok(wrong)
}

/// What each point cost, of those that say something.
fn costs(points: &[Point], way: Way) -> Vec<(f64, f64)> {
    let long = points.iter().filter(|p| way == Way::Counted || p.cost >= SHORTEST);
    long.map(|p| (p.x, p.cost)).collect()
}

/// One line; how much of it is wrong. `counted` decides in place of time, if it is there.
fn judged(axis: Axis, way: Way, [program, design]: [&str; 2], (points, counted): (&[Point], Option<&[Point]>)) -> u32 {
    let memory: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.bytes)).collect();
    let (time, memory) = (growth(&costs(points, way)), growth(&memory));
    let instructions = counted.and_then(|c| growth(&costs(c, Way::Counted)));
    let said = |p: Option<f64>| p.map_or("-".into(), |p| format!("{p:.2}"));
    let text = [time, memory].map(said);
    let too_large = |(p, limit): (Option<f64>, f64)| u32::from(p.is_some_and(|p| p > limit));
    let powers = [instructions.or(time), memory];
    let mut wrong: u32 = powers.into_iter().zip(axis.limits()).map(too_large).sum();
    let rate = |threads: f64| points.iter().find(|p| p.x == threads).map(|p| p.rate);
    let mut note = instructions.map_or(String::new(), |p| format!("  by instructions {p:.2}"));
    if let (Axis::Threads, Some(eight), Some(most)) = (axis, rate(8.0), rate(64.0)) {
        note += &format!("  64 threads at {:.2} of the rate of 8", most / eight);
        wrong += u32::from(most < eight / 2.0);
    }
    let mark = if wrong > 0 { "  too fast" } else { "" };
    let name = axis.name();
    println!(
        "{name:10} {program:8} {design:10} {:>6} {:>7}{note}{mark}",
        text[0], text[1]
    );
    let unit = if way == Way::Counted {
        "billion instructions"
    } else {
        "s"
    };
    let last = points.last().map(|p| (p.x, p.cost, p.bytes / f64::from(1 << 20)));
    if let Some((x, cost, mib)) = last {
        println!("{:30} {x} {name}: {cost:.2} {unit}, {mib:.0} MiB", "");
    }
    wrong
}

fn measured(
    fencepost: &Path,
    words: &[String],
    [program, design]: [&str; 2],
    (way, x): (Way, u64),
) -> Result<Point, String> {
    let call = |mut command: Command| {
        command
            .args(["run", program, "-d", design, "-m", "dpo", "--json"])
            .args(words);
        command.output().map_err(|e| format!("{}: {e}", fencepost.display()))
    };
    let out = call(Command::new(fencepost))?;
    let text = String::from_utf8_lossy(&out.stdout);
    let result = serde_json::from_str::<Value>(&text).unwrap_or_default();
    let point = || {
        let of_host = |name: &str| result["host"][name].as_f64();
        Some(Point {
            x: x as f64,
            cost: of_host("seconds")?,
            bytes: of_host("peak_rss_bytes")?,
            rate: of_host("mops_per_s")?,
        })
    };
    let mut point = point().ok_or_else(|| format!("{program} on {design}, {}: {}", words.join(" "), text.trim()))?;
    if way == Way::Counted {
        let mut counting = Command::new("valgrind");
        let nowhere = "--cachegrind-out-file=/dev/null";
        counting
            .args(["--tool=cachegrind", "--cache-sim=no", nowhere])
            .arg(fencepost);
        let counted = call(counting).map_err(|why| format!("{why} (--count needs valgrind)"))?;
        let instructions = counted_instructions(&String::from_utf8_lossy(&counted.stderr));
        point.cost = instructions.ok_or("valgrind says no number of instructions")? / 1e9;
        point.rate = result["counters"]["memory_ops"].as_f64().unwrap_or_default() / point.cost;
    }
    Ok(point)
}
/// What cachegrind says of a run.
fn counted_instructions(report: &str) -> Option<f64> {
    let line = report
        .lines()
        .find(|l| l.contains("I refs:") || l.contains("I   refs:"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
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
    fn programs_and_axes_are_named() {
        assert_eq!(wanted(&[]), Some((PROGRAMS.to_vec(), Axis::ALL.to_vec())));
        assert_eq!(wanted(&["data", "sps"]), Some((vec!["sps"], vec![Axis::Data])));
        assert_eq!(wanted(&["threads", "tpcc"]), None);
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
    fn instructions_are_found_in_what_valgrind_says() {
        let report = "==7== \n==7== I   refs:      259,224,359\n";
        assert_eq!(counted_instructions(report), Some(259_224_359.0));
        assert_eq!(counted_instructions("==7== I refs:  17\n"), Some(17.0));
        assert_eq!(counted_instructions("==7== no such tool"), None);
    }
    #[test]
    fn what_grows_too_fast_counts() {
        let points = |time: f64, memory: f64, rate: f64| -> Vec<Point> {
            [8f64, 16.0, 32.0, 64.0]
                .map(|x| Point {
                    x,
                    cost: x.powf(time),
                    bytes: 1e6 * x.powf(memory),
                    rate: x.powf(rate),
                })
                .into()
        };
        let wrong =
            |axis, time, memory, rate| judged(axis, Way::Timed, ["sps", "so"], (&points(time, memory, rate), None));
        assert_eq!(wrong(Axis::Operations, 1.0, 0.0, 0.0), 0);
        assert_eq!(wrong(Axis::Operations, 1.2, 0.2, 0.0), 2);
        assert_eq!(wrong(Axis::Data, 1.0, 1.0, 0.0), 0);
        assert_eq!(wrong(Axis::Data, 1.0, 1.2, 0.0), 1);
        assert_eq!(wrong(Axis::Threads, 1.0, 0.0, -0.3), 0);
        assert_eq!(wrong(Axis::Threads, 1.0, 0.0, -0.4), 1);
        // Where time grows too fast, instructions decide.
        let decided = |counted: f64| {
            let (timed, counted) = (points(1.2, 0.0, 0.0), points(counted, 0.0, 0.0));
            judged(Axis::Threads, Way::Timed, ["sps", "so"], (&timed, Some(&counted)))
        };
        assert_eq!((decided(1.05), decided(1.15)), (0, 1));
    }
}
