//! What a user asks to be run, before configuration is resolved.

use serde::{Deserialize, Serialize};

/// A run as the command line or an experiment asks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Program.
    pub program: String,
    /// Design.
    pub design: String,
    /// Machine preset or file.
    pub machine: String,
    /// Medium preset or file; `None` takes the machine's own.
    pub media: Option<String>,
    /// Software threads; `None` takes one per hardware thread of the machine.
    pub threads: Option<u32>,
    /// Measured operations per thread.
    pub ops: u32,
    /// Operations per thread before measuring.
    pub warmup: u32,
    /// Cycles of a core after which measuring ends, whatever operations are left; `None` measures them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Variant of the program; `None` is the correct one.
    pub variant: Option<String>,
    /// Logging runtime of the program; `None` takes the program's default.
    pub log: Option<String>,
    /// Whether every operation ends durable (`--ack every`), or only the run (`--ack end`).
    pub ack_every: bool,
    /// Settings, as `--set` takes them.
    pub sets: Vec<String>,
    /// Whether to examine crash points and conformance.
    pub check: bool,
    /// Crash points to examine at most; `None` examines all.
    pub budget: Option<u64>,
    /// How often in a row power fails again while the hardware recovers.
    pub nested: u32,
}
impl Default for Request {
    fn default() -> Request {
        Request {
            program: "cq".into(),
            design: "volatile".into(),
            machine: "dpo".into(),
            media: None,
            threads: None,
            ops: 200,
            warmup: 20,
            cycles: None,
            seed: 1,
            variant: None,
            log: None,
            ack_every: false,
            sets: Vec::new(),
            check: false,
            budget: None,
            nested: 2,
        }
    }
}
