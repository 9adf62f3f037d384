//! Committing one queue: the lock, the committing flag, and polls until the credits are full and the queue is empty.
//!
//! `PersistentCommit` of the paper (section III-C, figure 7), after the program has flushed its range: *set a committing flag to
//! indicate that the memory controller will reject all other write commands to access this queue and send all buffered
//! commands; query the credit repeatedly until it is the same as the maximum; at this time the queue is unlocked.* A second
//! thread that commits the same queue waits until the first has finished, and then commits itself.

mod sound;

use super::credits::Credits;
use super::params::CommitFault;
use crate::persist_path::Waiting;
use fencepost_kernel::{HwThread, Ps};
use fencepost_machine::seam::{Cause, Cx, DrainScope, WriteId};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a timer is for; packed with the queue into its tag.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// The write that sets the committing flag reaches the controller.
    Flag,
    /// A poll reaches the controller.
    Poll,
    /// The answer to the last poll reaches the core.
    Answer,
}
impl Tag {
    fn pack(self, queue: u8) -> u64 {
        (self as u64) << 8 | u64::from(queue)
    }
    fn unpack(tag: u64) -> (Tag, u8) {
        let kind = match tag >> 8 {
            0 => Tag::Flag,
            1 => Tag::Poll,
            _ => Tag::Answer,
        };
        (kind, tag as u8)
    }
}

/// How far the commit of a queue has come.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The flag is on its way.
    Begun,
    /// The flag is set; the newest write then. The thread polls from then on.
    Flagged(WriteId, Ps),
    /// The credits are full; the answer is on its way.
    Answered,
    /// The thread may go on.
    Done,
}

/// A commit under way.
#[derive(Copy, Clone, Debug)]
struct Commit {
    hw_thread: HwThread,
    stage: Stage,
    /// Whether the module's volatile cache is to be written back too.
    whole: bool,
    /// No poll is awaited: the one that can find the credits full is on its way, or has.
    polled: bool,
}

/// The last write of a queue is in the medium, and the queue still closed: the moment to change its registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// Who commits it.
    pub hw_thread: HwThread,
    /// The queue.
    pub queue: u8,
}

/// The commits of all queues.
#[derive(Debug)]
pub(super) struct Commits {
    credits: Rc<RefCell<Credits>>,
    queues: Vec<Option<Commit>>,
    /// Threads that wait: for their own commit, or for another's to end.
    waiting: Waiting,
    /// Threads that wait for another's commit to end, by queue, the first to come first.
    behind: Vec<VecDeque<HwThread>>,
    /// By hardware thread: when it first asked for the commit that it waits for.
    asked: Vec<Option<Ps>>,
    path: Ps,
    fault: CommitFault,
    broken: Option<String>,
}

