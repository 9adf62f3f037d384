//! What is asked of a native run, and what it reports.

use fencepost_programs::Settings;
use serde::Serialize;
use std::path::PathBuf;

/// How the log is ordered before the data.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// With the fences between non-temporal log and temporal data.
    Baseline,
    /// Without exactly those: an upper bound, not crash consistent.
    Ideal,
}

/// The instruction that writes a cache line back.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FlushWith {
    /// Keeps the line.
    Clwb,
    /// Drops the line; weakly ordered.
    ClflushOpt,
    /// Drops the line; ordered like a store.
    Clflush,
}
impl FlushWith {
    /// All, the preferred ones first.
    pub const ALL: [FlushWith; 3] = [FlushWith::Clwb, FlushWith::ClflushOpt, FlushWith::Clflush];
    /// Its mnemonic.
    pub fn name(self) -> &'static str {
        match self {
            FlushWith::Clwb => "clwb",
            FlushWith::ClflushOpt => "clflushopt",
            FlushWith::Clflush => "clflush",
        }
    }
}

/// A native run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Program, by its name in the registry.
    pub program: String,
    /// How it is built. `ops` is ignored: see `ops` here.
    pub settings: Settings,
    /// Which variant is reported.
    pub variant: Variant,
    /// Measured operations per thread and variant.
    pub ops: u32,
    /// Operations per thread before measuring, per variant.
    pub warmup: u32,
    /// Where persistent memory lies; `None` is a temporary file, removed afterwards.
    pub pm: Option<PathBuf>,
    /// Flushes that are not used even where the CPU has them.
    pub without: Vec<FlushWith>,
}

/// The memory a program ran on.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// The file.
    pub path: PathBuf,
    /// Whether it was made for the run and removed after it.
    pub temporary: bool,
    /// File system, by name where known.
    pub file_system: String,
    /// Whether the mapping is `MAP_SYNC`: flushed lines are durable without the file system's help.
    pub map_sync: bool,
    /// Bytes mapped.
    pub bytes: u64,
    /// One sentence: what durable means there.
    pub meaning: String,
}

/// Nanoseconds of one repetition, over short batches.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Fastest batch.
    pub min: f64,
    /// Median batch.
    pub median: f64,
}
impl Times {
    /// Of these batches; without any, the fastest is infinite and the median 0.
    pub fn of(mut batches: Vec<f64>) -> Times {
        batches.sort_by(f64::total_cmp);
        Times {
            min: batches.first().copied().unwrap_or(f64::INFINITY),
            median: batches.get(batches.len() / 2).copied().unwrap_or(0.0),
        }
    }
}

/// Instructions that persist, per operation, of the baseline.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct PerOperation {
    /// Fences in all.
    pub fences: f64,
    /// Fences between log and data: those that `ideal` is without.
    pub removable_fences: f64,
    /// Flushes.
    pub flushes: f64,
    /// Non-temporal stores of 8 bytes.
    pub nt_stores: f64,
}

/// What recovery and audit said.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Which run left the file that was audited.
    pub of: &'static str,
    /// Operations that had to be there.
    pub operations: u64,
    /// Audits that failed.
    pub violations: u64,
    /// Why the first failed.
    pub why: Option<String>,
}

/// A timed run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Program.
    pub program: String,
    /// The variant that `ns_per_op_*` are of.
    pub variant: Variant,
    /// Logging runtime.
    pub log: &'static str,
    /// `clwb`, `clflushopt` or `clflush`.
    pub flush_instruction: &'static str,
    /// `FILE_SYSTEM`, with `MAP_SYNC` or without.
    pub memory: String,
    /// The memory in detail.
    pub memory_detail: Memory,
    /// Software threads.
    pub threads: u32,
    /// Hardware threads the process may use; software threads are pinned to them in turn.
    pub cpus: u32,
    /// Measured operations per thread and variant.
    pub ops: u32,
    /// Operations before those.
    pub warmup: u32,
    /// Operations of a batch.
    pub batch: u32,
    /// Batches per variant.
    pub batches: u32,
    /// Pairs during which a thread was switched out; they do not count where ten others are left.
    pub disturbed: u32,
    /// Fastest batch of the variant, in nanoseconds per operation of a thread.
    pub ns_per_op_min: f64,
    /// Median batch of the variant.
    pub ns_per_op_median: f64,
    /// With the fences.
    pub baseline: Times,
    /// Without them; absent where the logging runtime has none to remove.
    pub ideal: Option<Times>,
    /// Baseline over ideal: ratio of the fastest batches.
    pub gain_min: Option<f64>,
    /// Baseline over ideal: median of the ratios of paired batches.
    pub gain_median: Option<f64>,
    /// What persists, per operation of the baseline.
    pub per_operation: PerOperation,
    /// Recovery and audit of what the run left.
    pub check: CheckReport,
    /// What to know when reading the times.
    pub notes: Vec<String>,
}

