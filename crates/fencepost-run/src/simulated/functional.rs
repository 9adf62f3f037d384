//! A recorded run before the functional reference: what must hold of any machine, whatever its contract.

use crate::config::Resolved;
use crate::error::LabError;
use fencepost_machine::memory::MemStats;
use fencepost_machine::seam::Design;
use fencepost_machine::{Counters, RunReport};
use fencepost_machine::{MachineSpec, memory::DurableAt};
use fencepost_reference::{Breach, Counts, Hardware, Run};

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
        volatile_below: parts.module.entries > 0 && parts.module.dram_cache.0 > 0,
        persists_every_store,
        epochs_in_turn: !plan.ordered_issue,
        buffers_name_entries,
        range_registers: u16::from(plan.queues.saturating_sub(1)) * u16::from(plan.range_registers),
        ..Hardware::default()
    }
}

/// Judges a recorded run; `whole`: it ran to its end, so that its counters and those of its warm-up are of all of it.
///
/// # Errors
/// The first breach.
pub fn judge(report: &RunReport, hardware: Hardware, whole: bool) -> Result<(), Breach> {
    let Some(trace) = &report.trace else { return Ok(()) };
    let threads = report.hw_threads.len() as u32;
    let before = &report.before;
    let of = |c: &Counters| [c.stores, c.nt_stores, c.flushes, c.fences];
    let (threads_before, measured) = (of(&before.counters), of(&report.counters));
    let all = |f: fn(&MemStats) -> u64| f(&before.pm) + f(&report.pm);
    let counts = whole.then(|| Counts {
        events_before: before.events,
        threads_before,
        threads: std::array::from_fn(|i| threads_before[i] + measured[i]),
        written: all(|pm| pm.writes),
        merged: all(|pm| pm.coalesced + pm.cache_merges),
    });
    fencepost_reference::judge(&Run {
        initial: &report.initial,
        coherent: &report.coherent,
        durable: &report.durable,
        trace,
        records: report.log.records(),
        counts,
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
    judge(report, hardware, whole).map_err(|breach| LabError::Internal(breach.to_string()))
}
