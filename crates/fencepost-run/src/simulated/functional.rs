//! A recorded run before the functional reference: what must hold of any machine, whatever its contract.

use crate::config::Resolved;
use crate::error::LabError;
use crate::medium_table::{command, table};
use fencepost_kernel::Ps;
use fencepost_machine::memory::MemStats;
use fencepost_machine::seam::Design;
use fencepost_machine::{Counters, Pipeline, RunReport, ThreadReport};
use fencepost_machine::{MachineSpec, MemorySpec, memory::DurableAt};
use fencepost_reference::{Breach, Controller, Counted, Counts, Hardware, Report, Run, ThreadTime, dram};

/// What the reference must know of a machine with a design.
pub fn hardware(
    spec: &MachineSpec,
    design: &dyn Design,
    persists_every_store: bool,
    buffers_name_entries: bool,
) -> Hardware {
    let parts = design.controller(&spec.pm.module);
    let plan = parts.queues;
    Hardware {
        durable_on_accept: spec.pm.controller.durable_at(&spec.pm.media) == DurableAt::Accept,
        volatile_below: parts.module.is_volatile(),
        persists_every_store,
        epochs_in_turn: !plan.ordered_issue,
        buffers_name_entries,
        range_registers: u16::from(plan.queues.saturating_sub(1)) * u16::from(plan.range_registers),
        ..Hardware::default()
    }
}

fn time_of(t: &ThreadReport) -> ThreadTime {
    ThreadTime {
        began: t.started,
        ended: t.finished,
        accounted: t.account.total(),
        ops: t.ops,
        instructions: t.instructions,
        memory_ops: t.memory_ops,
    }
}

/// The counters of a controller from the beginning: `all` adds those of the warm-up to the others.
fn controller(
    memory: &MemorySpec,
    asked: [u64; 2],
    empty: bool,
    all: impl Fn(fn(&MemStats) -> u64) -> u64,
) -> Controller {
    Controller {
        lines: [all(|c| c.reads), all(|c| c.writes)],
        rows: [all(|c| c.row_hits), all(|c| c.row_misses), all(|c| c.row_conflicts)],
        bytes: all(|c| c.bytes),
        busy: Ps(all(|c| c.busy)),
        burst: memory.media.t_burst,
        channels: u64::from(memory.media.channels),
        switches: all(|c| c.drain_switches),
        forwarded: all(|c| c.forwarded),
        merged: all(|c| c.coalesced + c.cache_merges),
        asked,
        empty,
    }
}

/// What was sent to both media kept their times.
fn commands(report: &RunReport, spec: &MachineSpec) -> Result<(), Breach> {
    let media = [("persistent", &spec.pm.media), ("volatile", &spec.dram.media)];
    for ((name, medium), sent) in media.into_iter().zip(&report.commands) {
        let sent: Vec<_> = sent.iter().map(|c| command(medium, c)).collect();
        let judged = dram::judge(&table(medium), &sent);
        if let Some(v) = judged.violations.first() {
            let what = format!("a command to {name} memory breaks {v}: {}", sent[v.command]);
            return Err(Breach {
                rule: "commands keep the times of their medium",
                what,
                event: None,
            });
        }
    }
    Ok(())
}

/// Judges a recorded run of a machine; `whole`: it ran to its end, so that its counters and those of its warm-up are of all of it.
///
/// # Errors
/// The first breach.
pub fn judge(report: &RunReport, spec: &MachineSpec, hardware: Hardware, whole: bool) -> Result<(), Breach> {
    let Some(trace) = &report.trace else { return Ok(()) };
    commands(report, spec)?;
    let threads = report.hw_threads.len() as u32;
    let before = &report.before;
    let of = |c: &Counters| [c.stores, c.nt_stores, c.flushes, c.fences];
    let (threads_before, measured) = (of(&before.counters), of(&report.counters));
    let all = |f: fn(&MemStats) -> u64| f(&before.pm) + f(&report.pm);
    let counts = whole.then(|| Counts {
        events_before: before.events,
        threads_before,
        threads: std::array::from_fn(|i| threads_before[i] + measured[i]),
        misses: [
            before.counters.l1_misses + report.counters.l1_misses,
            before.counters.llc_misses + report.counters.llc_misses,
        ],
        written: all(|pm| pm.writes),
        merged: all(|pm| pm.coalesced + pm.cache_merges),
    });
    let threads_of = report.hw_threads.iter().map(time_of);
    let threads_of: Vec<ThreadTime> = threads_of.collect();
    let asked = |side: usize| {
        let (was, now) = (&before.counters, &report.counters);
        [
            was.memory_reads[side] + now.memory_reads[side],
            was.memory_writes[side] + now.memory_writes[side],
        ]
    };
    let both = |was: &[u64], now: Vec<u64>| was.iter().zip(now).map(|(a, b)| a + b).collect::<Vec<u64>>();
    let [counters, samples] = &before.design;
    let counters = both(counters, report.design_counts.clone());
    let samples = both(samples, report.histograms.iter().map(|h| h.values().sum()).collect());
    let volatile = |f: fn(&MemStats) -> u64| f(&before.dram) + f(&report.dram);
    let reported = whole.then(|| Report {
        time: report.time,
        threads: &threads_of,
        in_order: spec.core.pipeline == Pipeline::InOrder,
        controllers: [
            controller(&spec.pm, asked(Counters::PM), !hardware.volatile_below, all),
            controller(&spec.dram, asked(Counters::DRAM), true, volatile),
        ],
        durable_before: report.log_start,
        design: Counted {
            counters: &counters,
            samples: &samples,
            sums: report.sums,
        },
    });
    fencepost_reference::judge(&Run {
        initial: &report.initial,
        coherent: &report.coherent,
        durable: &report.durable,
        trace,
        records: report.log.records(),
        counts,
        report: reported,
        hardware: Hardware { threads, ..hardware },
    })
}

/// Judges the recorded run of a request. A mechanism that was asked to break a rule is left to the checks that convict it.
pub(crate) fn judge_run(resolved: &Resolved, design: &dyn Design, report: &RunReport) -> Result<(), LabError> {
    let values = resolved.design_values();
    let is = |name: &str, value: &str| values.iter().any(|(f, v)| f.name == name && v == value);
    let broken = values.iter().any(|(f, v)| f.name == "fault" && v != "none");
    if broken {
        return Ok(());
    }
    let promise = resolved.design.promise;
    let names = resolved.contract() == "rcbsp" && !is("forward", "false");
    let hardware = hardware(&resolved.machine.spec, design, promise.persists_every_store, names);
    let whole = resolved.request.cycles.is_none();
    judge(report, &resolved.machine.spec, hardware, whole).map_err(|breach| LabError::Internal(breach.to_string()))
}