/// A program killed again and again.
#[derive(Clone, Debug, Serialize)]
pub struct KillReport {
    /// Program.
    pub program: String,
    /// Logging runtime.
    pub log: &'static str,
    /// The instruction used.
    pub flush_instruction: &'static str,
    /// The memory.
    pub memory_detail: Memory,
    /// Software threads.
    pub threads: u32,
    /// Processes killed.
    pub kills: u32,
    /// Operations that had completed, over all kills.
    pub operations: u64,
    /// Kills that struck inside an operation of at least one thread.
    pub inside: u32,
    /// Recoveries that found an unfinished operation's traces, or none: recoveries whose audit failed.
    pub violations: u32,
    /// Why the first failed.
    pub why: Option<String>,
    /// What this can and cannot show.
    pub note: &'static str,
}

/// Transactions of 16 stores that the library's array logs, on memory where nothing persists: its calls, its checks and its sums, with every access found in
/// the nearest cache.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Computing {
    /// Instructions of one, counted by the trap flag; `None` where the processor or who emulates it sends no trap.
    pub instructions: Option<f64>,
    /// How long one takes.
    pub time: Times,
    /// How many cycles that are, by a chain of additions timed in turn with it.
    pub cycles: f64,
}
impl Computing {
    /// Instructions per cycle.
    pub fn ipc(&self) -> Option<f64> {
        self.instructions.map(|n| n / self.cycles)
    }
}

/// What instructions cost on this machine, in nanoseconds: the fastest and the median of many short batches.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Name of the processor.
    pub cpu: String,
    /// The flush used.
    pub flush_instruction: &'static str,
    /// Cores the process may use.
    pub cores: u32,
    /// Clock in GHz: a chain of dependent additions.
    pub ghz: f64,
    /// Independent additions retired per nanosecond.
    pub adds_per_ns: f64,
    /// Data caches, nearest first: bytes, ways, and the latency of a dependent load.
    pub caches: Vec<(u64, u32, Times)>,
    /// A dependent load that misses every cache.
    pub memory_load: Times,
    /// A fence with nothing to wait for.
    pub fence: Times,
    /// Store, flush, fence on one line.
    pub pair_hot: Times,
    /// The same on random lines of 64 MiB.
    pub pair_random: Times,
    /// Store and flush without a fence, per line of a long stream.
    pub flush_stream: Times,
    /// Store, flush and load of one line of a stream, without a fence: beside `flush_stream` the time for which a flush holds its line.
    pub flush_load: Times,
    /// Load, flush of the clean line, fence.
    pub flush_clean: Times,
    /// One non-temporal store, fence.
    pub nt_fence: Times,
    /// Eight of them, a whole line, fence.
    pub nt_line_fence: Times,
    /// A whole line without a fence, per line of a long stream.
    pub nt_stream: Times,
    /// An 8-byte word of a stream of records of three words every 32 bytes.
    pub nt_record: Times,
    /// An uncontended lock and its release.
    pub lock: Times,
    /// Non-temporal store, fence, then so many independent additions: (additions, time).
    pub fence_over: Vec<(u32, Times)>,
    /// Store, flush, fence, then so many independent additions: (additions, time).
    pub flush_over: Vec<(u32, Times)>,
    /// A transaction that changes every word of two lines under an undo log past the caches, with and without its 16 fences between log
    /// and data.
    pub transaction: [Times; 2],
    /// Compiled code where nothing waits for memory.
    pub computing: Computing,
    /// Batches that were timed.
    pub batches: u64,
    /// Those of them during which the thread was switched out, which do not count.
    pub disturbed: u64,
}
