//! Arguments of `native`.

use crate::net_args::{NetArgs, WireClients};
use clap::{Args, Subcommand, ValueEnum};
use fencepost_papers::native::{FlushWith, NativeRequest, Variant};
use fencepost_run::request::Request;
use std::path::PathBuf;

/// `native`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NativeArgs {
    /// Another kind of native run.
    #[command(subcommand)]
    pub command: Option<NativeCommand>,
    /// Program.
    #[arg(required_unless_present_any = ["calibrate", "compare"])]
    pub program: Option<String>,
    /// How it runs.
    #[command(flatten)]
    pub run: NativeRun,
    /// Kill the program N times at random moments instead of timing it; recover and audit its file after each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub kill: Option<u32>,
    /// Measure what the instructions of this CPU cost, and write a machine file that simulates it (`run -m FILE`).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "kill"])]
    pub calibrate: Option<PathBuf>,
    /// Run the program (sps, hash and cq if none is named) natively and simulated on this machine, preset or file, and set the two side by
    /// side.
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["kill", "calibrate"])]
    pub compare: Option<String>,
}

/// Other kinds of native runs.
#[derive(Subcommand, Debug)]
pub enum NativeCommand {
    /// What `--kill` kills: the program without end, recording what it did.
    #[command(hide = true)]
    UntilKilled {
        /// Program.
        program: String,
        /// How it runs.
        #[command(flatten)]
        run: NativeRun,
        /// Records of what it did.
        #[arg(long)]
        progress: PathBuf,
    },
    /// Clients that persist on a server process over TCP or libfabric, one round trip for each epoch and pipelined.
    Net(NetArgs),
    /// What `net` starts: a server.
    #[command(hide = true)]
    NetServer {
        /// Clients it serves.
        #[command(flatten)]
        clients: WireClients,
        /// Its memory.
        #[arg(long)]
        pm: PathBuf,
        /// Where it notes what it did.
        #[arg(long)]
        board: PathBuf,
        /// Whether it notes.
        #[arg(long)]
        traced: bool,
        /// Whether its memory outlives the run.
        #[arg(long)]
        kept: bool,
    },
    /// What `net --kill` starts: clients.
    #[command(hide = true)]
    NetClients {
        /// Which.
        #[command(flatten)]
        clients: WireClients,
        /// Where the server notes what it did.
        #[arg(long)]
        board: PathBuf,
        /// Where they note what they believe.
        #[arg(long)]
        beliefs: PathBuf,
        /// Where they connect.
        #[arg(long)]
        port: u16,
        /// Whether they wait for every epoch.
        #[arg(long)]
        sync: bool,
    },
}

/// How a program runs natively.
#[derive(Args, Debug)]
pub struct NativeRun {
    /// With the fences between log and data, or without them. Both are timed in turn; this one is reported first.
    #[arg(long, value_enum, default_value_t = VariantArg::Baseline)]
    pub variant: VariantArg,
    /// Measured operations per thread and variant.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub ops: u32,
    /// Operations per thread and variant before measuring.
    #[arg(long, default_value_t = 2_000)]
    pub warmup: u32,
    /// Software threads, pinned.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=254))]
    pub threads: u32,
    /// File that holds persistent memory: a new one, or one of an earlier run. Default: a temporary file.
    #[arg(long, value_name = "PATH")]
    pub pm: Option<PathBuf>,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Logging runtime. Default: the program's natural one.
    #[arg(long)]
    pub log: Option<String>,
    /// Set a parameter of the program: program.PROGRAM.NAME=VALUE; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// Do as if the CPU lacked this flush instruction; may be repeated. What it has besides is used, clwb before clflushopt before clflush.
    #[arg(long, value_name = "INSTRUCTION", value_enum)]
    pub without: Vec<FlushArg>,
    /// One of the program's deliberate mistakes, for killed runs: measured code has none.
    #[arg(long, hide = true)]
    pub mistake: Option<String>,
}

/// Variants.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
pub enum VariantArg {
    /// With the fences between log and data.
    Baseline,
    /// Without exactly those: an upper bound, not crash consistent.
    Ideal,
}

/// Flush instructions.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
#[value(rename_all = "lower")]
pub enum FlushArg {
    /// Writes a line back and keeps it.
    Clwb,
    /// Writes a line back and drops it, weakly ordered.
    ClflushOpt,
    /// Writes a line back and drops it, ordered like a store.
    Clflush,
}
impl FlushArg {
    /// What it stands for.
    pub fn flush(self) -> FlushWith {
        match self {
            FlushArg::Clwb => FlushWith::Clwb,
            FlushArg::ClflushOpt => FlushWith::ClflushOpt,
            FlushArg::Clflush => FlushWith::Clflush,
        }
    }
}

impl NativeRun {
    /// Flushes that are not to be used.
    pub fn without(&self) -> Vec<FlushWith> {
        self.without.iter().map(|f| f.flush()).collect()
    }
    /// The request for `program`.
    pub fn request(&self, program: &str) -> NativeRequest {
        NativeRequest {
            request: Request {
                program: program.into(),
                threads: Some(self.threads),
                ops: self.ops,
                warmup: self.warmup,
                seed: self.seed,
                log: self.log.clone(),
                variant: self.mistake.clone(),
                sets: self.sets.clone(),
                ..Request::default()
            },
            variant: match self.variant {
                VariantArg::Baseline => Variant::Baseline,
                VariantArg::Ideal => Variant::Ideal,
            },
            pm: self.pm.clone(),
            without: self.without(),
        }
    }
    /// The arguments that say the same about a process to be killed.
    pub fn again(&self) -> Vec<String> {
        let mut out = vec![format!("--threads={}", self.threads), format!("--seed={}", self.seed)];
        out.extend(self.log.iter().map(|l| format!("--log={l}")));
        out.extend(self.without().into_iter().map(|f| format!("--without={}", f.name())));
        out.extend(self.mistake.iter().map(|m| format!("--mistake={m}")));
        out.extend(self.sets.iter().map(|s| format!("--set={s}")));
        out
    }
}
