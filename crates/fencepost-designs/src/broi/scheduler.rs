//! The BLP-aware scheduler of BROI (paper: IV-D).

use super::banks::BankSet;
use super::entry::Change;
use super::hand_over::{ControllerQueue, Put, hand_over};
use super::params::{BarrierScope, BroiParams, HandOver, ReadyOver};
use super::priority::Priorities;
use super::queues::{BroiQueues, Tally};
use fencepost_kernel::decision;
use fencepost_kernel::{Ps, planted};
use fencepost_machine::memory::{Choice, FrFcfs, Handle, OpenRow, Scheduler, Waiting};
use fencepost_machine::seam::{Write, WriteId};
use std::ops::Range;
use std::rc::Rc;

/// Classes of requests, in the order in which they go: remote ones that were blocked for too long, local ones, remote ones.
const STARVING: u8 = 0;
const LOCAL: u8 = 1;
const REMOTE: u8 = 2;

/// A request of a bank-candidate queue: who it is, its row, and its place in the order of arrival.
type Candidate = (Handle, u64, u64);

/// Serves, in every bank, the request of the first set with the highest priority; local requests before remote ones.
///
/// The channel asks for each bank, so the answers together are the paper's Sch-SET, with at most one request per bank. A request
/// for which the bank has begun to change its row stays the bank's. With [`HandOver::Queue`] the Sch-SETs go to the controller's
/// write queue as long as that has entries, and the controller serves what is there as it serves any write.
#[derive(Debug)]
pub struct BroiScheduler {
    queues: BroiQueues,
    priorities: Priorities,
    /// Whether the priorities are those of the sets as they are now.
    current: bool,
    params: BroiParams,
    controller: ControllerQueue,
    /// All that could go into the controller's queue stands there, and nothing more will before this time unless something changes.
    settled: Ps,
    /// Writes on their way into the medium, and whether a barrier waits for all of them.
    in_medium: u32,
    barrier: bool,
    /// The best ready requests of the bank in question.
    candidates: Vec<Candidate>,
    /// The Sch-SET that is put out.
    set: Vec<Put>,
    /// With [`HandOver::Queue`]: banks for which a request was put out that the channel has not been told of.
    concerned: BankSet,
}

