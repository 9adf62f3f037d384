//! What to record.

use std::path::PathBuf;

/// Runs of a program with several threads, where nobody says how many: as many as are explored of our own programs.
pub const SCHEDULES: u32 = 8;

/// A program to be recorded.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The files that are persistent memory.
    pub pm: Vec<PathBuf>,
    /// Where the log goes: a file, which may hold several executions; a folder where `schedules` asks for several.
    pub log: PathBuf,
    /// The emulator.
    pub emulator: String,
    /// The plugin; `None` looks beside the running executable.
    pub plugin: Option<PathBuf>,
    /// Memory accesses after which another thread may go on, at most.
    pub quantum: u64,
    /// Function, or address `0x..` as linked, with whose first call recording begins.
    pub region: Option<String>,
    /// Instructions without anything done to the files, after the first thing that is, with which recording begins.
    pub region_gap: Option<u64>,
    /// Function, or address, whose calls acknowledge what the calling thread did before.
    pub acknowledge: Option<String>,
    /// Instructions of a thread without anything done to the files after which what it did before counts as acknowledged.
    pub acknowledge_gap: Option<u64>,
    /// Whether accesses to volatile memory are recorded, too.
    pub volatile: bool,
    /// Runs, each with threads in another order, into a folder of logs. `None`: [`SCHEDULES`] of a program with several
    /// threads, one of any other, into one file.
    pub schedules: Option<u32>,
    /// What the first order comes of.
    pub seed: u64,
    /// Whether standard output is kept for something else: then what the program says there is said on standard error.
    pub keeps_stdout: bool,
}

/// What a recorded program is given and says, where nobody looks.
#[derive(Clone, Debug)]
pub(crate) struct Unseen {
    /// Its standard input.
    pub(crate) input: PathBuf,
    /// Added to its environment.
    pub(crate) environment: Vec<(&'static str, String)>,
}
