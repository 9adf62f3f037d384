//! Arguments of commands that run many configurations.

use super::values::{count, name, parallel, seed, shard, size};
use clap::Args;
use fencepost_table::Format;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// How many cells are run.
#[derive(Args, Debug)]
pub struct ManyArgs {
    /// Runs at a time. Default: one per host core.
    #[arg(long, value_parser = parallel)]
    pub jobs: Option<NonZeroUsize>,
    /// Run only every N-th cell, from the I-th on: one call of an array of N.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<(u64, u64)>,
    /// Memory above which no further run is begun beside others. Default: three quarters of what is free.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Format of the table.
    #[arg(long, default_value = "csv")]
    pub format: Format,
    /// Folder of results, which several sweeps and processes may share. Default: a folder of the grid's name in runs.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// The grid, as docs/sweeps.md describes it.
    pub grid: PathBuf,
    /// Cells that a grid may have.
    #[arg(long, value_name = "N", default_value_t = fencepost_sweep::grid::MOST)]
    pub most_cells: u64,
    /// How they are run.
    #[command(flatten)]
    pub how: ManyArgs,
}

/// `matrix`.
#[derive(Args, Debug)]
pub struct MatrixArgs {
    /// Designs, separated by commas. Default: all but those of network persistence.
    #[arg(short, long, value_delimiter = ',', value_parser = name)]
    pub designs: Vec<String>,
    /// Programs, separated by commas. Default: all.
    #[arg(short, long, value_delimiter = ',', value_parser = name)]
    pub programs: Vec<String>,
    /// Machines, separated by commas. Default: all.
    #[arg(short, long, value_delimiter = ',', value_parser = name)]
    pub machines: Vec<String>,
    /// Measured operations per thread.
    #[arg(long, default_value_t = 16, value_parser = count)]
    pub ops: u32,
    /// Operations per thread before measuring.
    #[arg(long, default_value_t = 2, value_parser = count)]
    pub warmup: u32,
    /// Software threads.
    #[arg(long, default_value_t = 2, value_parser = count)]
    pub threads: u32,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Crash points to examine at most in each run.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub points: u64,
    /// Draw the runs as a page: a heat map and sorted means for each machine.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Design that times on the page are relative to.
    #[arg(long, default_value = "volatile", requires = "html")]
    pub baseline: String,
    /// How they are run.
    #[command(flatten)]
    pub how: ManyArgs,
}
