//! What a run leaves behind.

use crate::core::{Account, CoreCounters, Disorder, Passage, Race, Stalled};
use crate::hierarchy::{HierarchyCounters, StaleBytes};
use crate::memory::{CommandRecord, MemStats};
use crate::network::NetworkReport;
use fencepost_kernel::stats::{StatInfo, Sum};
use fencepost_kernel::{Image, PersistLog, Ps, Trace};
use std::collections::BTreeMap;

/// Counters of the machine's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Accesses that hit in an L1 with enough permission.
    pub l1_hits: u64,
    /// Accesses that did not.
    pub l1_misses: u64,
    /// Read requests that missed the last-level cache.
    pub llc_misses: u64,
    /// Requests granted by the bus.
    pub bus_grants: u64,
    /// Copies invalidated by other cores.
    pub invalidations: u64,
    /// Dirty lines that left a private cache.
    pub private_writebacks: u64,
    /// Loads dispatched.
    pub loads: u64,
    /// Stores performed.
    pub stores: u64,
    /// Non-temporal stores performed.
    pub nt_stores: u64,
    /// Flush instructions that took effect.
    pub flushes: u64,
    /// Fences completed.
    pub fences: u64,
    /// Frozen versions made.
    pub versions: u64,
    /// Lines read from memory: volatile, persistent.
    pub memory_reads: [u64; 2],
    /// Lines accepted by a memory controller: volatile, persistent.
    pub memory_writes: [u64; 2],
    /// Loads whose functional and timing values differ: a data race, or a bug.
    pub races: u64,
    /// Reads for which memory did not hold the newest bytes: a design lost a write. Looked for in checked runs, from the
    /// beginning: a defect is one in the warm-up too.
    pub stale_reads: u64,
    /// Sum over misses of the time from the miss to its data.
    pub miss_time: Ps,
}

impl Counters {
    /// Index of the volatile memory in counters of both memories.
    pub const DRAM: usize = 0;
    /// Index of the persistent memory.
    pub const PM: usize = 1;

    /// The counters of the threads and of the hierarchy.
    pub(crate) fn new<'a>(threads: impl Iterator<Item = &'a CoreCounters>, h: &HierarchyCounters) -> Counters {
        let mut sum = Counters {
            l1_hits: h.l1_hits,
            l1_misses: h.l1_misses,
            llc_misses: h.llc_misses,
            bus_grants: h.bus_grants,
            invalidations: h.invalidations,
            private_writebacks: h.private_writebacks,
            versions: h.versions,
            memory_reads: h.memory_reads,
            memory_writes: h.memory_writes,
            stale_reads: h.stale_reads,
            miss_time: h.miss_time,
            ..Counters::default()
        };
        for t in threads {
            sum.l1_hits += t.l1_hits;
            sum.loads += t.loads;
            sum.stores += t.stores;
            sum.nt_stores += t.nt_stores;
            sum.flushes += t.flushes;
            sum.fences += t.fences;
            sum.races += t.races;
        }
        sum
    }
    /// What was added since an earlier copy of these counters.
    pub fn since(&self, start: &Counters) -> Counters {
        let both = |a: &[u64; 2], b: &[u64; 2]| [a[0] - b[0], a[1] - b[1]];
        Counters {
            l1_hits: self.l1_hits - start.l1_hits,
            l1_misses: self.l1_misses - start.l1_misses,
            llc_misses: self.llc_misses - start.llc_misses,
            bus_grants: self.bus_grants - start.bus_grants,
            invalidations: self.invalidations - start.invalidations,
            private_writebacks: self.private_writebacks - start.private_writebacks,
            loads: self.loads - start.loads,
            stores: self.stores - start.stores,
            nt_stores: self.nt_stores - start.nt_stores,
            flushes: self.flushes - start.flushes,
            fences: self.fences - start.fences,
            versions: self.versions - start.versions,
            memory_reads: both(&self.memory_reads, &start.memory_reads),
            memory_writes: both(&self.memory_writes, &start.memory_writes),
            races: self.races - start.races,
            stale_reads: self.stale_reads,
            miss_time: self.miss_time - start.miss_time,
        }
    }
}

/// One hardware thread's part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadReport {
    /// When its measured part began.
    pub started: Ps,
    /// When its last instruction committed.
    pub finished: Ps,
    /// Where the time in between went; its total is `finished - started`.
    pub account: Account,
    /// Instructions committed in the measured part.
    pub instructions: u64,
    /// Memory operations dispatched in the measured part.
    pub memory_ops: u64,
    /// Operations finished in the measured part.
    pub ops: u64,
}

