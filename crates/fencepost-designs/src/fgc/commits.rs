//! Committing one queue: the lock, the committing flag, and polls until the credits are full and the queue is empty.
//!
//! `PersistentCommit` of the paper (section III-C, figure 7), after the program has flushed its range: *set a committing flag to
//! indicate that the memory controller will reject all other write commands to access this queue and send all buffered
//! commands; query the credit repeatedly until it is the same as the maximum; at this time the queue is unlocked.* A second
//! thread that commits the same queue waits until the first has finished, and then commits itself.

use super::credits::Credits;
use super::params::CommitFault;
use crate::persist_path::Waiting;
use fencepost_kernel::{HartId, Ps};
use fencepost_machine::seam::{Cause, Cx, DrainScope, WriteId};
use std::cell::RefCell;
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
    /// The flag is set; the newest write then.
    Flagged(WriteId),
    /// The credits are full; the answer is on its way.
    Answered,
    /// The thread may go on.
    Done,
}

/// A commit under way.
#[derive(Copy, Clone, Debug)]
struct Commit {
    hart: HartId,
    stage: Stage,
    /// Whether the module's volatile cache is to be written back too.
    whole: bool,
}

/// The last write of a queue is in the medium, and the queue still closed: the moment to change its registers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// Who commits it.
    pub hart: HartId,
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
    /// Threads that wait for another's commit to end, by queue.
    behind: Vec<u64>,
    /// By hardware thread: when it first asked for the commit that it waits for.
    asked: Vec<Option<Ps>>,
    path: Ps,
    fault: CommitFault,
    broken: Option<String>,
}

