//! What a run yields, in the form that users and scripts read.

use crate::host::Host;
use crate::persist_stats::PersistStats;
use crate::states::States;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use crate::histogram::Histogram;
pub use crate::witness::Witness;

/// Version of the result format; raised when a field changes its meaning.
pub const SCHEMA: &str = "fencepost-run-1";

/// Crash points examined unless the request says otherwise.
pub const DEFAULT_BUDGET: u64 = 20_000;

/// One finished run. Times are simulated picoseconds of the measured interval (after warm-up).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Format of this record.
    pub schema: String,
    /// Program.
    pub program: String,
    /// Design.
    pub design: String,
    /// Machine: preset or file.
    pub machine: String,
    /// Medium: preset or file.
    pub media: String,
    /// Software threads.
    pub threads: u32,
    /// Measured operations of all threads.
    pub ops: u64,
    /// Seed of every random stream.
    pub seed: u64,
    /// Digest of the resolved configuration.
    pub config_digest: String,
    /// From the end of warm-up to the last thread's finish.
    pub time_ps: u64,
    /// Committed instructions of all threads.
    pub instructions: u64,
    /// Instructions per cycle and core.
    pub ipc: f64,
    /// Operations per simulated second, all threads.
    pub ops_per_s: f64,
    /// Time in which threads committed, summed over threads.
    pub busy_ps: u64,
    /// Time in which threads could not commit, by cause, summed over threads. With `busy_ps`: the threads' finish times.
    pub stalls: BTreeMap<String, u64>,
    /// Lines read from persistent memory.
    pub pm_reads: u64,
    /// Lines written to persistent memory.
    pub pm_writes: u64,
    /// Durable events over the whole run, warm-up included.
    pub durable_events: u64,
    /// Digest of the persist log, in hexadecimal.
    pub log_digest: String,
    /// Counters of the machine and of the design.
    pub counters: BTreeMap<String, u64>,
    /// Histograms of the machine and of the design: `log_fence_distance` counts the instructions between consecutive fences of a
    /// thread that stand between log entries and data.
    #[serde(default)]
    pub histograms: BTreeMap<String, Histogram>,
    /// Set when the design cannot keep its promise on this medium, or is an ideal that keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Set when something that was asked for has no effect here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How the threads persist, of a run that was recorded for a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persists: Option<PersistStats>,
    /// The crash check, when asked for.
    pub check: Option<Check>,
    /// Cost on the host, which differs from call to call; absent from what is kept, so that results of equal runs are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}
impl RunResult {
    /// The same without what it cost on the host, which differs from call to call.
    #[must_use]
    pub fn without_host(self) -> RunResult {
        RunResult { host: None, ..self }
    }
}

/// Verdict on the crash points of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Crash points examined: power failures right after a durable event (and before the first).
    pub points: u64,
    /// Crash points that exist.
    pub points_total: u64,
    /// Crash points after which recovery or audit failed (the search ends at the first), and rules that the mechanism's own
    /// monitor saw broken.
    pub violations: u64,
    /// Recoveries in which power was let fail again: the hardware's, and software's of small runs.
    #[serde(default)]
    pub interrupted: u64,
    /// Crash states in the middle of those recoveries.
    #[serde(default)]
    pub interrupted_states: States,
    /// Crash states covered with the writes in flight in other orders that the contract allows, of small runs. Under hardware transactions:
    /// with the writes of the hardware's own recovery in flight in other orders.
    #[serde(default)]
    pub in_flight_states: States,
    /// Whether those were all that there are.
    #[serde(default)]
    pub in_flight_complete: bool,
    /// Whether the persist order is one that the design's contract allows; `None` where it was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conforms: Option<bool>,
    /// Contract the run was held to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Stores that became durable before an older one, as the contract permits.
    pub reordered: u64,
    /// Durable events by what caused them.
    #[serde(default)]
    pub durable_by_cause: BTreeMap<String, u64>,
    /// Whether this design on this medium may fail: it promises nothing, or cannot keep its promise there.
    pub expected_violations: bool,
    /// The first failures.
    pub witnesses: Vec<Witness>,
}
impl Check {
    /// Share of crash points examined.
    pub fn covered(&self) -> f64 {
        self.points as f64 / self.points_total.max(1) as f64
    }
    /// Whether anything was found that must not happen.
    pub fn violated(&self) -> bool {
        self.violations > 0 || self.conforms == Some(false)
    }
    /// Whether nothing was found that must not happen.
    pub fn as_expected(&self) -> bool {
        !self.violated() || self.expected_violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn histograms_in_closed_form() {
        let h = Histogram::new("cycles", &BTreeMap::from([(0, 6), (10, 3), (50, 1)]));
        assert_eq!((h.count(), h.mean(), h.max()), (10, 8.0, Some(50)));
        assert_eq!(
            (h.at_most(0), h.at_most(9), h.at_most(10), h.at_most(50)),
            (0.6, 0.6, 0.9, 1.0)
        );
        assert_eq!(
            (h.quantile(0.5), h.quantile(0.61), h.quantile(1.0)),
            (Some(0), Some(10), Some(50))
        );
        let none = Histogram::default();
        assert_eq!(
            (none.count(), none.mean(), none.max(), none.quantile(0.5)),
            (0, 0.0, None, None)
        );
    }
}
