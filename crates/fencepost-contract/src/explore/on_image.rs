//! Running a program's recovery and audit on one concrete crash image.

use self::sealed::{How, Sealed};
use super::before::{Before, Reads};
use super::guard::{CutShort, guarded};
use super::memory::{AnyMem, ImageMem};
use super::recovery::Oracle;
use super::search::Subject;
use super::steps::steps;
use super::stop::Stop;
use super::watch::Watch;
use crate::graph::Extent;
use fencepost_kernel::{CrashPoint, Flow, Image, LineAddr, Program, Violation};
use std::rc::Rc;

/// Memory operations, and steps, after which a recovery of one image counts as endless.
const ENDLESS: u64 = 1 << 24;
/// A recovery may take so many times what that of the memory before the run takes.
pub(super) const MANY: u64 = 8;
/// What that may take.
const MOST: u64 = 1 << 32;

/// A program's recovery and audit whatever the program is, so that checks are compiled once and not for each program.
pub trait AnyOracle: Sealed {
    /// The same in step form, for an explorer.
    fn subject(&self) -> Box<dyn Subject + '_>;
    /// The memory that exists for the program.
    fn extent(&self) -> Extent;
    /// Accesses that a recovery of the memory before the run takes, whole audit included; 0 if that memory is not known
    /// ([`Oracle::passing_over`]). An audit of few long chains takes more than one of all words. So many threads run.
    fn usual(&self, threads: usize) -> u64;
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
    fn usual(&self, threads: usize) -> u64 {
        self.setup().map_or(0, |before| self.usual_of(&before, threads))
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
        self.series().take();
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
        (mut watch, walk, since): How<'_>,
    ) -> (Result<(), Violation>, Watch) {
        self.count_run();
        let least = self.extent().endless_after(ENDLESS);
        let allowed = least.max(MANY.saturating_mul(self.known_usual()));
        watch.allow(allowed);
        let setup = self.setup().filter(|_| walk == Walk::Changed);
        let series = &mut *self.series().borrow_mut();
        let mut ended = self.recovered(series, (image, setup.clone()), crash, (watch, since));
        if ended.1.is_spent() && self.known_usual() == 0 && MANY.saturating_mul(self.usual(crash.begun.len())) > allowed
        {
            // The program takes long for a memory that is sound.
            watch = Watch::anew(ended.1);
            watch.allow(MANY.saturating_mul(self.known_usual()));
            *series = Default::default();
            ended = self.recovered(series, (image, setup), crash, (watch, None));
        }
        ended
    }
    fn recovered(
        &self,
        (before, states): &mut (Before, Vec<P::Audit>),
        memory: (&Image, Option<Rc<Image>>),
        crash: &CrashPoint,
        how: (Watch, Option<&[LineAddr]>),
    ) -> (Result<(), Violation>, Watch) {
        let mut run = OnImage {
            program: self.program(),
            model: self.model(),
            rebuild: None,
            audit: None,
            from: None,
            states,
        };
        recovered(&mut run, before, memory, crash, how)
    }
    /// Accesses that a recovery of this memory, from which the run began, takes.
    pub(super) fn usual_of(&self, before: &Image, threads: usize) -> u64 {
        if self.known_usual() == 0 {
            let mut watch = Watch::new();
            watch.allow(MOST);
            let nothing = CrashPoint {
                begun: vec![0; threads],
                acked: vec![0; threads],
            };
            let (_, watch) = self.recovered(&mut Default::default(), (before, None), &nothing, (watch, None));
            self.know_usual(watch.accesses().max(1));
        }
        self.known_usual()
    }
}

