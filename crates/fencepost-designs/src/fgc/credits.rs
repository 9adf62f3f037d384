//! Persistence credits: how many more writes of each queue the memory module can take, as the controller believes and as the
//! module knows.
//!
//! The paper (section III-B): *every write command occupies one persistence credit of its queue. When a write command is issued,
//! the credit decreases by 1, and after it is finished, the credit increases by 1. The change is synchronised back to the
//! controller* by a read that the controller sends when its copy is low, or coded into the data of any other read. What travels
//! back is the change (completions since the last read that reached the module), so writes that are still on the link when the
//! read reaches the module are not mistaken for finished ones.

use super::params::CommitFault;
use fencepost_kernel::Ps;
use fencepost_kernel::decision;
use fencepost_machine::memory::FlowControl;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The credits of one queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// The controller's copy.
    copy: u16,
    /// In the module: writes finished since the last read reached it.
    finished: u16,
    /// Writes that left the controller and have not finished.
    under_way: u16,
    /// The controller wants to see the last credit come back.
    committing: bool,
}

/// How credits came back.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Synchronisations {
    /// Reads that the controller sent for credits.
    pub reads: u64,
    /// Credits that came with the data of other reads.
    pub with_data: u64,
}

/// The credits of every queue.
#[derive(Debug)]
pub(super) struct Credits {
    full: u16,
    /// The controller asks when its copy is no larger.
    ask_at: u16,
    queues: Vec<Queue>,
    /// Credits on their way to the controller: arrival, queue, number.
    returning: VecDeque<(Ps, u8, u16)>,
    /// When the answer to the controller's own read arrives.
    query: Option<Ps>,
    /// Least time from one such read to the next, and when the next may be sent.
    interval: Ps,
    next_query: Ps,
    /// Whether the controller wants to send that read, where that is known: it is asked much more often than anything changes.
    wants: Cell<Option<bool>>,
    /// Synchronisations since they were last counted.
    synchronisations: Synchronisations,
    fault: CommitFault,
    /// A rule that was broken.
    broken: Option<String>,
    /// A write finished for a queue that had issued none; some other queue waits for its credit in vain.
    misplaced: bool,
}

impl Credits {
    /// No credits yet ([`Credits::set_full`]). `ask_at`: the controller asks for more when it has no more than these.
    pub(super) fn new(queues: u8, ask_at: u16, fault: CommitFault) -> Credits {
        Credits {
            full: 0,
            ask_at,
            queues: vec![Queue::default(); usize::from(queues)],
            returning: VecDeque::new(),
            query: None,
            interval: Ps::ZERO,
            next_query: Ps::ZERO,
            wants: Cell::new(None),
            synchronisations: Synchronisations::default(),
            fault,
            broken: None,
            misplaced: false,
        }
    }
    /// The controller asks no more often than once in so long a time.
    pub(super) fn with_interval(self, interval: Ps) -> Credits {
        Credits { interval, ..self }
    }
    /// Every queue has this many credits.
    pub(super) fn set_full(&mut self, full: u16) {
        self.full = full;
        self.ask_at = self.ask_at.min(full.saturating_sub(1));
        self.queues.iter_mut().for_each(|q| q.copy = full);
        self.wants.set(None);
    }
    /// A queue, to be changed.
    fn queue(&mut self, queue: u8) -> &mut Queue {
        self.wants.set(None);
        &mut self.queues[usize::from(queue)]
    }
    /// Whether the controller knows that every write of the queue that it issued has finished.
    pub(super) fn is_full(&self, queue: u8) -> bool {
        self.queues[usize::from(queue)].copy == self.full
    }
    /// Starts or ends a commit: until the credits are full, the controller asks for them.
    pub(super) fn set_committing(&mut self, queue: u8, committing: bool) {
        self.queue(queue).committing = committing;
    }
    /// Whether the controller asks for the queue's credits because of a commit.
    pub(super) fn is_committing(&self, queue: u8) -> bool {
        self.queues[usize::from(queue)].committing
    }
    /// Whether a credit of the queue can still come back. Where none can (a credit was lost), nobody waits for one: the machine
    /// is stuck and says so.
    pub(super) fn can_fill(&self, queue: u8) -> bool {
        let q = &self.queues[usize::from(queue)];
        let returning = || self.returning.iter().any(|r| r.1 == queue);
        q.copy == self.full || q.finished > 0 || (q.under_way > 0 && !self.misplaced) || returning()
    }
    /// The controller's copy and the maximum.
    pub(super) fn shown(&self, queue: u8) -> (u16, u16) {
        (self.queues[usize::from(queue)].copy, self.full)
    }
    /// The synchronisations since this was last asked.
    pub(super) fn take_synchronisations(&mut self) -> Synchronisations {
        std::mem::take(&mut self.synchronisations)
    }
    /// What is wrong with the credits, if anything is: each is with the controller, with a write, or on its way back.
    pub(super) fn unsound(&self) -> Option<String> {
        let returning = |queue: u8| -> u16 { self.returning.iter().filter(|r| r.1 == queue).map(|r| r.2).sum() };
        let of = |(queue, q): (u8, &Queue)| q.copy + q.finished + q.under_way + returning(queue);
        let wrong = (0..)
            .zip(&self.queues)
            .map(|q| (q.0, of(q)))
            .find(|(_, all)| *all != self.full);
        let known = self.wants.get().is_none_or(|wants| wants == self.wants_query());
        match wrong {
            Some((queue, all)) => Some(format!("queue {queue} has {all} credits of {}", self.full)),
            None => (!known).then(|| "whether credits are to be asked for".to_owned()),
        }
    }
    /// The first rule that was broken.
    pub(super) fn broken(&self) -> Option<&String> {
        self.broken.as_ref()
    }
    /// Whether the controller should ask for credits.
    fn wants_query(&self) -> bool {
        let wanted = |(i, q): (usize, &Queue)| {
            (q.committing || q.copy <= self.ask_at) && q.copy < self.full && self.can_fill(i as u8)
        };
        self.query.is_none() && self.queues.iter().enumerate().any(wanted)
    }
    fn send_back(&mut self, arrives: Ps, queue: u8, n: u16) {
        let at = self.returning.partition_point(|r| r.0 <= arrives);
        self.returning.insert(at, (arrives, queue, n));
    }
}

