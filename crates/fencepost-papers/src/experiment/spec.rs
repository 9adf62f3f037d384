//! Experiments as data: which runs a paper's figures need.

use crate::experiment::counted::Counted;
use crate::experiment::embedded::EMBEDDED;
use fencepost_run::config::{Place, Source};
use fencepost_run::{BadInput, input};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

/// How much work a reproduction does.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Minutes on two cores.
    Quick,
    /// As large as the papers say or imply.
    Full,
}
impl Scale {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Full => "full",
        }
    }
}

/// `experiments/<paper>/experiment.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Paper.
    pub paper: String,
    /// One sentence for the report.
    pub about: String,
    /// Machine preset of every run.
    pub machine: String,
    /// Design points by label.
    #[serde(default)]
    pub points: BTreeMap<String, Point>,
    /// Work per scale.
    pub scale: Scales,
    /// Sets of runs.
    #[serde(default)]
    pub matrix: Vec<Matrix>,
    /// What programs do on the real CPU.
    #[serde(default)]
    pub native: Natively,
    /// What claims count in the place of what they name; a reading sets it.
    #[serde(skip)]
    pub counted: Counted,
    /// Other figures that the paper's numbers imply.
    #[serde(default)]
    pub diagnostic: Vec<Diagnostic>,
    /// Runs that the diagnostic of implied work looks at.
    #[serde(default)]
    pub implied_from: Option<ImpliedFrom>,
    /// What the paper's figures imply about the programs, by program.
    #[serde(default)]
    pub implied: BTreeMap<String, Implied>,
}

/// What programs do on the real CPU, where a paper says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Natively {
    /// Parameters of programs, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Clients of single programs, each a software thread; of others, what the claim says.
    #[serde(default)]
    pub clients: BTreeMap<String, u32>,
    /// Other logging runtimes, by the one that claims name; a reading sets them.
    #[serde(skip)]
    pub logs: BTreeMap<String, String>,
}
impl Natively {
    /// Value of a parameter that is set, or the clients of a program as `clients.PROGRAM`.
    pub fn value(&self, path: &str) -> Option<String> {
        if let Some(program) = path.strip_prefix("clients.") {
            return self.clients.get(program).map(u32::to_string);
        }
        let of = |set: &String| set.strip_prefix(path)?.strip_prefix('=').map(str::to_owned);
        self.set.iter().find_map(of)
    }
}

/// Work per thread at both scales.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    /// `--scale quick`.
    pub quick: Work,
    /// `--scale full`.
    pub full: Work,
}

/// Operations per thread.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Measured operations per thread.
    pub ops: u32,
    /// Operations per thread before measuring.
    pub warmup: u32,
    /// Programs whose operations are much longer or shorter than others': theirs.
    #[serde(default)]
    pub of: BTreeMap<String, Length>,
    /// What is measured instead where a reading compares equal numbers of cycles.
    #[serde(default)]
    pub cycles: Option<EqualCycles>,
}

impl Work {
    /// What a program does.
    pub fn of(&self, program: &str) -> Length {
        let all = Length {
            ops: self.ops,
            warmup: self.warmup,
        };
        self.of.get(program).copied().unwrap_or(all)
    }
}

/// How long a run is, in operations per thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    /// Measured.
    pub ops: u32,
    /// Before measuring.
    pub warmup: u32,
}

/// Work that is measured for a number of cycles.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualCycles {
    /// Cycles of a core that are measured.
    pub measured: u64,
    /// Operations per thread that no design finishes in them.
    pub ops: u32,
}

/// A design with some of its parameters set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Design.
    pub design: String,
    /// Other designs on certain media (a persistent queue makes `pcommit` superfluous).
    #[serde(default)]
    pub on: BTreeMap<String, String>,
    /// Settings, as `--set` takes them.
    #[serde(default)]
    pub set: Vec<String>,
    /// Settings that apply only where the design is the one of `design` (not on the media of `on`).
    #[serde(default)]
    pub set_here: Vec<String>,
    /// Whether the point is not crash-consistent and has to be convicted by its checks.
    #[serde(default)]
    pub must_fail: bool,
    /// Logging of the program, where it is not the program's default.
    #[serde(default)]
    pub log: Option<String>,
}

