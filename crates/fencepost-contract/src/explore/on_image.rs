//! Running a program's recovery and audit on one concrete crash image.

use self::sealed::Sealed;
use super::guard::{CutShort, guarded};
use super::memory::ImageMem;
use super::recovery::Oracle;
use super::search::Subject;
use super::steps::steps;
use super::stop::Stop;
use super::watch::Watch;
use crate::graph::Extent;
use fencepost_kernel::{CrashPoint, Flow, Image, Program, Violation};

/// Memory operations, and steps, after which a recovery of one image counts as endless.
const ENDLESS: u64 = 1 << 24;

/// A program's recovery and audit whatever the program is, so that checks are compiled once and not for each program.
pub trait AnyOracle: Sealed {
    /// The same in step form, for an explorer.
    fn subject(&self) -> Box<dyn Subject + '_>;
    /// The memory that exists for the program.
    fn extent(&self) -> Extent;
}
mod sealed {
    use super::{CrashPoint, Image, Violation, Walk, Watch};
    /// What a check of concrete images needs.
    pub trait Sealed {
        /// How many concrete crash images were recovered: checks compare it with what they say they did.
        fn images_recovered(&self) -> u64;
        /// Rebuilds and audits one concrete crash image under a watch, which comes back with recovery's stores if it keeps a tape.
        fn recover(&self, image: &Image, crash: &CrashPoint, how: (Watch, Walk)) -> (Result<(), Violation>, Watch);
    }
}

/// How much of a recovered memory an audit reads.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Walk {
    /// What may differ from what set-up left, where the program's audit knows how.
    Changed,
    /// Everything.
    Whole,
}
impl<P: Program> AnyOracle for Oracle<'_, P> {
    fn subject(&self) -> Box<dyn Subject + '_> {
        Box::new(steps(self))
    }
    fn extent(&self) -> Extent {
        Extent::of_layout(self.program().footprint())
    }
}
impl<P: Program> Sealed for Oracle<'_, P> {
    fn images_recovered(&self) -> u64 {
        self.runs()
    }
    fn recover(&self, image: &Image, crash: &CrashPoint, how: (Watch, Walk)) -> (Result<(), Violation>, Watch) {
        self.watched(image, crash, how)
    }
}

impl<P: Program> Oracle<'_, P> {
    /// Rebuilds and audits one concrete crash image, which stays as it is.
    pub fn run(&self, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
        self.watched(image, crash, (Watch::new(), Walk::Whole)).0
    }
    /// The same, passing over what is as set-up left it where [`Oracle::passing_over`] was told that.
    pub fn run_changed(&self, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
        self.watched(image, crash, (Watch::new(), Walk::Changed)).0
    }
    /// The same under a watch; the watch comes back with recovery's stores, if it keeps a tape.
    pub(super) fn watched(
        &self,
        image: &Image,
        crash: &CrashPoint,
        (watch, walk): (Watch, Walk),
    ) -> (Result<(), Violation>, Watch) {
        self.count_run();
        let mut memory = ImageMem::new(image);
        memory.setup = self.setup().filter(|_| walk == Walk::Changed);
        memory.watch = watch;
        memory.watch.allow(ENDLESS);
        let verdict = match guarded(|| self.run_steps(&mut memory, crash)) {
            Ok(verdict) => verdict,
            Err(CutShort::Stopped(Stop::Fault(fault))) => Err(fault.violation()),
            Err(CutShort::Stopped(_)) => Err(memory.watch.endless()),
            Err(CutShort::Panicked(text)) => Err(Violation {
                why: format!("recovery panics: {text}"),
                at: None,
            }),
        };
        (verdict, memory.watch)
    }
    fn run_steps(&self, memory: &mut ImageMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
        let mut rebuild = self.program().rebuild_start();
        for _ in 0..ENDLESS {
            match self.program().rebuild(memory, rebuild) {
                Flow::Next(next) => rebuild = next,
                Flow::Done(Ok(())) => return self.run_audit(memory, crash),
                Flow::Done(Err(violation)) => return Err(violation),
            }
        }
        Err(memory.watch.endless())
    }
    fn run_audit(&self, memory: &mut ImageMem<'_>, crash: &CrashPoint) -> Result<(), Violation> {
        let mut audit = self.program().audit_start(self.model(), crash);
        for _ in 0..ENDLESS {
            match self.program().audit(self.model(), memory, audit) {
                Flow::Next(next) => audit = next,
                Flow::Done(verdict) => return verdict,
            }
        }
        Err(memory.watch.endless())
    }
}
