//! Arguments of the commands about papers.

use super::values::{parallel, seed};
use clap::{Args, ValueEnum};
use fencepost_table::Format;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

/// `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// Paper, `all`, or a folder with an experiment of your own.
    #[arg(default_value = "all", value_name = "PAPER|DIR")]
    pub paper: String,
    /// How much work.
    #[arg(long, value_enum, default_value_t = ScaleArg::Quick)]
    pub scale: ScaleArg,
    /// Run every other reading of what the paper leaves open besides, each alone (at full scale joint readings too).
    #[arg(long)]
    pub readings: bool,
    /// Take this reading of an open input instead of the primary one. May be given several times; see `list readings`.
    #[arg(long, value_name = "INPUT=READING")]
    pub reading: Vec<String>,
    /// Runs at a time. Default: one per host core.
    #[arg(long, value_parser = parallel)]
    pub jobs: Option<NonZeroUsize>,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Seeds, from the first: measured rows are means over them, with the half of their 95 % interval. Default: 1, at full scale 5.
    #[arg(long, value_name = "N")]
    pub seeds: Option<NonZeroU64>,
    /// Folder of results. Default: runs/PAPER.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write the scoreboard in this format too.
    #[arg(long)]
    pub format: Option<Format>,
}

/// `whisper`.
#[derive(Args, Debug)]
pub struct WhisperArgs {
    /// Design whose instructions the programs are written with.
    #[arg(short, long, default_value = "x86-adr")]
    pub design: String,
    /// Machine preset, or a file.
    #[arg(short, long, default_value = "themis")]
    pub machine: String,
    /// Software threads of each program.
    #[arg(long, default_value = "4")]
    pub threads: NonZeroU32,
    /// Operations of each thread.
    #[arg(long, default_value = "100")]
    pub ops: NonZeroU32,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
}

/// What to infer from.
#[derive(Args, Debug)]
pub struct InferArgs {
    /// Paper.
    pub paper: String,
    /// Joint readings to try besides the primaries and every other reading alone, about. One in twelve runs at full length.
    #[arg(long, default_value = "1000")]
    pub tries: NonZeroUsize,
    /// A claim that the best joint reading shall meet before others. May be given several times.
    #[arg(long, value_name = "CLAIM")]
    pub first: Vec<String>,
    /// A joint reading to begin from besides the primaries: INPUT=READING words. May be given several times.
    #[arg(long, value_name = "JOINT")]
    pub from: Vec<String>,
    /// Splits of the claims for the held-out check.
    #[arg(long, default_value_t = 5)]
    pub splits: usize,
    /// Run the primaries and the best joint reading at full scale besides.
    #[arg(long)]
    pub full: bool,
    /// Runs at a time. Default: one per host core.
    #[arg(long, value_parser = parallel)]
    pub jobs: Option<NonZeroUsize>,
    /// Seed of every run and of the search.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Folder of results. Default: runs/PAPER-infer.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Scales.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
pub enum ScaleArg {
    /// Minutes on two cores.
    Quick,
    /// As large as the papers say or imply.
    Full,
}
