//! Read mode or write mode: whose turn the data bus is.

use super::bank_queues::BankQueues;
use super::context::Context;
use crate::memory::spec::ControllerSpec;
use crate::memory::timing::Direction;
use fencepost_kernel::Ps;

/// A read that has waited this many times its limit is served in its next turn, whatever becomes late meanwhile (ours). Far beyond what a
/// turn takes, and so without effect but where many go by without it: late writes take each back before its row is open.
const PATIENCE: u64 = 64;

/// Whose turn it is, and what its end depends on.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// The direction that has the bus.
    pub mode: Direction,
    /// The drain goes on although reads wait.
    forced: bool,
    /// Writes issued in this drain.
    drained: u16,
    /// Late reads that are still to be served before writes may force another drain.
    owed: usize,
}

/// What a turn depends on.
pub(super) struct Fill<'a> {
    /// Policies.
    pub spec: &'a ControllerSpec,
    /// Queued reads.
    pub reads: &'a BankQueues,
    /// Queued writes.
    pub writes: &'a BankQueues,
    /// A write queue is at or above its high watermark.
    pub above_high_watermark: bool,
    /// Every write queue is at or below its low watermark.
    pub below_low_watermark: bool,
}
impl<'a> Fill<'a> {
    /// The queues of a channel.
    #[inline]
    pub(super) fn new(cx: &Context<'a>, reads: &'a BankQueues, writes: &'a BankQueues) -> Fill<'a> {
        Fill {
            spec: cx.spec,
            reads,
            writes,
            above_high_watermark: cx.above_high_watermark,
            below_low_watermark: cx.below_low_watermark,
        }
    }
    /// When the oldest request of a direction has waited long enough for its turn.
    #[inline]
    pub(super) fn due(&self, direction: Direction) -> Option<Ps> {
        let (queue, limit) = match direction {
            Direction::Read => (self.reads, self.spec.read_wait_max),
            Direction::Write => (self.writes, self.spec.write_wait_max),
        };
        // A limit of zero means never.
        if limit == Ps::ZERO {
            return None;
        }
        Some(queue.oldest()?.since + limit)
    }
    #[inline]
    fn late(&self, direction: Direction, now: Ps) -> bool {
        self.due(direction).is_some_and(|t| t <= now)
    }
    /// Whether reads had turns and were not served: late writes took each from them.
    fn passed_over(&self, now: Ps) -> bool {
        let limit = self.spec.read_wait_max.0.saturating_mul(PATIENCE);
        let oldest = self.reads.oldest().map(|r| r.since.0.saturating_add(limit));
        limit > 0 && oldest.is_some_and(|t| t <= now.0)
    }
    /// Whether writes are so many, or so old, that they drain although reads wait.
    #[inline]
    fn force(&self, now: Ps) -> bool {
        self.above_high_watermark || self.late(Direction::Write, now)
    }
}

impl Turn {
    /// Reads first.
    pub(super) fn new() -> Turn {
        Turn {
            mode: Direction::Read,
            forced: false,
            drained: 0,
            owed: 0,
        }
    }
    /// Read mode until writes force a drain or no read waits; write mode until reads may have their turn. Either side
    /// that has waited too long gets its turn however full the other's queue is, so neither starves.
    #[inline]
    pub(super) fn choose(&mut self, now: Ps, fill: &Fill<'_>) {
        match self.mode {
            Direction::Read if fill.writes.is_empty() => {}
            Direction::Read => {
                let reads = !fill.reads.is_empty();
                if reads && self.owed > 0 {
                    return;
                }
                let force = fill.force(now);
                if !reads || force {
                    self.mode = Direction::Write;
                    self.forced = force;
                    self.drained = 0;
                    self.owed = 0;
                }
            }
            Direction::Write if fill.writes.is_empty() => self.give_to_reads(now, fill),
            Direction::Write if fill.reads.is_empty() => {}
            Direction::Write => self.end_drain(now, fill),
        }
    }
    /// In write mode, with writes and reads waiting.
    fn end_drain(&mut self, now: Ps, fill: &Fill<'_>) {
        self.forced |= fill.force(now);
        if self.drained < fill.spec.min_writes {
            return;
        }
        let enough = match self.forced {
            true => fill.below_low_watermark && !fill.late(Direction::Write, now),
            false => fill.spec.read_priority || fill.below_low_watermark,
        };
        // A turn is at least one write, or nothing would have been gained by turning the bus.
        if enough {
            self.give_to_reads(now, fill);
        } else if self.drained > 0 && fill.late(Direction::Read, now) {
            self.mode = Direction::Read;
            self.owed = fill.reads.len();
        }
    }
    /// A drain has nothing left to do.
    fn give_to_reads(&mut self, now: Ps, fill: &Fill<'_>) {
        self.mode = Direction::Read;
        self.owed = usize::from(fill.passed_over(now));
    }
    /// A line of this direction crosses the bus.
    pub(super) fn served(&mut self, direction: Direction) {
        match direction {
            Direction::Read => self.owed = self.owed.saturating_sub(1),
            Direction::Write => self.drained = self.drained.saturating_add(1),
        }
    }
}
