//! A program whatever it is.

use crate::steady;
use crate::threads::{Run, steady_body};
use fencepost_contract::explore::{
    AnyOracle, CheckError, CrashCheck, Oracle, ProgramRun, RecordError, Recorder, Replayed, Report, Schedule,
};
use fencepost_kernel::{HwThread, Image, LineAddr, OpRecord, Program, Span};
use fencepost_machine::ThreadBody;
use fencepost_programs::{ProgramError, Settings, Visit, with_program};

/// A program with its settings.
pub trait AnyProgram {
    /// Whether its threads race by design.
    fn races(&self) -> bool;
    /// Memory after the program's setup.
    fn initial(&self) -> Result<Image, RecordError>;
    /// What a thread of the simulated machine runs.
    fn body(&self, run: Run, thread: u32) -> ThreadBody;
    /// Data that stays in caches, the hottest first, where the run begins with any of it.
    fn hottest(&self, run: Run) -> Vec<Span>;
    /// Resident data that is in the caches before the run ([`fencepost_machine::Workload::resident`]): of the [`hottest`](Self::hottest),
    /// as much as the cache of the run holds. It depends on nothing else but the number of threads.
    fn resident(&self, run: Run) -> Vec<(HwThread, LineAddr)>;
    /// Recovery and audit of an execution with these operations, sorted by stamp ([`fencepost_kernel::Trace::ops`]), that began
    /// with this memory, as [`AnyProgram::initial`] gives it.
    fn oracle<'a>(&'a self, ops: &[OpRecord], initial: &Image) -> Box<dyn AnyOracle + 'a>;
    /// Explores the crash states of its executions ([`CrashCheck::program`]).
    fn crash_check(&self, check: &CrashCheck, run: ProgramRun) -> Result<Report, CheckError>;
    /// Runs recovery again on the crash state that a witness names ([`CrashCheck::replay_program`]).
    fn replay(&self, check: &CrashCheck, run: ProgramRun, id: &str) -> Result<Replayed, CheckError>;
}

impl<P: Program> AnyProgram for P {
    fn races(&self) -> bool {
        P::RACES
    }
    fn initial(&self) -> Result<Image, RecordError> {
        let recording = Recorder::new(Schedule::default()).setup(|m| self.setup(m)).run();
        recording.map(|r| r.initial)
    }
    fn body(&self, run: Run, thread: u32) -> ThreadBody {
        steady_body(self, run, thread)
    }
    fn hottest(&self, run: Run) -> Vec<Span> {
        match run.warm_up {
            0 => Vec::new(),
            _ => Program::resident(self),
        }
    }
    fn resident(&self, run: Run) -> Vec<(HwThread, LineAddr)> {
        match run.warm_up {
            0 => Vec::new(),
            _ => steady::resident_lines(self, run.threads, run.cache),
        }
    }
    fn oracle<'a>(&'a self, ops: &[OpRecord], initial: &Image) -> Box<dyn AnyOracle + 'a> {
        Box::new(Oracle::new(self, ops).passing_over(initial))
    }
    fn crash_check(&self, check: &CrashCheck, run: ProgramRun) -> Result<Report, CheckError> {
        check.program(self, run)
    }
    fn replay(&self, check: &CrashCheck, run: ProgramRun, id: &str) -> Result<Replayed, CheckError> {
        check.replay_program(self, run, id)
    }
}

struct Boxed;
impl Visit for Boxed {
    type Out = Box<dyn AnyProgram>;
    fn visit<P: Program>(self, program: P) -> Self::Out {
        Box::new(program)
    }
}

/// A program of the registry. Settings that it cannot run with are refused.
pub fn any_program(name: &str, settings: &Settings) -> Result<Box<dyn AnyProgram>, ProgramError> {
    with_program(name, settings, Boxed)
}
