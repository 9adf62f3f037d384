//! How a claim is measured: the table `by` of each claim in `experiments/<paper>/claims.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// How to turn the programs' values into one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
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

/// What is taken of a histogram.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The median.
    Median,
    /// The largest value.
    Max,
    /// The share of samples that are zero, in percent.
    ZeroPercent,
}

/// What is taken of native runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfNative {
    /// Time with the fences between log and data over time without them.
    Gain,
    /// Percentage of fences that stand between log and data.
    RemovedFences,
}

/// Which end of an order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The largest value.
    Most,
    /// The smallest value.
    Least,
}

/// One way to measure a claim.
///
/// Common fields: `tag` is the experiment, `point`, `base`, `against`, `per` and `points` are design points of
/// `experiment.toml`, `media` are preset names, `counter` is a counter of the run result.
#[allow(missing_docs)] // the common fields are explained once, above
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// Time of `point` over time of `base`, program by program, then over programs.
    Slowdown {
        tag: String,
        point: String,
        base: String,
        media: Vec<String>,
        over: Over,
        #[serde(default)]
        form: Form,
        /// Only these programs, where the claim is about them.
        #[serde(default)]
        programs: Vec<String>,
    },
    /// The program that each of the points slows down most or least, on every medium listed.
    Extreme {
        tag: String,
        points: Vec<String>,
        base: String,
        media: Vec<String>,
        end: End,
        /// The program the paper names.
        expect: String,
    },
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
    /// The slowdown of `point` rises along the media, for each program.
    RisesAlongMedia {
        tag: String,
        point: String,
        base: String,
        media: Vec<String>,
    },
    /// Geometric-mean slowdowns on the first two media differ by at most `within` (relative to the larger), and
    /// the third is at least `apart` times both.
    TwoAlikeThirdApart {
        tag: String,
        point: String,
        base: String,
        media: [String; 3],
        within: f64,
        apart: f64,
    },
    /// The geometric-mean times of the points keep this order, each at least `by` times better than the next.
    Ordered {
        tag: String,
        /// From the fastest to the slowest.
        points: Vec<String>,
        media: String,
        #[serde(default = "one")]
        by: f64,
    },
    /// The mean over programs of the time ratio of each pair rises (or falls) along the pairs.
    Trend {
        tag: String,
        media: String,
        /// Numerator and denominator.
        pairs: Vec<[String; 2]>,
        rising: bool,
    },
    /// Geometric-mean time of the middle point is within `near` of the larger ones', and the smaller ones are at least
    /// `worse` slower than it.
    Knee {
        tag: String,
        media: String,
        smaller: String,
        knee: String,
        larger: String,
        near: f64,
        worse: f64,
    },
    /// Mean over programs of `point`'s counter over `base`'s, minus one, in percent.
    CounterGain {
        tag: String,
        counter: String,
        point: String,
        base: String,
        media: String,
        /// The claim counts what went away: the opposite sign.
        #[serde(default)]
        removed: bool,
        /// Counts per time, not per operation.
        #[serde(default)]
        per_time: bool,
    },
    /// A counter in percent of the sum of others, program by program, then over programs.
    Share {
        tag: String,
        counter: String,
        /// What it is a share of.
        of: Vec<String>,
        point: String,
        media: String,
        over: Over,
    },
    /// Operations per time rise from each point to the next, for every program.
    OperationsRise {
        tag: String,
        points: Vec<String>,
        media: String,
    },
    /// The program with the most operations per time.
    MostOperations {
        tag: String,
        point: String,
        media: String,
        /// The program the paper names.
        expect: String,
    },
    /// The programs that `base` takes longest over `point`, or least: as many as `expect` names, which must be these.
    Top {
        tag: String,
        point: String,
        base: String,
        media: String,
        end: End,
        expect: Vec<String>,
        /// Instead of the order: whether the gains in percent of the programs named begin and end within a fifth of these.
        #[serde(default)]
        gains: Option<[f64; 2]>,
    },
    /// A statistic of a histogram is larger for each of some programs than for each of others; without `below`: than for all
    /// others; the other way round with `smaller`.
    HistogramOrder {
        tag: String,
        point: String,
        media: String,
        histogram: String,
        of: Statistic,
        above: Vec<String>,
        #[serde(default)]
        below: Vec<String>,
        #[serde(default)]
        smaller: bool,
    },
    /// Samples of a histogram per operation, the mean over programs.
    SamplesPerOp {
        tag: String,
        point: String,
        media: String,
        histogram: String,
        programs: Vec<String>,
    },
    /// A counter per thousand cycles and core: counted in `point`, cycles of `per`.
    PerKilocycle {
        tag: String,
        counter: String,
        point: String,
        per: String,
        media: String,
        program: String,
        clock_ghz: f64,
    },
    /// The programs ordered by such a rate, highest first.
    RateOrder {
        tag: String,
        counter: String,
        point: String,
        per: String,
        media: String,
        programs: Vec<String>,
    },
    /// A statistic of a histogram of the run result, program by program, then over programs.
    Histogram {
        tag: String,
        point: String,
        media: String,
        /// Name of the histogram.
        histogram: String,
        of: Statistic,
        over: Over,
        /// Only these programs, where the claim is about them.
        #[serde(default)]
        programs: Vec<String>,
        /// The claim is met within these, fixed beforehand, instead of within a fifth of the paper's number.
        #[serde(default)]
        within: Option<[f64; 2]>,
    },
    /// A metric of `point` over one of `base`, program by program, then over programs. A metric is a counter of the run result,
    /// `ipc`, or the mean of a histogram (`mean:HISTOGRAM`).
    MetricRatio {
        tag: String,
        metric: String,
        /// The metric of `base`, where it is another one.
        #[serde(default)]
        base_metric: Option<String>,
        point: String,
        base: String,
        media: String,
        over: Over,
        #[serde(default)]
        form: Form,
    },
    /// The mean over programs of a metric's ratio (see `MetricRatio`) rises (or falls) along the pairs.
    MetricTrend {
        tag: String,
        metric: String,
        media: String,
        /// Numerator and denominator.
        pairs: Vec<[String; 2]>,
        rising: bool,
    },
    /// Ratio of two design points' time, geometric mean, relative to another pair; for cross-checks that should be one.
    SameTime {
        tag: String,
        point: String,
        against: String,
        media: String,
    },
    /// A line of the design's cost table.
    Cost {
        /// Design.
        design: String,
        /// Name of the line.
        item: String,
        /// Bits in the claim's unit.
        bits_per_unit: f64,
    },
    /// Several lines of the cost table, whose values together make the claim ("9/12").
    Costs {
        /// Design.
        design: String,
        /// Name of each line, and its bits per unit.
        parts: Vec<[String; 2]>,
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
        /// The workloads that the claim is about.
        programs: Vec<String>,
        of: OfNative,
        over: Over,
        #[serde(default)]
        form: Form,
        /// Logging runtime; the program's natural one where absent.
        #[serde(default)]
        log: Option<String>,
        /// Software threads.
        threads: u32,
    },
    /// What a store, `clflush` of its line and `mfence` take on the real CPU, in nanoseconds.
    NativeFlushPair,
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
            Rule::Slowdown { tag, .. }
            | Rule::Extreme { tag, .. }
            | Rule::Wins { tag, .. }
            | Rule::RisesAlongMedia { tag, .. }
            | Rule::TwoAlikeThirdApart { tag, .. }
            | Rule::Ordered { tag, .. }
            | Rule::Trend { tag, .. }
            | Rule::Knee { tag, .. }
            | Rule::CounterGain { tag, .. }
            | Rule::Share { tag, .. }
            | Rule::OperationsRise { tag, .. }
            | Rule::MostOperations { tag, .. }
            | Rule::PerKilocycle { tag, .. }
            | Rule::RateOrder { tag, .. }
            | Rule::Histogram { tag, .. }
            | Rule::MetricRatio { tag, .. }
            | Rule::MetricTrend { tag, .. }
            | Rule::HistogramOrder { tag, .. }
            | Rule::SamplesPerOp { tag, .. }
            | Rule::Top { tag, .. }
            | Rule::SameTime { tag, .. } => Some(tag),
            Rule::Cost { .. }
            | Rule::Costs { .. }
            | Rule::Parameter { .. }
            | Rule::Programs { .. }
            | Rule::Check { .. }
            | Rule::Native { .. }
            | Rule::NativeFlushPair
            | Rule::Quoted { .. }
            | Rule::NotRun { .. } => None,
        }
    }
}

fn one() -> f64 {
    1.0
}
