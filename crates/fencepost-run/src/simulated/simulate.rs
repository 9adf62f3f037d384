//! Building the machine of a resolved request and running it.

use super::initial::initial;
use super::resident::resident;
use crate::config::Resolved;
use crate::error::{BadInput, LabError};
use crate::functional::judge_run;
use crate::host::{Spent, Stopwatch};
use crate::host_memory::fits_host;
use fencepost_contract::ContractKind;
use fencepost_designs::Environment;
use fencepost_harness::{AnyProgram, Run, any_program};
use fencepost_kernel::units::LINE_BYTES;
use fencepost_kernel::{Footprint, HwThread, LineAddr, Ps};
use fencepost_machine::seam::{Design, Statistics};
use fencepost_machine::{Machine, RunError, RunReport, Workload};
use fencepost_programs::sites;
use std::time::Instant;

/// A simulated run with everything that it left behind.
pub struct Simulated {
    /// The machine's report.
    pub report: RunReport,
    /// What the design counts.
    pub statistics: Statistics,
    /// What the simulation took.
    pub spent: Spent,
}

/// The program of a resolved request.
pub fn program_of(resolved: &Resolved) -> Result<Box<dyn AnyProgram>, LabError> {
    any_program(resolved.program_word(), &resolved.program).map_err(|e| BadInput::new(e.to_string()).into())
}

/// Builds the initial memory, the threads and the machine, and runs it with a mechanism that nothing has run yet.
pub fn simulate(
    resolved: &Resolved,
    design: Box<dyn Design>,
    program: &dyn AnyProgram,
    record: bool,
) -> Result<Simulated, LabError> {
    let done = simulate_until(resolved, design, program, record, None)?;
    done.ok_or_else(given_up)
}

/// The same, recorded, with the time of every event and every stall.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_timed(
    resolved: &Resolved,
    design: Box<dyn Design>,
    program: &dyn AnyProgram,
) -> Result<Simulated, LabError> {
    ran(resolved, design, program, Recording::Timed, None)?.ok_or_else(given_up)
}

/// The processes of a run, each with its share of the threads and memory of its own.
struct Processes {
    number: u64,
    threads_each: u32,
    /// How far apart their memories lie.
    bytes: u64,
}

impl Processes {
    fn of(resolved: &Resolved, size: &Footprint) -> Processes {
        let number = resolved.processes();
        // The locks of the warm-up lie behind volatile memory. An odd number of pages: equal data of processes share no bank by accident.
        let pages = (size.pm.0.max(size.dram.0) / PAGE + 2) | 1;
        Processes {
            number: number.into(),
            threads_each: resolved.threads / number,
            bytes: pages * PAGE,
        }
    }
    fn apart(&self) -> (usize, u64) {
        (self.number as usize, self.bytes)
    }
    /// The resident lines of one process as those of all.
    fn resident(&self, one: &[(HwThread, LineAddr)]) -> Vec<(HwThread, LineAddr)> {
        let of = |(hw_thread, line): &(HwThread, LineAddr), process: u64| {
            let hw_thread = HwThread(hw_thread.0 + (process * u64::from(self.threads_each)) as u8);
            (hw_thread, LineAddr(line.0 + process * self.bytes / LINE_BYTES))
        };
        one.iter()
            .flat_map(|l| (0..self.number).map(move |p| of(l, p)))
            .collect()
    }
}

/// Processes lie on pages of their own.
const PAGE: u64 = 4096;

fn given_up() -> LabError {
    LabError::Internal("a run without a deadline was given up".into())
}

/// What is kept of a run beside its results.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Recording {
    Nothing,
    Trace,
    Timed,
}

/// The same with a deadline on the host's clock; `None` if it passed first.
pub fn simulate_until(
    resolved: &Resolved,
    design: Box<dyn Design>,
    program: &dyn AnyProgram,
    record: bool,
    deadline: Option<Instant>,
) -> Result<Option<Simulated>, LabError> {
    let recording = if record { Recording::Trace } else { Recording::Nothing };
    ran(resolved, design, program, recording, deadline)
}

fn ran(
    resolved: &Resolved,
    design: Box<dyn Design>,
    program: &dyn AnyProgram,
    recording: Recording,
    deadline: Option<Instant>,
) -> Result<Option<Simulated>, LabError> {
    fits_host(resolved)?;
    let record = recording != Recording::Nothing;
    if record {
        resolved.judged()?;
    }
    let statistics = design.statistics();
    let machine = machine_of(resolved, design, program, recording)?;
    let begun = Stopwatch::start();
    let Some(report) = over(resolved, machine.run_until(deadline))? else {
        return Ok(None);
    };
    let spent = begun.stop();
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
    if record {
        judge_run(resolved, &*build_design(resolved)?, &report)?;
        // Whoever is forgotten only loses time, which no state after a crash shows.
        let twin = machine_of(resolved, build_design(resolved)?, program, Recording::Nothing)?;
        over(resolved, twin.looking_for_sleepers().run_until(deadline))?;
    }
    Ok(Some(Simulated {
        report,
        statistics,
        spent,
    }))
}

