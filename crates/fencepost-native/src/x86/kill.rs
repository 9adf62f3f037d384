//! A process killed at random moments, and its file recovered by another one.

use super::any::{AnyProgram, any_program, natively};
use super::checked::watch;
use super::file::PmFile;
use super::mapping::Mapping;
use super::memory::Raw;
use super::parent::end_with_parent;
use super::patience::Patience;
use super::progress::Progress;
use super::recovered_file::recover;
use super::recovering::Expected;
use super::replay_ops;
use super::scratch::Scratch;
use crate::error::NativeError;
use crate::native_report::{FlushWith, KillReport, Memory, Request};
use fencepost_kernel::{CrashPoint, Stream};
use fencepost_programs::layout::Footprint;
use fencepost_programs::{Settings, footprint};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// Operations a child may run before it waits to be killed: more than fit into the time it is given.
const MOST: u32 = 1 << 17;
/// A child is killed at a moment within this time of its first operation.
const WITHIN: Duration = Duration::from_millis(20);
/// A child that has not begun by then is broken. Time in which it waited for a processor does not count.
const PATIENCE: Duration = Duration::from_secs(120);

const NOTE: &str = "a killed process loses its registers and nothing else: caches and write-combining buffers survive it. So this shows \
that operations are atomic and recovery complete at any instruction; it cannot show a missing flush or fence";

fn settings(request: &Request) -> Settings {
    Settings {
        ops: MOST,
        ..natively(&request.program, &request.settings)
    }
}
/// Accesses for code that maps memory before it uses them.
fn raw(request: &Request) -> Result<Raw, NativeError> {
    let flush = FlushWith::found(&request.without)?;
    #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
    // SAFETY: every use below maps the program's footprint first and keeps it while it runs.
    Ok(unsafe { Raw::new(flush) })
}

/// What the killed process runs: operations without end on `request.pm`, recorded in the file `progress`. Returns when its parent is gone.
pub fn until_killed(request: &Request, progress: &Path) -> Result<(), NativeError> {
    // First, so that a parent that ends meanwhile is noticed.
    end_with_parent();
    let settings = settings(request);
    let (raw, size) = (raw(request)?, footprint(&request.program, &settings)?);
    let progress = Progress::file(progress, settings.threads, MOST)?;
    let program = any_program(&request.program, &settings)?;
    let file = PmFile::open(request.pm.as_deref().unwrap_or(Path::new("")), size.pm.0)?;
    let _mapping = Mapping::new(size, Some(&file))?;
    watch(&*program, raw, &progress, MOST);
    loop {
        std::thread::sleep(PATIENCE);
    }
}

/// Kills `kills` processes, each started as `child(memory, progress)` says, and recovers and audits the file after each.
pub fn killed(
    request: &Request,
    kills: u32,
    child: &dyn Fn(&Path, &Path) -> Command,
) -> Result<KillReport, NativeError> {
    let settings = settings(request);
    let run = Killed {
        request,
        kills,
        child,
        size: footprint(&request.program, &settings)?,
        threads: settings.threads,
    };
    let program = any_program(&request.program, &settings)?;
    run.all(&*program)
}

struct Killed<'a> {
    request: &'a Request,
    kills: u32,
    child: &'a dyn Fn(&Path, &Path) -> Command,
    size: Footprint,
    threads: u32,
}

impl Killed<'_> {
    fn all(&self, program: &dyn AnyProgram) -> Result<KillReport, NativeError> {
        let (raw, mut file) = (
            raw(self.request)?,
            PmFile::create(self.request.pm.as_deref(), self.size.pm.0)?,
        );
        let mut moments = Stream::new(self.request.settings.seed, "kill");
        let mut report = self.report(file.describe(Mapping::new(self.size, Some(&file))?.map_sync()));
        for _ in 0..self.kills {
            file.clear()?;
            let progress = Scratch::new("progress");
            let killed = self.kill(&file, progress.path(), &mut moments)?;
            let ops = replay_ops::completed(program, self.size, raw, &killed)?;
            let acked: Vec<u32> = (0..self.threads).map(|t| killed.ended(t)).collect();
            let under_way = |t: u32| killed.unfinished(t).is_some();
            let begun = (0..self.threads).map(|t| killed.ended(t) + u32::from(under_way(t)));
            report.operations += acked.iter().map(|n| u64::from(*n)).sum::<u64>();
            report.inside += u32::from((0..self.threads).any(under_way));
            let expected = Expected {
                ops: &ops,
                crash: CrashPoint {
                    begun: begun.collect(),
                    acked,
                },
            };
            if let Some(why) = recover(program, self.size, &file, raw, Some(&expected))? {
                report.violations += 1;
                report.why.get_or_insert(why);
            }
        }
        Ok(report)
    }
    fn report(&self, memory_detail: Memory) -> KillReport {
        KillReport {
            program: self.request.program.clone(),
            log: self.request.settings.scheme.name(),
            flush_instruction: FlushWith::found(&self.request.without).map_or("none", FlushWith::name),
            memory_detail,
            threads: self.threads,
            kills: self.kills,
            operations: 0,
            inside: 0,
            violations: 0,
            why: None,
            note: NOTE,
        }
    }
    /// Starts a child, waits for its first operation, and kills it some time later.
    fn kill(&self, file: &PmFile, progress: &Path, moments: &mut Stream) -> Result<Progress, NativeError> {
        let seen = Progress::file(progress, self.threads, MOST)?;
        let child = (self.child)(&file.path, progress).spawn();
        let mut child = child.map_err(|e| NativeError::Child(format!("did not start: {e}")))?;
        let begun = await_first(&mut child, &seen);
        if begun.is_ok() {
            std::thread::sleep(Duration::from_micros(moments.below(WITHIN.as_micros() as u64)));
        }
        let _ = child.kill();
        let _ = child.wait();
        begun.map(|()| seen)
    }
}

fn await_first(child: &mut Child, seen: &Progress) -> Result<(), NativeError> {
    let patience = Patience::with(child, PATIENCE);
    while !seen.running() {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(NativeError::Child(format!("ended by itself: {status}")));
        }
        if patience.is_over() {
            return Err(NativeError::Child("did not begin".into()));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
