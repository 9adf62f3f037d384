//! Read mode or write mode: whose turn the data bus is.

use super::bank_queues::BankQueues;
use crate::memory::spec::ControllerSpec;
use crate::memory::timing::Direction;
use fencepost_kernel::Ps;

/// Whose turn it is, and what its end depends on.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The direction that has the bus.
    pub mode: Direction,
    /// The drain goes on although reads wait.
    forced: bool,
    /// Writes issued in this drain.
    drained: u16,
    /// Reads that ended a drain by their age and are still to be served before writes may force another.
    owed: usize,
}

/// What a turn depends on.
pub struct Fill<'a> {
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
impl Fill<'_> {
    /// When the oldest request of a direction has waited long enough for its turn.
    pub fn due(&self, direction: Direction) -> Option<Ps> {
        let (queue, limit) = match direction {
            Direction::Read => (self.reads, self.spec.read_wait_max),
            Direction::Write => (self.writes, self.spec.write_wait_max),
        };
        // A limit of zero means never.
        let oldest = queue.oldest().filter(|_| limit > Ps::ZERO)?;
        Some(oldest.since + limit)
    }
}

impl Turn {
    /// Reads first.
    pub fn new() -> Turn {
        Turn {
            mode: Direction::Read,
            forced: false,
            drained: 0,
            owed: 0,
        }
    }
    /// Read mode until writes force a drain or no read waits; write mode until reads may have their turn. Either side
    /// that has waited too long gets its turn however full the other's queue is, so neither starves.
    pub fn choose(&mut self, now: Ps, fill: &Fill<'_>) {
        let late = |direction| fill.due(direction).is_some_and(|t| t <= now);
        let (write_late, read_late) = (late(Direction::Write), late(Direction::Read));
        let force = fill.above_high_watermark || write_late;
        let (reads, writes) = (!fill.reads.is_empty(), !fill.writes.is_empty());
        match self.mode {
            Direction::Read if writes && (!reads || force && self.owed == 0) => {
                self.mode = Direction::Write;
                self.forced = force;
                self.drained = 0;
                self.owed = 0;
            }
            Direction::Write if !writes => self.mode = Direction::Read,
            Direction::Write if reads => {
                self.forced |= force;
                let enough = match self.forced {
                    true => fill.below_low_watermark && !write_late,
                    false => fill.spec.read_priority || fill.below_low_watermark,
                };
                // A turn is at least one write, or nothing would have been gained by turning the bus.
                let turn = enough || read_late && self.drained > 0;
                if turn && self.drained >= fill.spec.min_writes {
                    self.mode = Direction::Read;
                    self.owed = if enough { 0 } else { fill.reads.len() };
                }
            }
            _ => {}
        }
    }
    /// A line of this direction crosses the bus.
    pub fn served(&mut self, direction: Direction) {
        match direction {
            Direction::Read => self.owed = self.owed.saturating_sub(1),
            Direction::Write => self.drained = self.drained.saturating_add(1),
        }
    }
}
