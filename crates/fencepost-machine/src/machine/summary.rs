//! What a finished run reports: the end without what precedes the measured part.

use super::compose::{Machine, Start};
use super::run_report::{Before, Counters, RunReport, ThreadReport};
use super::threads::Rest;
use crate::core::TraceRecorder;
use crate::memory::MemStats;
use fencepost_kernel::Ps;
use std::collections::BTreeMap;

impl Machine {
    pub(super) fn report(mut self, end: Ps, events: u64) -> RunReport {
        let events = events + self.joined;
        let start = self.start.take().unwrap_or_else(|| Start {
            time: Ps::ZERO,
            threads: vec![Default::default(); self.threads.len()],
            counters: Counters::default(),
            dram: MemStats::default(),
            pm: MemStats::default(),
            network: None,
            design_counts: vec![0; self.rest.sys.design_counts.len()],
            histograms: vec![BTreeMap::new(); self.rest.sys.histograms.len()],
            log: 0,
            events: 0,
        });
        let mut log_fence_distances = BTreeMap::new();
        let hw_threads = self.threads.iter().zip(&start.threads).map(|(t, before)| {
            for (distance, n) in since((&t.log_fence_distances, &before.log_fence_distances)) {
                *log_fence_distances.entry(distance).or_insert(0) += n;
            }
            ThreadReport {
                started: before.account.until,
                finished: t.finished.unwrap_or(t.account.until),
                account: t.account.since(&before.account),
                instructions: t.instructions - before.instructions,
                memory_ops: t.memory_ops - before.memory_ops,
                ops: t.ops_done - before.ops,
            }
        });
        let hw_threads = hw_threads.collect();
        let simulated = self.threads.iter().map(|t| (t.instructions, t.memory_ops));
        let simulated = simulated.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let counters = self.counters().since(&start.counters);
        let stalls = self.threads.iter_mut().map(|t| t.account.take_each()).collect();
        let Rest {
            hier, mut sys, design, ..
        } = self.rest;
        let queues = sys.recorder.as_mut().map_or_else(Vec::new, TraceRecorder::take_queues);
        let passages = sys.recorder.as_mut().map_or_else(Vec::new, |r| r.passages.take());
        let times = sys.recorder.as_mut().map_or_else(Vec::new, TraceRecorder::take_times);
        let left_dirty = hier.dirty_lines().iter().filter(|l| l.is_persistent()).count();
        let statistics = design.statistics();
        RunReport {
            time: end.saturating_sub(start.time),
            drain_time: sys.now().saturating_sub(end),
            hw_threads,
            before: Before {
                counters: start.counters,
                dram: start.dram.clone(),
                pm: start.pm.clone(),
                design: [
                    start.design_counts.clone(),
                    start.histograms.iter().map(|h| h.values().sum()).collect(),
                ],
                events: start.events,
            },
            counters,
            dram: sys.dram.controller.stats().since(&start.dram),
            pm: sys.pm.controller.stats().since(&start.pm),
            design_counts: sys
                .design_counts
                .iter()
                .zip(&start.design_counts)
                .map(|(a, b)| a - b)
                .collect(),
            design_stats: statistics.counters,
            causes: statistics.causes,
            sums: statistics.sums,
            histograms: sys.histograms.iter().zip(&start.histograms).map(since).collect(),
            log_fence_distances,
            commands: [sys.pm.controller.take_commands(), sys.dram.controller.take_commands()],
            log: sys.log,
            log_start: start.log,
            stale: hier.stale().cloned(),
            disorder: sys.recorder.as_ref().and_then(|r| r.order.found()),
            race: sys.recorder.as_ref().and_then(TraceRecorder::race),
            trace: sys.recorder.map(TraceRecorder::finish),
            times,
            stalls,
            queues,
            passages,
            initial: self.initial,
            durable: sys.durable,
            coherent: sys.coherent,
            left_dirty,
            broken_rule: design.broken_rule(),
            network: self.network.map(|n| n.into_report(start.network.as_ref(), start.time)),
            events,
            simulated,
        }
    }
}

/// A histogram without what an earlier copy of it held.
fn since((now, start): (&BTreeMap<u64, u64>, &BTreeMap<u64, u64>)) -> BTreeMap<u64, u64> {
    let left = |(value, n): (&u64, &u64)| (*value, n - start.get(value).copied().unwrap_or(0));
    now.iter().map(left).filter(|(_, n)| *n > 0).collect()
}