/// What was counted before the measured part, and left out of the report's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Machine counters.
    pub counters: Counters,
    /// Counters of the volatile memory's controller.
    pub dram: MemStats,
    /// Counters of the persistent memory's controller.
    pub pm: MemStats,
    /// The design's counters, and the samples of each of its histograms.
    pub design: [Vec<u64>; 2],
    /// Events of the trace by then (recorded runs only).
    pub events: usize,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunReport {
    /// From the start of the measured part to the last thread's end.
    pub time: Ps,
    /// From then until nothing was buffered any more.
    pub drain_time: Ps,
    /// Per hardware thread.
    pub hw_threads: Vec<ThreadReport>,
    /// What precedes the measured part.
    pub before: Before,
    /// Machine counters of the measured part.
    pub counters: Counters,
    /// Counters of the volatile memory's controller (measured part).
    pub dram: MemStats,
    /// Counters of the persistent memory's controller (measured part).
    pub pm: MemStats,
    /// The design's counters, in the order it declares them (measured part).
    pub design_counts: Vec<u64>,
    /// What those counters are ([`crate::seam::Statistics::counters`]).
    pub design_stats: &'static [StatInfo],
    /// Stall causes of the design's own ([`crate::seam::Statistics::causes`]).
    pub causes: &'static [StatInfo],
    /// What those counters add up to ([`crate::seam::Statistics::sums`]).
    pub sums: &'static [Sum],
    /// The design's histograms: value, occurrences (measured part).
    pub histograms: Vec<BTreeMap<u64, u64>>,
    /// Instructions between consecutive fences of a thread that stand between log entries and data: value, occurrences
    /// (measured part). Empty where no such fence is needed.
    pub log_fence_distances: BTreeMap<u64, u64>,
    /// The persist log (records only if the run was recorded).
    pub log: PersistLog,
    /// Durable events before the measured part.
    pub log_start: u64,
    /// Commands to the persistent and to the volatile medium, by time (recorded runs only).
    pub commands: [Vec<CommandRecord>; 2],
    /// The trace, if the run was recorded.
    pub trace: Option<Trace>,
    /// When each event of the trace happened, if times were kept.
    pub times: Vec<Ps>,
    /// Per hardware thread, every stall, if times were kept.
    pub stalls: Vec<Vec<Stalled>>,
    /// Per hardware thread, when entries of its store queue committed and when they left, if times were kept.
    pub queues: Vec<[Vec<Ps>; 2]>,
    /// Per hardware thread, how its operations went through the core, if times were kept.
    pub passages: Vec<Vec<Passage>>,
    /// Persistent memory before the run.
    pub initial: Image,
    /// Persistent memory as the media (and durable queues) hold it at the end.
    pub durable: Image,
    /// Memory as the threads see it at the end.
    pub coherent: Image,
    /// The first bytes that a load or a write-back found and that were not the newest: a defect of the simulator or of
    /// the design (recorded runs only).
    pub stale: Option<StaleBytes>,
    /// The first operation that performed in an order that its core may not choose: a defect of the simulator (recorded runs
    /// only).
    pub disorder: Option<Disorder>,
    /// The first load of a thread whose value another thread changed between its issue and its performing: a data race of
    /// the program (recorded runs only).
    pub race: Option<Race>,
    /// Dirty lines that never left the caches.
    pub left_dirty: usize,
    /// A rule of the mechanism that the run broke, as the design's own monitor saw it.
    pub broken_rule: Option<String>,
    /// What clients did over the network, if there were any (measured part; the journal is whole).
    pub network: Option<NetworkReport>,
    /// Events handled, from the beginning.
    pub events: u64,
    /// Instructions and memory operations simulated, warm-up included: what the host worked for.
    pub simulated: (u64, u64),
}
impl RunReport {
    /// Instructions of every thread.
    pub fn instructions(&self) -> u64 {
        self.hw_threads.iter().map(|h| h.instructions).sum()
    }
    /// The design's counter with this name, if it has one.
    pub fn design_count(&self, name: &str) -> Option<u64> {
        let at = self.design_stats.iter().position(|s| s.name == name)?;
        self.design_counts.get(at).copied()
    }
    /// Memory operations of every thread.
    pub fn memory_ops(&self) -> u64 {
        self.hw_threads.iter().map(|h| h.memory_ops).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every counter another multiple of `n`.
    fn counted(n: u64) -> Counters {
        Counters {
            l1_hits: n,
            l1_misses: 2 * n,
            llc_misses: 3 * n,
            bus_grants: 4 * n,
            invalidations: 5 * n,
            private_writebacks: 6 * n,
            loads: 7 * n,
            stores: 8 * n,
            nt_stores: 9 * n,
            flushes: 10 * n,
            fences: 11 * n,
            versions: 12 * n,
            memory_reads: [13 * n, 14 * n],
            memory_writes: [15 * n, 16 * n],
            races: 17 * n,
            stale_reads: 18 * n,
            miss_time: Ps(19 * n),
        }
    }

    #[test]
    fn what_was_counted_before_is_left_out_but_for_stale_reads() {
        let since = Counters {
            stale_reads: counted(7).stale_reads,
            ..counted(5)
        };
        assert_eq!(counted(7).since(&counted(2)), since);
    }
}
