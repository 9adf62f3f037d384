//! Arguments of `timeline`.

use crate::args::Common;
use clap::Args;
use std::path::PathBuf;

/// `timeline`.
#[derive(Args, Debug)]
pub struct TimelineArgs {
    /// Program.
    #[arg(required_unless_present = "replay")]
    pub program: Option<String>,
    /// Design, or two on one clock, separated by a comma.
    #[arg(short, long, value_delimiter = ',', default_value = "so", conflicts_with = "replay")]
    pub designs: Vec<String>,
    /// Open at the crash state of a simulated run that a witness names.
    #[arg(long, value_name = "ID", conflicts_with = "program")]
    pub replay: Option<String>,
    /// Options of every run.
    #[command(flatten)]
    pub common: Common,
    /// Operations per thread.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub ops: u32,
    /// Crash points to recover at most, evenly spread. Default: 400.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub points: Option<u64>,
    /// The page.
    #[arg(short, long, value_name = "FILE", default_value = "timeline.html")]
    pub output: PathBuf,
}
