//! The command line.

use crate::ci::CiArgs;
use crate::external_args::{ExternalArgs, RecordArgs, RecoveryArgs};
pub use crate::litmus_args::LitmusArgs;
use crate::native_args::NativeArgs;
use crate::timeline_args::TimelineArgs;
mod common;
mod config;
mod grain;
mod many;
mod papers;
mod values;

use clap::{Args, Parser, Subcommand};
use fencepost_table::Format;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use values::{count, name, parallel, points};

pub use common::{Ack, Common, Work};
pub use config::{ConfigArgs, ConfigCommand};
pub use grain::{GrainArg, LineOrderArg};
pub use many::{ManyArgs, MatrixArgs, SweepArgs};
pub use papers::{InferArgs, ReproduceArgs, ScaleArg, WhisperArgs};

/// What does it cost to keep persistent memory crash-consistent on a given piece of hardware, and is it really
/// crash-consistent there?
#[derive(Parser, Debug)]
#[command(name = "fencepost", version = fencepost_run::kept::VERSION, max_term_width = 110)]
pub struct Cli {
    /// One JSON document on standard output and nothing else there.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print less; no progress.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more; twice for all counters.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// List designs, programs, machines, media, contracts, experiments or readings.
    #[command(after_help = "Examples:\n  fencepost list designs\n  fencepost list readings -v")]
    List {
        /// Which kind; all when absent.
        kind: Option<String>,
    },
    /// Run one program on one design.
    #[command(
        after_help = "Examples:\n  fencepost run cq -d delegated --check\n  fencepost run hashmap -d so -m dpo --media pcm --threads 4 --set l1.ways=8"
    )]
    Run(RunArgs),
    /// Run programs on several designs and compare their times.
    #[command(
        after_help = "Examples:\n  fencepost compare cq sps -d so,delegated\n  fencepost compare tatp -d so,themis -m themis --json"
    )]
    Compare(CompareArgs),
    /// Explore the crash states of a program: those of a simulated run and those that a contract allows.
    #[command(
        after_help = "Examples:\n  fencepost crash cq --contract px86 --variant missing-fence\n  fencepost crash hashmap -d delegated --ops 4 --budget 30s"
    )]
    Crash(CrashArgs),
    /// Draw a run, and what a power failure at any moment would leave, as a page.
    #[command(
        after_help = "Examples:\n  fencepost timeline sps -d so,delegated\n  fencepost timeline cq -d delegated --ops 50 -o cq.html"
    )]
    Timeline(TimelineArgs),
    /// Storage that designs add, in bits.
    #[command(after_help = "Example:\n  fencepost cost delegated")]
    Cost {
        /// Design; all when absent.
        design: Option<String>,
        /// Machine whose sizes it follows.
        #[arg(short, long, default_value = "dpo")]
        machine: String,
        /// Set a parameter.
        #[arg(long = "set", value_name = "PATH=VALUE")]
        sets: Vec<String>,
    },
    /// Show or compare resolved configurations.
    #[command(
        subcommand,
        after_help = "Examples:\n  fencepost config show cq -d delegated\n  fencepost config show l1.ways\n  fencepost config diff --set l1.ways=8"
    )]
    Config(ConfigCommand),
    /// Reproduce a paper's experiments and score its claims.
    #[command(after_help = "Examples:\n  fencepost reproduce dpo\n  fencepost reproduce themis --readings")]
    Reproduce(ReproduceArgs),
    /// Search the joint readings of what a paper leaves open for those that agree with its figures.
    #[command(
        after_help = "Examples:\n  fencepost infer dpo --first DPO-H1\n  fencepost infer dpo --from \"pcommit=exclusive compute=1\""
    )]
    Infer(InferArgs),
    /// How the programs of the WHISPER suite persist, beside what was published of the suite.
    #[command(after_help = "Examples:\n  fencepost whisper\n  fencepost whisper -d so -m dpo --ops 400 --json")]
    Whisper(WhisperArgs),
    /// Run a grid of designs, programs, machines, media, parameters and seeds, and keep it in a folder.
    #[command(
        after_help = "Examples:\n  fencepost sweep grid.toml\n  fencepost sweep grid.toml --shard 3/8 -o results"
    )]
    Sweep(SweepArgs),
    /// Run every design with every program on every machine, checked: time and verdict of each in one table.
    #[command(
        after_help = "Examples:\n  fencepost matrix\n  fencepost matrix -d so,delegated -p cq,sps -m dpo --format json"
    )]
    Matrix(MatrixArgs),
    /// Run recovery again on the crash state that a witness names.
    #[command(after_help = "Example:\n  fencepost replay ID     with the id as a witness prints it, in quotes")]
    Replay {
        /// The id, as a witness prints it.
        id: String,
        /// Where the crash image of a recorded log goes. Default: crash.img.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Judge a recorded persist log, of another simulator or a real machine, against a contract.
    #[command(after_help = "Example:\n  fencepost judge run.log --contract px86")]
    Judge(JudgeArgs),
    /// Record what an unmodified x86-64 program does to a persistent file, under an emulator.
    #[command(after_help = "Example:\n  fencepost record --pm /dev/shm/data.pm -o run.log -- ./program its arguments")]
    Record(RecordArgs),
    /// Run a program on this CPU, on a mapped file, with the flushes and fences that the CPU has.
    #[command(
        after_help = "Examples:\n  fencepost native cq\n  fencepost native hash --kill 20\n  fencepost native --calibrate here.toml"
    )]
    Native(NativeArgs),
    /// What memory models and crash contracts allow of tiny programs, in herd's format.
    #[command(
        after_help = "Examples:\n  fencepost litmus litmus/X86/SB+pos.litmus\n  fencepost litmus --between px86,rcbsp\n  fencepost litmus litmus/persistency -d all"
    )]
    Litmus(LitmusArgs),
    /// How to cite a design.
    #[command(after_help = "Example:\n  fencepost cite themis")]
    Cite {
        /// Design.
        design: String,
    },
    /// Run a bare stream of memory requests (lines "R 0xADDR" and "W 0xADDR") against one medium.
    #[command(
        after_help = "Examples:\n  fencepost memtrace requests.txt --media ddr4-2400 --commands sent.trace\n  fencepost memtrace --judge sent.trace --media ddr4-2400"
    )]
    Memtrace {
        /// File with the requests.
        #[arg(required_unless_present = "judge", conflicts_with = "judge")]
        file: Option<PathBuf>,
        /// Medium.
        #[arg(long)]
        media: String,
        /// Write every command that goes to the medium: cycle, command, channel, rank, bank group, bank, row, column.
        #[arg(long, value_name = "FILE", conflicts_with = "judge")]
        commands: Option<PathBuf>,
        /// Judge such a file, or a command trace of DRAMsim3, by the medium's timing rules.
        #[arg(long, value_name = "FILE")]
        judge: Option<PathBuf>,
    },
    /// Print the completions of a shell, for its start-up file.
    #[command(
        after_help = "Example:\n  fencepost completions bash > ~/.local/share/bash-completion/completions/fencepost"
    )]
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page for each command.
    #[command(after_help = "Example:\n  fencepost man -o man1")]
    Man {
        /// Folder for one page per command.
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}

