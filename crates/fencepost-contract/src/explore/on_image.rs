//! Running a program's recovery and audit on one concrete crash image.

use self::sealed::{How, Sealed};
use super::before::{Before, Reads};
use super::guard::{CutShort, guarded};
use super::memory::ImageMem;
use super::recovery::Oracle;
use super::search::Subject;
use super::steps::steps;
use super::stop::Stop;
use super::watch::Watch;
use crate::graph::Extent;
use fencepost_kernel::{CrashPoint, Flow, Image, LineAddr, Program, Violation};

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
    use super::{CrashPoint, Image, LineAddr, Violation, Walk, Watch};
    /// How an image is recovered: under which watch, how much of it is audited, and, in a series of images, in which lines it may differ
    /// from the last one of which that was said.
    pub(super) type How<'a> = (Watch, Walk, Option<&'a [LineAddr]>);
    /// What a check of concrete images needs.
    pub trait Sealed {
        /// How many concrete crash images were recovered: checks compare it with what they say they did.
        fn images_recovered(&self) -> u64;
        /// Rebuilds and audits one concrete crash image under a watch, which comes back with recovery's stores if it keeps a tape.
        fn recover(&self, image: &Image, crash: &CrashPoint, how: How<'_>) -> (Result<(), Violation>, Watch);
        /// The images that follow are another series.
        fn begin_series(&self);
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
    fn recover(&self, image: &Image, crash: &CrashPoint, how: How<'_>) -> (Result<(), Violation>, Watch) {
        self.watched(image, crash, how)
    }
    fn begin_series(&self) {
        self.before().take();
    }
}

impl<P: Program> Oracle<'_, P> {
    /// Rebuilds and audits one concrete crash image, which stays as it is.
    pub fn run(&self, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
        self.watched(image, crash, (Watch::new(), Walk::Whole, None)).0
    }
    /// The same, passing over what is as set-up left it where [`Oracle::passing_over`] was told that.
    pub fn run_changed(&self, image: &Image, crash: &CrashPoint) -> Result<(), Violation> {
        self.watched(image, crash, (Watch::new(), Walk::Changed, None)).0
    }
    /// The same under a watch; the watch comes back with recovery's stores, if it keeps a tape.
    pub(super) fn watched(
        &self,
        image: &Image,
        crash: &CrashPoint,
        (watch, walk, since): How<'_>,
    ) -> (Result<(), Violation>, Watch) {
        self.count_run();
        let mut memory = ImageMem::new(image);
        memory.setup = self.setup().filter(|_| walk == Walk::Changed);
        memory.watch = watch;
        memory.watch.allow(ENDLESS);
        let verdict = match guarded(|| self.run_steps(&mut memory, crash, since)) {
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
    fn run_steps(
        &self,
        memory: &mut ImageMem<'_>,
        crash: &CrashPoint,
        since: Option<&[LineAddr]>,
    ) -> Result<(), Violation> {
        let mut rebuild = self.program().rebuild_start();
        for _ in 0..ENDLESS {
            match self.program().rebuild(memory, rebuild) {
                Flow::Next(next) => rebuild = next,
                Flow::Done(Ok(())) => {
                    let start = self.program().audit_start(self.model(), crash);
                    return match since {
                        Some(lines) => self.audit_again(memory, start, lines),
                        None => self.audit_all(memory, start),
                    };
                }
                Flow::Done(Err(violation)) => return Err(violation),
            }
        }
        Err(memory.watch.endless())
    }
    fn audit_all(&self, memory: &mut ImageMem<'_>, mut audit: P::Audit) -> Result<(), Violation> {
        for _ in 0..ENDLESS {
            match self.program().audit(self.model(), memory, audit) {
                Flow::Next(next) => audit = next,
                Flow::Done(verdict) => return verdict,
            }
        }
        Err(memory.watch.endless())
    }
    /// The same for the next of a series of images, which differs from the one before in `lines`: steps whose state and memory are those of
    /// the audit before are not run again.
    fn audit_again(&self, memory: &mut ImageMem<'_>, start: P::Audit, lines: &[LineAddr]) -> Result<(), Violation> {
        let before: &mut Before<P::Audit> = &mut self.before().borrow_mut();
        let stale = before.stale(&start, lines, memory.overlay());
        if stale.is_none() {
            before.cut_off(0);
        }
        before.begin();
        let (mut step, mut state) = (0, start);
        // The steps to run again; none is known any more once the audit has gone another way.
        let mut stale = stale.map(Vec::into_iter);
        for _ in 0..ENDLESS {
            if let Some(stale) = &mut stale {
                let next = stale.next().map_or(before.len(), |next| next as usize);
                memory.watch.pass_over(before.accesses(step..next));
                let Some(known) = before.state(next) else { break };
                (step, state) = (next, known.clone());
            }
            let accesses = memory.watch.accesses();
            memory.reads = Some(Reads::default());
            let flow = self.program().audit(self.model(), memory, state.clone());
            let reads = memory.reads.take().unwrap_or_default();
            before.keep(step, state, reads, memory.watch.accesses() - accesses);
            step += 1;
            match flow {
                Flow::Next(next) => {
                    if stale.is_some() && before.state(step) != Some(&next) {
                        before.cut_off(step);
                        stale = None;
                    }
                    state = next;
                }
                Flow::Done(Ok(())) => {
                    before.cut_off(step);
                    break;
                }
                Flow::Done(verdict) => return verdict,
            }
            if step as u64 == ENDLESS {
                return Err(memory.watch.endless());
            }
        }
        before.ended(std::mem::take(memory.overlay()));
        Ok(())
    }
}
