//! A program whatever it is, for what is not measured: compiled once a program, and everything around it once.

use super::choice::dialects;
use super::recovering::{Expected, Recovering, follow};
use super::watched::Watched;
use fencepost_kernel::{Dialect, Mode, Pm, Program, run_thread};
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

/// A program with the idioms of its way of logging.
pub(super) struct Logged<P> {
    /// The program.
    pub program: P,
    idioms: Dialect,
}
impl<P> Logged<P> {
    /// A program that logs in this mode.
    pub(super) fn new(program: P, mode: Mode) -> Logged<P> {
        let [idioms, _] = dialects(mode);
        Logged { program, idioms }
    }
}

impl<P: Program + Sync> AnyProgram for Logged<P> {
    fn set_up(&self, m: &mut Watched<'_>) {
        self.program.setup(m);
    }
    fn run_ops(&self, m: &mut Watched<'_>, thread: u32, ops: Range<u32>) {
        run_thread(&self.program, &mut Pm::new(m, self.idioms), thread, ops.start, ops.end);
    }
    fn recover_and_audit(&self, m: &mut Recovering<'_>, expected: Option<&Expected<'_>>) -> Option<String> {
        let broken = follow(self.program.rebuild_start(), |s| self.program.rebuild(m, s));
        let Some(expected) = expected.filter(|_| broken.is_none()) else {
            return broken;
        };
        let model = self.program.model(expected.ops);
        let start = self.program.audit_start(&model, &expected.crash);
        follow(start, |s| self.program.audit(&model, m, s))
    }
}

/// Programs by their names. Unit tests do without the registry, which compiles every program.
#[cfg(not(test))]
mod named {
    use super::super::choice::BASELINE;
    use super::{AnyProgram, Logged};
    use fencepost_kernel::Mode;
    use fencepost_kernel::params::Raw;
    use fencepost_programs::settings::Described;
    use fencepost_programs::{Coupling, ProgramError, Settings, Visit, programs, with_program};

    /// How the program logs.
    struct Boxed(Mode);
    impl Visit for Boxed {
        type Out = Box<dyn AnyProgram>;
        fn visit<P: Described>(self, program: P) -> Self::Out {
            Box::new(Logged::new(program, self.0))
        }
    }

    /// What decides whether each store has a barrier of its own.
    const COUPLING: &str = "coupling";

    /// Settings as native runs mean them: a barrier for every store, whatever way the log takes, as measured code is compiled.
    pub(crate) fn natively(program: &str, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        let known = programs().into_iter().find(|a| a.name == program);
        let couples = known.is_some_and(|a| a.fields.iter().any(|f| f.name == COUPLING));
        if couples && settings.params.iter().all(|p| p.0 != COUPLING) {
            let value = Raw::Text(Coupling::PerStore.name().to_owned());
            settings.params.push((COUPLING.to_owned(), value));
        }
        settings
    }

    /// A program of the registry.
    pub(crate) fn any_program(name: &str, settings: &Settings) -> Result<Box<dyn AnyProgram>, ProgramError> {
        let mode = settings.scheme.mode(Coupling::Auto, &BASELINE);
        with_program(name, settings, Boxed(mode))
    }
}
#[cfg(not(test))]
pub(super) use named::{any_program, natively};