/// `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Program; without one, --log names a recorded log.
    #[arg(required_unless_present = "log")]
    pub program: Option<String>,
    /// With a recorded log: persistent memory before it. Default: zero.
    #[arg(long, value_name = "FILE", conflicts_with = "program")]
    pub image: Option<PathBuf>,
    /// With a recorded log and --check: recovery.
    #[command(flatten)]
    pub recovery: RecoveryArgs,
    /// Design.
    #[arg(short, long, default_value = "volatile", value_parser = name)]
    pub design: String,
    /// Options of every run.
    #[command(flatten)]
    pub common: Common,
    /// How much is run.
    #[command(flatten)]
    pub work: Work,
    /// Examine the state after a power failure at every durable event, and the persist order against the contract.
    #[arg(long)]
    pub check: bool,
    /// Crash points to examine at most, evenly spread. Default: 20000; of a recorded log 1000.
    #[arg(long, value_name = "N", requires = "check", value_parser = points)]
    pub points: Option<u64>,
    /// A number of crash points as --points, or a time such as 30s, 2m for the run and its check.
    #[arg(long, value_name = "TIME|N", requires = "check", conflicts_with = "points")]
    pub budget: Option<String>,
    /// How often in a row power fails again while the design's hardware recovers. Default: 2.
    #[arg(long, value_name = "DEPTH", requires = "check", value_parser = clap::value_parser!(u32).range(..=8))]
    pub nested: Option<u32>,
    /// Run with so many seeds, from --seed: means, and the half of their 95 % interval.
    #[arg(long, value_name = "N", conflicts_with = "budget")]
    pub seeds: Option<NonZeroU64>,
    /// With --seeds: runs at a time. Default: one per host core.
    #[arg(long, value_parser = parallel, requires = "seeds")]
    pub jobs: Option<NonZeroUsize>,
    /// Write result.json and config.toml into this folder; with --seeds seeds.json and every run, which is not repeated.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the run as a table; with --output write it there, with its stalls, counters, histograms and, of a checked run, persist log.
    #[arg(long)]
    pub format: Option<Format>,
    /// Write everything that happens in the run: FILE.perfetto-trace for Perfetto, FILE.kanata for the pipeline viewer Konata.
    #[arg(long, value_name = "FILE", requires = "program", conflicts_with = "seeds")]
    pub trace: Option<PathBuf>,
}

