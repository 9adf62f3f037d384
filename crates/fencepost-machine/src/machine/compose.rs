//! The machine: what it is made of.

use super::run_report::Counters;
use super::threads::Rest;
use crate::core::{HardwareThread, ThreadProgress, TraceRecorder};
use crate::memory::{MemEvent, MemStats};
use crate::network::{Network, NetworkReport};
use fencepost_kernel::{HwThread, Image, Ps};
use std::collections::BTreeMap;

/// A machine with its design, about to run or running.
pub struct Machine {
    pub(super) threads: Vec<HardwareThread>,
    pub(super) rest: Rest,
    /// Clients that persist on this machine.
    pub(super) network: Option<Network>,
    /// Reports of a memory controller, while they are worked off.
    pub(super) mem_events: Vec<MemEvent>,
    pub(super) start: Option<Start>,
    pub(super) initial: Image,
    /// How long is measured, where that is not until the work is done; and when that time has passed.
    pub(super) measured: Option<Ps>,
    pub(super) stop_at: Ps,
    /// Events that were done with the one before them.
    pub(super) joined: u64,
    /// What is looked at when a moment is over; nothing in a run that is neither recorded nor looks for sleepers.
    pub(super) watch: Option<Watch>,
}

/// What is looked at while a run goes on.
#[derive(Default)]
pub(super) struct Watch {
    /// Whether everyone is asked at the end of every moment.
    pub(super) sleepers: bool,
    /// After how many events copies were compared last.
    pub(super) compared: u64,
}

/// State at the start of the measured part.
pub(super) struct Start {
    pub time: Ps,
    pub threads: Vec<ThreadProgress>,
    pub counters: Counters,
    pub dram: MemStats,
    pub pm: MemStats,
    pub network: Option<NetworkReport>,
    pub design_counts: Vec<u64>,
    pub histograms: Vec<BTreeMap<u64, u64>>,
    pub log: u64,
    pub events: usize,
}

impl Machine {
    /// Measures this long and then stops, whatever the threads have left to do. For runs that are not judged: what is under
    /// way at that time is lost.
    #[must_use]
    pub fn measured_for(mut self, time: Ps) -> Machine {
        self.measured = Some(time);
        if let Some(start) = &self.start {
            self.stop_at = start.time + time;
        }
        self
    }
    /// Keeps when each event of a recorded run happened, and every stall.
    #[must_use]
    pub fn with_times(mut self) -> Machine {
        if let Some(r) = &mut self.rest.sys.recorder {
            r.keep_times(self.threads.len());
        }
        for t in &mut self.threads {
            t.account.keep_each();
            t.drawn = true;
        }
        self
    }
    /// A thread, and the rest of the machine as it sees it.
    #[inline]
    pub(super) fn thread(&mut self, hw_thread: HwThread) -> (&mut HardwareThread, &mut Rest) {
        (&mut self.threads[hw_thread.index()], &mut self.rest)
    }

    /// The machine's counters, summed over its components.
    pub(super) fn counters(&self) -> Counters {
        let threads = self.threads.iter().map(|t| &t.counters);
        Counters::new(threads, &self.rest.hier.counters)
    }

    /// The measured part starts once every thread has finished its warm-up operations.
    #[inline]
    pub(super) fn check_warm_up(&mut self) {
        if self.rest.sys.warmed_up {
            self.warmed_up();
        }
    }
    /// Another thread has.
    #[cold]
    fn warmed_up(&mut self) {
        self.rest.sys.warmed_up = false;
        if self.start.is_none() {
            let done = |t: &HardwareThread| t.ops_done >= t.warm_up || t.finished.is_some();
            if self.threads.iter().all(done) {
                self.snapshot(self.rest.sys.warm_up_end);
            }
        }
    }

    /// Keeps what was done up to here, to be left out of the report: up to the end of its warm-up, at which the measured part begins,
    /// by the thread that was the last to finish it.
    pub(super) fn snapshot(&mut self, last: Option<(HwThread, Ps)>) {
        let begins = last.map_or(self.rest.sys.now(), |(_, at)| at);
        self.stop_at = self.measured.map_or(Ps(u64::MAX), |time| begins + time);
        let up_to_here = |t: &mut HardwareThread| match t.at_warm_up.take() {
            Some(then) if last.is_some_and(|(hw_thread, _)| hw_thread == t.id) => *then,
            _ => t.progress(),
        };
        self.start = Some(Start {
            time: begins,
            threads: self.threads.iter_mut().map(up_to_here).collect(),
            counters: self.counters(),
            dram: self.rest.sys.dram.controller.stats().clone(),
            pm: self.rest.sys.pm.controller.stats().clone(),
            network: self.network.as_ref().map(Network::counted),
            design_counts: self.rest.sys.design_counts.clone(),
            histograms: self.rest.sys.histograms.clone(),
            log: self.rest.sys.log.len(),
            events: self.rest.sys.recorder.as_ref().map_or(0, TraceRecorder::events),
        });
    }
}
