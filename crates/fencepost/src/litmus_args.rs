//! Arguments of `litmus`.

use clap::Args;
use std::path::PathBuf;

/// `litmus`.
#[derive(Args, Debug)]
pub struct LitmusArgs {
    /// Tests: .litmus files, folders with such files, or @FILE, which lists paths relative to its own folder.
    #[arg(required_unless_present_any = ["generate", "between"], value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Models (sc, tso, armv7-mca, armv7, aarch64, ppc) and crash contracts (`fencepost list contracts`), separated by commas.
    /// Default: the model of the test's instruction set.
    #[arg(long, value_delimiter = ',', value_name = "MODEL")]
    pub model: Vec<String>,
    /// List every final state and every crash state.
    #[arg(long)]
    pub states: bool,
    /// Rewrite in the files what they expect of each model.
    #[arg(long, conflicts_with_all = ["states", "model"])]
    pub promote: bool,
    /// Draw an execution of one test in which its condition holds (its crash condition under a contract), with the broken axiom's cycle
    /// where it is forbidden: .svg or .dot.
    #[arg(long, value_name = "FILE", conflicts_with = "promote")]
    pub picture: Option<PathBuf>,
    /// Make the suite of tests from cycles of relations, in this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "promote", "picture", "between"])]
    pub generate: Option<PathBuf>,
    /// With --generate: edges of a cycle at most.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(3..=6))]
    pub edges: u8,
    /// With --generate: threads at most, recovery not counted.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub threads: u8,
    /// The five smallest tests that the first of two crash contracts allows and the second forbids.
    #[arg(long, value_name = "ALLOWS,FORBIDS", conflicts_with_all = ["files", "promote", "picture"])]
    pub between: Option<String>,
    /// With --between: a folder for the tests, and for a picture of each under both contracts (.svg and .dot).
    #[arg(short, long, value_name = "DIR", requires = "between")]
    pub output: Option<PathBuf>,
    /// Run the tests on the simulated machine with these designs (or `all`) and hold what it shows against its model and contract.
    #[arg(short, long, value_delimiter = ',', value_name = "DESIGN", conflicts_with_all = ["model", "promote", "picture", "generate", "between"])]
    pub design: Vec<String>,
    /// With --design: runs of each test on each design; seeds draw placement, padding and delays.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// With --design: the machine. Default: that of the design's paper.
    #[arg(short, long, value_name = "MACHINE", requires = "design")]
    pub machine: Option<String>,
    /// With --design: the medium. Default: several, where the design keeps its promise.
    #[arg(long, value_name = "MEDIA", requires = "design")]
    pub media: Option<String>,
    /// With --design: a setting of the design or the machine.
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "design")]
    pub sets: Vec<String>,
    /// With --design: for crash states that are allowed and were not shown, look for the rule without which they are.
    #[arg(long, requires = "design")]
    pub rules: bool,
    /// Run x86 tests on the CPU of this host; what it shows must be among what x86 allows.
    #[arg(long, conflicts_with_all = ["design", "model", "promote", "picture", "generate", "between"])]
    pub native: bool,
    /// With --native: how often each test runs.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub rounds: u32,
}
