//! A program whatever it is, for what is not measured: compiled once a program, and everything around it once.

use super::choice::BASELINE;
use super::recovering::{Expected, Recovering, follow};
use super::watched::Watched;
use fencepost_kernel::{Pm, Program, run_thread};
use std::ops::Range;

/// A program on memory that is watched, and on memory that is recovered.
pub(super) trait AnyProgram: Sync {
    /// Sets memory up.
    fn set_up(&self, m: &mut Watched<'_>);
    /// Runs operations of a thread.
    fn run_ops(&self, m: &mut Watched<'_>, thread: u32, ops: Range<u32>);
    /// Recovers, and audits if told what must be there. Returns why that failed.
    fn recover_and_audit(&self, m: &mut Recovering<'_>, expected: Option<&Expected<'_>>) -> Option<String>;
}

impl<P: Program + Sync> AnyProgram for P {
    fn set_up(&self, m: &mut Watched<'_>) {
        self.setup(m);
    }
    fn run_ops(&self, m: &mut Watched<'_>, thread: u32, ops: Range<u32>) {
        run_thread(self, &mut Pm::new(m, BASELINE), thread, ops.start, ops.end);
    }
    fn recover_and_audit(&self, m: &mut Recovering<'_>, expected: Option<&Expected<'_>>) -> Option<String> {
        let broken = follow(self.rebuild_start(), |s| self.rebuild(m, s));
        let Some(expected) = expected.filter(|_| broken.is_none()) else {
            return broken;
        };
        let model = self.model(expected.ops);
        let start = self.audit_start(&model, &expected.crash);
        follow(start, |s| self.audit(&model, m, s))
    }
}

/// Programs by their names. Unit tests do without the registry, which compiles every program.
#[cfg(not(test))]
mod named {
    use super::AnyProgram;
    use fencepost_programs::settings::Described;
    use fencepost_programs::{ProgramError, Settings, Visit, with_program};

    struct Boxed;
    impl Visit for Boxed {
        type Out = Box<dyn AnyProgram>;
        fn visit<P: Described>(self, program: P) -> Self::Out {
            Box::new(program)
        }
    }

    /// A program of the registry.
    pub(crate) fn any_program(name: &str, settings: &Settings) -> Result<Box<dyn AnyProgram>, ProgramError> {
        with_program(name, settings, Boxed)
    }
}
#[cfg(not(test))]
pub(super) use named::any_program;