/// A cross product of programs, design points and media.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Experiment tag, such as `E01`.
    pub tag: String,
    /// Programs; those not in the registry are reported as not yet built.
    pub programs: Vec<String>,
    /// Labels of design points.
    pub points: Vec<String>,
    /// Media presets.
    pub media: Vec<String>,
    /// Threads of every run.
    pub threads: u32,
    /// Settings of every run.
    #[serde(default)]
    pub set: Vec<String>,
    /// Logging of single programs, where a point does not say otherwise and it is not the program's default.
    #[serde(default)]
    pub logs: BTreeMap<String, String>,
    /// Logging of every point and program that does not say otherwise; a reading sets it.
    #[serde(skip)]
    pub log: Option<String>,
    /// Media presets that stand in for those named; a reading sets them.
    #[serde(skip)]
    pub media_as: BTreeMap<String, String>,
    /// Settings of the runs on single media, by the preset that `media` names; a reading sets them.
    #[serde(skip)]
    pub media_set: BTreeMap<String, Vec<String>>,
    /// Whether equal numbers of cycles are compared, not equal work; a reading sets it. Checked runs are always whole.
    #[serde(skip)]
    pub equal_cycles: bool,
    /// Whether every durable event is also a crash point that is examined, up to the budget.
    #[serde(default)]
    pub check: bool,
    /// Operations per thread at both scales, where they differ from the experiment's.
    #[serde(default)]
    pub scale: Option<Scales>,
}

/// Where the diagnostic of implied work takes its numbers from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImpliedFrom {
    /// Experiment tag.
    pub tag: String,
    /// Design point of the flush-based build.
    pub flushing: String,
    /// The volatile point.
    pub volatile: String,
    /// Medium.
    pub media: String,
    /// What counts as persisting: a counter of the flushing point.
    #[serde(default = "flushes")]
    pub counter: String,
}

fn flushes() -> String {
    "flushes".to_owned()
}

/// Ranges that follow from a paper's own figures; a diagnostic, never a target.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Implied {
    /// Nanoseconds per flush (or whatever is counted) and core at the volatile point.
    #[serde(default)]
    pub ns_per_flush: Option<[f64; 2]>,
    /// Flushes per operation.
    #[serde(default)]
    pub flushes_per_op: Option<[f64; 2]>,
    /// Nanoseconds per operation at the volatile point.
    #[serde(default)]
    pub op_ns: Option<[f64; 2]>,
    /// What that requires of the program.
    pub requires: String,
}

/// A figure that follows from a paper's own numbers, to be read beside ours; never a target.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    /// What it is, with its unit.
    pub name: String,
    /// Experiment tag.
    pub tag: String,
    /// Design point.
    pub point: String,
    /// Medium.
    pub media: String,
    /// Counter.
    pub counter: String,
    /// The figure is the counter in percent of the sum of these; without any, nanoseconds of the run for each that it counts.
    #[serde(default)]
    pub of: Vec<String>,
    /// The range that the paper's numbers imply.
    pub implied: [f64; 2],
    /// What that rests on.
    pub requires: String,
}

/// Names of the embedded experiments.
pub fn names() -> Vec<&'static str> {
    let word = |path: &'static str| path.strip_prefix("experiments/")?.strip_suffix("/experiment.toml");
    EMBEDDED.iter().filter_map(|e| word(e.0)).collect()
}

/// Whether an experiment is a folder of the user's, not an embedded one: its name has a `/`.
pub fn is_folder(experiment: &str) -> bool {
    experiment.contains('/')
}

