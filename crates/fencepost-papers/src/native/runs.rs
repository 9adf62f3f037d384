//! Requests for the real CPU.

use fencepost_native as real;
use fencepost_native::{FlushWith, KillReport, NativeError, RunReport, Variant};
use fencepost_run::config::{Resolved, parse_set};
use fencepost_run::request::Request;
use fencepost_run::{BadInput, LabError};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The design whose programs are what runs natively: x86 with two paths to persistence.
pub const DESIGN: &str = "x86-adr";

/// A native run.
#[derive(Clone, Debug)]
pub struct NativeRequest {
    /// Program, operations, warm-up, seed, logging runtime, parameters of the program. Machine and design are ignored.
    pub request: Request,
    /// Which variant is reported.
    pub variant: Variant,
    /// Where persistent memory lies; `None` is a temporary file.
    pub pm: Option<PathBuf>,
    /// Flushes that are not used even where the CPU has them.
    pub without: Vec<FlushWith>,
}

impl NativeRequest {
    /// What the native crate is asked.
    fn real(&self) -> Result<real::Request, LabError> {
        for text in &self.request.sets {
            let set = parse_set(text)?;
            if !set.section.starts_with("program") {
                let e = BadInput::new(format!("`--set {text}` sets nothing of a real CPU"));
                return Err(e
                    .at(set.key_place)
                    .hint("only parameters of the program, program.PROGRAM.NAME=VALUE")
                    .into());
            }
            if set.key == "coupling" {
                let e = BadInput::new("native undo logs have a record and a fence for each store");
                return Err(e.at(set.key_place).hint("leave it out").into());
            }
        }
        // Names, logging runtimes and parameters are refused as for a simulated run.
        let threads = self.request.threads.unwrap_or(1);
        let resolved = Resolved::resolve(&Request {
            design: DESIGN.into(),
            machine: "dpo".into(),
            media: None,
            threads: Some(1),
            ..self.request.clone()
        })?;
        let settings = fencepost_programs::Settings {
            threads,
            // Of the dialect, not of every design, are the instructions that this CPU has.
            honours: None,
            ..resolved.program.clone()
        };
        Ok(real::Request {
            program: resolved.program_word().into(),
            settings,
            variant: self.variant,
            ops: self.request.ops,
            warmup: self.request.warmup,
            pm: self.pm.clone(),
            without: self.without.clone(),
        })
    }
}

/// What the CPU or the user cannot do is bad input.
pub(crate) fn refused(e: NativeError) -> LabError {
    match e {
        NativeError::File { action, path, why } => LabError::File { action, path, why },
        NativeError::Child(why) => LabError::Internal(format!("the process to be killed {why}")),
        e @ (NativeError::Host | NativeError::NoFlush | NativeError::NoFlushLeft) => {
            let hint = "the simulator runs the same programs anywhere: fencepost run PROGRAM -d x86-adr -m themis";
            BadInput::new(e.to_string()).hint(hint).into()
        }
        e => BadInput::new(e.to_string()).into(),
    }
}

/// Times a program natively, recovers its file and audits it.
pub fn native(n: &NativeRequest) -> Result<RunReport, LabError> {
    real::run(&n.real()?).map_err(refused)
}

/// Kills the program `kills` times, in processes started as `child(memory, progress)` says; recovers and audits after each.
pub fn killed(n: &NativeRequest, kills: u32, child: &dyn Fn(&Path, &Path) -> Command) -> Result<KillReport, LabError> {
    real::flush_instruction(&n.without).map_err(refused)?;
    real::killed(&n.real()?, kills, child).map_err(refused)
}

/// What such a process runs.
pub fn until_killed(n: &NativeRequest, progress: &Path) -> Result<(), LabError> {
    real::until_killed(&n.real()?, progress).map_err(refused)
}