impl Commits {
    pub(super) fn new(credits: Rc<RefCell<Credits>>, queues: u8, path: Ps, fault: CommitFault) -> Commits {
        Commits {
            credits,
            queues: vec![None; usize::from(queues)],
            waiting: Waiting::default(),
            behind: vec![VecDeque::new(); usize::from(queues)],
            asked: vec![None; 64],
            path,
            fault,
            broken: None,
        }
    }
    /// The thread commits a queue, or asks again: `Ok(took)` when it is done, and how long it took. `whole`: what the module's
    /// volatile cache holds is to be in the medium too.
    pub(super) fn ask(&mut self, cx: &mut dyn Cx, hw_thread: HwThread, queue: u8, whole: bool) -> Result<Ps, Cause> {
        let since = *self.asked[hw_thread.index()].get_or_insert(cx.now());
        match self.queues[usize::from(queue)] {
            Some(c) if c.hw_thread == hw_thread && c.stage == Stage::Done => {
                self.end(cx, queue);
                self.asked[hw_thread.index()] = None;
                return Ok(cx.now().saturating_sub(since));
            }
            Some(c) if c.hw_thread == hw_thread => {}
            Some(_) => {
                let behind = &mut self.behind[usize::from(queue)];
                if !behind.contains(&hw_thread) {
                    behind.push_back(hw_thread);
                }
                self.waiting.wait(hw_thread, Cause::CommitExclusive);
                return Err(Cause::CommitExclusive);
            }
            None => {
                let stage = Stage::Begun;
                self.queues[usize::from(queue)] = Some(Commit {
                    hw_thread,
                    stage,
                    whole,
                    polled: false,
                });
                cx.timer(cx.now() + self.path, Tag::Flag.pack(queue));
            }
        }
        self.waiting.wait(hw_thread, Cause::CommitPending);
        Err(Cause::CommitPending)
    }
    /// The lock of the queue is free: of those that wait for it, the first asks again, and takes it. The others would find it
    /// taken.
    fn end(&mut self, cx: &mut dyn Cx, queue: u8) {
        self.queues[usize::from(queue)] = None;
        if let Some(first) = self.behind[usize::from(queue)].pop_front() {
            self.waiting.wake(cx, first);
        }
    }
    /// A timer fired.
    pub(super) fn timer(&mut self, cx: &mut dyn Cx, tag: u64) -> Option<Settled> {
        let (kind, queue) = Tag::unpack(tag);
        match kind {
            Tag::Flag => {
                self.set_flag(cx, queue);
                self.poll(cx, queue)
            }
            Tag::Poll => self.poll(cx, queue),
            Tag::Answer => {
                if let Some(c) = &mut self.queues[usize::from(queue)] {
                    c.stage = Stage::Done;
                    let hw_thread = c.hw_thread;
                    self.waiting.wake(cx, hw_thread);
                }
                None
            }
        }
    }
    fn set_flag(&mut self, cx: &mut dyn Cx, queue: u8) {
        if self.fault != CommitFault::ClosedQueueTakes {
            self.close(cx, queue);
        }
        if self.fault == CommitFault::DefaultQueueClosed {
            self.close(cx, 0);
        }
        let (newest, now) = (cx.newest_write(), cx.now());
        if let Some(c) = &mut self.queues[usize::from(queue)] {
            c.stage = Stage::Flagged(newest, now);
        }
        self.credits.borrow_mut().set_committing(queue, true);
    }
    fn close(&mut self, cx: &mut dyn Cx, queue: u8) {
        if self.queues[usize::from(queue)].is_none() {
            self.broken = Some(format!("queue {queue} is closed and nobody commits it"));
        }
        cx.open_queue(queue, false);
    }
    /// A poll reaches the controller, which answers from what it knows itself.
    ///
    /// The thread polls again as soon as it has an answer. Of these polls, only those are simulated that can find anything new: the
    /// first after credits came back ([`Commits::credits_came`]); nothing else fills them, and a queue that is not empty has still to
    /// spend some.
    fn poll(&mut self, cx: &mut dyn Cx, queue: u8) -> Option<Settled> {
        let c = self.queues[usize::from(queue)]?;
        let full = self.credits.borrow().is_full(queue);
        let early = self.polls_on();
        let empty = (full || early) && cx.queue_is_empty(queue);
        if empty && !full && self.fault == CommitFault::FlagClearedEarly {
            cx.open_queue(queue, true);
        }
        let done = match self.fault {
            CommitFault::PollEarly => empty,
            CommitFault::IgnoresQueue => full,
            _ => empty && full,
        };
        if let Some(c) = &mut self.queues[usize::from(queue)] {
            c.polled = done;
        }
        if !done {
            if early && self.credits.borrow().can_fill(queue) {
                cx.timer(cx.now() + self.path + self.path, Tag::Poll.pack(queue));
            }
            return None;
        }
        if c.whole {
            cx.write_back_module();
            cx.when_drained(DrainScope::Empty(Some(queue)), queue.into());
            return None;
        }
        self.settled(cx, queue)
    }
    /// Whether every poll is simulated: one may find a queue empty whose credits have not come back, and the fault acts on that.
    fn polls_on(&self) -> bool {
        matches!(self.fault, CommitFault::PollEarly | CommitFault::FlagClearedEarly)
    }
    /// Credits of queues that are being committed are full: the next poll of each finds them so.
    pub(super) fn credits_came(&mut self, cx: &mut dyn Cx) {
        if self.polls_on() {
            return;
        }
        let (now, both_ways) = (cx.now(), self.path + self.path);
        for (queue, c) in (0..).zip(&mut self.queues) {
            if let Some(Commit {
                stage: Stage::Flagged(_, since),
                polled: polled @ false,
                ..
            }) = c
                && self.credits.borrow().is_full(queue)
            {
                *polled = true;
                let polls = (now - *since).0.div_ceil(both_ways.0.max(1));
                cx.timer(
                    *since + Ps(both_ways.0 * polls).max(now - *since),
                    Tag::Poll.pack(queue),
                );
            }
        }
    }
    /// The cache of the module has been written back.
    pub(super) fn drained(&mut self, cx: &mut dyn Cx, tag: u64) -> Option<Settled> {
        self.settled(cx, tag as u8)
    }
    fn settled(&mut self, cx: &mut dyn Cx, queue: u8) -> Option<Settled> {
        self.credits.borrow_mut().set_committing(queue, false);
        let Some(c) = &mut self.queues[usize::from(queue)] else {
            return None;
        };
        c.stage = Stage::Answered;
        cx.timer(cx.now() + self.path, Tag::Answer.pack(queue));
        Some(Settled {
            hw_thread: c.hw_thread,
            queue,
        })
    }
    /// The queue takes writes again.
    pub(super) fn open(&mut self, cx: &mut dyn Cx, queue: u8) {
        if self.credits.borrow().is_committing(queue) {
            self.broken = Some(format!(
                "queue {queue} opens, and the controller still asks for its credits"
            ));
        }
        cx.open_queue(queue, true);
        if self.fault == CommitFault::DefaultQueueClosed {
            cx.open_queue(0, true);
        }
    }
    /// The controller accepted a write into a queue.
    pub(super) fn accepted(&mut self, id: WriteId, queue: u8) {
        if let Some(Commit {
            stage: Stage::Flagged(newest, _),
            hw_thread,
            ..
        }) = self.queues[usize::from(queue)]
            && id > newest
        {
            self.broken = Some(format!(
                "queue {queue} took a write while thread {} was committing it",
                hw_thread.0
            ));
        }
    }
    /// The first rule that was broken.
    pub(super) fn broken(&self) -> Option<&String> {
        self.broken.as_ref()
    }
    /// What a thread waits for.
    pub(super) fn explain(&self, hw_thread: HwThread) -> Option<String> {
        let own = self
            .queues
            .iter()
            .position(|c| c.is_some_and(|c| c.hw_thread == hw_thread));
        if let Some(queue) = own {
            let (copy, full) = self.credits.borrow().shown(queue as u8);
            return Some(format!("commits queue {queue}, which has {copy} of {full} credits"));
        }
        let queue = self.behind.iter().position(|b| b.contains(&hw_thread))?;
        let holder = self.queues[queue].map_or_else(String::new, |c| format!(" by thread {}", c.hw_thread.0));
        Some(format!("waits for the commit of queue {queue}{holder}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fgc::credits::Shared;
    use crate::testkit::MockCx;
    use fencepost_machine::memory::FlowControl;

    #[test]
    fn threads_that_wait_for_a_queue_commit_it_one_by_one() {
        let credits = Rc::new(RefCell::new(Credits::new(2, 0, CommitFault::None)));
        let mut cx = MockCx::new(4, 1, 2, 8);
        let mut commits = Commits::new(credits, 2, Ps(100), CommitFault::None);
        assert_eq!(commits.ask(&mut cx, HwThread(2), 1, false), Err(Cause::CommitPending));
        for waits in [3, 0, 1] {
            let answer = commits.ask(&mut cx, HwThread(waits), 1, false);
            assert_eq!(answer, Err(Cause::CommitExclusive));
        }
        for (commits_it, next) in [(2, Some(3)), (3, Some(0)), (0, Some(1)), (1, None)] {
            assert!(
                commits.timer(&mut cx, Tag::Flag.pack(1)).is_some(),
                "nothing is written"
            );
            cx.kicked.fill(false);
            assert_eq!(commits.timer(&mut cx, Tag::Answer.pack(1)), None);
            let only = |hw_thread: Option<u8>| (0..4).map(|h| Some(h) == hw_thread).collect::<Vec<_>>();
            assert_eq!(cx.kicked, only(Some(commits_it)));
            cx.kicked.fill(false);
            assert!(commits.ask(&mut cx, HwThread(commits_it), 1, false).is_ok());
            assert_eq!(cx.kicked, only(next), "the others would find it taken");
            if let Some(next) = next {
                assert_eq!(
                    commits.ask(&mut cx, HwThread(next), 1, false),
                    Err(Cause::CommitPending)
                );
            }
        }
    }

    #[test]
    fn the_poll_that_finds_the_credits_full_is_the_next_one_after_they_came() {
        for came in [0, 1, 199, 200, 201, 1234] {
            let credits = Rc::new(RefCell::new(Credits::new(2, 0, CommitFault::None)));
            credits.borrow_mut().set_full(2);
            let mut flow = Shared(credits.clone());
            let mut cx = MockCx::new(4, 1, 2, 8);
            let mut commits = Commits::new(credits, 2, Ps(100), CommitFault::None);
            flow.sent(1);
            assert_eq!(commits.ask(&mut cx, HwThread(0), 1, false), Err(Cause::CommitPending));
            cx.now = Ps(100);
            assert_eq!(commits.timer(&mut cx, Tag::Flag.pack(1)), None, "a credit is out");
            cx.timers.clear();
            flow.freed(1);
            flow.read_reached(Ps(100), Ps(100 + came), true);
            cx.now = Ps(100 + came);
            assert!(flow.arrived(cx.now));
            commits.credits_came(&mut cx);
            let polls = (0..)
                .map(|n| 100 + 200 * n)
                .find(|at| *at >= 100 + came)
                .expect("polls go on");
            assert_eq!(
                cx.timers.iter().map(|t| (t.0, t.2)).collect::<Vec<_>>(),
                [(Ps(polls), Tag::Poll.pack(1))]
            );
            cx.now = Ps(polls);
            assert!(commits.timer(&mut cx, Tag::Poll.pack(1)).is_some());
        }
    }
}