/// `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Programs.
    #[arg(required = true)]
    pub programs: Vec<String>,
    /// Designs, separated by commas.
    #[arg(short, long, required = true, value_delimiter = ',', value_parser = name)]
    pub designs: Vec<String>,
    /// Design that times are relative to.
    #[arg(long, default_value = "volatile")]
    pub baseline: String,
    /// Options of every run.
    #[command(flatten)]
    pub common: Common,
    /// How much is run.
    #[command(flatten)]
    pub work: Work,
    /// Examine crash states of every run as well.
    #[arg(long)]
    pub check: bool,
    /// Run with so many seeds, from --seed: means, and the half of their 95 % interval.
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub seeds: NonZeroU64,
    /// Runs at a time. Default: one per host core.
    #[arg(long, value_parser = parallel)]
    pub jobs: Option<NonZeroUsize>,
    /// Keep every run in this folder, and do not repeat those already there.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Draw the comparison as a page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the runs as a table; with --output write it there.
    #[arg(long)]
    pub format: Option<Format>,
}

/// `crash`.
#[derive(Args, Debug)]
pub struct CrashArgs {
    /// Program; without one, --log names a recorded log, and --recover says how it recovers.
    #[arg(required_unless_present = "log")]
    pub program: Option<String>,
    /// What belongs to recorded logs.
    #[command(flatten)]
    pub external: ExternalArgs,
    /// Design: its contract, and the prefixes of a simulated run's persist log.
    #[arg(short, long, conflicts_with = "contract")]
    pub design: Option<String>,
    /// Contract alone, for the program as written for it.
    #[arg(long)]
    pub contract: Option<String>,
    /// Operations per thread.
    #[arg(long, default_value_t = 8, value_parser = count)]
    pub ops: u32,
    /// Options of every run.
    #[command(flatten)]
    pub common: Common,
    /// A number of recoveries, or a time such as 500ms, 30s, 2m.
    #[arg(long, default_value = "60s", value_name = "TIME|STATES")]
    pub budget: String,
    /// End with exit code 4 where a clean verdict leaves crash states out (`bounded`).
    #[arg(long)]
    pub require_complete: bool,
    /// Take the program's sizes as runs do. Default: small structures, unless --set chooses sizes.
    #[arg(long)]
    pub full_size: bool,
    /// Thread schedules to record. Default: 8 for several threads, every second one with store buffers.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub schedules: Option<u64>,
    /// Paranoid mode: run one in N merged continuations of recovery nevertheless. Default: the first 256 of small programs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub paranoid: Option<u64>,
    /// Persist order within a cache line. Default: the contract's own.
    #[arg(long, value_enum)]
    pub line_order: Option<LineOrderArg>,
    /// Bytes that become durable at once: 1 tears words, 64 keeps lines whole.
    #[arg(long, value_enum, default_value_t = GrainArg::Word)]
    pub grain: GrainArg,
    /// Draw the crash state that was found as a page.
    #[arg(long, value_name = "FILE", requires = "program")]
    pub html: Option<PathBuf>,
    /// The picture alone.
    #[arg(long, value_name = "FILE", requires = "program")]
    pub svg: Option<PathBuf>,
    /// The picture as a graph for Graphviz.
    #[arg(long, value_name = "FILE", requires = "program")]
    pub dot: Option<PathBuf>,
    /// Where the result goes.
    #[command(flatten)]
    pub ci: CiArgs,
}

/// `judge`.
#[derive(Args, Debug)]
pub struct JudgeArgs {
    /// The log, in the text format of docs/checking.md.
    pub file: PathBuf,
    /// Contract.
    #[arg(long)]
    pub contract: String,
    /// The recorded run drained: every store must be durable at the end.
    #[arg(long)]
    pub complete: bool,
    /// Persist order within a cache line. Default: the contract's own.
    #[arg(long, value_enum)]
    pub line_order: Option<LineOrderArg>,
    /// Where the result goes.
    #[command(flatten)]
    pub ci: CiArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
