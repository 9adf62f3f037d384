//! The result of a run, made from what it left behind.

use crate::config::Resolved;
use crate::host::Host;
use crate::persist_stats::PersistStats;
use crate::replication;
use crate::result::{Check, Histogram, RunResult, SCHEMA};
use crate::simulate::{Simulated, warning};
use fencepost_designs::MachineShape;
use fencepost_kernel::Logging;
use fencepost_machine::memory::MemStats;
use fencepost_machine::seam::{Cause, StatInfo};
use fencepost_machine::{Counters, RunReport};
use fencepost_programs::sites;
use std::collections::BTreeMap;

/// What users and scripts read of a run.
pub fn result(resolved: &Resolved, s: &Simulated, check: Option<Check>) -> RunResult {
    let (r, report) = (&resolved.request, &s.report);
    let seconds = report.time.0 as f64 * 1e-12;
    let cycles = report.time.0 as f64 / resolved.machine.spec.core.clock.period().0 as f64;
    let ops: u64 = report.hw_threads.iter().map(|h| h.ops).sum();
    let per = |n: f64, d: f64| if d > 0.0 { n / d } else { 0.0 };
    RunResult {
        schema: SCHEMA.into(),
        program: r.program.clone(),
        design: r.design.clone(),
        machine: r.machine.clone(),
        media: resolved.machine.media.clone(),
        threads: resolved.threads,
        ops,
        seed: r.seed,
        config_digest: resolved.digest(),
        time_ps: report.time.0,
        instructions: report.instructions(),
        ipc: per(report.instructions() as f64, cycles * f64::from(resolved.threads)),
        ops_per_s: per(ops as f64, seconds),
        busy_ps: report.hw_threads.iter().map(|h| h.account.busy.0).sum(),
        stalls: stalls(report),
        pm_reads: report.counters.memory_reads[Counters::PM],
        pm_writes: report.counters.memory_writes[Counters::PM],
        durable_events: report.log.len(),
        log_digest: format!("{:016x}", report.log.digest()),
        counters: counters(report, s.statistics.counters),
        histograms: histograms(report, s.statistics.histograms),
        warning: warning(resolved),
        note: note(resolved),
        persists: report.trace.as_ref().map(|t| PersistStats::of(t, &report.log)),
        check,
        host: Some(Host::new(s.spent, report.simulated)),
    }
}

/// Causes that occurred, summed over threads.
pub fn stalls(report: &RunReport) -> BTreeMap<String, u64> {
    let sum = |i: usize| report.hw_threads.iter().map(|h| h.account.stalls()[i].0).sum::<u64>();
    let all = (0..Cause::COUNT).map(|i| (Cause::named(i, report.causes).to_owned(), sum(i)));
    all.filter(|(_, ps)| *ps > 0).collect()
}

/// Every cause that a run's stalls may have, clients of a network included.
pub fn stall_causes() -> Vec<&'static str> {
    let own = fencepost_designs::all()
        .iter()
        .filter_map(|d| (d.build)(&[], MachineShape::default()).ok());
    let own = own.flat_map(|mechanism| mechanism.statistics().causes.iter().map(|c| c.name));
    Cause::NAMES
        .iter()
        .copied()
        .chain(own)
        .chain(replication::STALLS)
        .collect()
}

/// Counters of the machine, of both memory controllers and of the design, by name.
fn counters(report: &RunReport, design: &[StatInfo]) -> BTreeMap<String, u64> {
    let mut out: BTreeMap<String, u64> = machine_counters(&report.counters)
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v))
        .collect();
    out.insert("memory_ops".into(), report.memory_ops());
    out.insert("left_dirty".into(), report.left_dirty as u64);
    for (name, stats) in [("dram", &report.dram), ("pm", &report.pm)] {
        for (info, value) in MemStats::INFO.iter().zip(stats.values()) {
            out.insert(format!("{name}.{}", info.name), value);
        }
    }
    for (info, value) in design.iter().zip(&report.design_counts) {
        out.insert(format!("design.{}", info.name), *value);
    }
    if let Some(n) = &report.network {
        out.extend(replication::counters(n));
    }
    out
}

/// Name of the histogram of distances between removable fences.
pub const FENCE_DISTANCE: &str = "log_fence_distance";

/// Histograms of the machine and of the design, by name; those without a sample are left out.
fn histograms(report: &RunReport, design: &[StatInfo]) -> BTreeMap<String, Histogram> {
    let of_design = design.iter().zip(&report.histograms);
    let mut out: BTreeMap<String, Histogram> = of_design
        .map(|(info, values)| (format!("design.{}", info.name), Histogram::new(info.unit, values)))
        .collect();
    let distances = Histogram::new("instructions", &report.log_fence_distances);
    out.insert(FENCE_DISTANCE.into(), distances);
    out.retain(|_, h| h.count() > 0);
    out
}

/// Names of the machine's counters, with their values.
pub fn machine_counters(c: &Counters) -> [(&'static str, u64); 17] {
    [
        ("l1_hits", c.l1_hits),
        ("l1_misses", c.l1_misses),
        ("llc_misses", c.llc_misses),
        ("bus_grants", c.bus_grants),
        ("invalidations", c.invalidations),
        ("private_writebacks", c.private_writebacks),
        ("loads", c.loads),
        ("stores", c.stores),
        ("nt_stores", c.nt_stores),
        ("flushes", c.flushes),
        ("fences", c.fences),
        ("versions", c.versions),
        ("dram_reads", c.memory_reads[Counters::DRAM]),
        ("dram_writes", c.memory_writes[Counters::DRAM]),
        ("races", c.races),
        ("stale_reads", c.stale_reads),
        ("miss_time_ps", c.miss_time.0),
    ]
}

/// What was asked for and has no effect in this run; and that its instruction counts are estimates.
fn note(resolved: &Resolved) -> Option<String> {
    let asked = replication::note(resolved).or_else(|| no_effect(resolved));
    let unjudged = resolved.no_verdict().map(str::to_owned);
    let notes: Vec<String> = unjudged.into_iter().chain(asked).chain(estimated(resolved)).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}
fn estimated(resolved: &Resolved) -> Option<String> {
    let (program, dialect) = (resolved.program_word(), resolved.dialect());
    let runs = !resolved.is_replication();
    let known = sites::measured_for(program, &resolved.program, &dialect);
    (runs && !known).then(|| {
        let scheme = resolved.program.scheme.name();
        format!(
            "the instructions between memory operations of `{program}` with log `{scheme}` are estimates: they were never counted"
        )
    })
}
fn no_effect(resolved: &Resolved) -> Option<String> {
    let (design, scheme) = (resolved.design.name, resolved.request.log.as_ref()?);
    let keeper = match resolved.dialect().logging {
        Logging::Software => return None,
        Logging::Hardware => "versions are kept by the hardware",
        Logging::None => "no log is kept",
    };
    Some(format!("on `{design}` {keeper}: `--log {scheme}` has no effect"))
}