impl Commits {
    pub fn new(credits: Rc<RefCell<Credits>>, queues: u8, path: Ps, fault: CommitFault) -> Commits {
        Commits {
            credits,
            queues: vec![None; usize::from(queues)],
            waiting: Waiting::default(),
            behind: vec![0; usize::from(queues)],
            asked: vec![None; 64],
            path,
            fault,
            broken: None,
        }
    }
    /// The thread commits a queue, or asks again: `Ok(took)` when it is done, and how long it took. `whole`: what the module's
    /// volatile cache holds is to be in the medium too.
    pub fn ask(&mut self, cx: &mut dyn Cx, hart: HartId, queue: u8, whole: bool) -> Result<Ps, Cause> {
        let since = *self.asked[hart.index()].get_or_insert(cx.now());
        match self.queues[usize::from(queue)] {
            Some(c) if c.hart == hart && c.stage == Stage::Done => {
                self.end(cx, queue);
                self.asked[hart.index()] = None;
                return Ok(cx.now().saturating_sub(since));
            }
            Some(c) if c.hart == hart => {}
            Some(_) => {
                self.behind[usize::from(queue)] |= 1 << hart.0;
                self.waiting.wait(hart, Cause::CommitExclusive);
                return Err(Cause::CommitExclusive);
            }
            None => {
                let stage = Stage::Begun;
                self.queues[usize::from(queue)] = Some(Commit { hart, stage, whole });
                cx.timer(cx.now() + self.path, Tag::Flag.pack(queue));
            }
        }
        self.waiting.wait(hart, Cause::CommitPending);
        Err(Cause::CommitPending)
    }
    /// The lock of the queue is free: of those that wait for it, the first asks again, and takes it. The others would find it
    /// taken.
    fn end(&mut self, cx: &mut dyn Cx, queue: u8) {
        self.queues[usize::from(queue)] = None;
        let behind = &mut self.behind[usize::from(queue)];
        if *behind != 0 {
            let first = HartId(behind.trailing_zeros() as u8);
            *behind &= *behind - 1;
            self.waiting.wake(cx, first);
        }
    }
    /// A timer fired.
    pub fn timer(&mut self, cx: &mut dyn Cx, tag: u64) -> Option<Settled> {
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
                    let hart = c.hart;
                    self.waiting.wake(cx, hart);
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
        let newest = cx.newest_write();
        if let Some(c) = &mut self.queues[usize::from(queue)] {
            c.stage = Stage::Flagged(newest);
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
    fn poll(&mut self, cx: &mut dyn Cx, queue: u8) -> Option<Settled> {
        let c = self.queues[usize::from(queue)]?;
        let full = self.credits.borrow().is_full(queue);
        // Of most polls the credits alone are the answer.
        let empty = (full || self.fault != CommitFault::None) && cx.queue_is_empty(queue);
        if empty && !full && self.fault == CommitFault::FlagClearedEarly {
            cx.open_queue(queue, true);
        }
        let done = match self.fault {
            CommitFault::PollEarly => empty,
            CommitFault::IgnoresQueue => full,
            _ => empty && full,
        };
        if !done {
            if self.credits.borrow().can_fill(queue) {
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
    /// The cache of the module has been written back.
    pub fn drained(&mut self, cx: &mut dyn Cx, tag: u64) -> Option<Settled> {
        self.settled(cx, tag as u8)
    }
    fn settled(&mut self, cx: &mut dyn Cx, queue: u8) -> Option<Settled> {
        self.credits.borrow_mut().set_committing(queue, false);
        let Some(c) = &mut self.queues[usize::from(queue)] else {
            return None;
        };
        c.stage = Stage::Answered;
        cx.timer(cx.now() + self.path, Tag::Answer.pack(queue));
        Some(Settled { hart: c.hart, queue })
    }
    /// The queue takes writes again.
    pub fn open(&mut self, cx: &mut dyn Cx, queue: u8) {
        cx.open_queue(queue, true);
        if self.fault == CommitFault::DefaultQueueClosed {
            cx.open_queue(0, true);
        }
    }
    /// The controller accepted a write into a queue.
    pub fn accepted(&mut self, id: WriteId, queue: u8) {
        if let Some(Commit {
            stage: Stage::Flagged(newest),
            hart,
            ..
        }) = self.queues[usize::from(queue)]
            && id > newest
        {
            self.broken = Some(format!(
                "queue {queue} took a write while thread {} was committing it",
                hart.0
            ));
        }
    }
    /// The first rule that was broken.
    pub fn broken(&self) -> Option<&String> {
        self.broken.as_ref()
    }
    /// What a thread waits for.
    pub fn explain(&self, hart: HartId) -> Option<String> {
        let own = self.queues.iter().position(|c| c.is_some_and(|c| c.hart == hart));
        if let Some(queue) = own {
            let (copy, full) = self.credits.borrow().shown(queue as u8);
            return Some(format!("commits queue {queue}, which has {copy} of {full} credits"));
        }
        let queue = self.behind.iter().position(|b| b >> hart.0 & 1 == 1)?;
        let holder = self.queues[queue].map_or_else(String::new, |c| format!(" by thread {}", c.hart.0));
        Some(format!("waits for the commit of queue {queue}{holder}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::MockCx;

    #[test]
    fn threads_that_wait_for_a_queue_commit_it_one_by_one() {
        let credits = Rc::new(RefCell::new(Credits::new(2, 0, CommitFault::None)));
        let mut cx = MockCx::new(4, 1, 2, 8);
        let mut commits = Commits::new(credits, 2, Ps(100), CommitFault::None);
        assert_eq!(commits.ask(&mut cx, HartId(2), 1, false), Err(Cause::CommitPending));
        for waits in [3, 0, 1] {
            let answer = commits.ask(&mut cx, HartId(waits), 1, false);
            assert_eq!(answer, Err(Cause::CommitExclusive));
        }
        for (commits_it, next) in [(2, Some(0)), (0, Some(1)), (1, Some(3)), (3, None)] {
            assert!(
                commits.timer(&mut cx, Tag::Flag.pack(1)).is_some(),
                "nothing is written"
            );
            cx.kicked.fill(false);
            assert_eq!(commits.timer(&mut cx, Tag::Answer.pack(1)), None);
            let only = |hart: Option<u8>| (0..4).map(|h| Some(h) == hart).collect::<Vec<_>>();
            assert_eq!(cx.kicked, only(Some(commits_it)));
            cx.kicked.fill(false);
            assert!(commits.ask(&mut cx, HartId(commits_it), 1, false).is_ok());
            assert_eq!(cx.kicked, only(next), "the others would find it taken");
            if let Some(next) = next {
                assert_eq!(commits.ask(&mut cx, HartId(next), 1, false), Err(Cause::CommitPending));
            }
        }
    }
}
