//! Building the machine of a resolved request and running it.

use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::host::{Spent, Stopwatch};
use crate::steady::WarmUp;
use fencepost_contract::ContractKind;
use fencepost_contract::explore::{RecordError, Recorder, Schedule};
use fencepost_designs::Environment;
use fencepost_kernel::{Dialect, Image, Logging, Pm, Program, Ps, run_thread};
use fencepost_machine::seam::{Design, StatInfo};
use fencepost_machine::{Machine, RunError, RunReport, ThreadBody, Workload};
use fencepost_programs::sites;
use std::time::Instant;

/// A simulated run with everything that it left behind.
pub struct Simulated {
    /// The machine's report.
    pub report: RunReport,
    /// Counters that the design declares.
    pub stats: &'static [StatInfo],
    /// Histograms that the design declares.
    pub histograms: &'static [StatInfo],
    /// What the simulation took.
    pub spent: Spent,
}

/// Builds the initial memory, the threads and the machine, and runs it.
pub fn simulate<P: Program>(resolved: &Resolved, program: &P, record: bool) -> Result<Simulated, LabError> {
    let done = simulate_until(resolved, program, record, None)?;
    done.ok_or_else(|| LabError::Internal("a run without a deadline was given up".into()))
}

/// The same with a deadline on the host's clock; `None` if it passed first.
pub fn simulate_until<P: Program>(
    resolved: &Resolved,
    program: &P,
    record: bool,
    deadline: Option<Instant>,
) -> Result<Option<Simulated>, LabError> {
    let size = fencepost_programs::footprint(resolved.program_word(), &resolved.program);
    let free = size.map_err(|e| LabError::from(BadInput::new(e.to_string())))?.dram.0;
    let threads = (0..resolved.threads).map(|t| body(resolved, program, t, free));
    run_machine(resolved, initial(program)?, threads.collect(), record, deadline)
}

/// Runs the threads of a program, whatever it is, on the machine: compiled once and not for each program.
fn run_machine(
    resolved: &Resolved,
    initial: Image,
    threads: Vec<ThreadBody>,
    record: bool,
    deadline: Option<Instant>,
) -> Result<Option<Simulated>, LabError> {
    let r = &resolved.request;
    let design = build_design(resolved)?;
    let (stats, histograms) = (design.stats(), design.histograms());
    let work = Workload {
        initial,
        threads,
        sites: sites::costs_of(resolved.program_word(), &resolved.program, &resolved.dialect()).into(),
        warm_up: r.warmup.into(),
        record,
    };
    let machine = Machine::new(&resolved.machine.spec, design, work).map_err(refuse)?;
    let machine = match resolved.clients() {
        Some(transactions) => machine.with_clients(transactions, r.seed).map_err(refuse)?,
        None => machine,
    };
    let machine = match r.cycles {
        Some(n) => machine.measured_for(Ps(resolved.machine.spec.core.clock.period().0 * n)),
        None => machine,
    };
    let begun = Stopwatch::start();
    let report = match machine.run_until(deadline) {
        Err(RunError::OutOfTime) => return Ok(None),
        Err(RunError::Stuck(s)) => return Err(stuck(resolved, s.to_string())),
        done => done.map_err(refuse)?,
    };
    if let Some(stale) = &report.stale {
        return Err(LabError::Internal(stale.to_string()));
    }
    if let Some(disorder) = report.disorder {
        return Err(LabError::Internal(disorder.to_string()));
    }
    let stale = report.counters.stale_reads;
    if record && stale > 0 {
        let why = format!("{stale} reads of memory missed the newest bytes, which nothing held");
        return Err(LabError::Internal(why));
    }
    Ok(Some(Simulated {
        report,
        stats,
        histograms,
        spent: begun.stop(),
    }))
}

/// A fresh mechanism of the run's design.
pub fn build_design(resolved: &Resolved) -> Result<Box<dyn Design>, LabError> {
    let built = (resolved.design.build)(&resolved.design_settings, resolved.shape());
    built.map_err(|e| BadInput::new(e.to_string()).into())
}

/// Memory after the program's setup.
fn initial<P: Program>(program: &P) -> Result<Image, LabError> {
    let recording = Recorder::new(Schedule::default()).setup(|m| program.setup(m)).run();
    recording
        .map(|r| r.initial)
        .map_err(|e: RecordError| LabError::Internal(e.to_string()))
}

/// What a thread of a bare run does: its operations (each acknowledged if `how.1`), without warm-up, then one explicit drain that
/// acknowledges them all.
pub fn thread_body<P: Program>(program: &P, dialect: Dialect, how: (u32, bool), thread: u32) -> ThreadBody {
    let (program, (ops, ack_every)) = (program.clone(), how);
    Box::new(move |m| {
        let mut pm = Pm::new(m, dialect);
        pm.ack_every = ack_every;
        run_thread(&program, &mut pm, thread, 0, ops);
        if dialect.logging != Logging::None {
            pm.durable();
            fencepost_kernel::Mem::ack(pm.m, ops - 1);
        }
    })
}

/// What one thread runs: its operations, then one explicit drain that acknowledges them all.
fn body<P: Program>(resolved: &Resolved, program: &P, thread: u32, free: u64) -> ThreadBody {
    let (program, dialect) = (program.clone(), resolved.dialect());
    let (ops, ack_every) = (resolved.program.ops, resolved.request.ack_every);
    let cache = resolved.machine.spec.llc.size.0;
    let warm_up = WarmUp::new(
        &program,
        (thread, resolved.threads),
        resolved.request.warmup,
        cache,
        free,
    );
    Box::new(move |m| {
        let mut pm = Pm::new(m, dialect);
        pm.ack_every = ack_every;
        warm_up.run(&program, &mut pm, ops);
        if dialect.logging != Logging::None {
            pm.durable();
            fencepost_kernel::Mem::ack(pm.m, ops - 1);
        }
    })
}

/// A machine that gets stuck is our defect, unless the run asked for a fault of the mechanism.
fn stuck(resolved: &Resolved, why: String) -> LabError {
    let values = resolved.design_values();
    match values
        .into_iter()
        .find(|(f, value)| f.name == "fault" && value != "none")
    {
        Some((_, fault)) => LabError::Convicted { fault, why },
        None => LabError::Internal(why),
    }
}

pub(crate) fn refuse(e: RunError) -> LabError {
    match e {
        RunError::Stuck(s) => LabError::Internal(s.to_string()),
        other => BadInput::new(other.to_string()).into(),
    }
}

/// The contract that the run is held to.
pub fn contract_of(resolved: &Resolved) -> Result<ContractKind, LabError> {
    let name = resolved.contract();
    name.parse()
        .map_err(|e| LabError::Internal(format!("design `{}`: {e}", resolved.design.name)))
}

/// Why a crash check of this run may fail without anything being wrong with the simulator.
pub fn warning(resolved: &Resolved) -> Option<String> {
    let (design, media) = (resolved.design.name, &resolved.machine.media);
    if !resolved.sound() {
        let why = format!(
            "`{design}` cannot keep its contract `{}` on `{media}`",
            resolved.contract()
        );
        let accepting = Environment {
            durable_on_accept: true,
            ..resolved.environment()
        };
        return Some(match (resolved.design.sound)(accepting) {
            true => format!(
                "{why}: it needs a controller whose accepted writes are durable \
                 (--set pm.controller.durable_at=accept, or --media pwq)"
            ),
            false => why,
        });
    }
    let none = resolved.contract() == "none";
    none.then(|| format!("`{design}` promises nothing: its state after a crash is not consistent"))
}