/// The report of a run that ended; `None` if its deadline passed first.
fn over(resolved: &Resolved, ran: Result<RunReport, RunError>) -> Result<Option<RunReport>, LabError> {
    match ran {
        Err(RunError::OutOfTime) => Ok(None),
        Err(e @ (RunError::Stuck(_) | RunError::Asleep { .. } | RunError::Unsound { .. })) => {
            Err(stuck(resolved, e.to_string()))
        }
        done => done.map(Some).map_err(refuse),
    }
}

/// The machine of a request with its memory and its threads, about to run.
fn machine_of(
    resolved: &Resolved,
    design: Box<dyn Design>,
    program: &dyn AnyProgram,
    recording: Recording,
) -> Result<Machine, LabError> {
    let r = &resolved.request;
    let size = fencepost_programs::footprint(resolved.program_word(), &resolved.program);
    let size = size.map_err(|e| LabError::from(BadInput::new(e.to_string())))?;
    let processes = Processes::of(resolved, &size);
    let run = Run {
        dialect: resolved.dialect(),
        threads: processes.threads_each,
        commit_every: resolved.machine.general.commit_every,
        warm_up: r.warmup,
        ops: resolved.program.ops,
        ack_every: r.ack_every,
        cache: resolved.machine.spec.llc.size.0,
        free: size.dram.0,
    };
    let share = run.cache / processes.number;
    let begins_with = format!(
        "{:?} {share} {} {:?}",
        program.hottest(run),
        run.threads,
        processes.apart()
    );
    let work = Workload {
        initial: initial(resolved, program, size.pm.0)?,
        threads: (0..resolved.threads)
            .map(|t| program.body(run, t % processes.threads_each))
            .collect(),
        sites: sites::costs_of(resolved.program_word(), &resolved.program, &resolved.dialect()).into(),
        resident: resident(begins_with, run.cache / LINE_BYTES, || {
            processes.resident(&program.resident(Run { cache: share, ..run }))
        }),
        warm_up: r.warmup.into(),
        record: recording != Recording::Nothing,
    };
    let machine = match resolved.traced() {
        true => Machine::traced(&resolved.machine.spec, design, work, processes.apart()),
        false => Machine::new(&resolved.machine.spec, design, work),
    };
    let machine = machine.map_err(refuse)?;
    let machine = match resolved.clients() {
        Some(transactions) => machine.with_clients(transactions, r.seed).map_err(refuse)?,
        None => machine,
    };
    let machine = match r.cycles {
        Some(n) => machine.measured_for(Ps(resolved.machine.spec.core.clock.period().0 * n)),
        None => machine,
    };
    Ok(match recording {
        Recording::Timed => machine.with_times(),
        _ => machine,
    })
}

/// A fresh mechanism of the run's design.
pub fn build_design(resolved: &Resolved) -> Result<Box<dyn Design>, LabError> {
    let built = (resolved.design.build)(&resolved.design_settings, resolved.shape());
    built.map_err(|e| BadInput::new(e.to_string()).into())
}

/// A machine that gets stuck, or in which something sleeps, is our defect, unless the run asked for a fault of the mechanism.
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

/// What a run that ended in an error tells its user.
pub fn refuse(e: RunError) -> LabError {
    match e {
        RunError::Stuck(_) | RunError::Asleep { .. } | RunError::Unsound { .. } => LabError::Internal(e.to_string()),
        other => BadInput::new(other.to_string()).into(),
    }
}

/// The contract that the run is held to.
pub fn contract_of(resolved: &Resolved) -> ContractKind {
    (resolved.design.contract)(resolved.environment())
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
            true if resolved.machine.spec.pm.module.is_volatile() => {
                format!("{why}: the memory module has a volatile cache (--set pm.module.dram_cache=0B)")
            }
            true => format!(
                "{why}: it needs a controller whose accepted writes are durable \
                 (--set pm.controller.durable_at=accept, or --media pwq)"
            ),
            false => why,
        });
    }
    if resolved.contract() == "none" {
        return Some(format!(
            "`{design}` promises nothing: its state after a crash is not consistent"
        ));
    }
    let unordered = resolved.design.leaves_log_unordered(resolved.environment());
    unordered.then(|| {
        format!(
            "`{design}` is an upper bound: software leaves out the fence between log and data that contract `{}` asks for, \
             and the state of a program that logs is not consistent after a crash",
            resolved.contract()
        )
    })
}