/// The credits as the controller and its module have them; the design looks at the controller's copies.
#[derive(Debug)]
pub(super) struct Shared(pub Rc<RefCell<Credits>>);

impl FlowControl for Shared {
    fn may_send(&self, queue: u8) -> bool {
        let c = self.0.borrow();
        c.queues[usize::from(queue)].copy > 0 || c.fault == CommitFault::IssuesAtZero
    }
    fn sent(&mut self, queue: u8) {
        let mut c = self.0.borrow_mut();
        if decision!("commit.no-credit", c.queue(queue).copy == 0) {
            let why = format!("a write of queue {queue} was issued at credit 0");
            c.broken.get_or_insert(why);
        }
        let early = c.fault == CommitFault::CreditAtIssue;
        let q = c.queue(queue);
        q.under_way += 1;
        q.copy = q.copy.saturating_sub(1);
        q.finished += u16::from(early);
    }
    fn freed(&mut self, queue: u8) {
        let mut c = self.0.borrow_mut();
        let fault = c.fault;
        c.misplaced |= c.queue(queue).under_way == 0;
        let q = c.queue(queue);
        q.under_way = q.under_way.saturating_sub(1);
        q.finished += match fault {
            CommitFault::CreditLost | CommitFault::CreditAtIssue => 0,
            CommitFault::CreditTwice => 2,
            _ => 1,
        };
    }
    fn read_reached(&mut self, now: Ps, arrives: Ps, query: bool) {
        let mut c = self.0.borrow_mut();
        c.wants.set(None);
        for queue in 0..c.queues.len() as u8 {
            let finished = std::mem::take(&mut c.queues[usize::from(queue)].finished);
            if finished > 0 {
                c.send_back(arrives, queue, finished);
                c.synchronisations.with_data += u64::from(finished) * u64::from(!query);
            }
        }
        if query {
            c.next_query = now + c.interval;
            c.query = Some(arrives);
            c.synchronisations.reads += 1;
        }
    }
    fn arrived(&mut self, now: Ps) -> bool {
        let mut c = self.0.borrow_mut();
        c.wants.set(None);
        let mut committed = false;
        while let Some((_, queue, n)) = c.returning.front().copied().filter(|r| r.0 <= now) {
            c.returning.pop_front();
            let copy = c.queue(queue).copy + n;
            if decision!("commit.credit-beyond-full", copy > c.full) {
                let why = format!("queue {queue} has more credits than the maximum of {}", c.full);
                c.broken.get_or_insert(why);
            }
            c.queue(queue).copy = copy.min(c.full);
            committed |= copy >= c.full && c.queues[usize::from(queue)].committing;
        }
        if c.query.is_some_and(|t| t <= now) {
            c.query = None;
        }
        committed
    }
    fn asks_from(&self) -> Ps {
        self.0.borrow().next_query
    }
    fn wants_query(&self) -> bool {
        let c = self.0.borrow();
        c.wants.get().unwrap_or_else(|| {
            let wants = c.wants_query();
            c.wants.set(Some(wants));
            wants
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credits(queues: u8, full: u16, ask_at: u16) -> (Rc<RefCell<Credits>>, Shared) {
        let shared = Rc::new(RefCell::new(Credits::new(queues, ask_at, CommitFault::None)));
        shared.borrow_mut().set_full(full);
        (shared.clone(), Shared(shared))
    }

    #[test]
    fn a_write_takes_a_credit_and_a_read_brings_it_back() {
        let (c, mut flow) = credits(2, 2, 0);
        flow.sent(1);
        flow.sent(1);
        assert!(!flow.may_send(1) && flow.may_send(0));
        flow.freed(1);
        assert!(!flow.may_send(1), "the controller does not know");
        assert!(flow.wants_query());
        flow.read_reached(Ps(0), Ps(100), true);
        assert!(!flow.wants_query(), "one read at a time");
        flow.freed(1);
        flow.arrived(Ps(100));
        assert_eq!(
            c.borrow().shown(1),
            (1, 2),
            "what finished behind the read is not in its data"
        );
        assert!(!flow.wants_query(), "it is not at zero");
        c.borrow_mut().set_committing(1, true);
        assert!(flow.wants_query());
        // Any read brings credits along.
        flow.read_reached(Ps(0), Ps(300), false);
        flow.arrived(Ps(300));
        assert!(c.borrow().is_full(1) && !flow.wants_query());
        assert_eq!(c.borrow().broken(), None);
    }
    #[test]
    fn what_is_known_of_the_question_is_what_asking_again_says() {
        let mut rng = fencepost_kernel::rng::Stream::new(2, "credits");
        let (c, mut flow) = credits(3, 4, 1);
        let mut asked = [0, 0];
        for time in 1..5000 {
            let (queue, now) = (rng.below(3) as u8, Ps(time));
            match rng.below(6) {
                0 | 1 if flow.may_send(queue) => flow.sent(queue),
                2 if c.borrow().queues[usize::from(queue)].under_way > 0 => flow.freed(queue),
                3 => {
                    let query = flow.wants_query();
                    flow.read_reached(Ps(0), now + Ps(rng.below(9)), query);
                }
                4 => {
                    flow.arrived(now);
                }
                5 => c.borrow_mut().set_committing(queue, rng.chance(1, 2)),
                _ => {}
            }
            let wants = c.borrow().wants_query();
            assert_eq!([flow.wants_query(), flow.wants_query()], [wants; 2]);
            asked[usize::from(wants)] += 1;
        }
        assert!(asked.iter().all(|n| *n > 500), "{asked:?}");
    }
    #[test]
    fn reads_that_overtake_one_another_bring_each_credit_once() {
        let (c, mut flow) = credits(1, 4, 3);
        (0..4).for_each(|_| flow.sent(0));
        flow.freed(0);
        flow.read_reached(Ps(0), Ps(500), false);
        flow.freed(0);
        flow.read_reached(Ps(0), Ps(200), false);
        flow.arrived(Ps(200));
        assert_eq!(c.borrow().shown(0).0, 1);
        flow.arrived(Ps(500));
        assert_eq!(c.borrow().shown(0).0, 2);
        assert!(flow.wants_query(), "two are no more than the mark of three");
    }
    #[test]
    fn nobody_asks_for_what_cannot_come() {
        let shared = Rc::new(RefCell::new(Credits::new(1, 0, CommitFault::CreditLost)));
        shared.borrow_mut().set_full(2);
        let mut flow = Shared(shared.clone());
        flow.sent(0);
        flow.sent(0);
        assert!(flow.wants_query());
        flow.freed(0);
        flow.freed(0);
        assert!(!flow.wants_query() && !shared.borrow().can_fill(0));
    }
    #[test]
    fn the_next_question_waits_for_its_interval() {
        let credits = Credits::new(1, 0, CommitFault::None).with_interval(Ps(150));
        let shared = Rc::new(RefCell::new(credits));
        shared.borrow_mut().set_full(2);
        let mut flow = Shared(shared);
        assert_eq!(flow.asks_from(), Ps(0));
        flow.read_reached(Ps(1000), Ps(1040), true);
        assert_eq!(flow.asks_from(), Ps(1150));
        flow.read_reached(Ps(1060), Ps(1100), false);
        assert_eq!(flow.asks_from(), Ps(1150), "reads of data are no questions");
    }
    #[test]
    fn every_credit_is_somewhere() {
        let (c, mut flow) = credits(2, 2, 0);
        let sound = |c: &Rc<RefCell<Credits>>| c.borrow().unsound();
        flow.sent(1);
        assert_eq!(sound(&c), None, "with its write");
        flow.freed(1);
        assert_eq!(sound(&c), None, "with the module");
        flow.read_reached(Ps(0), Ps(100), true);
        assert_eq!(sound(&c), None, "on its way back");
        flow.arrived(Ps(100));
        assert_eq!((sound(&c), c.borrow().is_full(1)), (None, true));
        c.borrow_mut().queues[0].finished += 1;
        assert_eq!(sound(&c).as_deref(), Some("queue 0 has 3 credits of 2"));
        c.borrow_mut().queues[0].finished = 0;
        c.borrow_mut().wants.set(Some(true));
        assert_eq!(sound(&c).as_deref(), Some("whether credits are to be asked for"));
    }
}
