//! A timed run from request to report.

use super::any::{AnyProgram, Logged, natively};
use super::checked::Checked;
use super::choice::{BASELINE, dispatch, has_ideal, is_fixed};
use super::file::PmFile;
use super::mapping::Mapping;
use super::memory::Raw;
use super::pinned::cpus;
use super::timed::{Plan, Round, Timed, times, undisturbed};
use super::watched::{Counts, Watched};
use crate::error::NativeError;
use crate::native_report::{FlushWith, Memory, PerOperation, Request, RunReport, Times, Variant};
use fencepost_kernel::Mode;
use fencepost_programs::settings::Described;
use fencepost_programs::{Coupling, Visit, footprint, with_program};

/// Operations of a batch: short, so that what else the machine does seldom falls into one.
const BATCH: u32 = 100;
/// Batches at least, so that a minimum means something.
const BATCHES: u32 = 10;

/// Times a program, recovers its file and audits it.
pub fn run(request: &Request) -> Result<RunReport, NativeError> {
    let flush = FlushWith::found(&request.without)?;
    let mode = mode_of(request)?;
    let plan = plan(request, mode);
    let mut settings = natively(&request.program, &request.settings);
    settings.ops = plan.total();
    let run = Run {
        request,
        flush,
        mode,
        plan,
        size: footprint(&request.program, &settings)?,
    };
    with_program(&request.program, &settings, run)?
}

/// How the program's transactions run natively.
pub(super) fn mode_of(request: &Request) -> Result<Mode, NativeError> {
    let mode = request.settings.scheme.mode(Coupling::Auto, &BASELINE);
    if request.variant == Variant::Ideal && !has_ideal(mode) {
        return Err(NativeError::Refused(format!(
            "`--log {}` has no fence between log and data, so there is no `ideal` of it; undo logs have one (--log undo-array)",
            request.settings.scheme.name()
        )));
    }
    Ok(mode)
}

fn plan(request: &Request, mode: Mode) -> Plan {
    let batch = BATCH.min(request.ops.div_ceil(BATCHES)).max(1);
    Plan {
        threads: request.settings.threads,
        batch,
        rounds: [request.warmup.div_ceil(batch), request.ops.div_ceil(batch)],
        mode,
        paired: has_ideal(mode),
    }
}

struct Run<'a> {
    request: &'a Request,
    flush: FlushWith,
    mode: Mode,
    plan: Plan,
    size: fencepost_programs::layout::Footprint,
}

impl Visit for Run<'_> {
    type Out = Result<RunReport, NativeError>;

    fn visit<P: Described>(self, program: P) -> Self::Out {
        let mode = self.mode;
        let logged = Logged::new(program, mode);
        self.all(&logged, &|timed| dispatch(mode, &logged.program, timed))
    }
}

impl Run<'_> {
    /// Times the program as `timed` says, and checks what it left.
    fn all(
        self,
        program: &dyn AnyProgram,
        timed: &dyn Fn(Timed<'_>) -> Option<Vec<Round>>,
    ) -> Result<RunReport, NativeError> {
        let mut file = PmFile::create(self.request.pm.as_deref(), self.size.pm.0)?;
        let cpus = cpus();
        #[allow(unsafe_code, reason = "the type cannot know that memory is mapped")]
        // SAFETY: used here while `mapping` lives, and afterwards only by code that maps the memory itself.
        let raw = unsafe { Raw::new(self.flush) };
        let (rounds, memory) = {
            let mapping = Mapping::new(self.size, Some(&file))?;
            mapping.touch();
            program.set_up(&mut Watched::new(raw, None, 0));
            let rounds = timed(Timed {
                plan: &self.plan,
                raw,
                cpus: &cpus,
            });
            (rounds, file.describe(mapping.map_sync()))
        };
        let log = self.request.settings.scheme.name();
        let rounds = rounds.ok_or_else(|| NativeError::Refused(format!("`--log {log}` has no native form")))?;
        let checked = Checked {
            program,
            size: self.size,
            file: &mut file,
            raw,
            threads: self.plan.threads,
            ops: self.plan.total(),
        };
        let (check, counts) = checked.check()?;
        Ok(self.report(&rounds, memory, check, counts, cpus.len() as u32))
    }
    fn report(
        self,
        rounds: &[Round],
        memory: Memory,
        check: crate::native_report::CheckReport,
        counts: Counts,
        cpus: u32,
    ) -> RunReport {
        let (plan, request) = (&self.plan, self.request);
        let disturbed = rounds.iter().filter(|r| r.disturbed).count() as u32;
        let rounds = &undisturbed(rounds, BATCHES as usize)[..];
        let baseline = times(rounds, 0, plan.batch);
        let ideal = plan.paired.then(|| times(rounds, 1, plan.batch));
        let reported = match (request.variant, ideal) {
            (Variant::Ideal, Some(ideal)) => ideal,
            _ => baseline,
        };
        let gains = Times::of(rounds.iter().map(|r| r.ns[0] / r.ns[1]).collect());
        RunReport {
            program: request.program.clone(),
            variant: request.variant,
            log: request.settings.scheme.name(),
            flush_instruction: self.flush.name(),
            memory: described(&memory),
            notes: notes(&memory, plan.threads, cpus, is_fixed(self.mode)),
            memory_detail: memory,
            threads: plan.threads,
            cpus,
            ops: plan.rounds[1] * plan.batch,
            warmup: plan.rounds[0] * plan.batch,
            batch: plan.batch,
            batches: rounds.len() as u32,
            disturbed,
            ns_per_op_min: reported.min,
            ns_per_op_median: reported.median,
            baseline,
            ideal,
            gain_min: ideal.map(|i| baseline.min / i.min),
            gain_median: ideal.map(|_| gains.median),
            per_operation: per_operation(counts, u64::from(plan.total()) * u64::from(plan.threads)),
            check,
        }
    }
}

/// The memory in a few words.
fn described(m: &Memory) -> String {
    match m.map_sync {
        true => format!("{}, MAP_SYNC", m.file_system),
        false => format!("{}, page cache (DRAM), no MAP_SYNC", m.file_system),
    }
}

fn notes(memory: &Memory, threads: u32, cpus: u32, fixed: bool) -> Vec<String> {
    let mut out = Vec::new();
    if memory.temporary {
        out.push(format!(
            "persistent memory is a temporary file, {}: --pm PATH puts it elsewhere",
            memory.path.display()
        ));
    }
    if !fixed {
        out.push(
            "a build with assertions chooses the way of logging at run time: times are not those of a release".into(),
        );
    } else if cfg!(debug_assertions) {
        out.push("a build with assertions: times are not those of a release".into());
    }
    if threads > cpus {
        out.push(format!(
            "{threads} threads share {cpus} hardware threads: their times include waiting for one another's turns"
        ));
    }
    out
}

fn per_operation(c: Counts, ops: u64) -> PerOperation {
    let per = |n: u64| n as f64 / ops.max(1) as f64;
    PerOperation {
        fences: per(c.fences),
        removable_fences: per(c.log_fences),
        flushes: per(c.flushes),
        nt_stores: per(c.nt_stores),
    }
}
