//! How a claim is measured: the table `by` of each claim in `experiments/<paper>/claims.toml`.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// How to turn the programs' values into one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Geometric mean over programs.
    Geomean,
    /// Arithmetic mean over programs.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// How a ratio of two times is expressed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The ratio itself.
    #[default]
    Ratio,
    /// `(ratio - 1) * 100`.
    GainPercent,
    /// `(1 - ratio) * 100`.
    LossPercent,
}

/// What is taken of native runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfNative {
    /// Time with the fences between log and data over time without them.
    Gain,
    /// Percentage of fences that stand between log and data.
    RemovedFences,
    /// What a store, `clflush` of its line and `mfence` take, in nanoseconds; of no program.
    FlushPair,
}

/// A value over programs. Common fields are explained with [`Rule`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the common fields
pub struct Value {
    pub tag: String,
    #[serde(default = "time")]
    pub metric: String,
    /// The metric of `base`, where it is another one.
    #[serde(default)]
    pub base_metric: Option<String>,
    pub point: String,
    #[serde(default)]
    pub base: Option<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub media: Vec<String>,
    pub over: Over,
    #[serde(default)]
    pub form: Form,
    /// Only these programs, where the claim is about them.
    #[serde(default)]
    pub programs: Vec<String>,
    /// The claim is met within these, fixed beforehand, instead of within a fifth of the paper's number.
    #[serde(default)]
    pub within: Option<[f64; 2]>,
    /// The value is stated in units of so much.
    #[serde(default = "one")]
    pub divisor: f64,
    /// Without the programs' values beside it: there is one.
    #[serde(default)]
    pub quiet: bool,
}

/// An order among programs, at every design point and on every medium. Common fields are explained with [`Rule`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the common fields
pub struct Rank {
    pub tag: String,
    #[serde(default = "time")]
    pub metric: String,
    #[serde(deserialize_with = "one_or_more")]
    pub points: Vec<String>,
    #[serde(default)]
    pub base: Option<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub media: Vec<String>,
    /// Every program of a group has more than every one of the next. An empty group: all others.
    pub groups: Vec<Vec<String>>,
    /// Instead of the order: whether the values of the programs named begin and end within a fifth of these.
    #[serde(default)]
    pub gains: Option<[f64; 2]>,
    #[serde(default)]
    pub form: Form,
    /// Show the programs in their order.
    #[serde(default)]
    pub sorted: bool,
    /// What stands beside the row, with `{point}`, `{media}` and `{programs}`.
    #[serde(default = "programs")]
    pub says: String,
}

/// An order along steps. Common fields are explained with [`Rule`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the common fields
pub struct Along {
    pub tag: String,
    #[serde(default = "time")]
    pub metric: String,
    /// What is made of the programs' values; without, each program has to keep the order.
    #[serde(default)]
    pub over: Option<Over>,
    pub steps: Vec<Step>,
    /// Whether values rise, or fall, from each step to the next.
    #[serde(default)]
    pub rising: Option<bool>,
    /// By more than this factor.
    #[serde(default = "one")]
    pub by: f64,
    /// The value of the first of two steps (counted from 0) is at least so many times that of the second.
    #[serde(default)]
    pub factors: Vec<(usize, usize, f64)>,
    /// Least value of each step.
    #[serde(default)]
    pub at_least: Vec<f64>,
    /// What stands beside the row, with `{steps}` and, without `over`, `{program}`.
    #[serde(default = "steps")]
    pub says: String,
    /// What stands between two steps there.
    #[serde(default = "comma")]
    pub between: String,
    /// Digits of the values there.
    #[serde(default = "two")]
    pub digits: usize,
}

/// One step: a design point, or its ratio to another one, on a medium.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the common fields
pub struct Step {
    pub point: String,
    #[serde(default)]
    pub base: Option<String>,
    pub media: String,
    /// How it is called beside the row.
    #[serde(default)]
    pub name: Option<String>,
}

/// One way to measure a claim. Whatever a paper states of simulated runs is one of the first four.
///
/// Common fields: `tag` is the experiment, `metric` a [metric of a run](super::metrics::metric) (`time` where absent), `point`, `base`,
/// `against` and `points` are design points of `experiment.toml`: the metric of `point` over that of `base`, where there is one; `media`
/// are preset names, one or several; `over` says how the programs' values become one, `form` how a ratio is stated.
#[allow(missing_docs)] // the common fields are explained once, above
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// A value over programs.
    Value(Value),
    /// An order among programs.
    Rank(Rank),
    /// An order along design points or media.
    Along(Along),
    /// `point` takes less time than `against`: for each program on the media of `all_on`, and in at least
    /// `share` of all cases.
    Wins {
        tag: String,
        point: String,
        against: String,
        media: Vec<String>,
        #[serde(default)]
        all_on: Vec<String>,
        share: f64,
    },
    /// A line of the design's cost table, or several whose values together make the claim ("9/12").
    Cost {
        /// Design.
        design: String,
        /// Name of each line, and its bits in the claim's unit.
        parts: Vec<(String, f64)>,
    },
    /// A resolved parameter of the machine preset.
    Parameter {
        /// Values that the paper states, as `section.key = value`.
        values: BTreeMap<String, String>,
    },
    /// The benchmarks of the paper exist and were run.
    Programs {
        /// Programs that are simulated.
        programs: Vec<String>,
        /// Programs that run on a real CPU only.
        #[serde(default)]
        native: Vec<String>,
        /// What the paper states of these, as `program.PROGRAM.PARAMETER = value` and `clients.PROGRAM = value`.
        #[serde(default)]
        values: BTreeMap<String, String>,
    },
    /// A statement that is tested in this reproduction.
    Check {
        /// Name of the statement.
        test: String,
    },
    /// A claim about a real CPU, measured on this one: programs run natively with and without the fences between log and data.
    Native {
        of: OfNative,
        /// The workloads that the claim is about.
        #[serde(default)]
        programs: Vec<String>,
        #[serde(default = "mean")]
        over: Over,
        #[serde(default)]
        form: Form,
        /// Logging runtime; the program's natural one where absent.
        #[serde(default)]
        log: Option<String>,
        /// Software threads.
        #[serde(default = "one_thread")]
        threads: u32,
    },
    /// A number that is quoted, not measured.
    Quoted {
        /// Why.
        reason: String,
    },
    /// Not run.
    NotRun {
        /// One of the reasons that the scoring rules admit.
        reason: String,
    },
}

impl Rule {
    /// The experiment whose runs the rule looks at, if it looks at runs.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Rule::Value(Value { tag, .. })
            | Rule::Rank(Rank { tag, .. })
            | Rule::Along(Along { tag, .. })
            | Rule::Wins { tag, .. } => Some(tag),
            Rule::Cost { .. }
            | Rule::Parameter { .. }
            | Rule::Programs { .. }
            | Rule::Check { .. }
            | Rule::Native { .. }
            | Rule::Quoted { .. }
            | Rule::NotRun { .. } => None,
        }
    }
}

/// A word, or a list of words.
fn one_or_more<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Words {
        One(String),
        More(Vec<String>),
    }
    Ok(match Words::deserialize(d)? {
        Words::One(word) => vec![word],
        Words::More(words) => words,
    })
}
fn one() -> f64 {
    1.0
}
fn one_thread() -> u32 {
    1
}
fn two() -> usize {
    2
}
fn mean() -> Over {
    Over::Mean
}
fn time() -> String {
    "time".into()
}
fn programs() -> String {
    "{programs}".into()
}
fn steps() -> String {
    "{steps}".into()
}
fn comma() -> String {
    ", ".into()
}
