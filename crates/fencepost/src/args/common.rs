//! Arguments that several commands have in common.

use super::values::{count, seed};
use clap::{Args, ValueEnum};
use fencepost_run::request::Request;

/// Acknowledgement of operations.
#[derive(Copy, Clone, Debug, ValueEnum, PartialEq, Eq)]
pub enum Ack {
    /// Every operation ends durable.
    Every,
    /// Where the design's ordering says so anyway, and at the end of the run.
    End,
}

/// What several commands have in common.
#[derive(Args, Debug)]
#[command(next_help_heading = "Program and machine")]
pub struct Common {
    /// Machine preset, or a file.
    #[arg(short, long, default_value = "dpo")]
    pub machine: String,
    /// Medium of persistent memory: a preset, or a file. Default: the machine's own.
    #[arg(long)]
    pub media: Option<String>,
    /// Software threads. Default: one per hardware thread; for `crash` one, as crash states multiply with each.
    #[arg(long, value_parser = count)]
    pub threads: Option<u32>,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 1, value_parser = seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Logging runtime: undo-array, undo-list, library-array, library-list, redo, ido or raw. Default: the program's natural one.
    /// Without a program (`run`, `crash`): the file of a recorded log.
    #[arg(long)]
    pub log: Option<String>,
    /// When operations are acknowledged as durable.
    #[arg(long, value_enum, default_value_t = Ack::End)]
    pub ack: Ack,
    /// Variant of the program: `correct` or one of its deliberate mistakes.
    #[arg(long)]
    pub variant: Option<String>,
    /// Set a parameter; may be repeated. PATH is SECTION.KEY as `config show` prints it, for example l1.ways=8.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
}
impl Common {
    /// The request that these arguments describe.
    pub fn request(&self, program: &str, design: &str, ops: u32, warmup: u32) -> Request {
        Request {
            program: program.into(),
            design: design.into(),
            machine: self.machine.clone(),
            media: self.media.clone(),
            threads: self.threads,
            ops,
            warmup,
            cycles: None,
            seed: self.seed,
            variant: self.variant.clone(),
            log: self.log.clone(),
            ack_every: self.ack == Ack::Every,
            sets: self.sets.clone(),
            check: false,
            budget: None,
            nested: Request::default().nested,
        }
    }
}

/// How much is run.
#[derive(Args, Debug)]
#[command(next_help_heading = "How much is run")]
pub struct Work {
    /// Measured operations per thread.
    #[arg(long, default_value_t = 1000, value_parser = count)]
    pub ops: u32,
    /// Operations per thread before measuring.
    #[arg(long, default_value_t = 100, value_parser = count)]
    pub warmup: u32,
    /// Measure this many cycles of a core instead of all operations, of which there must be enough. Not with --check.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cycles: Option<u64>,
}
