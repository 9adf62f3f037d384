//! Recovery and audit of what a timed run left.

use super::any::AnyProgram;
use super::file::PmFile;
use super::mapping::Mapping;
use super::memory::Raw;
use super::pinned::{cpus, on_threads, pin};
use super::progress::Progress;
use super::recovered_file::recover;
use super::recovering::Expected;
use super::replay_ops;
use super::watched::{Counts, Watched};
use crate::error::NativeError;
use crate::native_report::CheckReport;
use fencepost_kernel::CrashPoint;
use fencepost_programs::layout::Footprint;

/// What is checked.
pub(super) struct Checked<'a> {
    /// The program.
    pub program: &'a dyn AnyProgram,
    /// Its memory.
    pub size: Footprint,
    /// The file that the timed run left.
    pub file: &'a mut PmFile,
    /// Accesses.
    pub raw: Raw,
    /// Software threads.
    pub threads: u32,
    /// Operations that each ran.
    pub ops: u32,
}

impl Checked<'_> {
    /// Recovers and audits. One thread: the file that was timed, against the same operations run again in private memory. Several,
    /// whose order the measured code does not record: the timed file is recovered, then the operations run again on it with their
    /// outcomes recorded, and that file is audited.
    pub(super) fn check(self) -> Result<(CheckReport, Counts), NativeError> {
        if self.threads == 1 {
            let (history, counts) = replay_ops::alone(self.program, self.size, self.raw, self.ops)?;
            let why = self.audit(&history)?;
            return Ok((self.report("the timed run", why), counts));
        }
        if let Some(why) = recover(self.program, self.size, self.file, self.raw, None)? {
            return Ok((self.report("the timed run", Some(why)), Counts::default()));
        }
        self.file.clear()?;
        let (progress, counts) = self.again()?;
        let why = self.audit(&progress.history())?;
        Ok((self.report("a second run, whose outcomes were recorded", why), counts))
    }
    fn audit(&self, history: &[fencepost_kernel::OpRecord]) -> Result<Option<String>, NativeError> {
        let all = vec![self.ops; self.threads as usize];
        let expected = Expected {
            ops: history,
            crash: CrashPoint {
                begun: all.clone(),
                acked: all,
            },
        };
        recover(self.program, self.size, self.file, self.raw, Some(&expected))
    }
    fn report(&self, of: &'static str, why: Option<String>) -> CheckReport {
        CheckReport {
            of,
            operations: u64::from(self.ops) * u64::from(self.threads),
            violations: why.is_some().into(),
            why,
        }
    }
    /// All operations of all threads, watched, on the file.
    fn again(&self) -> Result<(Progress, Counts), NativeError> {
        let _mapping = Mapping::new(self.size, Some(self.file))?;
        let progress = Progress::heap(self.threads, self.ops);
        let counts = watch(self.program, self.raw, &progress, self.ops);
        Ok((progress, counts))
    }
}

/// Sets the mapped memory up and runs operations `0..ops` of every thread, watched.
pub(super) fn watch(program: &dyn AnyProgram, raw: Raw, progress: &Progress, ops: u32) -> Counts {
    program.set_up(&mut Watched::new(raw, None, 0));
    let cpus = cpus();
    let one = |t: u32| {
        pin(&cpus, t);
        let mut m = Watched::new(raw, Some(progress), t);
        program.run_ops(&mut m, t, 0..ops);
        m.counts
    };
    progress.run();
    on_threads(progress.threads(), &one).into_iter().sum()
}