/// A program's recovery and audit with their states put away: what runs them is compiled once, whatever the states are.
trait Stages {
    /// Recovery begins.
    fn begin(&mut self);
    fn rebuild(&mut self, m: &mut ImageMem<'_>) -> Flow<()>;
    /// The audit begins.
    fn begin_audit(&mut self, crash: &CrashPoint);
    /// A step of the audit; the state before it can be kept.
    fn audit(&mut self, m: &mut ImageMem<'_>) -> Flow<()>;
    /// Keeps the state before the last step as that of this step of the audit.
    fn keep(&mut self, step: usize);
    /// Keeps no state from this step on.
    fn cut_off(&mut self, step: usize);
    /// Whether the audit stands where it stood before this step of the audit that is kept.
    fn is_at(&self, step: usize) -> bool;
    /// Goes to where it stood then; false if nothing is kept of that.
    fn go_to(&mut self, step: usize) -> bool;
}

struct OnImage<'a, P: Program> {
    program: &'a P,
    model: &'a P::Model,
    rebuild: Option<P::Rebuild>,
    audit: Option<P::Audit>,
    from: Option<P::Audit>,
    states: &'a mut Vec<P::Audit>,
}
impl<P: Program> Stages for OnImage<'_, P> {
    fn begin(&mut self) {
        self.rebuild = Some(self.program.rebuild_start());
    }
    fn rebuild(&mut self, m: &mut ImageMem<'_>) -> Flow<()> {
        let state = self.rebuild.take().expect("it has begun and not ended");
        match self.program.rebuild(&mut AnyMem(m), state) {
            Flow::Next(next) => {
                self.rebuild = Some(next);
                Flow::Next(())
            }
            Flow::Done(verdict) => Flow::Done(verdict),
        }
    }
    fn begin_audit(&mut self, crash: &CrashPoint) {
        self.audit = Some(self.program.audit_start(self.model, crash));
    }
    fn audit(&mut self, m: &mut ImageMem<'_>) -> Flow<()> {
        let state = self.audit.take().expect("it has begun and not ended");
        self.from = m.reads.is_some().then(|| state.clone());
        match self.program.audit(self.model, &mut AnyMem(m), state) {
            Flow::Next(next) => {
                self.audit = Some(next);
                Flow::Next(())
            }
            Flow::Done(verdict) => Flow::Done(verdict),
        }
    }
    fn keep(&mut self, step: usize) {
        if step == self.states.len() {
            self.states.extend(self.from.take());
        }
    }
    fn cut_off(&mut self, step: usize) {
        self.states.truncate(step);
    }
    fn is_at(&self, step: usize) -> bool {
        self.audit.is_some() && self.states.get(step) == self.audit.as_ref()
    }
    fn go_to(&mut self, step: usize) -> bool {
        let known = self.states.get(step).cloned();
        let found = known.is_some();
        self.audit = known.or(self.audit.take());
        found
    }
}

/// Under a watch, which comes back, on memory over an image; with what set-up left, the audit may pass over what is as it was then.
fn recovered(
    run: &mut dyn Stages,
    before: &mut Before,
    (image, setup): (&Image, Option<Rc<Image>>),
    crash: &CrashPoint,
    (watch, since): (Watch, Option<&[LineAddr]>),
) -> (Result<(), Violation>, Watch) {
    let mut memory = ImageMem::new(image);
    memory.setup = setup;
    memory.watch = watch;
    let verdict = match guarded(|| run_stages(run, before, &mut memory, crash, since)) {
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
fn run_stages(
    run: &mut dyn Stages,
    before: &mut Before,
    memory: &mut ImageMem<'_>,
    crash: &CrashPoint,
    since: Option<&[LineAddr]>,
) -> Result<(), Violation> {
    run.begin();
    for _ in 0..ENDLESS {
        match run.rebuild(memory) {
            Flow::Next(()) => {}
            Flow::Done(Ok(())) => {
                run.begin_audit(crash);
                return match since {
                    Some(lines) => audit_again(run, before, memory, lines),
                    None => audit_all(run, memory),
                };
            }
            Flow::Done(Err(violation)) => return Err(violation),
        }
    }
    Err(memory.watch.endless())
}
fn audit_all(run: &mut dyn Stages, memory: &mut ImageMem<'_>) -> Result<(), Violation> {
    for _ in 0..ENDLESS {
        if let Flow::Done(verdict) = run.audit(memory) {
            return verdict;
        }
    }
    Err(memory.watch.endless())
}
/// The same for the next of a series of images, which differs from the one before in `lines`: steps whose state and memory are those of
/// the audit before are not run again.
fn audit_again(
    run: &mut dyn Stages,
    before: &mut Before,
    memory: &mut ImageMem<'_>,
    lines: &[LineAddr],
) -> Result<(), Violation> {
    let overlay = memory.overlay();
    let stale = run.is_at(0).then(|| before.stale(lines, overlay)).flatten();
    if stale.is_none() {
        before.cut_off(0);
        run.cut_off(0);
    }
    before.begin();
    let mut step = 0;
    // The steps to run again; none is known any more once the audit has gone another way.
    let mut stale = stale.map(Vec::into_iter);
    for _ in 0..ENDLESS {
        if let Some(stale) = &mut stale {
            let next = stale.next().map_or(before.len(), |next| next as usize);
            memory.watch.pass_over(before.accesses(step..next));
            if !run.go_to(next) {
                break;
            }
            step = next;
        }
        let accesses = memory.watch.accesses();
        memory.reads = Some(Reads::of_a_step());
        let flow = run.audit(memory);
        let reads = memory.reads.take().unwrap_or_default();
        before.keep(step, reads, memory.watch.accesses() - accesses);
        run.keep(step);
        step += 1;
        match flow {
            Flow::Next(()) => {
                if stale.is_some() && !run.is_at(step) {
                    before.cut_off(step);
                    run.cut_off(step);
                    stale = None;
                }
            }
            Flow::Done(Ok(())) => {
                before.cut_off(step);
                run.cut_off(step);
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
