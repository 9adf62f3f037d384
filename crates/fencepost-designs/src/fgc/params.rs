//! Parameters of per-task and of global committing.

use fencepost_kernel::{Bytes, Ps, planted};

fencepost_kernel::param_enum! {
    /// Planted faults, for tests of the checker.
    pub enum CommitFault {
        /// The mechanism as described.
        None = "none",
        /// A finished write gives no credit back.
        CreditLost = "credit-lost",
        /// A finished write gives two credits back.
        CreditTwice = "credit-twice",
        /// A write gives its credit back when it is issued.
        CreditAtIssue = "credit-at-issue",
        /// Writes are issued without a credit.
        IssuesAtZero = "issues-at-zero",
        /// A poll is answered as if the credits were full.
        PollEarly = "poll-early",
        /// A poll looks at the credits only and not at the controller's queue.
        IgnoresQueue = "ignores-queue",
        /// The committing flag closes no queue.
        ClosedQueueTakes = "closed-queue-takes",
        /// The committing flag is cleared when the queue is empty, before its credits are full.
        FlagClearedEarly = "flag-cleared-early",
        /// The committing flag of any queue closes the default queue too.
        DefaultQueueClosed = "default-queue-closed",
        /// An address-range register misses the first line of its range.
        FirstLineMissed = "first-line-missed",
    }
}
impl CommitFault {
    /// The parameter's fault, or the one that is planted for this thread.
    pub(super) fn or_planted(self) -> CommitFault {
        let none = self == CommitFault::None;
        let poll_early = none && planted!("commit.poll-early", "a poll is answered when the credits are full");
        if poll_early {
            return CommitFault::PollEarly;
        }
        let default_closed = none
            && planted!(
                "commit.default-queue-closed",
                "writes in no range are not blocked by a commit"
            );
        if default_closed {
            return CommitFault::DefaultQueueClosed;
        }
        let closed_takes = none
            && planted!(
                "commit.closed-queue-takes",
                "a queue that is being committed takes no write"
            );
        if closed_takes {
            return CommitFault::ClosedQueueTakes;
        }
        let at_zero = none && planted!("commit.issues-at-zero", "no write is issued at credit 0");
        if at_zero {
            return CommitFault::IssuesAtZero;
        }
        self
    }
}

fencepost_kernel::params! {
    /// Parameters of per-task committing.
    pub struct PerTaskParams {
        /// Write sub-queues with address-range registers; the default queue comes on top.
        #[range(1..=63)]
        queues: u8 = 7,
        /// Entries of each queue of the controller.
        #[range(1..=512)]
        entries: u16 = 8,
        /// Address-range registers of each sub-queue.
        #[range(1..=64)]
        registers: u8 = 4,
        /// Write entries of the memory module, which all queues share, where the machine has no module of its own.
        #[range(2..=4096)]
        module_entries: u16 = 64,
        /// Maximum credit of a queue: writes that may be on their way to the medium (ours: as many as the queue has entries).
        #[range(1..=4096)]
        credits: u16 = 8,
        /// Credits left of a queue at which the controller asks the module for more (the paper: 0).
        #[range(0..=4095)]
        ask_at: u16 = 0,
        /// Least time between two reads that ask for credits (ours: none, the next follows the answer).
        #[range(Ps(0)..=Ps::from_ns(1_000_000))]
        interval: Ps = Ps::ZERO,
        /// One way between a core and the controller, for the committing flag, polls and their answers (ours).
        #[range(Ps(1)..=Ps::from_ns(1_000_000))]
        path: Ps = Ps::from_ns(10),
        /// Planted fault, for tests of the checker only.
        fault: CommitFault = CommitFault::None,
    }
}

fencepost_kernel::params! {
    /// The volatile cache that the hybrid memory adds.
    pub struct CacheParams {
        /// Volatile cache of written lines between the memory module's queues and the medium.
        #[range(Bytes(64)..=Bytes(1 << 36))]
        dram_cache: Bytes = Bytes(64 << 20),
        /// Write entries of the memory module, where the machine has no module of its own.
        #[range(1..=4096)]
        module_entries: u16 = 64,
    }
}

fencepost_kernel::param_enum! {
    /// Planted faults of global committing, for tests of the checker.
    pub enum GlobalFault {
        /// The mechanism as described.
        None = "none",
        /// `pcommit` completes when the controller's queue is empty, whatever the memory module still holds.
        ModuleIgnored = "module-ignored",
        /// `pcommit` does not close the controller to other writes.
        QueueStaysOpen = "queue-stays-open",
    }
}

fencepost_kernel::param_enum! {
    /// What a `pcommit` does that finds another thread's under way.
    pub enum Overlap {
        /// It waits until that has finished, and then drains the controller itself, as two commits of one queue do.
        OneAtATime = "one-at-a-time",
        /// It is answered with it, once what came in meanwhile is in the medium too.
        Joined = "joined",
    }
}

fencepost_kernel::params! {
    /// Parameters of global committing.
    pub struct GlobalParams {
        /// What a pcommit does that finds another thread's under way.
        overlap: Overlap = Overlap::OneAtATime,
        /// One way between a core and the controller, for pcommit and its answer (ours).
        #[range(Ps(1)..=Ps::from_ns(1_000_000))]
        path: Ps = Ps::from_ns(10),
        /// Planted fault, for tests of the checker only.
        fault: GlobalFault = GlobalFault::None,
    }
}
