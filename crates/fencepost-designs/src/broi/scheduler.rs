//! The BLP-aware scheduler of BROI (paper: IV-D).

use super::entry::Change;
use super::params::{BarrierScope, BroiParams};
use super::priority::Priorities;
use super::queues::{BroiQueues, Tally};
use fencepost_kernel::decision;
use fencepost_kernel::{Ps, planted};
use fencepost_machine::memory::{Choice, FrFcfs, Handle, OpenRow, Scheduler, Waiting};
use fencepost_machine::seam::{Write, WriteId};
use std::rc::Rc;

/// A request of a bank-candidate queue: who it is, its row, and its place in the order of arrival.
type Candidate = (Handle, u64, u64);

/// Serves, in every bank, the request of the first set with the highest priority; local requests before remote ones.
///
/// The channel asks for each bank, so the answers together are the paper's Sch-SET, with at most one request per bank. A request
/// for which the bank has begun to change its row stays the bank's.
#[derive(Debug)]
pub struct BroiScheduler {
    queues: BroiQueues,
    priorities: Priorities,
    /// Whether the priorities are those of the sets as they are now.
    current: bool,
    params: BroiParams,
    /// Writes on their way into the medium, and whether a barrier waits for all of them.
    in_medium: u32,
    barrier: bool,
    /// The best ready requests of the bank in question.
    candidates: Vec<Candidate>,
}

impl BroiScheduler {
    /// A scheduler of empty queues, for `local` threads and the network channels.
    pub fn new(params: &BroiParams, local: usize, tally: &Rc<Tally>) -> BroiScheduler {
        BroiScheduler {
            queues: BroiQueues::new(params, local, tally),
            priorities: Priorities::default(),
            current: false,
            params: params.clone(),
            in_medium: 0,
            barrier: false,
            candidates: Vec::with_capacity(64),
        }
    }
    /// The queues, for tests and explanations.
    pub fn queues(&self) -> &BroiQueues {
        &self.queues
    }
    /// The priority of an entry's first set, in thousandths of a bank.
    pub fn priority(&mut self, entry: usize) -> i64 {
        self.work_out_priorities();
        self.priorities.of(entry)
    }
    /// Local sets compete with local ones, and remote sets, which wait for all of those, with remote ones.
    fn work_out_priorities(&mut self) {
        if !std::mem::replace(&mut self.current, true) {
            self.priorities
                .work_out(&self.queues.entries, self.queues.local, self.params.sigma);
        }
    }
    /// Whether a remote entry has been blocked for longer than the threshold.
    fn is_starving(&self, now: Ps, entry: usize) -> bool {
        let since = self.queues.entries[entry].blocked_since;
        since.is_some_and(|since| since + self.params.starvation <= now)
    }
    /// Whether the controller has so few local requests that remote ones may go.
    fn is_underused(&self) -> bool {
        let BroiQueues {
            local_waiting,
            local_units,
            ..
        } = &self.queues;
        local_waiting * 100 <= local_units * u32::from(self.params.low_utilisation)
    }
    /// Remote requests that have waited too long, else local requests, else remote ones while there is little to do.
    fn class(&self, now: Ps) -> impl Fn(usize) -> Option<u8> + '_ {
        let underused = self.is_underused();
        let remote_first = planted!("broi.remote-goes-first", "local requests go before remote ones");
        move |entry| match self.queues.is_remote(entry) {
            false => Some(1),
            true if self.is_starving(now, entry) || remote_first => Some(0),
            true => underused.then_some(2),
        }
    }
    /// What changed: the sets, and with `Change::NextSet` a barrier was passed.
    fn changed(&mut self, entry: usize, change: Change) {
        self.current = false;
        if change == Change::NextSet && self.params.barrier == BarrierScope::All {
            self.barrier = true;
        }
        self.barrier &= self.in_medium > 0;
        self.queues.count_ready(entry);
    }
}

impl Scheduler for BroiScheduler {
    fn next(&mut self, now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        if self.barrier {
            return None;
        }
        self.work_out_priorities();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let class = self.class(now);
        // The bank-candidate queue, reduced to the best class and the best priority in it.
        let mut best: Option<(u8, i64)> = None;
        let mut begun = None;
        for request in waiting {
            let Some((id, write)) = request.write else { continue };
            let entry = usize::from(write.queue);
            if !self.queues.entries[entry].is_ready(id) {
                continue;
            }
            let candidate = (request.handle, request.row, request.order);
            if decision!("broi.request-begun", request.begun) {
                begun = Some(candidate);
            }
            let Some(class) = class(entry) else { continue };
            let priority = self.priorities.of(entry);
            let better = best.is_none_or(|(c, p)| class < c || class == c && priority > p);
            if better {
                best = Some((class, priority));
                candidates.clear();
            }
            if decision!("broi.equal-priority", best == Some((class, priority))) {
                candidates.push(candidate);
            }
        }
        let choice = match begun {
            Some((handle, _, rank)) => Some(Choice { handle, rank }),
            None => FrFcfs::choose(open, candidates.iter().copied()),
        };
        drop(class);
        self.candidates = candidates;
        choice
    }
    fn arrived(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        let (entry, _) = self.queues.arrived(now, bank, id, write);
        self.changed(entry, Change::Same);
    }
    fn issued(&mut self, now: Ps, _: u16, id: WriteId, write: &Write) {
        self.in_medium += 1;
        let (entry, change) = self.queues.issued(now, id, write);
        self.changed(entry, change);
    }
    fn stored(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        self.in_medium -= 1;
        let (entry, change) = self.queues.stored(now, bank, id, write);
        self.changed(entry, change);
    }
    fn delay(&self) -> Ps {
        self.params.scheduling
    }
    fn wake(&self, now: Ps) -> Option<Ps> {
        let remote = &self.queues.entries[self.queues.local..];
        let due = |since: Ps| since + self.params.starvation;
        let times = remote.iter().filter_map(|e| e.blocked_since).map(due);
        times.filter(|t| *t > now).min()
    }
}