/// A file of an experiment with its name for messages; `None` if it has none.
///
/// # Errors
/// A file of a folder that is there and cannot be read.
pub fn text(experiment: &str, file: &str) -> Result<Option<(String, String)>, BadInput> {
    if is_folder(experiment) {
        let path = Path::new(experiment).join(file);
        return match input::read(&path, input::CONFIGURATION) {
            Ok(text) => Ok(Some((path.to_string_lossy().into_owned(), text))),
            Err(_) if !path.exists() => Ok(None),
            Err(e) => Err(BadInput::new(e.to_string())),
        };
    }
    let path = format!("experiments/{experiment}/{file}");
    let embedded = EMBEDDED.iter().find(|e| e.0 == path);
    Ok(embedded.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
}

/// Reads a file of an experiment: an embedded one, or a folder of the user's.
///
/// # Errors
/// There is no such file, or it is not well-formed.
pub fn read<T: DeserializeOwned>(experiment: &str, file: &str) -> Result<T, BadInput> {
    match text(experiment, file)? {
        Some((name, text)) => parse(&name, &text),
        None if is_folder(experiment) => {
            let e = BadInput::new(format!("there is no {file} in {experiment}"));
            Err(e.hint("docs/extending.md shows what an experiment of your own consists of"))
        }
        None => Err(BadInput::unknown("experiment", experiment, names())),
    }
}

/// Reads an experiment. The machine and media files that one in a folder names stand relative to it.
///
/// # Errors
/// As [`read`].
pub fn experiment(name: &str) -> Result<Experiment, BadInput> {
    let mut e: Experiment = read(name, "experiment.toml")?;
    if is_folder(name) {
        let here = |file: &str| Path::new(name).join(file).to_string_lossy().into_owned();
        let is_file = |preset: &str| preset.ends_with(".toml") && Path::new(preset).is_relative();
        if is_file(&e.machine) {
            e.machine = here(&e.machine);
        }
        for m in &mut e.matrix {
            let files = m.media.iter().filter(|media| is_file(media));
            m.media_as = files.map(|media| (media.clone(), here(media))).collect();
        }
    }
    Ok(e)
}

/// Parses a TOML text into a typed record; unknown keys are errors with their place.
pub fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, BadInput> {
    toml_edit::de::from_str(text).map_err(|e| {
        let place = Place::new(&Source::new(name, text), e.span());
        BadInput::new(e.message().trim().replace('\n', "; ")).at(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_program_may_have_a_length_of_its_own() {
        let work: Work = parse(
            "w.toml",
            "ops = 9\nwarmup = 3\nof = { tpcc = { ops = 2, warmup = 1 } }\n",
        )
        .unwrap();
        assert_eq!(work.of("tpcc"), Length { ops: 2, warmup: 1 });
        assert_eq!(work.of("sps"), Length { ops: 9, warmup: 3 });
    }
    #[test]
    fn lengths_are_given_for_programs_of_the_experiment() {
        for paper in names() {
            let e: Experiment = read(paper, "experiment.toml").unwrap_or_else(|e| panic!("{e}"));
            let of = e.scale.quick.of.keys().chain(e.scale.full.of.keys());
            for program in of {
                let runs = e.matrix.iter().any(|m| m.programs.contains(program));
                assert!(runs, "{paper}: no run of `{program}`");
            }
        }
    }
    #[test]
    fn embedded_experiments_are_well_formed() {
        for word in names() {
            let e: Experiment = read(word, "experiment.toml").unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(e.paper, word);
            for m in &e.matrix {
                for label in &m.points {
                    assert!(e.points.contains_key(label), "{word} {}: no point `{label}`", m.tag);
                }
            }
        }
    }
    #[test]
    fn unknown_keys_have_a_place() {
        let e = parse::<Work>("w.toml", "ops = 1\nwarmup = 2\nopps = 3\n").unwrap_err();
        assert_eq!(e.place.as_ref().unwrap().line_column(), (3, 1), "{e}");
    }
}
