//! The scheduler of the baseline: unordered epochs of different threads merge to the largest size (paper: III, Figure 3).

use super::entry::Change;
use super::params::BroiParams;
use super::queues::{BroiQueues, Tally};
use fencepost_kernel::{Ps, planted};
use fencepost_machine::memory::{Choice, FrFcfs, OpenRow, Scheduler, Waiting};
use fencepost_machine::seam::{Write, WriteId};
use std::rc::Rc;

/// One epoch at a time for the whole controller: the first sets of all entries. A set that becomes an entry's first while the
/// epoch runs waits for the next one; requests that no barrier separates from the epoch still join it. Inside the epoch, first ready,
/// first come, first served.
#[derive(Debug)]
pub struct EpochScheduler {
    queues: BroiQueues,
    /// Entries whose first set belongs to the epoch.
    joined: Vec<bool>,
    /// Epochs that are over.
    epoch: u64,
}

impl EpochScheduler {
    /// A scheduler of empty queues, for `local` threads and the network channels.
    pub fn new(params: &BroiParams, local: usize, tally: &Rc<Tally>) -> EpochScheduler {
        let queues = BroiQueues::new(params, local, tally);
        EpochScheduler {
            joined: vec![true; queues.entries.len()],
            queues,
            epoch: 0,
        }
    }
    /// The queues, for tests and explanations.
    pub fn queues(&self) -> &BroiQueues {
        &self.queues
    }
    /// The epoch that runs, counted from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    /// Whether an entry's first set belongs to the epoch that runs.
    pub fn has_joined(&self, entry: usize) -> bool {
        self.joined[entry]
    }
    /// An entry's set behind a barrier leaves the epoch; when nothing of the epoch is left, the next one begins.
    fn changed(&mut self, entry: usize, change: Change) {
        self.joined[entry] &= change == Change::Same;
        let mut of_epoch = self.joined.iter().zip(&self.queues.entries);
        let runs = of_epoch.any(|(joined, e)| *joined && !e.is_empty());
        let early =
            change == Change::NextSet && planted!("broi.epoch-ends-early", "an epoch ends with the last of its sets");
        if runs && !early {
            if self.joined[entry] {
                self.queues.count_ready(entry);
            }
            return;
        }
        self.epoch += 1;
        self.joined.fill(true);
        for entry in 0..self.queues.entries.len() {
            self.queues.count_ready(entry);
        }
    }
}

impl Scheduler for EpochScheduler {
    fn next(&mut self, _: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        let may_go = |w: &Waiting<'_>| {
            w.write.is_some_and(|(id, write)| {
                let entry = usize::from(write.queue);
                self.joined[entry] && self.queues.entries[entry].is_ready(id)
            })
        };
        FrFcfs::choose(open, waiting.filter(may_go).map(|w| (w.handle, w.row, w.order)))
    }
    fn unsound(&self) -> Option<String> {
        self.queues.unsound()
    }
    fn arrived(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        let (entry, change) = self.queues.arrived(now, bank, id, write);
        self.changed(entry, change);
    }
    fn issued(&mut self, now: Ps, _: u16, id: WriteId, write: &Write) {
        let (entry, change) = self.queues.issued(now, id, write);
        self.changed(entry, change);
    }
    fn stored(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        let (entry, change) = self.queues.stored(now, bank, id, write);
        self.changed(entry, change);
    }
}