impl BroiScheduler {
    /// A scheduler of empty queues, for `local` threads and the network channels.
    pub fn new(params: &BroiParams, local: usize, tally: &Rc<Tally>) -> BroiScheduler {
        BroiScheduler {
            queues: BroiQueues::new(params, local, tally),
            priorities: Priorities::default(),
            current: false,
            params: params.clone(),
            controller: ControllerQueue::default(),
            settled: Ps::ZERO,
            in_medium: 0,
            barrier: false,
            candidates: Vec::with_capacity(64),
            set: Vec::with_capacity(64),
            concerned: BankSet::default(),
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
    /// Sets compete with all others, or local sets with local ones, and remote sets, which wait for all of those, with remote ones.
    fn work_out_priorities(&mut self) {
        if !std::mem::replace(&mut self.current, true) {
            let (entries, local) = (&self.queues.entries, self.queues.local);
            let among = match self.params.ready {
                ReadyOver::Local => local,
                ReadyOver::All => entries.len(),
            };
            self.priorities.work_out(entries, among, self.params.sigma);
        }
    }
    /// By what the scheduler chooses among entries of one class: the priority.
    fn preference(&self, entry: usize) -> i64 {
        let priority = self.priorities.of(entry);
        let least_first = planted!(
            "broi.least-priority-first",
            "the set of the highest priority goes first"
        );
        match least_first {
            true => -priority,
            false => priority,
        }
    }
    /// Whether a remote entry has been blocked for longer than the threshold.
    fn is_starving(&self, now: Ps, entry: usize) -> bool {
        let since = self.queues.entries[entry].blocked_since;
        since.is_some_and(|since| since + self.params.starvation <= now)
    }
    /// Whether so little of the controller's queue is in use that remote requests may go. Where the queue holds one request for each bank,
    /// what stands in the local entries is what a longer one would hold.
    fn is_underused(&self) -> bool {
        let used = match self.params.hand_over {
            HandOver::Bank => self.queues.local_requests,
            HandOver::Queue => self.controller.used,
        };
        used * 100 <= u32::from(self.params.queue) * u32::from(self.params.low_utilisation)
    }
    /// Remote requests that have waited too long, else local requests, else remote ones while there is little to do.
    pub(super) fn class(&self, now: Ps, entry: usize) -> Option<u8> {
        let remote_first = planted!("broi.remote-goes-first", "local requests go before remote ones");
        match self.queues.is_remote(entry) {
            false => Some(LOCAL),
            true if self.is_starving(now, entry) || remote_first => Some(STARVING),
            true if self.is_underused() => Some(REMOTE),
            true => {
                self.queues.count_held(entry);
                None
            }
        }
    }
    /// What changed: the sets, and with `Change::NextSet` a barrier was passed.
    fn changed(&mut self, now: Ps, (entry, change): (usize, Change)) {
        self.current = false;
        self.settled = now;
        if change == Change::NextSet && self.params.barrier == BarrierScope::All {
            self.barrier = true;
        }
        self.barrier &= self.in_medium > 0;
        self.queues.count_ready(entry);
    }
    /// Puts Sch-SETs out until nothing may go or the controller's queue is full: first all that may go before low utilisation, then, if the
    /// queue is in that, the rest.
    fn fill_queue(&mut self, now: Ps) {
        if now < self.settled {
            return;
        }
        let mut last = LOCAL;
        let mut free = u32::from(self.params.queue) - self.controller.used;
        while free > 0 && self.has_candidates() {
            let open = self.queues.open();
            let compete = open & (open - 1) != 0;
            if compete {
                self.work_out_priorities();
            }
            let mut set = std::mem::take(&mut self.set);
            let class = |entry| self.class(now, entry).filter(|class| *class <= last);
            let preference = |entry| if compete { self.preference(entry) } else { 0 };
            let of = |entry| class(entry).map(|class| (class, preference(entry)));
            let waits = |id| self.controller.waits_for_its_line(id);
            hand_over(&mut set, &self.queues.entries, (open, free as usize), of, waits);
            let stops = set.is_empty() && last == REMOTE;
            if set.is_empty() {
                last = REMOTE;
            } else {
                free -= set.len() as u32;
                self.current = false;
            }
            for put in &set {
                let place = self.controller.take();
                self.queues.schedule(now, put.entry, put.id(), place);
                self.concerned.insert(put.bank);
            }
            self.set = set;
            if stops {
                break;
            }
        }
        self.settled = self.starves(now).unwrap_or(Ps(u64::MAX));
    }
    /// Whether any request might be put out, were it not for its class.
    fn has_candidates(&self) -> bool {
        let mut open = self.queues.open();
        while open != 0 {
            let entry = &self.queues.entries[open.trailing_zeros() as usize];
            if entry.candidates().any(|u| !self.controller.waits_for_its_line(u.id)) {
                return true;
            }
            open &= open - 1;
        }
        false
    }
    /// When the next remote entry will have been blocked for too long.
    fn starves(&self, now: Ps) -> Option<Ps> {
        let remote = &self.queues.entries[self.queues.local..];
        let due = remote
            .iter()
            .filter_map(|e| Some(e.blocked_since? + self.params.starvation));
        due.filter(|t| *t > now).min()
    }
    /// Of the requests of a bank, the one of the best class and priority; [`HandOver::Bank`].
    fn choose(&mut self, now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        self.work_out_priorities();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
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
            let Some(class) = self.class(now, entry) else { continue };
            let priority = self.preference(entry);
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
        self.candidates = candidates;
        choice
    }
    /// Of the requests of a bank that stand in the controller's queue, the one that is ready first, then the one that came first.
    fn serve(&mut self, now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        self.fill_queue(now);
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut begun = None;
        for request in waiting {
            let Some((id, write)) = request.write else { continue };
            let Some(place) = self.queues.entries[usize::from(write.queue)].place(id) else {
                continue;
            };
            let candidate = (request.handle, request.row, place);
            if request.begun {
                begun = Some(candidate);
            }
            candidates.push(candidate);
        }
        candidates.sort_unstable_by_key(|c| c.2);
        let choice = match begun {
            Some((handle, _, rank)) => Some(Choice { handle, rank }),
            None => FrFcfs::choose(open, candidates.iter().copied()),
        };
        self.candidates = candidates;
        choice
    }
}

impl Scheduler for BroiScheduler {
    fn next(&mut self, now: Ps, open: &OpenRow, waiting: &mut dyn Iterator<Item = Waiting<'_>>) -> Option<Choice> {
        match self.params.hand_over {
            _ if self.barrier => None,
            HandOver::Bank => self.choose(now, open, waiting),
            HandOver::Queue => self.serve(now, open, waiting),
        }
    }
    /// A request stays where it was put out, and so does its place.
    fn concerned(&mut self, now: Ps, banks: Range<u16>) -> u64 {
        if self.params.hand_over == HandOver::Bank || self.params.barrier == BarrierScope::All {
            return u64::MAX;
        }
        self.fill_queue(now);
        self.concerned.take(banks)
    }
    fn unsound(&self) -> Option<String> {
        self.queues.unsound()
    }
    fn arrived(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        let (entry, _) = self.queues.arrived(now, bank, id, write);
        if self.params.hand_over == HandOver::Queue {
            self.controller.arrived(id, write.line);
        }
        self.changed(now, (entry, Change::Same));
    }
    fn issued(&mut self, now: Ps, _: u16, id: WriteId, write: &Write) {
        self.in_medium += 1;
        self.controller.issued(id);
        let changed = self.queues.issued(now, id, write);
        self.changed(now, changed);
    }
    fn stored(&mut self, now: Ps, bank: u16, id: WriteId, write: &Write) {
        self.in_medium -= 1;
        self.controller.left();
        let changed = self.queues.stored(now, bank, id, write);
        self.changed(now, changed);
    }
    fn delay(&self) -> Ps {
        self.params.scheduling
    }
    /// Only a remote request that has been blocked for too long goes although nothing has happened.
    fn wake(&self, now: Ps) -> Option<Ps> {
        self.starves(now)
    }
}
